"""A comparison as a page: what changed, how sure that is, and how it was found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean
from typing import assert_never

from harness.reporting import units
from harness.reporting.document import Finding
from harness.reporting.page import (
    Align,
    Block,
    Cell,
    Column,
    Command,
    Facts,
    Notes,
    Page,
    Picture,
    Pictures,
    Row,
    Table,
    Tone,
)
from harness.reporting.run import CurveReportRow, Params, ReportRow, RunReport
from harness.statistics.looks import ROW_ALPHA
from harness.statistics.verdict import Verdict

__all__ = ["finding_notes", "run_page"]

_COLUMNS = (
    Column(title="verdict"),
    Column(title="what", code=True),
    Column(title="baseline", align=Align.RIGHT, expendable=2),
    Column(title="candidate", align=Align.RIGHT, expendable=2),
    Column(title="change", align=Align.RIGHT),
    Column(title="interval", align=Align.RIGHT),
    Column(title="could see", align=Align.RIGHT, expendable=1),
    Column(title="rounds", align=Align.RIGHT, expendable=3),
)


#: Curves that are farther apart than this share have more between them than another order of summation.
FAR = 0.001


def run_page(report: RunReport) -> Page:
    """Lays a comparison out."""
    common = _common_params(report)
    blocks: list[Block] = [
        Facts(pairs=_identity(report, common)),
        Table(columns=_COLUMNS, rows=tuple(_row(row, common) for row in report.rows)),
        Notes(title="Result", items=_result(report)),
        Notes(title="Skipped by both", items=_skipped(report)),
        Notes(title="Findings", items=tuple(finding_notes(report.findings))),
        Notes(title="Curves", items=tuple(_curve(row, common) for row in report.curves)),
        Notes(title="How it was measured", items=tuple(Cell(note) for note in (*report.notes, *_method(report)))),
        Facts(title="Machine", pairs=tuple(report.host.items())),
        Facts(title="Cost", pairs=_cost(report)),
        Command(title="To do it again", text=report.reproduce),
        Pictures(title="Plots", items=tuple(Picture(title=plot.title, path=plot.file) for plot in report.plots)),
    ]
    return Page(title=report.title, blocks=tuple(blocks))


def _identity(report: RunReport, common: Params) -> tuple[tuple[str, str], ...]:
    pairs = [("baseline", report.baseline), ("candidate", report.candidate)]
    if common:
        pairs.append(("in every row", _shown(common)))
    if report.report:
        pairs.append(("report", report.report))
    return tuple(pairs)


def _row(row: ReportRow, common: Params) -> Row:
    known = [value for value in (row.baseline, row.candidate) if value is not None]
    texts = iter(units.quantities(known, row.unit))
    baseline, candidate = (next(texts) if value is not None else "" for value in (row.baseline, row.candidate))
    return Row(
        cells=(
            Cell(row.verdict.value, tone(row.verdict)),
            Cell(_what(row.metric, row.params, common)),
            Cell(baseline),
            Cell(candidate),
            Cell(units.change(row.ratio) if row.ratio is not None else ""),
            Cell(units.interval(row.low, row.high) if row.low is not None and row.high is not None else ""),
            Cell(units.detectable(row.detectable) if row.detectable is not None else ""),
            Cell(str(row.rounds)),
        ),
        detail=row.reason,
    )


def tone(verdict: Verdict) -> Tone:
    """How a verdict is meant."""
    match verdict:
        case Verdict.SLOWER | Verdict.BROKEN:
            return Tone.BAD
        case Verdict.FASTER:
            return Tone.GOOD
        case Verdict.UNDECIDED | Verdict.INCOMPARABLE:
            return Tone.WARN
        case Verdict.SAME:
            return Tone.PLAIN
        case _:
            assert_never(verdict)


def _result(report: RunReport) -> tuple[Cell, ...]:
    if not report.rows:
        skipped = ": both sides skipped every benchmark" if report.skipped else ""
        return (Cell(f"nothing was measured{skipped}", Tone.BAD),)
    counts = [(verdict, report.count(verdict)) for verdict in Verdict]
    summary = ", ".join(f"{count} {verdict.value}" for verdict, count in counts if count)
    skipped = f"; {len(report.skipped)} skipped by both" if report.skipped else ""
    bad = any(row.verdict.is_regression for row in report.rows)
    good = not bad and not report.exit_code
    cells = [Cell(f"{summary}{skipped}", Tone.BAD if bad else Tone.GOOD if good else Tone.WARN)]
    if not any(row.verdict not in {Verdict.INCOMPARABLE, Verdict.UNDECIDED} for row in report.rows):
        cells.append(Cell("nothing could be decided: this is no pass", Tone.BAD))
    return tuple(cells)


def _skipped(report: RunReport) -> tuple[Cell, ...]:
    """One line a reason: a machine without a GPU skips half of a suite for the same one."""
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for row in report.skipped:
        by_reason[row.reason].append(row.metric)
    return tuple(
        Cell(f"{_counted(len(metrics), 'row')}: {reason}: {', '.join(dict.fromkeys(metrics))}", Tone.MUTED)
        for reason, metrics in by_reason.items()
    )


def _curve(row: CurveReportRow, common: Params) -> Cell:
    """One line: equal, or where two curves part and how far they get."""
    name = _what(row.metric, row.params, common)
    rounds = _counted(row.rounds, "round")
    unsteady = [
        f"{count} different ones on the {side}'s side"
        for side, count in zip(("baseline", "candidate"), row.variants, strict=True)
        if count > 1
    ]
    words = f"bitwise equal over {_counted(row.steps, 'step')}" if row.equal else _parted(row)
    far = row.largest is None or row.largest > FAR
    tone = Tone.PLAIN if row.equal else Tone.BAD if far else Tone.WARN
    return Cell(f"{name}: {'; '.join([words, *unsteady])} ({rounds})", tone)


def _parted(row: CurveReportRow) -> str:
    if row.ulp is None or row.relative is None:
        shown = ["no number" if value is None else f"{value:.9g}" for value in (row.baseline, row.candidate)]
        return f"step {row.step} of {row.steps} is the first that differs: {shown[0]} against {shown[1]}"
    largest = "later, one side gives no number" if row.largest is None else f"at most {row.largest:.2g} in any step"
    return (
        f"step {row.step} of {row.steps} is the first that differs, by {row.ulp} ULP or {row.relative:.2g}; {largest}"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _method(report: RunReport) -> tuple[str, ...]:
    """How sure the table is, in the words of the table itself."""
    seen = [row.detectable for row in report.rows if row.detectable is not None and row.detectable > 1]
    lines = []
    if report.tested:
        looks = ", ".join(map(str, report.looks))
        lines.append("changes are oriented: + and a factor above 1 are better")
        lines.append(
            f"each interval covers the true change of its row with {units.share(1 - ROW_ALPHA)}, looks after {looks} "
            f"rounds included; slower and faster are read from wider ones, for {_counted(report.tested, 'row')} at "
            f"once: the chance that an unchanged table says so anywhere is {units.share(report.alpha)} at most"
        )
    if seen:
        lines.append(f"could have seen a change of {units.detectables(seen)}, in 8 of 10 such runs")
    calm = [row.calm for row in report.rows if row.calm is not None]
    if calm:
        lines.append(
            f"{units.percent(fmean(calm))} of the samples ran undisturbed, {units.percent(min(calm))} in the worst row"
        )
    return tuple(lines)


def _cost(report: RunReport) -> tuple[tuple[str, str], ...]:
    pairs = []
    if report.seconds is not None:
        pairs.append(("time", units.duration(report.seconds)))
    if report.disk is not None:
        pairs.append(("disk", units.size(report.disk)))
    return tuple(pairs)


_SEVERITIES = {"fail": Tone.BAD, "refuse": Tone.BAD, "warn": Tone.WARN, "ok": Tone.GOOD}


def finding_notes(findings: Iterable[Finding]) -> list[Cell]:
    """Each finding on a line: how bad, which fault, what, and what helps."""
    cells = []
    for finding in findings:
        fault = f" {finding.fault}" if finding.fault else ""
        evidence = f" ({'; '.join(finding.evidence)})" if finding.evidence else ""
        advice = f"; {finding.advice}" if finding.advice else ""
        text = f"{finding.severity}{fault}: {finding.title}{evidence}{advice}"
        cells.append(Cell(text, _SEVERITIES.get(finding.severity, Tone.PLAIN)))
    return cells


def _common_params(report: RunReport) -> Params:
    """Parameters with one value in all rows that have them, and in two rows or more: said once instead of in each."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    counts: defaultdict[str, int] = defaultdict(int)
    for row in report.rows:
        for name, text in row.params:
            values[name].add(text)
            counts[name] += 1
    return tuple(
        (name, seen.pop()) for name, seen in values.items() if len(seen) == 1 and counts[name] == len(report.rows) > 1
    )


def _what(metric: str, params: Params, common: Params) -> str:
    own = [pair for pair in params if pair not in common]
    return f"{metric} {_shown(own)}" if own else metric


def _shown(params: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name}={text}" for name, text in params)
