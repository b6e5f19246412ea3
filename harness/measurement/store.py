"""Writing the file of a run: append-only JSON lines, one write and one sync for each round, readable after any crash.

docs/reference/records.md describes the format.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import filelock

from harness.errors import StorageError
from harness.jsonio import canonical
from harness.measurement.records import Record
from harness.measurement.runs import FILE, Header, Run, load
from harness.measurement.schema import unstructure

__all__ = ["RunFile"]

_LOCK = ".lock"


class RunFile:
    """The open file of a run, locked against a second writer. Close it, or use it in a `with` block.

    Args:
        folder: The folder of the run.
        lock: The lock on it, held.
        size: How many bytes of the file are whole lines.
        run: What the file held when it was opened.
    """

    def __init__(self, folder: Path, lock: filelock.BaseFileLock, size: int, run: Run) -> None:
        self.folder = folder
        self.path = folder / FILE
        self.run = run
        self._lock = lock
        self._size = size
        self._known = set(run.fingerprints)
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    @classmethod
    def create(cls, runs: Path, header: Header) -> Self:
        """Begins a run: its folder, its lock and its header.

        Raises:
            StorageError: Nothing can be written there.
        """
        folder = runs / header.run
        with _storing(folder, f"choose another folder for results, or mend {runs}"):
            folder.mkdir(parents=True)
            with contextlib.ExitStack() as undo:
                undo.callback(shutil.rmtree, folder, ignore_errors=True)
                lock = _lock(folder)
                undo.callback(lock.release)
                line = _line("header", unstructure(header))
                # Written under its real name only when it is whole.
                with (folder / f".{FILE}").open("wb") as file:
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
                (folder / f".{FILE}").replace(folder / FILE)
                _sync_folder(folder)
                run = Run(path=folder / FILE, header=header, records=(), fingerprints={}, faults=(), finished=False)
                opened = cls(folder, lock, len(line), run)
                undo.pop_all()
                return opened

    @classmethod
    def reopen(cls, folder: Path) -> Self:
        """Opens a run again to go on with it; a torn last line is cut off, and is among the faults of `run`.

        Raises:
            StorageError: Another process is writing to it, or it cannot be read or written.
        """
        with _storing(folder, f"mend {folder}, then run the same command again"):
            lock = _lock(folder)
            with contextlib.ExitStack() as undo:
                undo.callback(lock.release)
                run = load(folder)
                data = run.path.read_bytes()
                size = data.rfind(b"\n") + 1
                if size < len(data):
                    os.truncate(run.path, size)
                opened = cls(folder, lock, size, run)
                undo.pop_all()
                return opened

    def append(self, records: Iterable[Record], fingerprints: Mapping[str, Mapping[str, Any]]) -> None:
        """Writes the records of a round, after the fingerprints that are new, in one write and with one sync.

        Raises:
            StorageError: The disk is full or the folder is gone; the file is as it was before.
        """
        new = [name for name in fingerprints if name not in self._known]
        lines = [_line("fingerprint", {"digest": name, "facts": fingerprints[name]}) for name in new]
        lines += [_line("record", unstructure(record)) for record in records]
        self._write(b"".join(lines))
        self._known.update(new)

    def finish(self) -> None:
        """Marks the run as come to its end: the same command starts a new one.

        Raises:
            StorageError: It cannot be written.
        """
        self._write(_line("end", {"at": datetime.now(UTC).isoformat(timespec="seconds")}))

    def _write(self, data: bytes) -> None:
        with _storing(self.path, "free some space, then run the same command again: it goes on where this one stopped"):
            try:
                written = 0
                while written < len(data):
                    written += os.write(self._descriptor, data[written:])
                os.fsync(self._descriptor)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.truncate(self.path, self._size)
                raise
        self._size += len(data)

    def close(self) -> None:
        """Gives the file and the lock back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _line(kind: str, entry: Mapping[str, Any]) -> bytes:
    return canonical({"kind": kind, **entry}).encode() + b"\n"


def _lock(folder: Path) -> filelock.BaseFileLock:
    lock = filelock.FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        what = f"another process is writing to {folder}"
        raise StorageError(what, next_step="wait for it to end") from None
    return lock


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _storing(place: Path, next_step: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"{place} cannot be written: {error.strerror or error}"
        raise StorageError(what, next_step=next_step) from error
