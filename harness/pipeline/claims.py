"""Claims over the release line: an environment for each release, each claim measured there, one table of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from packaging.version import Version

from harness.asv_plugin.machine import this_machine
from harness.asv_plugin.suite import suite_digest
from harness.cells.cell import Cell, parse_cell_id
from harness.cells.expand import Candidate, cells_of
from harness.cells.matrix import CUSTOM, Profile, Slim, Spec
from harness.cells.planning import PlannedCell
from harness.cells.pythons import python_chooser
from harness.cells.spec import load_spec
from harness.cells.spread import spread
from harness.cells.terms import releases_of
from harness.environments.environment import Environment
from harness.environments.pythons import installed_pythons
from harness.environments.store import Store
from harness.environments.variables import clean_variables
from harness.errors import ConfigurationError, HarnessError, InstallError, MeasurementError, ResolveError, UsageError
from harness.measurement.events import Event
from harness.measurement.metrics import Metric
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId, State
from harness.measurement.run import run_key, run_rounds
from harness.measurement.runs import Run
from harness.measurement.side import Side
from harness.paths import Project
from harness.pipeline.build import Building, build_cell
from harness.pipeline.compare import store_results
from harness.pipeline.place import Place, look_around
from harness.pipeline.plan import backends_of, plan_candidate, with_required
from harness.pipeline.stored import stored_runs
from harness.pipeline.suite import Benchmarks, load_benchmarks
from harness.releases.line import read_line, refresh_line

__all__ = ["Asked", "ClaimsPlan", "Measured", "check_measured", "measure_claims", "options_for", "plan_claims"]

#: Where the table begins when nothing is said: the oldest release that the suite is made for.
_BEGIN = {"torch": "1.8.1"}
#: So many releases at most, unless every one is asked for.
_COLUMNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which releases and which metrics.

    Attributes:
        first: The oldest release; empty for the oldest that the suite is made for.
        last: The newest release; empty for the newest stable one.
        every: Every stable release between them.
        releases: Exactly these instead.
        cells: Exactly these environments instead, or besides `releases`.
        python: Of all cells, or `auto`: for each release the newest that is installed and that it has a wheel for.
        backend: Of all cells; empty for that of the matrix.
        slim: As for a profile; None for that of the matrix.
        behaviours: Whether metrics with the tag `behaviour` are measured besides.
        metrics: Only these metrics, by name or number of the claim.
    """

    first: str = ""
    last: str = ""
    every: bool = False
    releases: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    python: str = "auto"
    backend: str = ""
    slim: Slim | None = None
    behaviours: bool = False
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsPlan:
    """What will be measured, decided before anything is downloaded.

    Attributes:
        project: Whose matrix it is.
        spec: The matrix.
        place: The machine.
        benchmarks: The suite.
        metrics: Those that test claims.
        cells: By release, oldest first: the cell and what becomes of it.
        notes: What was decided on the way; one sentence each.
    """

    project: Project
    spec: Spec
    place: Place
    benchmarks: Benchmarks
    metrics: tuple[Metric, ...]
    cells: Mapping[str, PlannedCell]
    notes: tuple[str, ...]

    @property
    def rows(self) -> list[BenchmarkId]:
        """Everything that is measured in each cell."""
        return self.benchmarks.rows(self.metrics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What became of one release.

    Attributes:
        release: Which.
        cell: Its cell.
        run: Its records; None when there are none.
        reason: Why there are none.
        earlier: Whether the records are those of an earlier command.
        note: What to know of its environment.
    """

    release: str
    cell: Cell
    run: Run | None = None
    reason: str = ""
    earlier: bool = False
    note: str = ""


def options_for(rounds: int) -> Options:
    """How claims are measured: a value is a yes or a no, so that rounds only show whether it stays the same."""
    return Options(rounds=rounds, max_rounds=rounds, batch=1)


def plan_claims(
    project: Project, asked: Asked, *, cache: Path, folder: Path | None = None, offline: bool = False
) -> ClaimsPlan:
    """Decides which releases are measured, and in which environment each.

    Args:
        project: Whose matrix it is.
        asked: What is wanted.
        cache: The user's cache.
        folder: A suite in place of the project's.
        offline: Whether only what was read from the network earlier may be used.

    Raises:
        ConfigurationError: The matrix or the suite has faults.
        UsageError: A metric, a term or a cell does not exist, or two cells have one release.
        ResolveError: A release does not exist, or nothing is known of what is offered.
    """
    spec = load_spec(project.matrix)
    benchmarks = load_benchmarks(folder or project.benchmarks, cache)
    metrics = _chosen(benchmarks.metrics, asked)
    profile = with_required(_profile(spec, asked), metrics)
    cells = [parse_cell_id(text) for text in asked.cells]
    place = look_around(
        spec, backends_of(spec, profile) | {cell.backend for cell in cells}, cache=cache, offline=offline
    )
    candidates = {cell.release: Candidate(cell=cell) for cell in cells}
    if len(candidates) < len(cells):
        what = "two cells have the same release, and the table has one column for each"
        raise UsageError(what, next_step="ask for them one after the other")
    notes: list[str] = []
    for release in _releases(spec, place, asked):
        candidates.setdefault(release, _candidate(spec, place, profile, release))
    if any(candidate.cell.slim for candidate in candidates.values()):
        notes.append("slim: CUDA wheels run on the CPU without their CUDA packages; --full installs everything")
    ordered = sorted(candidates, key=Version)
    return ClaimsPlan(
        project=project,
        spec=spec,
        place=place,
        benchmarks=benchmarks,
        metrics=metrics,
        cells={release: plan_candidate(spec, place, candidates[release]) for release in ordered},
        notes=(*notes, *place.catalog.notes),
    )


def _chosen(metrics: Sequence[Metric], asked: Asked) -> tuple[Metric, ...]:
    found = [metric for metric in metrics if metric.claim or (asked.behaviours and "behaviour" in metric.tags)]
    if asked.metrics:
        known = {name for metric in found for name in (metric.name, metric.claim)}
        if unknown := [name for name in asked.metrics if name not in known]:
            what = f"no claim is called {', '.join(unknown)}"
            raise UsageError(what, next_step="`harness metrics --tag claim` lists all; behaviours need --behaviours")
        found = [metric for metric in found if {metric.name, metric.claim} & set(asked.metrics)]
    if not found:
        what = "the suite has no benchmark of a claim"
        raise UsageError(what, why="a claim is a metric that names one: claim='C03'")
    return tuple(found)


def _profile(spec: Spec, asked: Asked) -> Profile:
    profile = spec.profile("")
    block = replace(
        profile.block,
        pythons=(asked.python,),
        backends=(asked.backend,) if asked.backend else profile.block.backends[:1],
        images=profile.block.images[:1],
        slim=profile.block.slim if asked.slim is None else asked.slim,
    )
    return replace(profile, name=CUSTOM, block=block, cells=())


def _releases(spec: Spec, place: Place, asked: Asked) -> list[str]:
    line = place.catalog.releases()
    known = place.catalog.releases(pre=True, yanked=True)
    named = partial(releases_of, line=line, known=known, subject=spec.subject)
    if asked.releases or asked.cells:
        return list(dict.fromkeys(release for text in asked.releases for release in named(text)))
    if not line:
        what = f"no stable release of {spec.subject} is known"
        raise ResolveError(what, next_step="`harness releases refresh` reads the indexes again")
    begin = _BEGIN.get(spec.subject, line[0])
    first = named(asked.first or begin)[0]
    last = named(asked.last or "newest")[-1]
    return spread(line, first, last, limit=None if asked.every else _COLUMNS)


def _candidate(spec: Spec, place: Place, profile: Profile, release: str) -> Candidate:
    expansion = cells_of(
        spec,
        replace(profile, block=replace(profile.block, releases=(release,))),
        place.catalog.releases(),
        known=place.catalog.releases(pre=True, yanked=True),
        backend=place.auto.backend,
        slim=place.slim,
        choose_python=python_chooser(
            place.offers, partial(place.image_target, spec), installed_pythons(), subject=spec.subject
        ),
    )
    return expansion.candidates[0]


def measure_claims(
    plan: ClaimsPlan,
    options: Options,
    *,
    again: bool = False,
    on_building: Callable[[Building], None] = lambda _: None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Iterator[Measured]:
    """Builds and measures the cells one after the other; yields each release as soon as it is done.

    A release that cannot be built or measured has its reason, and does not stop the rest. One that was measured before
    in the same environment, by the same suite and without a failure, is not measured again: an interrupted
    command goes on where it stopped.

    Args:
        plan: What to measure.
        options: How.
        again: Measure also what was measured before.
        on_building: Told before each environment is built.
        on_event: Told of everything that happens in the measuring.

    Raises:
        MeasurementError: The machine is not fit to measure on.
        StorageError: What was measured cannot be written.
    """
    _complete_line(plan)
    earlier = {} if again else _earlier(plan)
    for release, planned in plan.cells.items():
        if not planned.runs:
            yield Measured(release=release, cell=planned.cell, reason=planned.reason)
            continue
        try:
            cell, environment, note = _build(plan, planned.cell, on_building)
        except (ResolveError, InstallError, ConfigurationError) as error:
            yield Measured(release=release, cell=planned.cell, reason=_line(error))
            continue
        run, is_earlier = _measure(plan, cell, environment, options, earlier, on_event)
        yield Measured(release=release, cell=cell, run=run, earlier=is_earlier, note=note)


def _build(plan: ClaimsPlan, cell: Cell, on_building: Callable[[Building], None]) -> tuple[Cell, Environment, str]:
    """The environment; without the packages that some claims need where there is none with them."""
    build = partial(build_cell, plan.project, plan.spec, plan.place, on_building=on_building)
    required = {name for metric in plan.metrics for name in metric.requires}
    plain = cell.but(packages=tuple(pair for pair in cell.packages if pair[0] not in required))
    try:
        return cell, build(cell), ""
    except (ResolveError, InstallError) as error:
        if plain == cell:
            raise
        note = f"{cell.release} is measured without {' and '.join(sorted(required))}: {_line(error)}"
        return plain, build(plain), note


def _line(error: HarnessError) -> str:
    return " ".join(error.what.split())


def _measure(
    plan: ClaimsPlan,
    cell: Cell,
    environment: Environment,
    options: Options,
    earlier: Mapping[str, Run],
    on_event: Callable[[Event], None],
) -> tuple[Run, bool]:
    """The records of a cell, and whether they are those of an earlier command."""
    project, benchmarks = plan.project, plan.benchmarks

    def store(run: Run) -> None:
        store_results(run, benchmarks, project=project)

    with Store.default().using(environment) as held:
        side = Side.of(cell, held, clean_variables(cell, held))
        machine = this_machine(project.results).machine
        key = run_key([side], plan.rows, options, machine=machine, suite=suite_digest(benchmarks.folder))
        if run := earlier.get(key):
            return run, True
        run = run_rounds(
            [side],
            plan.rows,
            benchmarks.suite,
            options,
            suite=benchmarks.folder,
            runs=project.runs,
            machine=machine,
            conclude=store,
            on_event=on_event,
        )
    return run, False


def _earlier(plan: ClaimsPlan) -> dict[str, Run]:
    """Whole runs of one cell, by the key of what was asked, which names the code of the suite too."""
    found: dict[str, Run] = {}
    for run in stored_runs(plan.project.runs):
        whole = run.finished and all(record.state in (State.OK, State.SKIPPED) for record in run.records)
        if whole and len(run.header.sides) == 1:
            found.setdefault(run.header.key, run)
    return found


def _complete_line(plan: ClaimsPlan) -> None:
    # A release that came out since the line was last written is new on ASV's commit axis.
    line = read_line(plan.project.releases)
    if any(line.get(release) is None for release, planned in plan.cells.items() if planned.runs):
        refresh_line(plan.project.releases, plan.place.catalog)


def check_measured(outcomes: Sequence[Measured]) -> None:
    """Makes sure that something was measured.

    Raises:
        MeasurementError: No release was; names the reasons.
    """
    if any(outcome.run for outcome in outcomes):
        return
    reasons = [f"{outcome.cell}: {outcome.reason}" for outcome in outcomes]
    what = "\n".join(["no release could be measured", *reasons])
    raise MeasurementError(what, next_step="`harness plan` says what can be built here")
