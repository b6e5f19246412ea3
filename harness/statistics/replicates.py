"""From the samples of two processes that lived side by side to one number: the round's log ratio.

The process is the unit of replication (Kalibera and Jones 2013, "Rigorous benchmarking in reasonable time", ISMM):
samples of one process share its memory layout, its threads' placement and its luck, so each round gives one value,
however many samples it took.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median

__all__ = ["ENOUGH_CALM", "Pairing", "Replicate", "Timed", "log_ratio", "oriented_log_ratio", "telling"]

#: So many calm samples, or pairs of them, speak for a process without the others.
ENOUGH_CALM = 5


class Pairing(StrEnum):
    """How the samples of two processes were brought together."""

    #: The median over k of the log ratio of sample k of both: milliseconds apart, they met the same phase. Of pairs
    #: that nothing disturbed, where there are enough.
    NEIGHBOURS = "neighbouring samples"
    #: The log ratio of the two processes' medians.
    MEDIANS = "process medians"


@dataclass(frozen=True, slots=True)
class Timed:
    """One sample.

    Attributes:
        value: In any unit, the same for both processes.
        at: When it began, in seconds of a clock that both processes share.
        calm: Whether nothing disturbed it, as far as could be told.
    """

    value: float
    at: float = 0.0
    calm: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicate:
    """What one round says.

    Attributes:
        log_ratio: Above 0 where the candidate is better.
        pairing: How it was found.
    """

    log_ratio: float
    pairing: Pairing


def log_ratio(baseline: Sequence[Timed], candidate: Sequence[Timed]) -> tuple[float, Pairing] | None:
    """The natural logarithm of candidate over baseline; None where a value is zero, negative or not finite.

    Raises:
        ValueError: One side has no samples.
    """
    if not baseline or not candidate:
        what = "a round needs samples of both processes"
        raise ValueError(what)
    if not all(math.isfinite(sample.value) and sample.value > 0 for sample in (*baseline, *candidate)):
        return None
    if _alternate(baseline, candidate):
        pairs = list(zip(baseline, candidate, strict=True))
        calm = [(a, b) for a, b in pairs if a.calm and b.calm]
        kept = calm if len(calm) >= ENOUGH_CALM else pairs
        return median(math.log(b.value) - math.log(a.value) for a, b in kept), Pairing.NEIGHBOURS
    middles = [median(sample.value for sample in telling(side)) for side in (baseline, candidate)]
    return math.log(middles[1]) - math.log(middles[0]), Pairing.MEDIANS


def telling(samples: Sequence[Timed]) -> Sequence[Timed]:
    """The samples that speak for their process: the calm ones where there are enough of them, else all."""
    calm = [sample for sample in samples if sample.calm]
    return calm if len(calm) >= ENOUGH_CALM else samples


def oriented_log_ratio(
    baseline: Sequence[Timed], candidate: Sequence[Timed], *, higher_is_better: bool
) -> Replicate | None:
    """The round's replicate: `log_ratio`, turned so that above 0 is better."""
    found = log_ratio(baseline, candidate)
    if found is None:
        return None
    value, pairing = found
    # Not -value: minus zero would print as -0.0 %.
    return Replicate(log_ratio=value if higher_is_better else 0.0 - value, pairing=pairing)


def _alternate(baseline: Sequence[Timed], candidate: Sequence[Timed]) -> bool:
    """Whether sample k of one process stands beside sample k of the other, in whatever order, for every k."""
    if len(baseline) != len(candidate):
        return False
    pairs = list(zip(baseline, candidate, strict=True))
    return all(max(a.at, b.at) <= min(next_a.at, next_b.at) for (a, b), (next_a, next_b) in pairwise(pairs))
