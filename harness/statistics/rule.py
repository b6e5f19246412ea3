"""The rule that all rows of a table are judged by: its looks, its errors, and the noise that no row stays below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from harness.statistics.comparison import Comparison, compare, deviation
from harness.statistics.looks import TABLE_ALPHA, Levels, Looks
from harness.statistics.verdict import MINIMUM_ROUNDS, Judgement, Verdict, hopeless, judge

__all__ = ["QUIETEST", "Rule", "Ruling"]

#: No row is taken to be quieter than this share of the middle row.
QUIETEST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the rule says of one row at one look.

    Attributes:
        judgement: The verdict and why.
        comparison: The ratio and its intervals.
        open: Whether more rounds could change the verdict.
    """

    judgement: Judgement
    comparison: Comparison
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What the rows of one table share.

    Attributes:
        rows: How many rows the table compares.
        looks: When it is looked at.
        alpha: The chance that it may have of any false slower or faster.
        least_deviation: The standard deviation that the replicates of a timed row are given at least.
    """

    rows: int
    looks: Looks
    alpha: float = TABLE_ALPHA
    least_deviation: float = 0.0

    @classmethod
    def of(cls, timed: Iterable[Sequence[float]], *, rows: int, looks: Looks, alpha: float = TABLE_ALPHA) -> Self:
        """The rule for a table, given the replicates of its timed rows.

        A few replicates can agree by luck, above all where values fall into two modes, and would then have an interval
        of hardly any width. What the other rows of the table say of the machine bounds that luck: no row is taken to
        be quieter than half the middle one. It is the constant that Tusher, Tibshirani and Chu add to the denominator
        of each test for the same reason (2001, "Significance analysis of microarrays applied to the ionizing radiation
        response", PNAS 98), as a bound, so that it can only widen intervals. Only the rounds before the first look
        count, so that a row that was settled then stays as it is.
        """
        first = [replicates[: looks.rounds[0]] for replicates in timed]
        spreads = [deviation(replicates) for replicates in first if len(replicates) >= MINIMUM_ROUNDS]
        return cls(rows=rows, looks=looks, alpha=alpha, least_deviation=QUIETEST * median(spreads or [0.0]))

    def levels(self, rounds: int) -> Levels:
        """The confidence of a row's intervals after so many rounds."""
        return self.looks.levels(rows=self.rows, rounds=rounds, alpha=self.alpha)

    def apply(self, replicates: Sequence[float], floor: float, *, timed: bool = True) -> Ruling:
        """Judges one row.

        Args:
            replicates: The log ratio of each round so far, above 0 where the candidate is better.
            floor: The smallest change that matters, as a share.
            timed: Whether the machine's speed is in the values; sizes and counts are as exact as they are.
        """
        levels = self.levels(len(replicates))
        found = compare(replicates, levels=levels, least_deviation=self.least_deviation if timed else 0.0)
        judgement, budget = judge(found, floor), self.looks.budget
        if judgement.verdict is not Verdict.UNDECIDED:
            return Ruling(judgement=judgement, comparison=found, open=False)
        if len(replicates) < budget and hopeless(found, floor, budget=budget, levels=self.levels(budget)):
            reason = f"{judgement.reason}; {budget} rounds would hardly tell either"
            judgement = Judgement(verdict=judgement.verdict, reason=reason)
            return Ruling(judgement=judgement, comparison=found, open=False)
        return Ruling(judgement=judgement, comparison=found, open=True)
