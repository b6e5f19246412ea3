"""Which lock a cell gets: the committed one while it fits, else one that was resolved before, else a new one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path

from harness.cells.cell import Cell
from harness.cells.wheels import OfferedFile, best_wheel
from harness.errors import ConfigurationError, ResolveError, StorageError
from harness.jsonio import digest
from harness.releases.lock import Lock
from harness.releases.lockfile import StoredLock, lock_path, read_lock, write_lock
from harness.releases.resolve import Request, as_of_date, requirements_of, resolve, target_of
from harness.releases.uv import Uv

__all__ = [
    "LockCheck",
    "LockState",
    "check_lock",
    "differences",
    "lock_for",
    "misfits",
    "orphans",
    "stored_lock",
    "update_lock",
]

log = logging.getLogger(__name__)


class LockState(StrEnum):
    """What a check found of a committed lock."""

    CURRENT = "current"
    STALE = "stale"
    MISSING = "missing"
    #: A file that belongs to no declared cell.
    ORPHAN = "orphan"
    #: It could not be resolved again.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockCheck:
    """The state of one committed lock.

    Attributes:
        path: The file.
        state: What was found.
        details: What differs, or why it is not known; one sentence each.
    """

    path: Path
    state: LockState
    details: tuple[str, ...] = ()


def lock_for(request: Request, uv: Uv, *, locks: Path, today: date | None = None) -> Lock:
    """The lock of a cell, resolved only when neither the committed nor the cached one fits.

    Args:
        request: What is asked for.
        uv: How uv is run; the cache of locks lies in its cache folder.
        locks: The folder of committed locks.
        today: The day it is.

    Raises:
        ConfigurationError: The committed lock is damaged.
        ResolveError: There is no lock, and none can be resolved.
    """
    day = today or datetime.now(UTC).date()
    if found := stored_lock(request, uv, locks=locks, today=day):
        return found
    lock = resolve(request, uv, today=day)
    try:
        write_lock(_cached_path(request, uv.cache), _stored(request, lock))
    except StorageError as error:
        log.warning("the lock of %s is not kept for the next time: %s", request.cell.id, error.what)
    return lock


def stored_lock(request: Request, uv: Uv, *, locks: Path, today: date | None = None) -> Lock | None:
    """The lock of a cell that is there already and fits, the committed one before the cached one; resolves nothing.

    Raises:
        ConfigurationError: The committed lock is damaged.
    """
    day = today or datetime.now(UTC).date()
    committed = lock_path(locks, request.cell)
    if committed.exists():
        stored = read_lock(committed)
        reasons = misfits(stored, request, day)
        if not reasons:
            return stored.lock
        log.info("%s does not fit: %s", committed, "; ".join(reasons))
    cached = _cached_path(request, uv.cache)
    if cached.exists():
        try:
            stored = read_lock(cached)
        except ConfigurationError as error:
            log.warning("a cached lock is damaged and resolved again: %s", error.what)
        else:
            if not misfits(stored, request, day):
                return stored.lock
    return None


def update_lock(request: Request, uv: Uv, *, locks: Path, today: date | None = None) -> tuple[Path, bool]:
    """Brings a committed lock up to date; returns its file and whether that changed.

    A lock that still fits keeps its date and its platform.

    Raises:
        ResolveError: The cell cannot be resolved.
        StorageError: The folder cannot be written.
    """
    day = today or datetime.now(UTC).date()
    path = lock_path(locks, request.cell)
    try:
        stored = read_lock(path) if path.exists() else None
    except ConfigurationError as error:
        log.warning("%s", error.what)
        stored = None
    if stored and not misfits(stored, request, day):
        new = _stored(request, _again(stored, request, uv))
    else:
        new = _stored(request, resolve(request, uv, today=day))
    if new != stored:
        write_lock(path, new)
    return path, new != stored


def check_lock(request: Request, uv: Uv, *, locks: Path, today: date | None = None) -> LockCheck:
    """Resolves a committed lock again, for the platform and the date that it names, and says what differs.

    Raises:
        ConfigurationError: The lock is damaged.
    """
    day = today or datetime.now(UTC).date()
    path = lock_path(locks, request.cell)
    if not path.exists():
        return LockCheck(path=path, state=LockState.MISSING, details=(f"{request.cell.id} has no lock",))
    stored = read_lock(path)
    reasons = misfits(stored, request, day, anywhere=True)
    if not reasons:
        try:
            again = _again(stored, request, uv)
        except ResolveError as error:
            return LockCheck(path=path, state=LockState.UNKNOWN, details=(str(error.what),))
        reasons = differences(stored.lock, again)
    return LockCheck(path=path, state=LockState.STALE if reasons else LockState.CURRENT, details=tuple(reasons))


def orphans(locks: Path, declared: Iterable[LockCheck]) -> Iterator[LockCheck]:
    """The files of a folder of locks that belong to none of the declared cells."""
    known = {check.path for check in declared}
    for path in sorted(locks.glob("*.lock")):
        if path not in known:
            yield LockCheck(path=path, state=LockState.ORPHAN, details=("no profile has a cell with this lock",))


def misfits(stored: StoredLock, request: Request, today: date, *, anywhere: bool = False) -> list[str]:
    """Why a lock is not the one that a request wants; empty when it is.

    Args:
        stored: The lock.
        request: What is wanted.
        today: The day it is.
        anywhere: Whether the lock may be for another machine than the request's target.
    """
    lock, cell = stored.lock, request.cell
    reasons = _changed_questions(stored, request)
    subject = next((file for file in lock.files if file.name == cell.subject), None)
    if subject is None or subject.version.partition("+")[0] != cell.release:
        reasons.append(f"it does not install {cell.subject} {cell.release}")
    wanted = as_of_date(request, today)
    # A young release is locked as of the day it was done, and stays so when its days have passed.
    if wanted and lock.as_of != wanted and (cell.as_of or not lock.as_of or lock.as_of > wanted):
        reasons.append(f"its packages are as of {lock.as_of or 'no date'}, wanted is {wanted or 'no date'}")
    if not anywhere:
        reasons += [f"{name} does not run on this target" for name in _unfit(lock, request)]
    return reasons


def differences(old: Lock, new: Lock) -> list[str]:
    """What a reader must know to tell two locks apart, one sentence a package."""
    before = {file.name: file for file in old.files}
    after = {file.name: file for file in new.files}
    found = []
    for name in sorted(before.keys() | after.keys()):
        match before.get(name), after.get(name):
            case None, added if added:
                found.append(f"{name} {added.version} is new")
            case gone, None if gone:
                found.append(f"{name} {gone.version} is gone")
            case one, two if one and two and one.version != two.version:
                found.append(f"{name} {one.version} is now {two.version}")
            case one, two if one and two and (one.filename, one.sha256) != (two.filename, two.sha256):
                found.append(f"{name} {one.version} is another file: {one.filename}, now {two.filename}")
            case _:
                pass
    return found + [
        f"{attribute} {a!r} is now {b!r}"
        for attribute in ("python", "platform", "index", "as_of", "slim")
        if (a := getattr(old, attribute)) != (b := getattr(new, attribute))
    ]


def _again(stored: StoredLock, request: Request, uv: Uv) -> Lock:
    """Resolves a lock once more, for the platform and the date that it names."""
    target = target_of(stored.lock, request.cell)
    return resolve(replace(request, target=target), uv, as_of=stored.lock.as_of)


def _changed_questions(stored: StoredLock, request: Request) -> list[str]:
    lock, cell = stored.lock, request.cell
    reasons = []
    asked, wanted = set(stored.requirements), set(requirements_of(request))
    if asked != wanted:
        changed = [f"without {r}" for r in sorted(asked - wanted)] + [f"with {r}" for r in sorted(wanted - asked)]
        reasons.append(f"it is now asked {', '.join(changed)}")
    python = ".".join(str(part) for part in cell.python_minor)
    if lock.python != python:
        reasons.append(f"it is for Python {lock.python}, wanted is {python}")
    if lock.slim != cell.slim:
        reasons.append("it is slim" if lock.slim else "it is not slim")
    return reasons


def _unfit(lock: Lock, request: Request) -> list[str]:
    """The wheels of a lock that do not run where the cell runs."""
    wheels = [
        OfferedFile(filename=file.filename, version=file.version, source=lock.index, url="") for file in lock.files
    ]
    return [wheel.filename for wheel in wheels if wheel.is_wheel and best_wheel([wheel], request.target) is None]


def _stored(request: Request, lock: Lock) -> StoredLock:
    cell: Cell = request.cell.but(env=(), flags=())
    return StoredLock(cell=cell.id, requirements=requirements_of(request), lock=lock)


def _cached_path(request: Request, cache: Path) -> Path:
    target = request.target
    key = digest([requirements_of(request), target.python, target.glibc, target.machine, request.days_after])
    return lock_path(cache / "locks" / key[:12], request.cell)
