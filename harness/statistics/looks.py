"""When a table is looked at, and what each look costs.

Rounds are added until a row is decided, so its data are looked at repeatedly: a group-sequential design. The looks are
fixed beforehand, and two errors are controlled over all of them.

- *Slower* and *faster*: the chance that a table says so of any unchanged row, at any look, stays below `TABLE_ALPHA`.
- *Same*: the chance that the interval of a given row fails to cover its true ratio, at any look, stays below
  `ROW_ALPHA`. A row whose true change is the floor or more is called the same at most half as often, since it must miss
  on one side.

Each error is shared among looks, and the first also among rows, by Bonferroni's inequality, which holds whatever the
dependence of rows and looks. The boundaries of Pocock (1977, "Group sequential methods in the design and analysis of
clinical trials", Biometrika 64) use that looks at one row are correlated; at the levels of a table that is worth 2 % of
an interval's width, and they need a known variance. So the looks are few, and far apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

__all__ = ["DEFAULT_LOOKS", "ROW_ALPHA", "TABLE_ALPHA", "Levels", "Looks"]

#: The chance that a table has of any false slower or faster.
TABLE_ALPHA = 0.01
#: The chance that a row's interval has of missing the true ratio, at any look.
ROW_ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The confidence of a row's two intervals at one look, between 0 and 1.

    Attributes:
        row: Of the row's own interval.
        table: Of the interval that covers all rows of the table at once.
    """

    row: float
    table: float


@dataclass(frozen=True, slots=True)
class Looks:
    """A schedule of looks.

    Attributes:
        rounds: After how many rounds the table is looked at, in ascending order.
    """

    rounds: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.rounds or self.rounds[0] < 1 or list(self.rounds) != sorted(set(self.rounds)):
            what = f"looks are ascending numbers of rounds, not {self.rounds}"
            raise ValueError(what)

    @classmethod
    def between(cls, first: int, last: int, count: int = 3) -> Self:
        """At most `count` looks, spread evenly from the first to the last number of rounds.

        Raises:
            ValueError: `last` is smaller than `first`, or `first` or `count` is smaller than 1.
        """
        if not 1 <= first <= last or count < 1:
            what = f"no {count} looks from {first} to {last} rounds"
            raise ValueError(what)
        if count == 1:
            return cls((last,))
        step = (last - first) / (count - 1)
        return cls(tuple(sorted({first + round(step * index) for index in range(count)})))

    @classmethod
    def every(cls, first: int, last: int, batch: int) -> Self:
        """A look after the first rounds and after each batch of further ones, the last batch perhaps a smaller one.

        Raises:
            ValueError: `last` is smaller than `first`, or `first` or `batch` is smaller than 1.
        """
        if not 1 <= first <= last or batch < 1:
            what = f"no looks from {first} to {last} rounds by {batch}"
            raise ValueError(what)
        return cls((*range(first, last, batch), last))

    @property
    def budget(self) -> int:
        """The number of rounds after which an undecided row stays undecided."""
        return self.rounds[-1]

    def following(self, rounds: int) -> int | None:
        """The next look after this many rounds; None when the budget is spent."""
        return next((look for look in self.rounds if look > rounds), None)

    def charged(self, rounds: int) -> int:
        """How many looks a verdict after this many rounds pays for.

        All the planned ones; and, past the plan, one for each further round, since each could have been the last.
        """
        return len(self.rounds) + max(0, rounds - self.budget)

    def levels(self, *, rows: int, rounds: int, alpha: float = TABLE_ALPHA) -> Levels:
        """The confidence of the intervals of one row at one look.

        Args:
            rows: How many rows the table compares.
            rounds: How many rounds the row has.
            alpha: The chance that the table may have of any false slower or faster.

        Raises:
            ValueError: `alpha` is not above 0, or not at most `ROW_ALPHA`.
        """
        if not 0 < alpha <= ROW_ALPHA:
            what = f"alpha lies above 0 and is at most {ROW_ALPHA}, not {alpha}"
            raise ValueError(what)
        looks = self.charged(rounds)
        return Levels(row=1 - ROW_ALPHA / looks, table=1 - alpha / (max(1, rows) * looks))


#: Five rounds show what is the same on a machine whose neighbouring samples agree within 1 %; ten find a change of 10 %
#: and twenty one of 5 %, in a table of 30 rows with noise of 2 % between processes.
DEFAULT_LOOKS = Looks((5, 10, 15, 20))
