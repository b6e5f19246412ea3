"""What a plot shows of each row: every sample of every process in the order of time, and the ratio of every round."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from harness.measurement.metrics import Direction, Metric, metrics_of, value
from harness.measurement.records import Record, State
from harness.statistics.verdict import Verdict

if TYPE_CHECKING:
    from harness.pipeline.compare import Comparison
    from harness.reporting.run import ReportRow, RunReport
    from harness.statistics.table import VerdictRow

__all__ = ["CHANGED", "PlotRow", "Process", "plot_rows"]

#: The verdicts that people want to look behind.
CHANGED = frozenset({Verdict.SLOWER, Verdict.FASTER, Verdict.UNDECIDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of one side.

    Attributes:
        round: Counts from 0; the processes of one round lived side by side.
        values: Its samples in the order of time, in the metric's unit; none where it gave none.
    """

    round: int
    values: tuple[float, ...]

    @property
    def middle(self) -> float:
        """The median of its samples; NaN where it gave none."""
        return median(self.values) if self.values else math.nan


@dataclass(frozen=True, kw_only=True)
class PlotRow:
    """One row of a comparison, ready to be drawn.

    Attributes:
        row: What the table says of it.
        higher_is_better: The direction of the metric.
        sides: The processes of the baseline and of the candidate, in the order of rounds.
        ratios: Of each round in which both sides gave samples: its number, and its ratio, above 1 where the candidate
            is better. None where there is no ratio.
    """

    row: ReportRow
    higher_is_better: bool
    sides: tuple[tuple[Process, ...], tuple[Process, ...]]
    ratios: tuple[tuple[int, float], ...]

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """The numbers of all rounds that either side took part in."""
        return tuple(sorted({process.round for side in self.sides for process in side}))

    @property
    def values(self) -> list[float]:
        """All samples of both sides that are finite."""
        return [v for side in self.sides for process in side for v in process.values if math.isfinite(v)]


def plot_rows(report: RunReport, comparison: Comparison) -> tuple[PlotRow, ...]:
    """The rows of a report that have samples, in its order: the worst first.

    Args:
        report: Made of the comparison.
        comparison: Whose records the samples are taken from.
    """
    metrics = {metric.benchmark: metric for metric in metrics_of(comparison.run.header.benchmarks)}
    records = _by_row(comparison.run.records)
    found = []
    for row, judged in zip(report.rows, comparison.table.rows, strict=True):
        sides = records[judged.benchmark.name, judged.benchmark.params]
        one = _plot_row(row, judged, metrics[judged.benchmark.name], [sides[side] for side in comparison.sides])
        if one.values:
            found.append(one)
    return tuple(found)


_Sides = Mapping[int, list[Record]]


def _by_row(records: Iterable[Record]) -> Mapping[tuple[str, tuple[str, ...]], _Sides]:
    rows: defaultdict[tuple[str, tuple[str, ...]], defaultdict[int, list[Record]]]
    rows = defaultdict(lambda: defaultdict(list))
    for record in records:
        rows[record.benchmark.name, record.benchmark.params][record.side].append(record)
    return rows


def _plot_row(row: ReportRow, judged: VerdictRow, metric: Metric, sides: Sequence[list[Record]]) -> PlotRow:
    baseline, candidate = (_processes(records, metric, judged.benchmark.params) for records in sides)
    both = sorted({p.round for p in baseline if p.values} & {p.round for p in candidate if p.values})
    replicates = judged.comparison.replicates if judged.comparison else ()
    return PlotRow(
        row=row,
        higher_is_better=metric.direction is Direction.HIGHER,
        sides=(baseline, candidate),
        ratios=tuple((number, math.exp(log)) for number, log in zip(both, replicates, strict=bool(replicates))),
    )


def _processes(records: Iterable[Record], metric: Metric, params: tuple[str, ...]) -> tuple[Process, ...]:
    # Of several records of one round, the last counts, as in the table.
    last = {record.round: record for record in records}
    return tuple(
        Process(
            round=number,
            values=tuple(value(metric, params, sample.value) for sample in record.samples)
            if record.state is State.OK
            else (),
        )
        for number, record in sorted(last.items())
        if record.state is not State.SKIPPED
    )
