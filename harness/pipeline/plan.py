"""From a selection to a plan: which cells there are, what each costs, and what is compared with what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

from harness.cells.adhoc import Selection, profile_of
from harness.cells.cell import HOST, Cell, parse_cell_id
from harness.cells.estimate import Estimate, estimate
from harness.cells.expand import Candidate, cells_of
from harness.cells.images import Capability
from harness.cells.matrix import Profile, Slim, Spec
from harness.cells.planning import Cause, PlannedCell, Standing, excluded_cell, plan_cell
from harness.cells.pythons import python_chooser
from harness.cells.spec import load_spec
from harness.environments.pythons import installed_pythons
from harness.environments.store import Store
from harness.errors import ConfigurationError, ResolveError, UsageError
from harness.measurement.metrics import Metric
from harness.measurement.records import BenchmarkId
from harness.paths import Project
from harness.pipeline.place import Place, look_around
from harness.pipeline.suite import Benchmarks, load_benchmarks
from harness.releases.catalog import age_text
from harness.releases.locks import stored_lock
from harness.releases.resolve import Request
from harness.releases.sources import DEFAULT

__all__ = ["CellPlan", "Pair", "Plan", "backends_of", "make_plan", "plan_candidate", "request_for", "with_required"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPlan:
    """A cell of a plan.

    Attributes:
        planned: What becomes of it.
        estimate: What it costs; None for a cell that does not run here.
    """

    planned: PlannedCell
    estimate: Estimate | None

    @property
    def cell(self) -> Cell:
        """The cell itself."""
        return self.planned.cell


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cells that are measured side by side."""

    baseline: Cell
    candidate: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a command will do, decided before anything is downloaded.

    Attributes:
        project: Whose matrix it is.
        spec: The matrix.
        profile: What was selected.
        cells: Every cell, each once, in order.
        pairs: What is compared with what; both cells of each run here.
        benchmarks: The suite.
        metrics: What is measured.
        left_out: Metrics that were chosen but say nothing in a slim environment.
        place: The machine.
        notes: What was decided on the way, and why; one sentence each.
    """

    project: Project
    spec: Spec
    profile: Profile
    cells: tuple[CellPlan, ...]
    pairs: tuple[Pair, ...]
    benchmarks: Benchmarks
    metrics: tuple[Metric, ...]
    left_out: tuple[Metric, ...]
    place: Place
    notes: tuple[str, ...]

    @property
    def rows(self) -> list[BenchmarkId]:
        """Everything that is measured in each pair."""
        return self.benchmarks.rows(self.metrics)

    @property
    def runnable(self) -> list[BenchmarkId]:
        """The rows that are not for a device which this machine lacks: those skip in no time."""
        return _runnable(self.benchmarks, self.metrics, self.place)

    def against_itself(self) -> Plan:
        """The first cell that runs here on both sides: whatever is found different then is noise."""
        cells = [one.cell for one in self.cells if one.planned.runs]
        return replace(self, pairs=tuple(Pair(cell, cell) for cell in cells[:1]))


def make_plan(
    project: Project,
    *,
    cache: Path,
    profile: str = "",
    selection: Selection | None = None,
    slim: Slim | None = None,
    folder: Path | None = None,
    offline: bool = False,
) -> Plan:
    """Decides what a profile, or the options in its place, comes to on this machine.

    Args:
        project: Whose matrix it is.
        cache: The user's cache.
        profile: The name of a profile; the default one without.
        selection: Options on top of it.
        slim: Replaces the profile's.
        folder: A suite in place of the project's.
        offline: Whether only what was read from the network earlier may be used.

    Raises:
        ConfigurationError: The matrix or the suite has faults.
        UsageError: The profile, a release, a metric or a tag does not exist.
        ResolveError: Nothing is known of what is offered.
    """
    spec = load_spec(project.matrix)
    benchmarks = load_benchmarks(folder or project.benchmarks, cache)
    chosen = profile_of(spec, selection or Selection(), spec.profile(profile))
    if slim is not None:
        chosen = replace(chosen, block=replace(chosen.block, slim=slim))
    metrics = benchmarks.chosen(chosen)
    chosen = with_required(chosen, metrics)
    place = look_around(spec, backends_of(spec, chosen), cache=cache, offline=offline)
    expansion = cells_of(
        spec,
        chosen,
        place.catalog.releases(),
        known=place.catalog.releases(pre=True, yanked=True),
        backend=place.auto.backend,
        slim=place.slim,
        choose_python=python_chooser(
            place.offers, partial(place.image_target, spec), installed_pythons(), subject=spec.subject
        ),
    )
    is_slim = any(candidate.cell.slim for candidate in expansion.candidates)
    left_out = tuple(metric for metric in metrics if is_slim and metric.full_environment)
    metrics = tuple(metric for metric in metrics if metric not in left_out)
    lasting = {metric.benchmark: metric.seconds for metric in metrics}
    seconds = sum(lasting[row.name] for row in _runnable(benchmarks, metrics, place))
    cost = partial(_cost, spec, chosen, place, project, seconds)
    planned = {candidate.cell: plan_candidate(spec, place, candidate) for candidate in expansion.candidates}
    return Plan(
        project=project,
        spec=spec,
        profile=chosen,
        cells=tuple(CellPlan(planned=one, estimate=cost(one) if one.runs else None) for one in planned.values()),
        pairs=tuple(_pairs([c.cell for c in expansion.candidates if planned[c.cell].runs])),
        benchmarks=benchmarks,
        metrics=metrics,
        left_out=left_out,
        place=place,
        notes=(*expansion.notes, *_notes(place, chosen, is_slim, left_out, offline=offline)),
    )


def with_required(profile: Profile, metrics: tuple[Metric, ...]) -> Profile:
    """The profile with the packages that its metrics need; a version that it names itself stays."""
    wanted: dict[str, tuple[str | None, ...]] = {name: ("",) for metric in metrics for name in metric.requires}
    packages = tuple(sorted((wanted | dict(profile.block.packages)).items()))
    return replace(profile, block=replace(profile.block, packages=packages))


def _runnable(benchmarks: Benchmarks, metrics: tuple[Metric, ...], place: Place) -> list[BenchmarkId]:
    rows = benchmarks.rows(metrics)
    if Capability.NVIDIA in place.capabilities or Capability.KFD in place.capabilities:
        return rows
    devices = {m.benchmark: m.param_names.index("device") for m in metrics if "device" in m.param_names}
    return [row for row in rows if row.name not in devices or row.params[devices[row.name]] == "'cpu'"]


def request_for(spec: Spec, place: Place, cell: Cell) -> Request:
    """What the lock of a cell is asked for."""
    return Request(
        cell=cell,
        target=place.target_of(spec, cell),
        offers=place.catalog.files_of(cell.release),
        requirements=spec.resolve.requirements(cell.release),
        days_after=spec.resolve.days_after_release,
    )


def backends_of(spec: Spec, profile: Profile) -> set[str]:
    """The backends that a profile's cells may have, `auto` among them."""
    found = set(profile.block.backends)
    for include in spec.includes:
        if not include.profiles or profile.name in include.profiles:
            found |= {str(backend) for key, values in include.axes if key == "backends" for backend in _texts(values)}
    for text in profile.cells:
        # An id names its backend; a selector only narrows those of the block.
        with suppress(UsageError):
            found.add(parse_cell_id(text).backend)
    return {backend for backend in found if not any(letter in backend for letter in "*?[")}


