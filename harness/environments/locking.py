"""Locks on entries of the store: one process builds or deletes one, any number use it."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

__all__ = ["exclusive", "is_free", "shared", "try_exclusive"]

log = logging.getLogger(__name__)


@contextmanager
def exclusive(path: Path, waiting: str) -> Iterator[None]:
    """Holds a lock alone; says once what is waited for. When the process dies, however it does, the kernel lets go."""
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.info("%s", waiting)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def try_exclusive(path: Path) -> Iterator[bool]:
    """Holds a lock alone if nobody has it; yields whether it does."""
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Holds a lock together with others, against `exclusive` of the same file."""
    # filelock locks with flock too, but alone only; this is the same lock, held in company.
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def is_free(path: Path) -> bool:
    """Whether nobody holds a lock now; false where this user may not know."""
    try:
        with _opened(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _opened(path: Path) -> IO[str]:
    try:
        return path.open("r+")
    except PermissionError:  # another user's: on a local disk, one that can be read can be locked too
        return path.open()
