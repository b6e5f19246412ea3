"""The comparison of two sides over rounds: a ratio, its intervals, and the smallest change that it could have seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.statistics.intervals import detectable_difference, trimmed_mean
from harness.statistics.looks import Levels

__all__ = ["Comparison", "Method", "compare", "deviation", "exact_comparison"]


class Method(StrEnum):
    """Where the ratio and its intervals come from."""

    TRIMMED_T = "trimmed mean of the rounds' log ratios, Student's interval on winsorised variance"
    #: Every process of a side gave one and the same value: the ratio is known, not estimated.
    EXACT = "equal values in every process of a side"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Candidate against baseline, oriented so that a ratio above 1 is better.

    A row has two intervals about one ratio, since two errors are controlled. Its own, narrower one covers the true
    ratio of this row: *same* is read from it. The table's, wider one covers the true ratios of all rows at once:
    *slower* and *faster* are read from it.

    Attributes:
        ratio: The estimate.
        low: Lower end of the row's interval; 0 where one round gives none.
        high: Upper end; infinite where one round gives none.
        table_low: Lower end of the table's interval.
        table_high: Upper end.
        levels: Confidence of the two intervals, already paid down for looks and rows.
        replicates: The log ratio of every round, in the order of rounds; above 0 is better.
        spread: Standard deviation of the replicates (log scale, about a share); NaN for a single round.
        detectable: The smallest ratio above 1 whose table interval would have excluded 1 in 8 of 10 such runs;
            infinite for a single round, 1 for exact values.
        method: How ratio and intervals were found.
    """

    ratio: float
    low: float
    high: float
    table_low: float
    table_high: float
    levels: Levels
    replicates: tuple[float, ...]
    spread: float
    detectable: float
    method: Method = Method.TRIMMED_T

    @property
    def rounds(self) -> int:
        """How many rounds, each with one fresh process a side, it rests on."""
        return len(self.replicates)

    @property
    def excludes_no_change(self) -> bool:
        """Whether a ratio of 1 lies outside the table's interval."""
        return self.table_low > 1 or self.table_high < 1

    @property
    def excludes_no_change_alone(self) -> bool:
        """Whether a ratio of 1 lies outside the row's interval: enough for one row, not for a table of them."""
        return self.low > 1 or self.high < 1


def compare(replicates: Sequence[float], *, levels: Levels, least_deviation: float = 0.0) -> Comparison:
    """Compares two sides by the log ratios of their rounds.

    Args:
        replicates: One log ratio a round, above 0 where the candidate is better.
        levels: Confidence of the two intervals.
        least_deviation: What the standard deviation of a replicate is at least, whatever these few say.

    Raises:
        ValueError: No replicates, or one that is not finite.
    """
    estimate = trimmed_mean(replicates, least_deviation=least_deviation)
    row, table = estimate.half_width(levels.row), estimate.half_width(levels.table)
    return Comparison(
        ratio=_exp(estimate.centre),
        low=_exp(estimate.centre - row),
        high=_exp(estimate.centre + row),
        table_low=_exp(estimate.centre - table),
        table_high=_exp(estimate.centre + table),
        levels=levels,
        replicates=tuple(replicates),
        spread=deviation(replicates),
        detectable=_exp(detectable_difference(estimate, levels.table)),
    )


def exact_comparison(ratio: float, *, rounds: int, levels: Levels) -> Comparison:
    """The comparison of two sides whose values never vary: nothing is estimated, so the intervals are a point."""
    return Comparison(
        ratio=ratio,
        low=ratio,
        high=ratio,
        table_low=ratio,
        table_high=ratio,
        levels=levels,
        replicates=(math.log(ratio),) * rounds,
        spread=0.0,
        detectable=1.0,
        method=Method.EXACT,
    )


def deviation(values: Sequence[float]) -> float:
    """The standard deviation; NaN for fewer than two values."""
    if len(values) < 2:
        return math.nan
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


def _exp(value: float) -> float:
    """Two rounds at the level of a large table can have an interval that floats cannot hold."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
