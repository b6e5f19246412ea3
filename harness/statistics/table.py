"""From the records of two sides to a table of verdicts, with its error paid for across rows and looks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from harness.errors import ExitCode
from harness.measurement.metrics import Direction, Metric, value
from harness.measurement.records import BenchmarkId, Record
from harness.statistics.comparison import Comparison, compare
from harness.statistics.constants import constant_of, is_binary, judge_constants, judge_flips
from harness.statistics.looks import DEFAULT_LOOKS, Looks
from harness.statistics.outcomes import Outcome, Side, judge_outcomes, side_of
from harness.statistics.replicates import Timed, oriented_log_ratio
from harness.statistics.verdict import Judgement, Verdict, judge

__all__ = ["SkippedRow", "VerdictRow", "VerdictTable", "verdict_table"]

#: The chance that a table has of any false slower or faster.
DEFAULT_ALPHA = 0.05


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
    alpha: float = DEFAULT_ALPHA,
    looks: Looks = DEFAULT_LOOKS,
    blocked: str = "",
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
        looks: When the table is looked at: by default after 6, 9 and 12 rounds.
        blocked: Why the two sides must not be compared (see `comparability`); every row is then incomparable.
    """
    wanted = {metric.benchmark: metric for metric in metrics}
    sides = _by_row(record for record in records if record.benchmark.name in wanted)
    pairs = [
        (key, side_of("baseline", both.get(baseline, ())), side_of("candidate", both.get(candidate, ())))
        for key, both in sorted(sides.items())
        if baseline in both or candidate in both
    ]
    tested = sum(a.outcome is b.outcome is Outcome.RAN for _, a, b in pairs)
    rows, skipped = [], []
    for (name, params), a, b in pairs:
        metric = wanted[name]
        if a.outcome is b.outcome is Outcome.SKIPPED:
            benchmark = BenchmarkId(name=name, params=params, version=_versions(a)[-1])
            skipped.append(SkippedRow(metric=metric.name, benchmark=benchmark, reason=b.why))
            continue
        level = looks.level(rows=tested, rounds=len(a.ok.keys() & b.ok.keys()), alpha=alpha)
        rows.append(_row(name, params, metric, a, b, level=level, blocked=blocked))
    return VerdictTable(
        rows=tuple(sorted(rows, key=_worst_first)), skipped=tuple(skipped), alpha=alpha, tested=tested, looks=looks
    )


_Key = tuple[str, tuple[str, ...]]


def _by_row(records: Iterable[Record]) -> dict[_Key, dict[int, list[Record]]]:
    """By benchmark and parameters: two versions of a benchmark are one row, so that their difference gets named."""
    rows: dict[_Key, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        rows[record.benchmark.name, record.benchmark.params][record.side].append(record)
    return rows


def _row(
    name: str, params: tuple[str, ...], metric: Metric, a: Side, b: Side, *, level: float, blocked: str
) -> VerdictRow:
    versions = _versions(a), _versions(b)
    shared = [version for version in versions[1] if version in versions[0]]
    rounds = sorted(a.ok.keys() & b.ok.keys())
    judgement, comparison = _judge(metric, params, a, b, rounds=rounds, level=level)
    if blocked:
        judgement, comparison = Judgement(verdict=Verdict.INCOMPARABLE, reason=blocked), None
    elif versions[0] and versions[1] and (len(versions[0]) > 1 or versions[0] != versions[1]):
        reason = f"two versions of the benchmark: {versions[0][-1][:12]} against {versions[1][-1][:12]}"
        judgement, comparison = Judgement(verdict=Verdict.INCOMPARABLE, reason=reason), None
    version = (shared or versions[1] or versions[0])[-1]
    return VerdictRow(
        metric=metric.name,
        unit=metric.unit,
        benchmark=BenchmarkId(name=name, params=params, version=version),
        verdict=judgement.verdict,
        reason=judgement.reason,
        floor=metric.floor,
        comparison=comparison,
        baseline=_middle(metric, params, a),
        candidate=_middle(metric, params, b),
        rounds=len(rounds),
        open=not blocked and (judgement.verdict is Verdict.UNDECIDED or a.may_still_run or b.may_still_run),
    )


def _judge(
    metric: Metric, params: tuple[str, ...], a: Side, b: Side, *, rounds: Sequence[int], level: float
) -> tuple[Judgement, Comparison | None]:
    early = judge_outcomes(a, b)
    if early is not None:
        return early, None
    lost = "; ".join(f"the {side.name} {side.account}" for side in (a, b) if side.account)
    if not rounds:
        reason = "no round in which both sides ran" + (f": {lost}" if lost else "")
        return Judgement(verdict=Verdict.UNDECIDED, reason=reason), None
    timed = [
        [[Timed(value(metric, params, s.value), s.at) for s in side.ok[number].samples] for number in rounds]
        for side in (a, b)
    ]
    judgement, comparison = _judge_samples(metric, timed[0], timed[1], level=level)
    reason = "; ".join(part for part in (judgement.reason, lost) if part)
    return Judgement(verdict=judgement.verdict, reason=reason), comparison


def _judge_samples(
    metric: Metric, baseline: list[list[Timed]], candidate: list[list[Timed]], *, level: float
) -> tuple[Judgement, Comparison | None]:
    seen = [[[sample.value for sample in process] for process in side] for side in (baseline, candidate)]
    constants = [constant_of(side) for side in seen]
    higher = metric.direction is Direction.HIGHER
    if constants[0] is not None and constants[1] is not None:
        return judge_constants(
            constants[0],
            constants[1],
            rounds=len(baseline),
            floor=metric.floor,
            higher_is_better=higher,
            level=level,
        )
    if is_binary(seen[0]) and is_binary(seen[1]):
        return judge_flips(seen[0], seen[1]), None
    found = [oriented_log_ratio(x, y, higher_is_better=higher) for x, y in zip(baseline, candidate, strict=True)]
    replicates = [replicate.log_ratio for replicate in found if replicate is not None]
    if len(replicates) < len(found):
        reason = "some values are zero, negative or not finite: they have no ratio"
        return Judgement(verdict=Verdict.INCOMPARABLE, reason=reason), None
    comparison = compare(replicates, level=level)
    return judge(comparison, metric.floor), comparison


def _versions(side: Side) -> list[str]:
    """The versions of the benchmark's code that a side was measured with, each once, in the order of rounds."""
    records = sorted((*side.ok.values(), *side.failures, *side.others), key=lambda record: record.round)
    return list(dict.fromkeys(record.benchmark.version for record in records))


def _middle(metric: Metric, params: tuple[str, ...], side: Side) -> float | None:
    if not side.ok:
        return None
    processes = [median(sample.value for sample in record.samples) for record in side.ok.values()]
    return value(metric, params, median(processes))


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
