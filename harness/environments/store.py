"""The store of environments: content-addressed, built aside, published by rename, guarded by file locks."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from harness.cells.cell import HOST, Cell
from harness.environments.building import Plan, build
from harness.environments.disk import MARGIN
from harness.environments.environment import Environment
from harness.environments.folder import KEY_LENGTH, Entry, StoreFolder
from harness.environments.health import Health, examine
from harness.environments.locking import exclusive, shared, try_exclusive
from harness.environments.manifest import Manifest, read_manifest
from harness.environments.pruning import PruneReport, prune
from harness.environments.pythons import Interpreter, find_python
from harness.environments.stubs import GENERATOR
from harness.environments.uv import run_uv
from harness.errors import BrokenPromiseError, InstallError, StorageError
from harness.jsonio import digest
from harness.paths import cache_dir
from harness.releases.lock import Lock
from harness.releases.sources import Source

__all__ = ["Entry", "Store"]

log = logging.getLogger(__name__)


class Store(StoreFolder):
    """Environments by what they are made of: looked up, built, used, examined, pruned.

    Args:
        root: Where; made when needed.
        margin: Bytes of disk that a build must leave free.
    """

    def __init__(self, root: Path, *, margin: int = MARGIN) -> None:
        super().__init__(root)
        self.margin = margin

    @classmethod
    def default(cls) -> Self:
        """The store in the user's cache."""
        return cls(cache_dir() / "environments")

    def lookup(self, cell: Cell, lock: Lock, *, examined: bool = False) -> Environment | None:
        """The environment of a cell if it is there; builds nothing, fetches nothing.

        Args:
            cell: What it is for.
            lock: What is installed.
            examined: Whether its files are looked at first, and it is passed over when it is ill.
        """
        try:
            interpreter = find_python(cell.python, fetch=False)
        except InstallError:
            return None
        key = self.key(cell, lock, interpreter)
        return self._open_well(key, lock) if examined else self._open(key, lock)

    def ensure(self, cell: Cell, lock: Lock, *, sources: Sequence[Source] | None = None) -> Environment:
        """The environment of a cell, built if it is not there or is ill. Of several processes that ask, one builds.

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
        if environment := self._open_well(key, lock):
            self._mark_used(key)
            return environment
        with _as_install_error(self.root):
            self.prepare()
            with exclusive(self.lock(key), f"another process builds {cell}: waiting for it"):
                if environment := self._open_well(key, lock):
                    self._mark_used(key)
                    return environment
                self.sweep(key)
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
            InstallError: It is gone or was found ill.
        """
        with _as_install_error(self.root):
            self.prepare()
        with shared(self.lock(environment.key)):
            if self._open(environment.key, environment.lock) is None:
                what = f"the environment {environment.key} was pruned or found ill meanwhile"
                raise InstallError(what, next_step="run the same command again: it is built anew")
            self._mark_used(environment.key)
            yield environment

    def list(self) -> tuple[Entry, ...]:
        """All entries, the one used last first.

        Raises:
            InstallError: The folder cannot be read.
        """
        with _as_install_error(self.root, "read"):
            return self.entries()

    def check(self, *, deep: bool = False) -> tuple[Health, ...]:
        """Why each entry is ill, if it is. An ill one is built again when it is next asked for.

        Args:
            deep: Read every file and compare its hash: as slow as the disk. Otherwise sizes are compared.

        Raises:
            InstallError: The folder cannot be read.
        """
        with _as_install_error(self.root, "read"):
            found = tuple(examine(path, deep=deep) for path in self.paths())
        for health in found:
            self.mark_ill(health)
        return found

    def prune(self, max_size: int) -> PruneReport:
        """Removes what was used least lately until environments and downloads fit; never what is in use.

        Args:
            max_size: Bytes on the disk, hard links counted once.

        Raises:
            InstallError: The folder is not a store of the harness, so nothing in it is deleted, or it is not ours.
        """
        with _as_install_error(self.root):
            return prune(self, max_size)

    def remove(self, key: str) -> bool:
        """Deletes an entry unless it is in use.

        Returns:
            Whether it is gone.

        Raises:
            InstallError: The folder is not a store of the harness, so nothing in it is deleted.
        """
        self.must_be_ours()
        with try_exclusive(self.lock(key)) as free:
            if free:
                self.discard(self.root / key)
        return free

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
        return digest(content)[:KEY_LENGTH]

    def _open(self, key: str, lock: Lock) -> Environment | None:
        path = self.root / key
        try:
            manifest = read_manifest(path)
        except ValueError:
            return None
        if not (path / "bin" / "python").exists() or manifest.lock.digest != lock.digest:
            return None
        return None if self.ill(key).exists() else _environment(path, manifest)

    def _open_well(self, key: str, lock: Lock) -> Environment | None:
        # What is measured in a damaged environment would be a verdict about the damage. A look at the sizes of torch's
        # files takes a fifth of a second.
        environment = self._open(key, lock)
        if environment is None:
            return None
        health = examine(environment.path)
        if health.reason is None:
            return environment
        log.warning("%s: %s", environment.path, health.reason)
        self.mark_ill(health)
        return None

    def _mark_used(self, key: str) -> None:
        # A store that cannot be written is still good for reading.
        try:
            self.used(key).touch()
        except OSError:
            log.debug("%s cannot be marked as used", key)

    def _publish(self, plan: Plan) -> Environment:
        final = self.root / plan.key
        if final.exists():
            log.warning("%s is ill and is built again", final)
            if damaged := self.damaged(plan.key):
                # The files are hard links: uv's cache has the same damage.
                run_uv(["cache", "clean", "--quiet", *damaged], f"cleaning uv's cache of {', '.join(damaged)}")
            self.discard(final)
        aside = Path(tempfile.mkdtemp(prefix=f"{plan.key}.", dir=self.building)) / "environment"
        try:
            manifest = build(aside, plan)
            aside.rename(final)
        finally:
            shutil.rmtree(aside.parent, ignore_errors=True)
        self._mark_used(plan.key)
        return _environment(final, manifest)

    def _cached(self) -> frozenset[str]:
        hashes: set[str] = set()
        for path in self.paths():
            try:
                hashes |= {file.sha256 for file in read_manifest(path).lock.files}
            except ValueError:
                continue
        return frozenset(hashes)


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
def _as_install_error(root: Path, doing: str = "written") -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        raise InstallError(error.what, next_step=error.next_step) from error
    except OSError as error:
        what = f"{error.filename or root} cannot be {doing}: {error.strerror or error}"
        raise InstallError(what, next_step="point HARNESS_CACHE to a folder that you own, with free space") from error
