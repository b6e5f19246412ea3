"""The noise of rows as A/A runs show it, and the smallest change that a table sees in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from statistics import NormalDist, fmean, median
from typing import Self

from harness.statistics.intervals import TRIM_ONE_IN, chi_squared_quantile, student_quantile
from harness.statistics.looks import Looks
from harness.statistics.rule import QUIETEST
from harness.statistics.verdict import MINIMUM_ROUNDS

__all__ = ["Noise", "Sight", "pooled"]

#: A change counts as visible when this share of runs sees it.
POWER = 0.8
#: The observed noise of a run is taken at so many quantiles.
_QUANTILES = 50
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How much the rounds of one row vary while nothing changes.

    Attributes:
        spread: Standard deviation of the log ratio of a round (about a share).
        degrees: Degrees of freedom that it rests on: rounds less one, summed over runs.
    """

    spread: float
    degrees: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.spread) and self.spread >= 0 and self.degrees >= 1):
            what = f"noise has a spread of 0 or more and a degree of freedom, not {self.spread} and {self.degrees}"
            raise ValueError(what)

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
        least: What the spread of a timed row is taken to be at least, as verdicts do.
    """

    rows: int
    looks: Looks
    least: float = 0.0

    @classmethod
    def of(cls, timed: Iterable[Noise], *, rows: int, looks: Looks) -> Self:
        """The sight of a table, given the noise of those of its rows that are timed."""
        return cls(rows=rows, looks=looks, least=QUIETEST * median([noise.spread for noise in timed] or [0.0]))

    def smallest(self, noise: Noise, floor: float, *, timed: bool = True) -> float:
        """The smallest change, as a share, that is called slower or faster in 8 of 10 runs of all rounds.

        Two things are asked of a change at once: that the table's interval excludes none, and that the estimate
        reaches the floor. For normal noise their probability is an integral over the noise that the run observes, whose
        variance has a chi-squared distribution (the noncentral t distribution, where there is no floor).

        Args:
            noise: Of the row, taken to be known.
            floor: The smallest change that matters to its metric.
            timed: Whether the machine's speed is in the values: then no row is taken to be as quiet as it looks.

        Returns:
            Infinity where so few rounds never show a change.
        """
        count = self.looks.budget
        if noise.spread == 0 and not timed and count > 1:
            return floor  # equal values need no estimate
        if count < MINIMUM_ROUNDS:
            return math.inf
        level = self.looks.levels(rows=self.rows, rounds=count).table
        degrees = count - 2 * (count // TRIM_ONE_IN) - 1
        least = self.least if timed else 0.0
        return math.expm1(_smallest(noise.spread, least, math.log1p(floor), count, degrees, level))

    def rounds_for(
        self,
        change: float,
        noise: Noise,
        floor: float,
        looks_of: Callable[[int], Looks],
        *,
        timed: bool = True,
        most: int = 200,
    ) -> int | None:
        """The fewest rounds, more than now, in which a change of this share is visible; None where `most` are too few.

        Args:
            change: A share.
            noise: Of the row.
            floor: The smallest change that matters to its metric.
            looks_of: When a run of so many rounds at most is looked at.
            timed: As for `smallest`.
            most: Where to stop.
        """
        for count in range(max(MINIMUM_ROUNDS, self.looks.budget + 1), most + 1):
            if replace(self, looks=looks_of(count)).smallest(noise, floor, timed=timed) <= change:
                return count
        return None


@lru_cache(maxsize=4096)
def _smallest(spread: float, least: float, floor: float, count: int, degrees: int, level: float) -> float:
    """On the log scale."""
    if max(spread, least) == 0:
        return floor
    error = spread / math.sqrt(count)
    reach = student_quantile((1 + level) / 2, degrees) / math.sqrt(count)
    limits = [max(floor, reach * max(seen * spread, least)) for seen in _seen(degrees)]
    if error == 0:
        return max(limits)
    low, high = floor, max(limits) + 5 * error
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if fmean(_NORMAL.cdf((middle - limit) / error) for limit in limits) < POWER:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=256)
def _seen(degrees: int) -> tuple[float, ...]:
    """Quantiles of the standard deviation that is observed where the true one is 1."""
    steps = [(index + 0.5) / _QUANTILES for index in range(_QUANTILES)]
    return tuple(math.sqrt(chi_squared_quantile(step, degrees) / degrees) for step in steps)
