"""A robust centre and its confidence interval from few values.

The estimator is a trimmed mean with the interval of Tukey and McLaughlin (1963, "Less vulnerable confidence and
significance procedures for location based on a single sample", Sankhya A 25; also Wilcox, "Introduction to Robust
Estimation and Hypothesis Testing", section 4.3): Student's t with the winsorised variance. One value in nine is
trimmed at each end, so that up to eight values it *is* Student's interval, exact for normal values and known to be
conservative for long symmetric tails (Benjamini 1983, "Is the t test really conservative when the parent distribution
is long-tailed?", JASA 78), and from nine on one wild process can no longer widen it without bound.

Why not the others, at 6 to 12 values and the levels that a whole table needs (0.9995 and beyond): the signed-rank
interval of Hodges and Lehmann does not exist below 12 values there (its smallest error is 2 to the power 1 - n); a
bootstrap of so few values cannot reach such a level and is too short; a trimmed mean at 6 values has 3 degrees of
freedom and finds half as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Interval", "detectable_difference", "student_quantile", "trimmed_interval"]

#: One value in this many is trimmed at each end.
TRIM_ONE_IN = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A centre with its confidence interval.

    Attributes:
        centre: The trimmed mean.
        half_width: Infinite for a single value.
        standard_error: Of the centre; NaN for a single value.
        degrees: Degrees of freedom of Student's t; 0 for a single value.
        trimmed: How many values were trimmed at each end.
    """

    centre: float
    half_width: float
    standard_error: float
    degrees: int
    trimmed: int

    @property
    def low(self) -> float:
        """The lower end."""
        return self.centre - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.centre + self.half_width


def trimmed_interval(values: Sequence[float], level: float) -> Interval:
    """The trimmed mean of independent values, with a two-sided interval.

    Args:
        values: At least one finite value; their order does not matter.
        level: The confidence, between 0 and 1.

    Raises:
        ValueError: No values, a value that is not finite, or a level outside (0, 1).
    """
    if not values or not all(map(math.isfinite, values)):
        what = "an interval needs one finite value or more"
        raise ValueError(what)
    if not 0 < level < 1:
        what = f"a confidence level lies between 0 and 1, not at {level}"
        raise ValueError(what)
    ordered = sorted(values)
    count = len(ordered)
    trim = count // TRIM_ONE_IN
    kept = ordered[trim : count - trim]
    centre = math.fsum(kept) / len(kept)
    # Rounding must not carry the mean of equal values past them.
    centre = min(max(centre, kept[0]), kept[-1])
    degrees = len(kept) - 1
    if degrees == 0:
        return Interval(centre=centre, half_width=math.inf, standard_error=math.nan, degrees=0, trimmed=trim)
    winsorised = [min(max(value, kept[0]), kept[-1]) for value in ordered]
    middle = math.fsum(winsorised) / count
    squares = math.fsum((value - middle) ** 2 for value in winsorised)
    # The sum of squares over (count - 1), scaled by the share that was kept: Tukey and McLaughlin's h (h - 1).
    error = math.sqrt(squares / (len(kept) * degrees)) if kept[0] != kept[-1] else 0.0
    half_width = student_quantile((1 + level) / 2, degrees) * error
    return Interval(centre=centre, half_width=half_width, standard_error=error, degrees=degrees, trimmed=trim)


def detectable_difference(interval: Interval, level: float, power: float = 0.8) -> float:
    """The smallest true difference from zero that excludes zero from the interval, with a probability of `power`.

    From the noncentral t distribution (Cohen 1988, "Statistical power analysis for the behavioral sciences", chapter
    2), with the observed standard error for the true one. The other end of the interval is left aside: at the levels
    of a table it is never reached.

    Args:
        interval: Its standard error is the noise.
        level: The interval's confidence.
        power: The share of such comparisons that would see it.
    """
    if interval.degrees == 0:
        return math.inf
    return _noncentrality(level, power, interval.degrees) * interval.standard_error


@lru_cache(maxsize=1024)
def _noncentrality(level: float, power: float, degrees: int) -> float:
    from scipy.special import nctdtrinc  # noqa: PLC0415

    return float(nctdtrinc(degrees, 1 - power, student_quantile((1 + level) / 2, degrees)))


@lru_cache(maxsize=1024)
def student_quantile(probability: float, degrees: int) -> float:
    """The value that Student's t with these degrees of freedom stays below with this probability."""
    # Imported late: scipy costs more than the rest of the program's start.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, probability))
