"""The store of environments: content-addressed, built aside, published by rename, guarded by file locks."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from harness.cells.cell import HOST, Cell
from harness.environments.building import Plan, build
from harness.environments.disk import MARGIN
from harness.environments.environment import Environment
from harness.environments.health import Health, check
from harness.environments.locking import exclusive, is_free, shared, try_exclusive
from harness.environments.manifest import Manifest, read_manifest
from harness.environments.pruning import PruneReport, prune
from harness.environments.pythons import Interpreter, find_python
from harness.environments.stubs import GENERATOR
from harness.errors import BrokenPromiseError, InstallError
from harness.jsonio import digest
from harness.paths import cache_dir
from harness.releases.lock import Lock
from harness.releases.sources import Source

__all__ = ["Entry", "Store"]

log = logging.getLogger(__name__)

#: What marks a folder as ours, and as one that backups pass over (https://bford.info/cachedir/).
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Environments of torch-harness; it may delete what is in here.\n"
_USED = ".last-use"
_KEY_LENGTH = 32


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


class Store:
    """A folder of environments.

    An entry is a virtual environment named by its key, with a manifest in it. What is being built lies in `building/`,
    locks lie in `locks/`; a build that was killed leaves a folder in `building/` that the next one removes.

    Args:
        root: The folder; made when needed.
        margin: Bytes of disk that a build must leave free.
    """

    def __init__(self, root: Path, *, margin: int = MARGIN) -> None:
        self.root = root
        self.margin = margin

    @classmethod
    def default(cls) -> Self:
        """The store in the user's cache."""
        return cls(cache_dir() / "environments")

    def lookup(self, cell: Cell, lock: Lock) -> Environment | None:
        """The environment of a cell if it is there; builds nothing, fetches nothing."""
        try:
            interpreter = find_python(cell.python, fetch=False)
        except InstallError:
            return None
        return self._open(self.key(cell, lock, interpreter), lock)

    def ensure(self, cell: Cell, lock: Lock, *, sources: Sequence[Source] | None = None) -> Environment:
        """The environment of a cell, built if it is not there. Of several processes that ask, one builds.

        Args:
            cell: What it is for.
            lock: What to install.
            sources: Where files are asked for; what uv's own variables say when None.

        Raises:
            InstallError: No interpreter, no network, no disk, a file that is gone or is another; says which.
        """
        _fit(cell, lock)
        interpreter = find_python(cell.python)
        key = self.key(cell, lock, interpreter)
        if environment := self._open(key, lock):
            return environment
        with _as_install_error(self.root):
            self._prepare()
            with exclusive(self._lock(key), f"another process builds {cell}: waiting for it"):
                if environment := self._open(key, lock):
                    return environment
                self._sweep(key)
                plan = Plan(
                    key=key,
                    cell=cell,
                    lock=lock,
                    interpreter=interpreter,
                    bytecode=self.bytecode,
                    sources=sources,
                    cached=self._cached(),
                    margin=self.margin,
                )
                return self._publish(plan)

    @contextmanager
    def using(self, environment: Environment) -> Iterator[Environment]:
        """Keeps an environment from being pruned, for as long as it is measured.

        Raises:
            InstallError: It was pruned before.
        """
        with shared(self._lock(environment.key)):
            if self._open(environment.key, environment.lock) is None:
                what = f"the environment {environment.key} is gone: it was pruned meanwhile"
                raise InstallError(what, next_step="run the same command again")
            yield environment

    def list(self) -> tuple[Entry, ...]:
        """All entries, the one used last first."""
        entries = []
        for path in self.paths():
            try:
                manifest, why_ill = read_manifest(path), ""
            except ValueError as error:
                manifest, why_ill = None, str(error)
            entries.append(self._entry(path, manifest, why_ill))
        return tuple(sorted(entries, key=lambda entry: entry.last_used, reverse=True))

    def paths(self) -> tuple[Path, ...]:
        """The folders of all entries."""
        if not self.root.is_dir():
            return ()
        return tuple(p for p in self.root.iterdir() if len(p.name) == _KEY_LENGTH and p.is_dir() and not p.is_symlink())

    def check(self, *, deep: bool = False) -> tuple[Health, ...]:
        """Why each entry is ill, if it is.

        Args:
            deep: Read every file and compare its hash: as slow as the disk. Otherwise sizes are compared.
        """
        return check(self, deep=deep)

    def prune(self, max_size: int) -> PruneReport:
        """Removes what was used least lately until environments and downloads fit; never what is in use.

        Args:
            max_size: Bytes on the disk, hard links counted once.

        Raises:
            InstallError: The folder is not a store of the harness, so nothing in it is deleted.
        """
        return prune(self, max_size)

    def remove(self, key: str) -> bool:
        """Deletes an entry unless it is in use.

        Returns:
            Whether it is gone.

        Raises:
            InstallError: The folder is not a store of the harness, so nothing in it is deleted.
        """
        self.must_be_ours()
        with try_exclusive(self._lock(key)) as free:
            if free:
                self._discard(self.root / key)
        return free

    def must_be_ours(self) -> None:
        """Makes sure that the folder was made by a store before anything is deleted in it.

        Raises:
            InstallError: It was not.
        """
        tag = self.root / "CACHEDIR.TAG"
        if not tag.is_file() or tag.read_text("utf-8", errors="replace") != TAG:
            what = f"{self.root} is not a store of environments: nothing in it is deleted"
            raise InstallError(what, why="it has no CACHEDIR.TAG of the harness", next_step="look at HARNESS_CACHE")

    @staticmethod
    def key(cell: Cell, lock: Lock, interpreter: Interpreter) -> str:
        """The name of an environment: what decides its contents, and nothing else."""
        content = {
            "lock": lock.digest,
            # Two builds of one version of Python differ in speed, so the program counts and not only its version.
            "python": [interpreter.version, str(interpreter.path)],
            "image": cell.image,
            "build": dict(cell.build),
            "stubs": GENERATOR if cell.slim else 0,
        }
        return digest(content)[:_KEY_LENGTH]

    def _open(self, key: str, lock: Lock) -> Environment | None:
        path = self.root / key
        try:
            manifest = read_manifest(path)
        except ValueError:
            return None
        if not (path / "bin" / "python").exists() or manifest.lock.digest != lock.digest:
            return None
        # The time of last use; a store that cannot be written is still good for reading.
        try:
            (path / _USED).touch()
        except OSError:
            log.debug("%s cannot be marked as used", path)
        return _environment(path, manifest)

    def _publish(self, plan: Plan) -> Environment:
        final = self.root / plan.key
        if final.exists():
            log.warning("%s is ill and is built again", final)
            self._discard(final)
        aside = Path(tempfile.mkdtemp(prefix=f"{plan.key}.", dir=self._building)) / "environment"
        try:
            manifest = build(aside, plan)
            (aside / _USED).touch()
            aside.rename(final)
        finally:
            shutil.rmtree(aside.parent, ignore_errors=True)
        return _environment(final, manifest)

    def _discard(self, path: Path) -> None:
        # Out of sight by a rename first: a process that is killed in mid-deletion leaves no half entry.
        self._building.mkdir(parents=True, exist_ok=True)
        trash = Path(tempfile.mkdtemp(prefix=f"{path.name}.", dir=self._building))
        if path.exists():
            path.rename(trash / "environment")
        shutil.rmtree(trash, ignore_errors=True)

    def _prepare(self) -> None:
        for folder in (self.root, self._building, self.root / "locks"):
            folder.mkdir(parents=True, exist_ok=True)
        tag = self.root / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(TAG, encoding="utf-8")

    def _sweep(self, own: str) -> None:
        """Removes what killed builds left. Whoever calls it holds the lock of `own`, whose build has not begun."""
        for path in self._building.iterdir():
            key = path.name.partition(".")[0]
            if key == own:
                shutil.rmtree(path, ignore_errors=True)
                continue
            with try_exclusive(self._lock(key)) as free:
                if free:
                    shutil.rmtree(path, ignore_errors=True)

    def _cached(self) -> frozenset[str]:
        hashes: set[str] = set()
        for path in self.paths():
            try:
                hashes |= {file.sha256 for file in read_manifest(path).lock.files}
            except ValueError:
                continue
        return frozenset(hashes)

    def _entry(self, path: Path, manifest: Manifest | None, why_ill: str) -> Entry:
        stamp = path / _USED
        return Entry(
            key=path.name,
            path=path,
            cell=manifest.cell if manifest else "",
            python_version=manifest.python_version if manifest else "",
            size=manifest.size if manifest else 0,
            disk=manifest.disk if manifest else 0,
            last_used=datetime.fromtimestamp((stamp if stamp.exists() else path).stat().st_mtime, UTC),
            in_use=not is_free(self._lock(path.name)),
            why_ill=why_ill,
        )

    def _lock(self, key: str) -> Path:
        return self.root / "locks" / f"{key}.lock"

    @property
    def bytecode(self) -> Path:
        """Where byte code is kept for the next environment with the same packages."""
        return self.root / "bytecode"

    @property
    def _building(self) -> Path:
        return self.root / "building"


def _environment(path: Path, manifest: Manifest) -> Environment:
    return Environment(
        key=manifest.key,
        path=path,
        lock=manifest.lock,
        python_version=manifest.python_version,
        disk=manifest.disk,
        seconds=manifest.seconds,
    )


def _fit(cell: Cell, lock: Lock) -> None:
    minor = f"{cell.python_minor[0]}.{cell.python_minor[1]}"
    if (lock.python.rstrip("t"), lock.slim) != (minor, cell.slim):
        what = f"the lock (Python {lock.python}, slim {lock.slim}) is not that of {cell}"
        raise BrokenPromiseError(what)
    if cell.image != HOST:
        what = f"{cell} is to run in the image {cell.image}, and environments are built on the host only"
        raise InstallError(what, next_step="leave the image out of the cell")


@contextmanager
def _as_install_error(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"{error.filename or root} cannot be written: {error.strerror or error}"
        raise InstallError(what, next_step="point HARNESS_CACHE to a folder that you own, with free space") from error
