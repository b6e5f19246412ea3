"""From two environments to a verdict: rounds side by side, records, ASV results, comparison. And back from records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime

from harness.asv_plugin.machine import Machine, this_machine
from harness.asv_plugin.results import Outcome, StoredBenchmark, Written, write_results
from harness.cells.cell import Cell, parse_cell_id
from harness.cells.matrix import Profile
from harness.environments.environment import Environment
from harness.environments.store import Store
from harness.environments.variables import clean_variables
from harness.measurement.events import Event
from harness.measurement.metrics import Metric, metrics_of
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId, Record, State
from harness.measurement.run import run_rounds
from harness.measurement.runs import Run
from harness.measurement.side import Side
from harness.paths import Project
from harness.pipeline.plan import Pair
from harness.pipeline.suite import Benchmarks
from harness.releases.line import Line, read_line
from harness.statistics.comparability import Difference, blocking, comparability, factors_between, facts_of
from harness.statistics.curves import CurveRow, curve_rows
from harness.statistics.looks import Looks
from harness.statistics.table import VerdictTable, verdict_table

__all__ = ["Comparison", "judge_run", "looks_of", "measure_pair", "options_of", "store_results", "within"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A baseline and a candidate, and what their records say.

    Attributes:
        baseline: The cell compared against.
        candidate: The cell judged.
        run: The records.
        table: The verdicts.
        differences: How the sides differ beside what is compared.
        disk: Bytes that both environments added to the disk when they were built; None where that is not known.
        curves: How far the curves of both sides are apart, where benchmarks stored some.
        sides: The positions of baseline and candidate among the sides of the run.
    """

    baseline: Cell
    candidate: Cell
    run: Run
    table: VerdictTable
    differences: tuple[Difference, ...]
    disk: int | None = None
    curves: tuple[CurveRow, ...] = ()
    sides: tuple[int, int] = (0, 1)


def options_of(profile: Profile) -> Options:
    """How a profile measures; the verdicts are looked at after its first rounds, and three times while more follow."""
    return within(Options(rounds=profile.rounds, samples=profile.samples), profile.max_rounds)


def within(options: Options, max_rounds: int) -> Options:
    """The same with another limit of rounds."""
    rounds = min(options.rounds, max_rounds)
    return replace(options, rounds=rounds, max_rounds=max_rounds, batch=max(1, -(-(max_rounds - rounds) // 3)))


def looks_of(options: Options) -> Looks:
    """After how many rounds the verdicts of a run are looked at."""
    return Looks.every(options.rounds, options.max_rounds, options.batch)


def measure_pair(
    pair: Pair,
    environments: Mapping[Cell, Environment],
    benchmarks: Benchmarks,
    rows: Sequence[BenchmarkId],
    options: Options,
    *,
    project: Project,
    metrics: Collection[Metric],
    plain: bool = False,
    conclude: Callable[[Run], None] = lambda _: None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Run:
    """Measures two cells side by side, round by round, until each row is decided or the rounds are spent.

    Raises:
        MeasurementError: The machine is not fit to measure on.
        StorageError: Records cannot be written.
    """
    looks = looks_of(options)

    def undecided(records: Sequence[Record]) -> Collection[BenchmarkId]:
        return verdict_table(records, metrics, looks=looks).open_rows

    machine = this_machine(project.results)
    store = Store.default()
    with ExitStack() as held:
        sides = [
            Side.of(
                cell,
                held.enter_context(store.using(environments[cell])),
                clean_variables(cell, environments[cell], plain=plain),
            )
            for cell in (pair.baseline, pair.candidate)
        ]
        return run_rounds(
            sides,
            rows,
            benchmarks.suite,
            options,
            suite=benchmarks.folder,
            runs=project.runs,
            machine=machine.machine,
            undecided=undecided,
            conclude=conclude,
            on_event=on_event,
        )


def judge_run(run: Run, *, swapped: bool = False, anyway: bool = False) -> Comparison:
    """The verdicts that a run's records give: the same whenever it is asked, for nothing but the records counts.

    Metrics, looks and floors are those of the run's header, as they were when it was measured.

    Args:
        run: The records of two sides.
        swapped: Whether the first side is the candidate.
        anyway: Whether sides are compared that should not be (see `comparability`); the differences are still named.
    """
    first, second = (1, 0) if swapped else (0, 1)
    baseline, candidate = (parse_cell_id(run.header.sides[side].cell) for side in (first, second))
    asked_for = factors_between(baseline, candidate)
    differences = comparability(facts_of(run, first), facts_of(run, second), asked_for=asked_for)
    metrics = metrics_of(run.header.benchmarks)
    table = verdict_table(
        run.records,
        metrics,
        baseline=first,
        candidate=second,
        looks=looks_of(run.header.options),
        blocked="" if anyway else blocking(differences),
        across_versions=anyway,
    )
    curves = curve_rows(run.records, metrics, baseline=first, candidate=second)
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        run=run,
        table=table,
        differences=differences,
        curves=curves,
        sides=(first, second),
    )


def store_results(run: Run, benchmarks: Benchmarks, *, project: Project) -> tuple[Written, ...]:
    """Writes what a run measured as plain ASV results, one file a cell.

    Raises:
        StorageError: They cannot be written; the run's own records are whole all the same.
    """
    machine: Machine = this_machine(project.results)
    line: Line = read_line(project.releases)
    cells = dict.fromkeys(side.cell for side in run.header.sides)
    return tuple(
        write_results(
            project.results,
            machine=machine,
            cell=parse_cell_id(cell),
            line=line,
            suite=benchmarks.suite,
            measured=_stored([record for record in run.records if record.cell == cell]),
        )
        for cell in cells
    )


def _stored(records: Sequence[Record]) -> list[StoredBenchmark]:
    by_row: dict[BenchmarkId, list[Record]] = {}
    for record in records:
        by_row.setdefault(record.benchmark, []).append(record)
    return [_one(row, found) for row, found in sorted(by_row.items())]


def _one(row: BenchmarkId, records: Sequence[Record]) -> StoredBenchmark:
    ran = [record for record in records if record.state is State.OK]
    skipped = all(record.state is State.SKIPPED for record in records)
    return StoredBenchmark(
        name=row.name,
        params=row.params,
        version=row.version,
        outcome=Outcome.MEASURED if ran else Outcome.SKIPPED if skipped else Outcome.FAILED,
        processes=tuple(tuple(sample.value for sample in record.samples) for record in ran),
        number=max((record.number for record in ran), default=1),
        started_at=datetime.fromisoformat(min(record.started_at for record in records)),
        seconds=sum(record.seconds for record in records),
    )
