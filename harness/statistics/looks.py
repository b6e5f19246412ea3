"""When a table is looked at, and what each look costs.

Rounds are added until a row is decided, so its data are looked at repeatedly. The looks are fixed beforehand, and the
error that the table may make is shared among rows and looks by Bonferroni's inequality: whatever the dependence of
rows and looks, the chance that any unchanged row is ever called slower or faster stays below `alpha`. Group-sequential
boundaries (Pocock 1977, "Group sequential methods in the design and analysis of clinical trials", Biometrika 64)
would share it less wastefully, since the looks at one row are strongly correlated; this first version pays in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

__all__ = ["DEFAULT_LOOKS", "Looks"]


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

    def level(self, *, rows: int, rounds: int, alpha: float) -> float:
        """The confidence of the interval of one row at one look.

        Args:
            rows: How many rows the table compares.
            rounds: How many rounds the row has.
            alpha: The chance that the table may have of any false slower or faster.

        Raises:
            ValueError: `alpha` is not between 0 and 1.
        """
        if not 0 < alpha < 1:
            what = f"alpha lies between 0 and 1, not at {alpha}"
            raise ValueError(what)
        return 1 - alpha / (max(1, rows) * self.charged(rounds))


#: Six rounds resolve 3 % on a machine whose neighbouring samples agree within 1 %; two more looks for a louder one.
DEFAULT_LOOKS = Looks((6, 9, 12))
