"""The machine lock: one measurement at a time on a machine, whoever runs it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import MeasurementError

__all__ = ["Holder", "default_lock_path", "machine_lock"]

log = logging.getLogger(__name__)
_POLL = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who measures now.

    Attributes:
        pid: The number of its process.
        command: What it runs.
        since: ISO date and time, UTC.
    """

    pid: int
    command: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command}), since {self.since}"


def default_lock_path() -> Path:
    """A file that every user of the machine shares; `HARNESS_MACHINE_LOCK` moves it."""
    configured = os.environ.get("HARNESS_MACHINE_LOCK")
    return Path(configured) if configured else Path("/tmp/torch-harness.lock")  # shared on purpose


@contextlib.contextmanager
def machine_lock(
    path: Path | None = None,
    *,
    on_wait: Callable[[Holder | None], None] = lambda _: None,
    timeout: float | None = None,
    command: Sequence[str] | None = None,
) -> Iterator[None]:
    """Holds the machine for as long as the block runs, and waits for it first.

    The kernel gives the lock back when its holder dies, however it does.

    Args:
        path: The lock file; the shared one by default.
        on_wait: Told once for each holder that is waited for; None when the file does not say who it is.
        timeout: Seconds to wait; for ever when None.
        command: How this process names itself to others that wait; its own command line by default.

    Raises:
        MeasurementError: The file cannot be opened, or the wait took too long.
    """
    path = path or default_lock_path()
    descriptor = _open(path)
    try:
        _acquire(descriptor, path, on_wait, timeout)
        me = Holder(
            pid=os.getpid(),
            command=shlex.join(command or [Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
            since=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        _write(descriptor, json.dumps({"pid": me.pid, "command": me.command, "since": me.since}))
        try:
            yield
        finally:
            _write(descriptor, "")
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    # Kernels refuse to create over another user's file in a shared folder, so one that exists is opened without.
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            try:
                descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:  # another process was faster
                return os.open(path, flags)
            os.fchmod(descriptor, 0o666)  # whatever the umask: other users must be able to wait on it
            return descriptor
    except OSError as error:
        what = f"the machine lock {path} cannot be opened: {error.strerror or error}"
        raise MeasurementError(
            what, next_step="set HARNESS_MACHINE_LOCK to a file that everyone who measures here can write"
        ) from error


def _acquire(descriptor: int, path: Path, on_wait: Callable[[Holder | None], None], timeout: float | None) -> None:
    end = None if timeout is None else time.monotonic() + timeout
    told: list[Holder | None] = []
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = _holder(descriptor)
        if holder not in told:
            told.append(holder)
            log.info("waiting for the machine, held by %s", holder or "an unknown process")
            on_wait(holder)
        if end is not None and time.monotonic() >= end:
            what = f"the machine is in use by {holder or 'another measurement'}"
            raise MeasurementError(
                what, why=f"one measurement runs at a time; {path} says so", next_step="wait for it to end"
            )
        time.sleep(_POLL)


def _holder(descriptor: int) -> Holder | None:
    try:
        said = json.loads(os.pread(descriptor, 4096, 0))
        return Holder(pid=int(said["pid"]), command=str(said["command"]), since=str(said["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(descriptor: int, text: str) -> None:
    # Only a courtesy to those who wait: a full disk must not end a measurement.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
