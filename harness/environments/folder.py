"""The folder of a store: where its parts lie, whether it is ours, what is left over in it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.environments.health import Health
from harness.environments.locking import is_free, try_exclusive
from harness.environments.manifest import read_manifest
from harness.errors import InstallError

__all__ = ["KEY_LENGTH", "Entry", "StoreFolder"]

#: What marks a folder as ours, and as one that backups pass over (https://bford.info/cachedir/).
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Environments of torch-harness; it may delete what is in here.\n"
KEY_LENGTH = 32
_USED, _ILL = ".last-use", ".ill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One environment of the store.

    Attributes:
        key: Its name.
        path: Where it is.
        cell: The cell that it was built for; empty when its manifest cannot be read.
        python_version: Of its interpreter; empty likewise.
        size: Bytes of its files.
        disk: Bytes that it added to the disk when it was built.
        last_used: When a measurement or a build last asked for it.
        in_use: Whether some process uses it now.
        why_ill: Why its manifest cannot be read, or empty.
    """

    key: str
    path: Path
    cell: str
    python_version: str
    size: int
    disk: int
    last_used: datetime
    in_use: bool
    why_ill: str = ""


class StoreFolder:
    """A folder of environments.

    An entry is a virtual environment named by its key, with a manifest in it. What is being built lies in `building/`,
    locks lie in `locks/`; a build that was killed leaves a folder in `building/` that the next one removes.

    Args:
        root: The folder; made when needed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def bytecode(self) -> Path:
        """Where byte code is kept for the next environment with the same packages."""
        return self.root / "bytecode"

    @property
    def building(self) -> Path:
        """Where builds are under way, and what killed ones left."""
        return self.root / "building"

    def lock(self, key: str) -> Path:
        """The lock file of an entry."""
        return self.root / "locks" / f"{key}.lock"

    def used(self, key: str) -> Path:
        """The file whose date is the time of an entry's last use."""
        return self.root / key / _USED

    def ill(self, key: str) -> Path:
        """The file that says that an entry was found ill; it names damaged packages, one a line."""
        return self.root / key / _ILL

    def damaged(self, key: str) -> list[str]:
        """The packages of an ill entry whose files are damaged."""
        try:
            return self.ill(key).read_text("utf-8").split()
        except OSError:
            return []

    def mark_ill(self, health: Health) -> None:
        """Notes that an entry is ill, or that it is not any more; left undone in a folder that cannot be written."""
        with contextlib.suppress(OSError):
            if health.reason is None:
                self.ill(health.key).unlink(missing_ok=True)
            else:
                self.ill(health.key).write_text("".join(f"{name}\n" for name in health.damaged), encoding="utf-8")

    def paths(self) -> tuple[Path, ...]:
        """The folders of all entries."""
        if not self.root.is_dir():
            return ()
        return tuple(p for p in self.root.iterdir() if len(p.name) == KEY_LENGTH and p.is_dir() and not p.is_symlink())

    def entries(self) -> tuple[Entry, ...]:
        """All entries, the one used last first."""
        return tuple(sorted(map(self._entry, self.paths()), key=lambda entry: entry.last_used, reverse=True))

    def must_be_ours(self) -> None:
        """Makes sure that the folder was made by a store before anything is deleted in it.

        Raises:
            InstallError: It was not.
        """
        tag = self.root / "CACHEDIR.TAG"
        if not tag.is_file() or tag.read_text("utf-8", errors="replace") != TAG:
            what = f"{self.root} is not a store of environments: nothing in it is deleted"
            raise InstallError(what, why="it has no CACHEDIR.TAG of the harness", next_step="look at HARNESS_CACHE")

    def prepare(self) -> None:
        """Makes the folder and its parts."""
        for folder in (self.root, self.building, self.root / "locks"):
            folder.mkdir(parents=True, exist_ok=True)
        tag = self.root / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(TAG, encoding="utf-8")

    def sweep(self, own: str) -> None:
        """Removes what killed builds left. Whoever calls it holds the lock of `own`, whose build has not begun."""
        for path in self.building.iterdir():
            key = path.name.partition(".")[0]
            if key == own:
                shutil.rmtree(path, ignore_errors=True)
                continue
            with try_exclusive(self.lock(key)) as free:
                if free:
                    shutil.rmtree(path, ignore_errors=True)

    def discard(self, path: Path) -> None:
        """Deletes an entry or what was to be one; whoever calls it holds its lock."""
        # Out of sight by a rename first: a process that is killed in mid-deletion leaves no half entry.
        self.building.mkdir(parents=True, exist_ok=True)
        trash = Path(tempfile.mkdtemp(prefix=f"{path.name}.", dir=self.building))
        if path.exists():
            path.rename(trash / "environment")
        shutil.rmtree(trash, ignore_errors=True)

    def _entry(self, path: Path) -> Entry:
        try:
            manifest, why_ill = read_manifest(path), ""
        except ValueError as error:
            manifest, why_ill = None, str(error)
        try:
            last_used = self.used(path.name).stat().st_mtime
        except OSError:
            last_used = path.stat().st_mtime
        return Entry(
            key=path.name,
            path=path,
            cell=manifest.cell if manifest else "",
            python_version=manifest.python_version if manifest else "",
            size=manifest.size if manifest else 0,
            disk=manifest.disk if manifest else 0,
            last_used=datetime.fromtimestamp(last_used, UTC),
            in_use=not is_free(self.lock(path.name)),
            why_ill=why_ill,
        )
