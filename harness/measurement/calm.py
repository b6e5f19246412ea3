"""Which samples ran undisturbed: the fixed loop around each, set against the fastest one of its side.

A tenant on the other half of a core, or a lower frequency, slows the interpreter about as much as a benchmark, so the
loop tells the two apart from what is measured: a canary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from harness.measurement.records import BenchmarkId, Record

__all__ = ["Calm"]

_Row = tuple[int, BenchmarkId]


class Calm:
    """How fast the fixed loop is on each side of a run while nothing disturbs it.

    Sides have interpreters of their own, so each has a reference of its own: the fastest loop that it has shown in the
    whole run, also before it was interrupted. Where an earlier process of a row never came near it, the row has its own
    fastest: its benchmark may leave threads behind that slow the loop for good, or the machine may have become slower.

    Args:
        factor: How much slower than the reference a loop may be.
        records: What the run has already.
    """

    def __init__(self, factor: float, records: Iterable[Record] = ()) -> None:
        self._factor = factor
        self._side: dict[int, float] = {}
        self._row: dict[_Row, float] = {}
        self._been_calm: set[_Row] = set()
        self._never_calm: set[_Row] = set()
        for record in records:
            for sample in record.samples:
                self.see(record.side, record.benchmark, sample.canary)
            self.learn(record)

    def see(self, side: int, row: BenchmarkId, canary: float) -> None:
        """Takes notice of a loop around a sample, in seconds."""
        self._side[side] = min(canary, self._side.get(side, math.inf))
        self._row[side, row] = min(canary, self._row.get((side, row), math.inf))

    def learn(self, record: Record) -> None:
        """Takes notice of what became of a process."""
        place = record.side, record.benchmark
        if record.disturbed:
            self._never_calm.add(place)
        elif any(sample.calm for sample in record.samples):
            self._been_calm.add(place)

    def limit(self, side: int, row: BenchmarkId) -> float:
        """Seconds that the loop may take around a calm sample; infinite before the first was seen."""
        place = side, row
        own = place in self._never_calm and place not in self._been_calm
        reference = self._row.get(place, math.inf) if own else self._side.get(side, math.inf)
        return self._factor * reference

    def excess(self, side: int, row: BenchmarkId, canaries: Iterable[float]) -> float:
        """How many times the reference the fastest of these loops took."""
        return min(canaries) * self._factor / self.limit(side, row)
