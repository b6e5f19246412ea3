"""Resolves a cell into a lock: the subject exactly, everything else as of a date near the release."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fnmatch import fnmatchcase

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from harness.cells.cell import Cell
from harness.cells.offers import serves
from harness.cells.wheels import OfferedFile, Target, best_wheel
from harness.errors import ConfigurationError, ResolveError
from harness.releases.catalog import release_date
from harness.releases.lock import Lock, LockedFile
from harness.releases.pylock import locked_files
from harness.releases.uv import Uv, compile_pylock

__all__ = [
    "DAYS_AFTER",
    "RUNNER",
    "Request",
    "as_of_date",
    "is_cuda_package",
    "requirements_of",
    "resolve",
    "subject_file",
    "target_of",
    "uv_platform",
]

#: Measures inside every cell, and must be the same in all of them, whatever their date.
RUNNER = "asv-runner==0.3.2"
#: Days after a release as of which its packages are resolved: its users had settled on them by then.
DAYS_AFTER = 30

# The glibc versions for which uv can resolve (`uv pip compile --help`, --python-platform).
_GLIBCS = ((2, 17), (2, 28), *((2, minor) for minor in range(31, 41)))
_MACHINES = ("x86_64", "aarch64")
_PLATFORM = re.compile(r"(?P<machine>[a-z0-9_]+?)-manylinux_(?P<major>\d+)_(?P<minor>\d+)")
# What a CUDA build brings along. A slim cell runs on stubs instead.
_CUDA = ("nvidia-*", "cuda-*", "triton", "pytorch-triton", "pytorch-triton-*")
# Packages that only PyTorch's own indexes have, which give no dates; the subject pins them exactly.
_UNDATED = ("pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu", "triton-rocm", "triton-xpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a lock is asked for.

    Attributes:
        cell: The cell.
        target: The Python, glibc and machine that the files must fit.
        offers: The files of the cell's release, from every source.
        requirements: What every cell of this kind needs beside the subject (`numpy`, `setuptools<70`).
        days_after: Days after the release as of which the rest is resolved.
    """

    cell: Cell
    target: Target
    offers: Sequence[OfferedFile]
    requirements: Sequence[str] = ()
    days_after: int = DAYS_AFTER


def resolve(request: Request, uv: Uv, *, as_of: str | None = None, today: date | None = None) -> Lock:
    """The lock of a cell, through uv's resolver.

    Args:
        request: What is asked for.
        uv: How uv is run.
        as_of: The date of the packages; that of `as_of_date` when None.
        today: The day it is.

    Raises:
        ResolveError: The release is not on offer for this cell, packages do not fit together, or no index answers.
    """
    cell, target = request.cell, request.target
    file = subject_file(request)
    day = as_of_date(request, today or datetime.now(UTC).date()) if as_of is None else as_of
    platform = uv_platform(target)
    wanted = requirements_of(request)
    # Only `===` tells 2.13.0 from 2.13.0+cpu when a folder offers the latter.
    requirements = [f"{cell.subject}==={file.version}", *wanted]
    # Who names an exact version wants it, whatever its date.
    undated = [cell.subject, *_UNDATED, *(Requirement(r).name for r in wanted if "==" in r)]
    sizes = {offer.filename: offer.size for offer in request.offers if offer.size}
    keep = {name for name, _ in cell.packages} | {cell.subject}
    excludes: set[str] = set()
    while True:
        text = compile_pylock(
            uv,
            requirements,
            label=cell.id,
            python=cell.python,
            platform=platform,
            as_of=day,
            undated=undated,
            excludes=sorted(excludes),
        )
        files = locked_files(text, target, sizes=sizes, label=cell.id)
        # Leaving a package out takes away what only it needs, and may show others: until nothing is left to leave out.
        cuda = {f.name for f in files if is_cuda_package(f.name)} - keep if cell.slim else set()
        if not cuda:
            break
        excludes |= cuda
    return Lock(
        python=f"{target.python[0]}.{target.python[1]}",
        platform=platform,
        index=file.source,
        as_of=day,
        slim=cell.slim,
        files=_checked(files, request, file),
    )


