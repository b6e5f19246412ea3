"""The whole job in a straight line: build every cell of a plan, measure each pair, store, judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from textwrap import shorten

from harness.cells.cell import Cell
from harness.errors import HarnessError, InstallError, MeasurementError, ResolveError
from harness.measurement.events import Event
from harness.measurement.options import Options
from harness.measurement.runs import Run
from harness.pipeline.build import Building, Built, build_all
from harness.pipeline.compare import Comparison, judge_run, measure_pair, store_results
from harness.pipeline.plan import Pair, Plan, request_for
from harness.releases.line import read_line, refresh_line
from harness.releases.locks import lock_for

__all__ = ["Failed", "check_plan", "run_plan"]


@dataclass(frozen=True, slots=True)
class Failed:
    """A pair that was not measured, and why."""

    pair: Pair
    error: HarnessError


def run_plan(
    plan: Plan,
    options: Options,
    *,
    plain: bool = False,
    conclude: Callable[[Comparison], None] = lambda _: None,
    on_note: Callable[[str], None] = lambda _: None,
    on_building: Callable[[Building], None] = lambda _: None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Iterator[Comparison | Failed]:
    """Carries a plan out; yields each comparison as soon as it is made.

    Environments are all built before the first measurement, which downloads would disturb. A run counts as finished
    only when its results are stored and `conclude` has returned: until then the same command goes on with it.

    Raises:
        MeasurementError: There is nothing to measure, or the machine is not fit to measure on.
        StorageError: What was measured cannot be written.
        ResolveError: The plan has one pair, and a cell of it cannot be locked.
        InstallError: The plan has one pair, and a cell of it cannot be built.
    """
    check_plan(plan)
    _complete_line(plan)
    plan, lost = without_lost_packages(plan)
    for note in lost:
        on_note(note)
    plan, built = _build(plan, on_note, on_building)
    for pair in plan.pairs:
        if error := _why_not(pair, built):
            if len(plan.pairs) == 1:
                raise error
            yield Failed(pair, error)
            continue

        def finish(run: Run, pair: Pair = pair) -> None:
            store_results(run, plan.benchmarks, project=plan.project)
            conclude(_comparison(run, pair, built))

        run = measure_pair(
            pair,
            built.environments,
            plan.benchmarks,
            plan.rows,
            options,
            project=plan.project,
            metrics=plan.metrics,
            plain=plain,
            conclude=finish,
            on_event=on_event,
        )
        yield _comparison(run, pair, built)


def _comparison(run: Run, pair: Pair, built: Built) -> Comparison:
    disk = sum(built.environments[cell].disk for cell in {pair.baseline, pair.candidate})
    return replace(judge_run(run), disk=disk)


def check_plan(plan: Plan) -> None:
    """Makes sure that a plan has something to measure.

    Raises:
        MeasurementError: It has no metric, or no two cells that can run here; names the reasons.
    """
    if not plan.metrics:
        what = "no metric is left to measure"
        why = "those that were chosen say nothing in a slim environment" if plan.left_out else ""
        raise MeasurementError(what, why=why, next_step="choose others, or add --full" if plan.left_out else "")
    if plan.pairs:
        return
    reasons = [f"{one.cell}: {one.planned.reason}" for one in plan.cells if not one.planned.runs]
    near = [one.planned.nearest for one in plan.cells if one.planned.nearest]
    what = "\n".join(["there are no two cells to compare here", *reasons])
    next_step = f"nearest that exists: {near[0]}" if near else "name two releases: --from VERSION --to VERSION"
    raise MeasurementError(what, next_step=next_step)


def without_lost_packages(plan: Plan) -> tuple[Plan, tuple[str, ...]]:
    """The plan without the packages that its metrics need but that some cell cannot have, and a sentence for each.

    Old releases are resolved as of their day, when a package may not have been there. Its metrics skip; that is better
    than no run at all.
    """
    lost: dict[str, tuple[Cell, str]] = {}
    for name in _required(plan):
        for cell in sorted(cell for cell in _cells(plan) if (name, "") in cell.packages):
            alone = cell.but(packages=tuple(p for p in cell.packages if p[0] == name or p[1]))
            try:
                uv = plan.place.uv_for(alone)
                lock_for(request_for(plan.spec, plan.place, alone), uv, locks=plan.project.locks)
            except ResolveError as error:
                lost[name] = cell, error.why
                break
    return _without(plan, lost)


def _build(plan: Plan, on_note: Callable[[str], None], on_building: Callable[[Building], None]) -> tuple[Plan, Built]:
    """Builds all cells; a package that only some metrics need, and that does not install, is left out and they skip."""
    while True:
        built = build_all(plan.project, plan.spec, plan.place, _cells(plan), on_building=on_building)
        lost: dict[str, tuple[Cell, str]] = {}
        for cell, error in built.failures.items():
            names = [name for name in _required(plan) if (name, "") in cell.packages]
            # uv names the one that it could not build; where it does not, none of them is worth the whole run.
            told = [name for name in names if f"`{name}==" in error.what]
            if isinstance(error, InstallError):
                lost |= dict.fromkeys(told or names, (cell, shorten(error.what, 300)))
        if not lost:
            return plan, built
        plan, notes = _without(plan, lost)
        for note in notes:
            on_note(note)


def _cells(plan: Plan) -> list[Cell]:
    return list(dict.fromkeys(cell for pair in plan.pairs for cell in (pair.baseline, pair.candidate)))


def _required(plan: Plan) -> list[str]:
    return sorted({name for metric in plan.metrics for name in metric.requires})


def _without(plan: Plan, lost: Mapping[str, tuple[Cell, str]]) -> tuple[Plan, tuple[str, ...]]:
    """The plan without some packages, and a sentence for each."""
    if not lost:
        return plan, ()

    def kept(cell: Cell) -> Cell:
        return cell.but(packages=tuple(p for p in cell.packages if p[0] not in lost or p[1]))

    def told(name: str, cell: Cell, why: str) -> str:
        users = ", ".join(metric.name for metric in plan.metrics if name in metric.requires)
        return f"{name} cannot be had for {cell.subject} {cell.release}: {users} will skip ({why})"

    notes = tuple(told(name, *why) for name, why in lost.items())
    pairs = tuple(Pair(kept(pair.baseline), kept(pair.candidate)) for pair in plan.pairs)
    return replace(plan, pairs=pairs, notes=(*plan.notes, *notes)), notes


def _complete_line(plan: Plan) -> None:
    # A release that came out since the line was last written is new on ASV's commit axis.
    line = read_line(plan.project.releases)
    if any(line.get(one.cell.release) is None for one in plan.cells if one.planned.runs):
        refresh_line(plan.project.releases, plan.place.catalog)


def _why_not(pair: Pair, built: Built) -> HarnessError | None:
    cells: tuple[Cell, ...] = (pair.baseline, pair.candidate)
    return next((built.failures[cell] for cell in cells if cell in built.failures), None)
