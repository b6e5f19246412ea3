"""The report of a comparison: one structure, filled from a verdict table, from which every form of it is made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.errors import ExitCode
from harness.measurement.metrics import named_params
from harness.reporting.document import Finding, finite, head
from harness.reporting.page import Page
from harness.statistics.verdict import Verdict

if TYPE_CHECKING:
    from harness.measurement.metrics import Metric
    from harness.reporting.plot_files import PlotFile
    from harness.statistics.curves import CurveRow
    from harness.statistics.table import VerdictRow, VerdictTable

__all__ = ["CurveReportRow", "ReportRow", "RunReport", "SkippedReportRow", "run_report"]

Params = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One row; ratios are candidate to baseline, oriented so that above 1 is better.

    Attributes:
        metric: The metric's name.
        benchmark: As ASV names it.
        params: Names of parameters and their values.
        unit: Of the two values.
        baseline: The baseline's value, or None where it did not run.
        candidate: The candidate's.
        verdict: What the row says.
        ratio: The estimate, or None where there is none.
        low: Lower end of the row's interval.
        high: Upper end of the row's interval.
        level: Confidence of the row's interval at this look.
        table_low: Lower end of the interval that slower and faster are read from.
        table_high: Upper end of that interval.
        table_level: Its confidence.
        detectable: The smallest ratio above 1 that the row could have seen.
        floor: The smallest change that matters to the metric, as a share.
        rounds: Rounds in which both sides gave samples.
        calm: Share of its samples that nothing disturbed, or None where that was not asked.
        reason: Why, and what happened on the way; may be empty.
    """

    metric: str
    benchmark: str
    params: Params
    unit: str
    baseline: float | None
    candidate: float | None
    verdict: Verdict
    ratio: float | None
    low: float | None
    high: float | None
    level: float | None
    table_low: float | None
    table_high: float | None
    table_level: float | None
    detectable: float | None
    floor: float
    rounds: int
    calm: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedReportRow:
    """What both sides skipped."""

    metric: str
    benchmark: str
    params: Params
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveReportRow:
    """How far the curves that both sides stored are apart, in the round in which they are farthest. Steps are from 1.

    Attributes:
        metric: The metric's name.
        benchmark: As ASV names it.
        params: Names of parameters and their values.
        steps: Values in a curve; of the shorter one where they differ.
        equal: Whether all bits are the same in every round.
        step: The first that differs, or None.
        baseline: The baseline's value there; None where it has none, or it is not finite.
        candidate: The candidate's.
        ulp: How many float32 numbers they are apart there; None where one is not finite.
        relative: How far apart there, as a share of the larger; None where one is not finite.
        largest: The largest share of any step; None where a value is not finite on one side.
        rounds: Rounds in which both sides gave a curve.
        variants: How many different curves each side gave.
    """

    metric: str
    benchmark: str
    params: Params
    steps: int
    equal: bool
    step: int | None
    baseline: float | None
    candidate: float | None
    ulp: int | None
    relative: float | None
    largest: float | None
    rounds: int
    variants: tuple[int, int]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "metric": self.metric,
            "benchmark": self.benchmark,
            "params": dict(self.params),
            "steps": self.steps,
            "equal": self.equal,
            "first_difference": self.step,
            "baseline_value": self.baseline,
            "candidate_value": self.candidate,
            "ulp": self.ulp,
            "relative": self.relative,
            "largest_relative": self.largest,
            "rounds": self.rounds,
            "baseline_variants": self.variants[0],
            "candidate_variants": self.variants[1],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The answer to `run` and `compare`.

    Attributes:
        command: `run` or `compare`.
        title: One line: what was asked.
        baseline: Id of the baseline's cell.
        candidate: Id of the candidate's cell.
        rows: The worst first.
        skipped: What both sides skipped.
        findings: What was found beside the verdicts.
        curves: How far the curves that both sides stored are apart.
        host: Facts of the machine, in words.
        notes: What to know of how it was measured: the backend that was chosen and why, slim environments.
        alpha: The chance of any false slower or faster in the whole table.
        tested: How many rows share it.
        looks: The rounds after which the table was looked at.
        seconds: Wall time, or None where it is not known.
        disk: Bytes that were added to the disk, or None.
        report: Where the report and the records lie.
        reproduce: The command that does it again.
        plots: The plots that were written.
        exit_code: What the command returns.
    """

    command: str
    title: str
    baseline: str
    candidate: str
    rows: tuple[ReportRow, ...]
    skipped: tuple[SkippedReportRow, ...] = ()
    findings: tuple[Finding, ...] = ()
    curves: tuple[CurveReportRow, ...] = ()
    host: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    alpha: float
    tested: int
    looks: tuple[int, ...]
    seconds: float | None = None
    disk: int | None = None
    report: str = ""
    reproduce: str = ""
    plots: tuple[PlotFile, ...] = ()
    exit_code: ExitCode

    def count(self, verdict: Verdict) -> int:
        """How many rows have this verdict."""
        return sum(row.verdict is verdict for row in self.rows)

    def page(self) -> Page:
        """For people."""
        from harness.reporting.run_page import run_page  # noqa: PLC0415  # it needs this module's types

        return run_page(self)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head(self.command),
            "title": self.title,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "exit_code": int(self.exit_code),
            "rows": [_row_json(row) for row in self.rows],
            "skipped": [
                {"metric": row.metric, "benchmark": row.benchmark, "params": dict(row.params), "reason": row.reason}
                for row in self.skipped
            ],
            "findings": [finding.as_json() for finding in self.findings],
            "curves": [curve.as_json() for curve in self.curves],
            "alpha": self.alpha,
            "tested": self.tested,
            "looks": list(self.looks),
            "host": dict(self.host),
            "notes": list(self.notes),
            "seconds": finite(self.seconds),
            "disk_bytes": self.disk,
            "report": self.report,
            "reproduce": self.reproduce,
            "plots": [plot.as_json() for plot in self.plots],
        }


def run_report(
    table: VerdictTable,
    metrics: Iterable[Metric],
    *,
    command: str,
    title: str,
    baseline: str,
    candidate: str,
    findings: Iterable[Finding] = (),
    curves: Iterable[CurveRow] = (),
    host: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
    seconds: float | None = None,
    disk: int | None = None,
    report: str = "",
    reproduce: str = "",
) -> RunReport:
    """Fills a report from a verdict table.

    Args:
        table: The verdicts.
        metrics: Those that were compared, for the names of their parameters.
        command: `run` or `compare`.
        title: One line: what was asked.
        baseline: Id of the baseline's cell.
        candidate: Id of the candidate's cell.
        findings: What was found beside the verdicts.
        curves: How far the curves that both sides stored are apart.
        host: Facts of the machine, in words.
        notes: What to know of how it was measured.
        seconds: Wall time.
        disk: Bytes that were added to the disk.
        report: Where the report and the records lie.
        reproduce: The command that does it again.
    """
    names = {metric.benchmark: metric.param_names for metric in metrics}
    return RunReport(
        command=command,
        title=title,
        baseline=baseline,
        candidate=candidate,
        rows=tuple(_report_row(row, names) for row in table.rows),
        skipped=tuple(
            SkippedReportRow(
                metric=row.metric,
                benchmark=row.benchmark.name,
                params=named_params(names.get(row.benchmark.name, ()), row.benchmark.params),
                reason=row.reason,
            )
            for row in table.skipped
        ),
        findings=tuple(findings),
        curves=tuple(_curve_row(row, names) for row in curves),
        host=dict(host or {}),
        notes=tuple(notes),
        alpha=table.alpha,
        tested=table.tested,
        looks=table.looks.rounds,
        seconds=seconds,
        disk=disk,
        report=report,
        reproduce=reproduce,
        exit_code=table.exit_code,
    )


def _report_row(row: VerdictRow, names: Mapping[str, tuple[str, ...]]) -> ReportRow:
    found = row.comparison
    # One round gives a ratio, but an interval from nothing to infinity: neither end is known.
    known = found if found is not None and math.isfinite(found.table_high) else None
    return ReportRow(
        metric=row.metric,
        benchmark=row.benchmark.name,
        params=named_params(names.get(row.benchmark.name, ()), row.benchmark.params),
        unit=row.unit,
        baseline=row.baseline,
        candidate=row.candidate,
        verdict=row.verdict,
        ratio=found.ratio if found else None,
        low=known.low if known else None,
        high=known.high if known else None,
        level=found.levels.row if found else None,
        table_low=known.table_low if known else None,
        table_high=known.table_high if known else None,
        table_level=found.levels.table if found else None,
        detectable=found.detectable if found and math.isfinite(found.detectable) else None,
        floor=row.floor,
        rounds=row.rounds,
        calm=row.calm,
        reason=row.reason,
    )


def _curve_row(row: CurveRow, names: Mapping[str, tuple[str, ...]]) -> CurveReportRow:
    found = row.farthest
    return CurveReportRow(
        metric=row.metric,
        benchmark=row.benchmark.name,
        params=named_params(names.get(row.benchmark.name, ()), row.benchmark.params),
        steps=found.steps,
        equal=found.equal,
        step=found.first or None,
        baseline=finite(found.baseline),
        candidate=finite(found.candidate),
        ulp=found.ulp,
        relative=found.relative,
        largest=found.largest,
        rounds=row.rounds,
        variants=row.variants,
    )


def _row_json(row: ReportRow) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "benchmark": row.benchmark,
        "params": dict(row.params),
        "unit": row.unit,
        "baseline_value": finite(row.baseline),
        "candidate_value": finite(row.candidate),
        "verdict": row.verdict.value,
        "ratio": finite(row.ratio),
        "low": finite(row.low),
        "high": finite(row.high),
        "level": row.level,
        "table_low": finite(row.table_low),
        "table_high": finite(row.table_high),
        "table_level": row.table_level,
        "detectable": finite(row.detectable),
        "floor": row.floor,
        "rounds": row.rounds,
        "calm": finite(row.calm),
        "reason": row.reason,
    }
