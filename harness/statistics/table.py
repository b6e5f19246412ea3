"""From the records of two sides to a table of verdicts, with its error paid for across rows and looks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

from harness.errors import ExitCode
from harness.measurement.metrics import Direction, Metric, value
from harness.measurement.records import BenchmarkId, Record
from harness.statistics.circumstances import calm_share, page_faults
from harness.statistics.comparison import Comparison
from harness.statistics.constants import constant_of, is_binary, judge_constants, judge_flips
from harness.statistics.looks import DEFAULT_LOOKS, TABLE_ALPHA, Looks
from harness.statistics.outcomes import Outcome, Side, judge_outcomes, side_of
from harness.statistics.replicates import Timed, oriented_log_ratio, telling
from harness.statistics.rule import Rule
from harness.statistics.verdict import Judgement, Verdict

__all__ = ["SkippedRow", "VerdictRow", "VerdictTable", "verdict_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """One benchmark with one set of parameters.

    Attributes:
        metric: The metric's name.
        unit: Of `baseline` and `candidate`.
        benchmark: What was measured; its version is the one both sides share.
        verdict: What it says about the candidate.
        reason: Why, and what happened on the way (rounds that failed, for one); may be empty.
        floor: The smallest change that matters to this metric.
        comparison: The ratio and its interval; None where there is no ratio.
        baseline: Median over rounds of the median of a process; None where it did not run.
        candidate: The same for the candidate.
        rounds: Rounds in which both sides gave samples.
        calm: Share of the samples of both sides that nothing disturbed; None where that was not asked.
        open: Whether more rounds could change the verdict.
    """

    metric: str
    unit: str
    benchmark: BenchmarkId
    verdict: Verdict
    reason: str
    floor: float
    comparison: Comparison | None
    baseline: float | None
    candidate: float | None
    rounds: int
    calm: float | None
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRow:
    """A benchmark that both sides skipped: it is in no table, but it is not forgotten."""

    metric: str
    benchmark: BenchmarkId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictTable:
    """The verdicts on all rows.

    Attributes:
        rows: The worst first.
        skipped: What both sides skipped.
        alpha: The chance of any false slower or faster in the whole table.
        tested: How many rows share it.
        looks: The looks that are paid for.
    """

    rows: tuple[VerdictRow, ...]
    skipped: tuple[SkippedRow, ...]
    alpha: float
    tested: int
    looks: Looks

    def of(self, verdict: Verdict) -> tuple[VerdictRow, ...]:
        """The rows with this verdict."""
        return tuple(row for row in self.rows if row.verdict is verdict)

    @property
    def settled(self) -> frozenset[BenchmarkId]:
        """What needs no further rounds. Stop on it only after the rounds of a look: that is what is paid for."""
        rows = [row.benchmark for row in self.rows if not row.open]
        return frozenset((*rows, *(row.benchmark for row in self.skipped)))

    @property
    def open_rows(self) -> frozenset[BenchmarkId]:
        """What further rounds could decide."""
        return frozenset(row.benchmark for row in self.rows if row.open)

    @property
    def exit_code(self) -> ExitCode:
        """What the command that asked returns.

        A regression is an answer, whatever else is open. Without one, a row that stays undecided leaves the question
        open, and a table without any comparison answers nothing: neither is ever a pass.
        """
        if any(row.verdict.is_regression for row in self.rows):
            return ExitCode.NO
        if self.of(Verdict.UNDECIDED):
            return ExitCode.UNDECIDED
        if not (self.of(Verdict.SAME) or self.of(Verdict.FASTER)):
            return ExitCode.MEASURE
        return ExitCode.FINE


def verdict_table(
    records: Iterable[Record],
    metrics: Iterable[Metric],
    *,
    baseline: int = 0,
    candidate: int = 1,
    alpha: float = TABLE_ALPHA,
    looks: Looks = DEFAULT_LOOKS,
    blocked: str = "",
    across_versions: bool = False,
) -> VerdictTable:
    """Judges every row that the records of two sides have.

    The same records give the same table, whenever it is made and in whatever order they come, but for the order of
    records of one round, of which the last counts.

    Args:
        records: Of any sides; others than the two are left aside.
        metrics: What is compared; records of other benchmarks are left aside.
        baseline: The side that is compared against.
        candidate: The side that is judged.
        alpha: The chance that the table may have of any false slower or faster.
        looks: When the table is looked at: by default after 5, 10, 15 and 20 rounds.
        blocked: Why the two sides must not be compared (see `comparability`); every row is then incomparable.
        across_versions: Whether rows are compared though the code of their benchmark differs.
    """
    wanted = {metric.benchmark: metric for metric in metrics}
    sides = _by_row(record for record in records if record.benchmark.name in wanted)
    pairs = [
        _Pair(
            params=params,
            metric=wanted[name],
            baseline=side_of("baseline", both.get(baseline, ())),
            candidate=side_of("candidate", both.get(candidate, ())),
        )
        for (name, params), both in sorted(sides.items())
        if baseline in both or candidate in both
    ]
    skipped = [pair for pair in pairs if pair.baseline.outcome is pair.candidate.outcome is Outcome.SKIPPED]
    tested = sum(pair.baseline.outcome is pair.candidate.outcome is Outcome.RAN for pair in pairs)
    timed = [pair.replicates() or () for pair in pairs if pair.timed]
    rule = Rule.of(timed, rows=tested, looks=looks, alpha=alpha)
    rows = [_row(pair, rule, blocked=blocked, across_versions=across_versions) for pair in pairs if pair not in skipped]
    return VerdictTable(
        rows=tuple(sorted(rows, key=_worst_first)),
        skipped=tuple(
            SkippedRow(
                metric=pair.metric.name, benchmark=pair.named(_versions(pair.baseline)[-1]), reason=pair.candidate.why
            )
            for pair in skipped
        ),
        alpha=alpha,
        tested=tested,
        looks=looks,
    )


_Key = tuple[str, tuple[str, ...]]


def _by_row(records: Iterable[Record]) -> dict[_Key, dict[int, list[Record]]]:
    """By benchmark and parameters: two versions of a benchmark are one row, so that their difference gets named."""
    rows: dict[_Key, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        rows[record.benchmark.name, record.benchmark.params][record.side].append(record)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """What one row is judged by."""

    params: tuple[str, ...]
    metric: Metric
    baseline: Side
    candidate: Side

    def named(self, version: str) -> BenchmarkId:
        """The row's benchmark, with the version of its code."""
        return BenchmarkId(name=self.metric.benchmark, params=self.params, version=version)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.baseline, self.candidate

    @property
    def timed(self) -> bool:
        """Whether ASV times it; sizes and counts do not vary with the speed of the machine."""
        return self.metric.type == "time"

    @property
    def rounds(self) -> tuple[int, ...]:
        """The rounds in which both sides gave samples."""
        return tuple(sorted(self.baseline.ok.keys() & self.candidate.ok.keys()))

    def samples(self) -> tuple[list[list[Timed]], list[list[Timed]]]:
        """In the metric's unit, by round, of both sides."""
        timed = [[_timed(self.metric, self.params, side.ok[number]) for number in self.rounds] for side in self.sides]
        return timed[0], timed[1]

    def replicates(self) -> list[float] | None:
        """The log ratio of each round, above 0 where the candidate is better; None where a value has no ratio."""
        higher = self.metric.direction is Direction.HIGHER
        found = [oriented_log_ratio(a, b, higher_is_better=higher) for a, b in zip(*self.samples(), strict=True)]
        replicates = [replicate.log_ratio for replicate in found if replicate is not None]
        return replicates if len(replicates) == len(found) else None


