"""Exact comparison of values that do not vary: behaviours and claims (1 or 0), counts, sizes.

A process that answers the same every time needs no interval; two processes a side show that it was not luck.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.statistics.comparison import Comparison, compare, exact_comparison
from harness.statistics.looks import Levels
from harness.statistics.verdict import Judgement, Verdict

__all__ = ["EXACT_ROUNDS", "constant_of", "is_binary", "judge_constants", "judge_flips"]

#: Processes of each side that must agree.
EXACT_ROUNDS = 2


def constant_of(processes: Sequence[Sequence[float]]) -> float | None:
    """The one value of all samples of all processes of a side; None where they vary or are not finite."""
    seen = {value for values in processes for value in values}
    return seen.pop() if len(seen) == 1 and all(map(math.isfinite, seen)) else None


def is_binary(processes: Sequence[Sequence[float]]) -> bool:
    """Whether nothing but 0 and 1 was seen."""
    return all(value in {0.0, 1.0} for values in processes for value in values)


def judge_constants(
    baseline: float, candidate: float, *, rounds: int, floor: float, higher_is_better: bool, levels: Levels
) -> tuple[Judgement, Comparison | None]:
    """The verdict on two sides of which each has one value.

    Where both are above zero, their ratio meets the floor like any other. Zero and negative values have no ratio: the
    difference then meets the floor as a share of the baseline, and any step away from zero is a change.
    """
    ratio = _ratio(baseline, candidate, higher_is_better=higher_is_better)
    if rounds < EXACT_ROUNDS:
        # One process a side may be luck: the ratio is an estimate like any other.
        found = compare([math.log(ratio)], levels=levels) if ratio is not None else None
        return Judgement(verdict=Verdict.UNDECIDED, reason=f"1 round of at least {EXACT_ROUNDS}"), found
    comparison = exact_comparison(ratio, rounds=rounds, levels=levels) if ratio is not None else None
    if baseline == candidate:
        return Judgement(verdict=Verdict.SAME), comparison
    if comparison is not None:
        reaches = not 1 / (1 + floor) < comparison.ratio < 1 + floor
    else:
        reaches = abs(candidate - baseline) > floor * abs(baseline)
    if not reaches:
        return Judgement(verdict=Verdict.SAME), comparison
    better = (candidate > baseline) == higher_is_better
    reason = "" if comparison is not None else _change(baseline, candidate)
    return Judgement(verdict=Verdict.FASTER if better else Verdict.SLOWER, reason=reason), comparison


def judge_flips(baseline: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]]) -> Judgement:
    """The verdict on a behaviour that is not the same in every process: it has changed, or it is a matter of luck."""
    shares = []
    for name, processes in (("baseline", baseline), ("candidate", candidate)):
        holding = sum(all(value == 1 for value in values) for values in processes)
        shares.append(f"{holding} of {len(processes)} processes of the {name}")
    return Judgement(verdict=Verdict.UNDECIDED, reason=f"holds in {shares[0]} and {shares[1]}")


def _ratio(baseline: float, candidate: float, *, higher_is_better: bool) -> float | None:
    """Candidate to baseline, above 1 where it is better; None where there is none."""
    if baseline == candidate:
        return 1.0
    if baseline <= 0 or candidate <= 0:
        return None
    ratio = candidate / baseline if higher_is_better else baseline / candidate
    return ratio if 0 < ratio < math.inf else None


def _change(baseline: float, candidate: float) -> str:
    match baseline, candidate:
        case 1.0, 0.0:
            return "holds in the baseline (1), no longer in the candidate (0)"
        case 0.0, 1.0:
            return "does not hold in the baseline (0), holds in the candidate (1)"
        case _:
            return f"changed from {baseline:g} to {candidate:g}, which has no ratio"
