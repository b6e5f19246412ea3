"""The verdict on one row: six words and the reason for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from harness.measurement.metrics import DEFAULT_FLOOR
from harness.statistics.comparison import Comparison, Method
from harness.statistics.intervals import least_deviation, student_quantile
from harness.statistics.looks import Levels

__all__ = ["MINIMUM_ROUNDS", "Judgement", "Verdict", "hopeless", "judge"]

#: Two replicates that a coarse clock makes equal would have an interval of no width.
MINIMUM_ROUNDS = 3


class Verdict(StrEnum):
    """What a row of a table says about the candidate."""

    SLOWER = "slower"
    FASTER = "faster"
    #: Shown to lie within the floor: a statement, not a failure to find something.
    SAME = "same"
    UNDECIDED = "undecided"
    #: The two sides cannot be set against each other.
    INCOMPARABLE = "incomparable"
    #: The candidate fails where the baseline ran.
    BROKEN = "broken"

    @property
    def is_regression(self) -> bool:
        """Whether the candidate is worse."""
        return self in {Verdict.SLOWER, Verdict.BROKEN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict and why; the reason is empty where the interval says it all."""

    verdict: Verdict
    reason: str = ""


def judge(comparison: Comparison, floor: float = DEFAULT_FLOOR) -> Judgement:
    """The verdict that a comparison carries.

    Slower and faster need both a table interval that excludes no change and an estimate that reaches the floor. Same
    needs the whole row interval within the floor, which is an equivalence test at that interval's level (Schuirmann
    1987, "A comparison of the two one-sided tests procedure and the power approach", J. Pharmacokin. Biopharm. 15).
    The floor is a factor: with 3 %, from 1 / 1.03 to 1.03.

    Raises:
        ValueError: The floor is negative or not finite.
    """
    _check(floor)
    if comparison.rounds < MINIMUM_ROUNDS:
        rounds = f"{comparison.rounds} round{'s' if comparison.rounds > 1 else ''}"
        return Judgement(verdict=Verdict.UNDECIDED, reason=f"{rounds} of at least {MINIMUM_ROUNDS}")
    limit = 1 + floor
    if comparison.excludes_no_change and not 1 / limit < comparison.ratio < limit:
        return Judgement(verdict=Verdict.SLOWER if comparison.ratio < 1 else Verdict.FASTER)
    if 1 / limit <= comparison.low and comparison.high <= limit:
        return Judgement(verdict=Verdict.SAME)
    return Judgement(verdict=Verdict.UNDECIDED, reason=_why_undecided(comparison, floor))


def hopeless(comparison: Comparison, floor: float, *, budget: int, levels: Levels) -> bool:
    """Whether all rounds of the budget would hardly decide a row that is undecided now.

    Stopping for futility raises no error rate, since it only ever leaves a row undecided (Jennison and Turnbull 2000,
    "Group sequential methods with applications to clinical trials", chapter 10). It is generous: for *same* the noise
    is taken to be the least, and for a change the change the largest, that the rounds so far make likely; and half
    of the budget has to be spent, since one wild round of five looks like noise.

    Args:
        comparison: After a look.
        floor: The smallest change that matters.
        budget: Rounds that the row can have.
        levels: Confidence of the intervals after that many.
    """
    _check(floor)
    if comparison.method is Method.EXACT or comparison.rounds < max(MINIMUM_ROUNDS, budget / 2):
        return False
    least = least_deviation(comparison.spread, comparison.rounds) / math.sqrt(budget)
    same = student_quantile((1 + levels.row) / 2, budget - 1) * least <= math.log1p(floor)
    farthest = abs(math.log(comparison.ratio)) + 2 * comparison.spread / math.sqrt(comparison.rounds)
    change = student_quantile((1 + levels.table) / 2, budget - 1) * comparison.spread / math.sqrt(budget) <= farthest
    return not (same or change)


def _check(floor: float) -> None:
    if not (math.isfinite(floor) and floor >= 0):
        what = f"a floor is a share of 0 or more, not {floor}"
        raise ValueError(what)


def _why_undecided(comparison: Comparison, floor: float) -> str:
    share = f"{100 * floor:.3g} %"
    if comparison.excludes_no_change:
        return f"a change, but not shown to reach or to stay below {share}"
    if comparison.excludes_no_change_alone:
        return "a change if this row stood alone; among all rows of the table it may be luck"
    if comparison.low >= 1 / (1 + floor):
        return f"a slowdown of {share} is excluded, a speedup is not"
    if comparison.high <= 1 + floor:
        return f"a speedup of {share} is excluded, a slowdown is not"
    return f"too noisy to tell {share} from none"