def subject_file(request: Request) -> OfferedFile:
    """The file of the subject that a cell installs.

    Raises:
        ResolveError: Its release is not on offer for its backend, Python and platform.
    """
    cell = request.cell
    usable = [file for file in request.offers if serves(file, cell.backend) and file.public == cell.release]
    wheel = best_wheel(usable, request.target)
    chosen = wheel or next((file for file in usable if not file.is_wheel and file.yanked is None), None)
    if chosen is not None:
        return chosen
    if not usable:
        backends = sorted({file.local or file.source for file in request.offers if file.public == cell.release})
        what = f"{cell.id}: {cell.subject} {cell.release} is not offered for backend {cell.backend}"
        raise ResolveError(
            what,
            why=f"it is offered for {', '.join(backends)}" if backends else "no index and no folder has this release",
            next_step="`harness releases list` shows the releases on offer",
        )
    place = f"Python {cell.python} on {uv_platform(request.target)}"
    what = f"{cell.id}: no file of {cell.subject} {cell.release} fits {place}"
    raise ResolveError(what, next_step="`harness plan` names the nearest combination that exists")


def requirements_of(request: Request) -> tuple[str, ...]:
    """What a lock is asked for beside the subject, sorted; a cell's own packages win over the rules of the matrix.

    Raises:
        ConfigurationError: A requirement is malformed.
    """
    own = dict(request.cell.packages)
    lines = {f"{name}=={version}" if version else name for name, version in own.items()} | {RUNNER}
    for text in request.requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            what = f"{text!r} is not a requirement: {error}"
            raise ConfigurationError(what, next_step="write one like numpy or setuptools<70") from None
        if canonicalize_name(requirement.name) not in own:
            lines.add(str(requirement))
    return tuple(sorted(lines))


def as_of_date(request: Request, today: date) -> str:
    """The date (`YYYY-MM-DD`) as of which the packages around the subject are resolved; empty when nobody dates it.

    For a release younger than `days_after` that is today: what an undated lock would get, in a lock that stays equal.
    """
    if request.cell.as_of:
        return request.cell.as_of
    released = release_date(request.cell.release, request.offers)
    if released is None:
        return ""
    return str(min(released.astimezone(UTC).date() + timedelta(days=request.days_after), today))


def uv_platform(target: Target) -> str:
    """The newest platform of uv's that a target can run.

    Raises:
        ResolveError: uv knows none: an old glibc, none at all, or another machine.
    """
    fitting = [glibc for glibc in _GLIBCS if glibc <= target.glibc]
    if not fitting or target.machine not in _MACHINES:
        what = f"uv cannot resolve for {target.machine} with glibc {target.glibc[0]}.{target.glibc[1]}"
        raise ResolveError(
            what,
            why=f"it knows {' and '.join(_MACHINES)} from glibc 2.17 on",
            next_step="use an image with a newer glibc",
        )
    major, minor = fitting[-1]
    return f"{target.machine}-manylinux_{major}_{minor}"


def target_of(lock: Lock, cell: Cell) -> Target:
    """The target for which a lock was resolved.

    Raises:
        ConfigurationError: Its platform is not one that this harness writes.
    """
    match = _PLATFORM.fullmatch(lock.platform)
    if match is None:
        what = f"the lock of {cell.id} is for {lock.platform!r}, which is not understood"
        raise ConfigurationError(what, next_step="run `harness lock`")
    return Target(
        python=cell.python_minor,
        glibc=(int(match["major"]), int(match["minor"])),
        machine=match["machine"],
        free_threaded=cell.python.endswith("t"),
    )


def is_cuda_package(name: str) -> bool:
    """Whether a package is there for CUDA alone, so that a slim cell leaves it out."""
    return any(fnmatchcase(name, pattern) for pattern in _CUDA)


def _checked(files: tuple[LockedFile, ...], request: Request, file: OfferedFile) -> tuple[LockedFile, ...]:
    subject = next((locked for locked in files if locked.name == request.cell.subject), None)
    if subject is None or subject.version != file.version:
        got = subject.version if subject else "nothing"
        what = f"{request.cell.id}: uv chose {request.cell.subject} {got} where {file.version} was planned"
        raise ResolveError(
            what, why="the indexes changed since they were read", next_step="run `harness releases refresh`"
        )
    return files