def _row(pair: _Pair, rule: Rule, *, blocked: str, across_versions: bool) -> VerdictRow:
    a, b = pair.sides
    versions = _versions(a), _versions(b)
    shared = [version for version in versions[1] if version in versions[0]]
    judged = _judge(pair, rule)
    if blocked:
        judged = _Judged(Judgement(verdict=Verdict.INCOMPARABLE, reason=blocked))
    elif versions[0] and versions[1] and (len(versions[0]) > 1 or versions[0] != versions[1]):
        reason = f"two versions of the benchmark: {versions[0][-1][:12]} against {versions[1][-1][:12]}"
        told = "; ".join(part for part in (judged.judgement.reason, reason) if part)
        judged = (
            replace(judged, judgement=replace(judged.judgement, reason=told))
            if across_versions
            else _Judged(Judgement(verdict=Verdict.INCOMPARABLE, reason=reason))
        )
    return VerdictRow(
        metric=pair.metric.name,
        unit=pair.metric.unit,
        benchmark=pair.named((shared or versions[1] or versions[0])[-1]),
        verdict=judged.judgement.verdict,
        reason=judged.judgement.reason,
        floor=pair.metric.floor,
        comparison=judged.comparison,
        baseline=_middle(pair.metric, pair.params, a),
        candidate=_middle(pair.metric, pair.params, b),
        rounds=len(pair.rounds),
        calm=calm_share((*a.measured, *b.measured)) if pair.timed else None,
        open=not blocked and (judged.open or a.may_still_run or b.may_still_run),
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    judgement: Judgement
    comparison: Comparison | None = None
    open: bool = False


def _judge(pair: _Pair, rule: Rule) -> _Judged:
    early = judge_outcomes(*pair.sides)
    if early is not None:
        return _Judged(early, None, early.verdict is Verdict.UNDECIDED)
    lost = "; ".join(f"the {side.name} {side.account}" for side in pair.sides if side.account)
    if not pair.rounds:
        reason = "no round in which both sides ran" + (f": {lost}" if lost else "")
        return _Judged(Judgement(verdict=Verdict.UNDECIDED, reason=reason), None, True)
    judged = _judge_samples(pair, rule)
    changed = judged.judgement.verdict in {Verdict.SLOWER, Verdict.FASTER}
    faults = page_faults(pair.baseline.ok.values(), pair.candidate.ok.values()) if changed and pair.timed else ""
    reason = "; ".join(part for part in (judged.judgement.reason, faults, lost) if part)
    return replace(judged, judgement=replace(judged.judgement, reason=reason))


def _judge_samples(pair: _Pair, rule: Rule) -> _Judged:
    metric = pair.metric
    baseline, candidate = ([[sample.value for sample in process] for process in side] for side in pair.samples())
    constants = constant_of(baseline), constant_of(candidate)
    if constants[0] is not None and constants[1] is not None:
        judgement, comparison = judge_constants(
            constants[0],
            constants[1],
            rounds=len(pair.rounds),
            floor=metric.floor,
            higher_is_better=metric.direction is Direction.HIGHER,
            levels=rule.levels(len(pair.rounds)),
        )
        return _Judged(judgement, comparison, judgement.verdict is Verdict.UNDECIDED)
    if is_binary(baseline) and is_binary(candidate):
        return _Judged(judge_flips(baseline, candidate), None, True)
    replicates = pair.replicates()
    if replicates is None:
        reason = "some values are zero, negative or not finite: they have no ratio"
        return _Judged(Judgement(verdict=Verdict.INCOMPARABLE, reason=reason))
    ruling = rule.apply(replicates, metric.floor, timed=pair.timed)
    return _Judged(ruling.judgement, ruling.comparison, ruling.open)


def _versions(side: Side) -> list[str]:
    """The versions of the benchmark's code that a side was measured with, each once, in the order of rounds."""
    records = sorted((*side.ok.values(), *side.failures, *side.others), key=lambda record: record.round)
    return list(dict.fromkeys(record.benchmark.version for record in records))


def _middle(metric: Metric, params: tuple[str, ...], side: Side) -> float | None:
    if not side.ok:
        return None
    processes = [_timed(metric, params, record) for record in side.ok.values()]
    return median(median(sample.value for sample in telling(process)) for process in processes)


def _timed(metric: Metric, params: tuple[str, ...], record: Record) -> list[Timed]:
    """The samples of one process, in the metric's unit."""
    # Records that did not ask whether a sample was calm have None.
    return [Timed(value(metric, params, s.value), s.at, s.calm is not False) for s in record.samples]


_ORDER = (
    Verdict.BROKEN,
    Verdict.SLOWER,
    Verdict.UNDECIDED,
    Verdict.INCOMPARABLE,
    Verdict.FASTER,
    Verdict.SAME,
)


def _worst_first(row: VerdictRow) -> tuple[int, float, str, tuple[str, ...]]:
    ratio = row.comparison.ratio if row.comparison else 0.0
    return _ORDER.index(row.verdict), ratio, row.metric, row.benchmark.params
