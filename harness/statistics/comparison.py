"""The comparison of two sides over rounds: a ratio, its interval, and the smallest change that it could have seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.statistics.intervals import detectable_difference, trimmed_interval

__all__ = ["Comparison", "Method", "compare", "exact_comparison"]


class Method(StrEnum):
    """Where the ratio and its interval come from."""

    TRIMMED_T = "trimmed mean of the rounds' log ratios, Student's interval on winsorised variance"
    #: Every process of a side gave one and the same value: the ratio is known, not estimated.
    EXACT = "equal values in every process of a side"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Candidate against baseline, oriented so that a ratio above 1 is better.

    Attributes:
        ratio: The estimate.
        low: Lower end of its interval; 0 where one round gives none.
        high: Upper end; infinite where one round gives none.
        level: Confidence of the interval, already paid down for rows and looks.
        replicates: The log ratio of every round, in the order of rounds; above 0 is better.
        spread: Standard deviation of the replicates (log scale, about a share); NaN for a single round.
        detectable: The smallest ratio above 1 whose interval would have excluded 1 in 8 of 10 such runs;
            infinite for a single round, 1 for exact values.
        method: How ratio and interval were found.
    """

    ratio: float
    low: float
    high: float
    level: float
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
        """Whether a ratio of 1 lies outside the interval."""
        return self.low > 1 or self.high < 1


def compare(replicates: Sequence[float], *, level: float) -> Comparison:
    """Compares two sides by the log ratios of their rounds.

    Args:
        replicates: One log ratio a round, above 0 where the candidate is better.
        level: Confidence of the interval.

    Raises:
        ValueError: No replicates, one that is not finite, or a level outside (0, 1).
    """
    interval = trimmed_interval(replicates, level)
    return Comparison(
        ratio=_exp(interval.centre),
        low=_exp(interval.low),
        high=_exp(interval.high),
        level=level,
        replicates=tuple(replicates),
        spread=_standard_deviation(replicates),
        detectable=_exp(detectable_difference(interval, level)),
    )


def exact_comparison(ratio: float, *, rounds: int, level: float) -> Comparison:
    """The comparison of two sides whose values never vary: nothing is estimated, so the interval is a point."""
    return Comparison(
        ratio=ratio,
        low=ratio,
        high=ratio,
        level=level,
        replicates=(math.log(ratio),) * rounds,
        spread=0.0,
        detectable=1.0,
        method=Method.EXACT,
    )


def _standard_deviation(values: Sequence[float]) -> float:
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
