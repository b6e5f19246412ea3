"""Whether a cell can exist and can run here, from what the indexes offer: the exact wheel, or the one best reason.

Pure: nothing is downloaded, and nothing is asked of the machine but what is passed in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from packaging.version import Version

from harness.cells.cell import HOST, Cell
from harness.cells.images import Capability, Image
from harness.cells.offers import Offers
from harness.cells.pythons import OLDEST_PYTHON, pythons_of, ranges
from harness.cells.terms import nearest_releases
from harness.cells.wheels import OfferedFile, Target, best_wheel, glibc_needed

__all__ = ["Cause", "PlannedCell", "Standing", "excluded_cell", "plan_cell"]


class Standing(StrEnum):
    """What becomes of a cell."""

    RUNS = "can run here"
    NOT_HERE = "planned, cannot run here"
    CANNOT_EXIST = "cannot exist"
    EXCLUDED = "excluded"


class Cause(StrEnum):
    """Why a cell does not run here."""

    NONE = ""
    RULE = "a rule of the matrix"
    RELEASE = "unknown release"
    BACKEND = "no build for this backend"
    SOURCE = "no source to build from"
    SDIST = "only a source archive"
    PYTHON = "no wheel for this Python"
    GLIBC = "glibc too old"
    MACHINE = "no wheel for this kind of machine"
    IMAGE = "the image does not exist for this kind of machine"
    DEVICE = "the machine lacks something"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """A cell and what becomes of it.

    Attributes:
        cell: The cell.
        standing: Whether it runs.
        cause: Why not.
        reason: The same in words, with versions; empty when it runs.
        warning: What to know about a cell that does run (a yanked release); empty otherwise.
        nearest: The id of the nearest cell that can exist, for one that cannot.
        file: What it installs for the subject: a wheel, or a source archive to be built.
    """

    cell: Cell
    standing: Standing
    cause: Cause = Cause.NONE
    reason: str = ""
    warning: str = ""
    nearest: str | None = None
    file: OfferedFile | None = None

    @property
    def exists(self) -> bool:
        """Whether the cell could be built, here or on another machine."""
        return self.standing in (Standing.RUNS, Standing.NOT_HERE)

    @property
    def runs(self) -> bool:
        """Whether it can be built and measured on this machine."""
        return self.standing is Standing.RUNS


@dataclass(frozen=True, slots=True)
class _Refusal:
    cause: Cause
    reason: str


def excluded_cell(cell: Cell, reason: str) -> PlannedCell:
    """The plan of a cell that a rule of the matrix leaves out."""
    return PlannedCell(cell=cell, standing=Standing.EXCLUDED, cause=Cause.RULE, reason=f"excluded: {reason}")


def plan_cell(
    cell: Cell,
    offers: Offers | Sequence[OfferedFile],
    target: Target,
    *,
    image: Image | None = None,
    capabilities: Collection[Capability] | None = None,
    unreached: Collection[str] = (),
    pinned: bool = False,
) -> PlannedCell:
    """What becomes of a cell.

    Args:
        cell: The cell.
        offers: All files of its subject; pass `Offers` when many cells are planned.
        target: What the cell's place (host or image) can run, with the cell's Python.
        image: The cell's image; None for the host.
        capabilities: What this machine has; None skips that question.
        unreached: Backends whose index could not be read, so that nothing is known about them.
        pinned: Whether the user named this very release, so that a yanked one needs no warning.
    """
    index = Offers.of(offers)
    found = _find(cell, index, target, unreached)
    if isinstance(found, _Refusal):
        return PlannedCell(
            cell=cell,
            standing=Standing.CANNOT_EXIST,
            cause=found.cause,
            reason=found.reason,
            nearest=_nearest(cell, index, target, found.cause),
        )
    warning = ""
    if found.yanked is not None and not pinned:
        warning = f"{cell.subject} {cell.release} was yanked" + (f": {found.yanked}" if found.yanked else "")
    planned = PlannedCell(cell=cell, standing=Standing.RUNS, warning=warning, file=found)
    if refusal := _not_here(cell, target, image, capabilities):
        return replace(planned, standing=Standing.NOT_HERE, cause=refusal.cause, reason=refusal.reason)
    return planned


def _find(cell: Cell, offers: Offers, target: Target, unreached: Collection[str]) -> OfferedFile | _Refusal:
    name = f"{cell.subject} {cell.release}"
    if cell.python_minor < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return _Refusal(Cause.PYTHON, f"the benchmarks run on Python {oldest} and newer, not on {cell.python}")
    if not (everywhere := offers.files(cell.release)):
        near = nearest_releases(cell.release, offers.releases, count=2)
        hint = f"; near it are {' and '.join(near)}" if near else ""
        return _Refusal(Cause.RELEASE, f"{name} is not offered{hint}")
    archives = [file for file in everywhere if not file.is_wheel]
    if cell.build:
        if archives:
            return archives[0]
        return _Refusal(Cause.SOURCE, f"build variables need a source to build, and {name} is offered as wheels only")
    files = offers.files(cell.release, cell.backend)
    if not files and cell.backend in unreached:
        return _Refusal(Cause.BACKEND, f"the index for {cell.backend} could not be read")
    if not files:
        others = ", ".join(offers.backends(cell.release))
        return _Refusal(Cause.BACKEND, f"{name} is not offered for {cell.backend}; it is for {others}")
    if not any(file.is_wheel for file in files):
        return _Refusal(Cause.SDIST, f"{name} is offered as a source archive only, and those are not built unasked")
    return best_wheel(files, target) or _why_no_wheel(cell, files, offers, target)


def _why_no_wheel(cell: Cell, files: list[OfferedFile], offers: Offers, target: Target) -> _Refusal:
    # The one thing that, were it otherwise, would make a wheel fit is the reason.
    name = f"{cell.subject} {cell.release}"
    place = "this machine" if cell.image == HOST else cell.image
    if newer := best_wheel(files, replace(target, glibc=(2, 99))):
        need, have = glibc_needed(newer) or (2, 99), target.glibc
        has = f"has {have[0]}.{have[1]}" if have != (0, 0) else "has no glibc"
        return _Refusal(
            Cause.GLIBC, f"the wheel of {name} for Python {cell.python} needs glibc {need[0]}.{need[1]}; {place} {has}"
        )
    if pythons := pythons_of(cell.release, cell.backend, offers, target):
        return _Refusal(
            Cause.PYTHON, f"{name} has no wheel for Python {cell.python}; it has for {ranges(pythons)} ({cell.backend})"
        )
    platforms = sorted({tag.platform for file in files for tag in file.tags if tag.platform != "any"})
    machines = sorted({p.split("_", 1)[1] for p in platforms if p.startswith(("linux_", "manylinux1_", "manylinux20"))})
    machines += sorted({p.split("_", 3)[3] for p in platforms if p.startswith("manylinux_")} - set(machines))
    if machines and target.machine not in machines:
        return _Refusal(Cause.MACHINE, f"{name} has Linux wheels for {', '.join(machines)}, not for {target.machine}")
    if not machines and platforms:
        return _Refusal(Cause.MACHINE, f"{name} has no wheel for Linux, only for {', '.join(platforms)}")
    return _Refusal(Cause.PYTHON, f"{name} has no wheel for Python {cell.python} on {place} ({cell.backend})")


def _not_here(
    cell: Cell, target: Target, image: Image | None, capabilities: Collection[Capability] | None
) -> _Refusal | None:
    if image is None:
        return None
    if target.machine not in image.machines:
        have = ", ".join(image.machines)
        return _Refusal(
            Cause.IMAGE, f"{Standing.NOT_HERE}: {cell.image} exists for {have}, and this machine is {target.machine}"
        )
    if capabilities is None:
        return None
    lacking = [need for need in Capability if need in image.needs and need not in capabilities]
    if not lacking:
        return None
    return _Refusal(Cause.DEVICE, f"{Standing.NOT_HERE}: {cell.image} needs {' and '.join(lacking)}")


def _nearest(cell: Cell, offers: Offers, target: Target, cause: Cause) -> str | None:
    """The id of a cell that can exist and differs in as little as can be."""
    plain = cell.but(build=())
    if cause is Cause.SOURCE and _fits(plain, offers, target):
        return plain.id
    ways = [_other_python, _other_release, _other_backend, _other_build]
    if cause is Cause.BACKEND:
        ways = [_other_backend, _other_build, _other_release]
    found = (way(plain, offers, target) for way in ways)
    return next((near.id for near in found if near), None)


def _fits(cell: Cell, offers: Offers, target: Target) -> bool:
    return offers.best(cell.release, cell.backend, target) is not None


def _other_python(cell: Cell, offers: Offers, target: Target) -> Cell | None:
    wanted = cell.python_minor[1]
    pythons = pythons_of(cell.release, cell.backend, offers, target)
    if not pythons:
        return None
    # Of two as near, the newer.
    best = min(pythons, key=lambda python: (abs(int(python.split(".")[1]) - wanted), -int(python.split(".")[1])))
    return cell.but(python=best)


def _other_release(cell: Cell, offers: Offers, target: Target) -> Cell | None:
    # The newest one before it, for what is asked for today seldom needs an older thing than it must; else the next one.
    fitting = [
        Version(release)
        for release in offers.releases
        if not Version(release).is_prerelease and _fits(cell.but(release=release), offers, target)
    ]
    before = [version for version in fitting if version < cell.version]
    after = [version for version in fitting if version > cell.version]
    near = before[-1:] or after[:1]
    return cell.but(release=str(near[0])) if near else None


def _other_backend(cell: Cell, offers: Offers, target: Target) -> Cell | None:
    return next((other for other in _backends(cell, offers) if _fits(other, offers, target)), None)


def _other_build(cell: Cell, offers: Offers, target: Target) -> Cell | None:
    # Another backend and another Python, when neither alone will do.
    found = (_other_python(other, offers, target) for other in _backends(cell, offers))
    return next((near for near in found if near), None)


def _backends(cell: Cell, offers: Offers) -> Iterator[Cell]:
    for backend in offers.backends(cell.release):
        cuda = backend == "default" or backend.startswith("cu")
        yield cell.but(backend=backend, slim=cell.slim and cuda)
