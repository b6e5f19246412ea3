"""Two curves of numbers held against each other: the same bits, or where they part and how far they get."""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.measurement.metrics import Metric
from harness.measurement.records import BenchmarkId, Record, State

__all__ = ["DETAIL", "Curve", "CurveComparison", "CurveRow", "compare_curves", "curve_of", "curve_rows", "ulp_distance"]

#: What the details of a record call a curve.
DETAIL = "curve"

Curve = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveComparison:
    """How far two curves are apart. Steps count from 1.

    Distances are those of float32 numbers, in which losses are computed; a number that is none is rounded to one. Where
    a value is not finite there is no distance.

    Attributes:
        steps: Of the shorter curve.
        lengths: Of both.
        first: The first step at which the bits differ, or 0. Beside the end of the shorter curve where all before it
            are equal. One NaN is as good as another.
        baseline: The baseline's value there; None where it has none.
        candidate: The candidate's.
        ulp: How many float32 numbers the two are apart.
        relative: How far apart as a share of the larger.
        largest: The largest such share of any step; None where some step has none.
    """

    steps: int
    lengths: tuple[int, int]
    first: int
    baseline: float | None
    candidate: float | None
    ulp: int | None
    relative: float | None
    largest: float | None

    @property
    def equal(self) -> bool:
        """Whether both have the same bits from beginning to end."""
        return self.first == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveRow:
    """The curves of one row of a table.

    Attributes:
        metric: The metric's name.
        benchmark: What gave the curves.
        rounds: Rounds in which both sides gave one.
        variants: How many different curves each side gave in those: 1 where it repeats itself.
        farthest: The round in which the two sides are farthest apart.
    """

    metric: str
    benchmark: BenchmarkId
    rounds: int
    variants: tuple[int, int]
    farthest: CurveComparison


def compare_curves(baseline: Sequence[float], candidate: Sequence[float]) -> CurveComparison:
    """Holds two curves against each other, step by step."""
    pairs = list(zip(baseline, candidate, strict=False))
    ends = len(pairs) + 1 if len(baseline) != len(candidate) else 0
    first = next((step for step, (a, b) in enumerate(pairs, 1) if not _same_bits(a, b)), ends)
    a = baseline[first - 1] if 0 < first <= len(baseline) else None
    b = candidate[first - 1] if 0 < first <= len(candidate) else None
    shares = [_relative(x, y) for x, y in pairs]
    known = [share for share in shares if share is not None]
    return CurveComparison(
        steps=len(pairs),
        lengths=(len(baseline), len(candidate)),
        first=first,
        baseline=a,
        candidate=b,
        ulp=None if a is None or b is None else ulp_distance(a, b),
        relative=None if a is None or b is None else _relative(a, b),
        largest=max(known, default=0.0) if len(known) == len(shares) else None,
    )


def ulp_distance(a: float, b: float) -> int | None:
    """How many steps from one float32 number to the next lie between two; None where one is not finite.

    Zero and minus zero are one number here. What lies beyond the largest float32 is not finite.
    """
    one, other = _ordinal(a), _ordinal(b)
    return None if one is None or other is None else abs(one - other)


def curve_of(details: Mapping[str, Any]) -> Curve | None:
    """The curve in a record's details, stored as numbers or as texts of `float.hex`; None where there is none."""
    stored = details.get(DETAIL)
    if not isinstance(stored, list) or not stored:
        return None
    try:
        return tuple(float.fromhex(value) if isinstance(value, str) else float(value) for value in stored)
    except (TypeError, ValueError, OverflowError):
        return None


def curve_rows(
    records: Iterable[Record], metrics: Iterable[Metric], *, baseline: int = 0, candidate: int = 1
) -> tuple[CurveRow, ...]:
    """Every row in which both sides gave curves, by metric and parameters.

    Args:
        records: Of any sides; the last of a round counts.
        metrics: Those that are compared, for their names.
        baseline: The side that is compared against.
        candidate: The other.
    """
    names = {metric.benchmark: metric.name for metric in metrics}
    found: dict[BenchmarkId, dict[int, dict[int, Curve]]] = defaultdict(lambda: {baseline: {}, candidate: {}})
    for record in records:
        if record.side in (baseline, candidate) and record.benchmark.name in names:
            curves = found[record.benchmark][record.side]
            curve = curve_of(record.details) if record.state is State.OK else None
            if curve is None:
                curves.pop(record.round, None)
            else:
                curves[record.round] = curve
    rows = [
        _row(names[benchmark.name], benchmark, sides[baseline], sides[candidate]) for benchmark, sides in found.items()
    ]
    return tuple(sorted((row for row in rows if row), key=lambda row: (row.metric, row.benchmark)))


def _row(
    metric: str, benchmark: BenchmarkId, baseline: Mapping[int, Curve], candidate: Mapping[int, Curve]
) -> CurveRow | None:
    rounds = sorted(baseline.keys() & candidate.keys())
    if not rounds:
        return None
    compared = [compare_curves(baseline[number], candidate[number]) for number in rounds]
    return CurveRow(
        metric=metric,
        benchmark=benchmark,
        rounds=len(rounds),
        variants=(_variants(baseline, rounds), _variants(candidate, rounds)),
        farthest=max(compared, key=_apart),
    )


def _variants(curves: Mapping[int, Curve], rounds: Sequence[int]) -> int:
    # By their bits: a NaN is not equal to itself, and minus zero is equal to zero.
    return len({tuple(value.hex() for value in curves[number]) for number in rounds})


def _apart(comparison: CurveComparison) -> tuple[bool, float, int]:
    largest = math.inf if comparison.largest is None else comparison.largest
    return not comparison.equal, largest, -comparison.first


def _same_bits(a: float, b: float) -> bool:
    return a.hex() == b.hex()


def _relative(a: float, b: float) -> float | None:
    if not (math.isfinite(a) and math.isfinite(b)):
        return 0.0 if _same_bits(a, b) else None
    if a == b:
        return 0.0
    larger = max(abs(a), abs(b))
    # Divided first: the difference of two large numbers of opposite sign could overflow.
    return abs(a / larger - b / larger)


def _ordinal(value: float) -> int | None:
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        return None
    bits = int.from_bytes(packed, "little")
    if bits & 0x7F800000 == 0x7F800000:
        return None
    return -(bits & 0x7FFFFFFF) if bits >> 31 else bits
