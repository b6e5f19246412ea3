"""The noise of rows as an A/A run shows it, and the smallest change that a table sees in it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from statistics import median
from typing import Self

from harness.statistics.intervals import TRIM_ONE_IN, Estimate, detectable_difference, normal_quantile
from harness.statistics.looks import Looks
from harness.statistics.rule import QUIETEST
from harness.statistics.verdict import MINIMUM_ROUNDS

__all__ = ["Noise", "Sight", "pooled"]

#: A change counts as visible when this share of runs would see it.
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How much the rounds of one row vary while nothing changes.

    Attributes:
        spread: Standard deviation of the log ratio of a round (about a share).
        degrees: Degrees of freedom that it rests on: rounds less one, summed over runs.
    """

    spread: float
    degrees: int

    def __add__(self, other: Self) -> Noise:
        """Both together: their variances, weighted by their degrees of freedom."""
        degrees = self.degrees + other.degrees
        squares = self.degrees * self.spread**2 + other.degrees * other.spread**2
        return Noise(spread=math.sqrt(squares / degrees), degrees=degrees)


def pooled(noises: Iterable[Noise]) -> Noise | None:
    """The noise of several runs of one row; None without any."""
    found = list(noises)
    return reduce(Noise.__add__, found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one table can see: how many rows share its error, how often it is looked at, how quiet a row can be.

    Attributes:
        rows: How many rows the table compares.
        looks: When it is looked at.
        least: What the spread of a row is taken to be at least, as verdicts do.
    """

    rows: int
    looks: Looks
    least: float = 0.0

    @classmethod
    def of(cls, timed: Iterable[Noise], *, rows: int, looks: Looks) -> Self:
        """The sight of a table, given the noise of those of its rows that are timed."""
        return cls(rows=rows, looks=looks, least=QUIETEST * median([noise.spread for noise in timed] or [0.0]))

    def smallest(self, noise: Noise, floor: float, *, rounds: int | None = None) -> float:
        """The smallest change, as a share, that is called slower or faster in 8 of 10 runs; infinite where none is.

        Two things are asked of a change: that the table's interval excludes none, and that the estimate reaches the
        floor.

        Args:
            noise: Of the row.
            floor: The smallest change that matters to its metric.
            rounds: How many rounds it gets; all of the budget by default.
        """
        count = rounds or self.looks.budget
        if count < MINIMUM_ROUNDS:
            return math.inf
        trim = count // TRIM_ONE_IN
        error = max(noise.spread, self.least) / math.sqrt(count)
        estimate = Estimate(centre=0.0, standard_error=error, degrees=count - 2 * trim - 1, trimmed=trim)
        # The looks of a longer run are as many, farther apart.
        level = self.looks.levels(rows=self.rows, rounds=self.looks.budget).table
        excluded = detectable_difference(estimate, level, POWER)
        return math.expm1(max(excluded, math.log1p(floor) + normal_quantile(POWER) * error))

    def rounds_for(self, change: float, noise: Noise, floor: float, *, most: int = 500) -> int | None:
        """The fewest rounds in which a change of this share is visible; None where `most` are too few."""
        counts = range(MINIMUM_ROUNDS, most + 1)
        place = bisect_left(counts, -change, key=lambda count: -self.smallest(noise, floor, rounds=count))
        return counts[place] if place < len(counts) else None