def _texts(values: object) -> Iterator[object]:
    if isinstance(values, (tuple, list)):
        yield from values


def plan_candidate(spec: Spec, place: Place, candidate: Candidate) -> PlannedCell:
    """What becomes of one cell that the matrix names."""
    cell = candidate.cell
    if candidate.excluded:
        return excluded_cell(cell, candidate.excluded)
    known = {source.label for source in place.uv.sources}
    read = {file.source for file in place.catalog.files}
    planned = plan_cell(
        cell,
        place.offers,
        place.target_of(spec, cell),
        image=spec.image(cell.image),
        capabilities=place.capabilities,
        unreached=known - read - {DEFAULT},
    )
    if planned.runs and cell.image != HOST:
        reason = "this release of the harness plans containers but does not measure in them yet"
        return replace(planned, standing=Standing.NOT_HERE, cause=Cause.DEVICE, reason=reason)
    if planned.runs and cell.build:
        reason = "this release of the harness plans builds from source but does not make them yet"
        return replace(planned, standing=Standing.NOT_HERE, cause=Cause.SOURCE, reason=reason)
    return planned


def _pairs(cells: list[Cell]) -> Iterator[Pair]:
    """Neighbouring releases of cells that are otherwise alike; without any, the first cell against each other one."""
    groups: dict[Cell, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.but(release="0", slim=False), []).append(cell)
    if any(len(group) > 1 for group in groups.values()):
        for group in groups.values():
            yield from (Pair(*both) for both in pairwise(group))
    else:
        yield from (Pair(cells[0], other) for other in cells[1:])


def _cost(
    spec: Spec, profile: Profile, place: Place, project: Project, seconds: float, planned: PlannedCell
) -> Estimate:
    cell = planned.cell
    lock, built = None, False
    try:
        lock = stored_lock(request_for(spec, place, cell), place.uv_for(cell), locks=project.locks)
        built = lock is not None and Store.default().lookup(cell, lock) is not None
    except (ConfigurationError, ResolveError):
        # A damaged lock is reported where it is needed; a plan only estimates.
        pass
    return estimate(
        wheel_bytes=planned.file.size if planned.file else None,
        cuda_packages=spec.resolve.slim_means_something(cell),
        slim=cell.slim,
        locked_bytes=lock.size if lock else None,
        built=built,
        seconds=seconds,
        rounds=profile.rounds,
    )


def _notes(
    place: Place, profile: Profile, is_slim: bool, left_out: tuple[Metric, ...], *, offline: bool
) -> Iterator[str]:
    if "auto" in profile.block.backends and not profile.cells:
        yield place.auto.why
    if is_slim and profile.block.slim is Slim.AUTO:
        yield (
            "slim: the CUDA wheels run on the CPU without their CUDA packages, since there is no GPU and no index of "
            "CPU builds; --full installs everything"
        )
    if left_out:
        names = ", ".join(metric.name for metric in left_out)
        yield f"not measured, since they say nothing in a slim environment: {names}"
    yield from place.catalog.notes
    if offline or not place.catalog.fresh:
        yield f"what is on offer was read {age_text(datetime.now(UTC) - place.catalog.read_at)} ago"
