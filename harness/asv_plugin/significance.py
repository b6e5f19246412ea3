"""What `asv compare` says of two sets of samples: ASV's own functions."""

from __future__ import annotations

from collections.abc import Sequence

from asv.commands.compare import _is_result_better
from asv_runner.statistics import compute_stats

__all__ = ["asv_says"]


def asv_says(baseline: Sequence[float], candidate: Sequence[float], *, factor: float, keep_samples: bool) -> int:
    """-1 for a slowdown, 1 for a speedup, 0 for neither.

    Args:
        baseline: Seconds of each sample, of all processes.
        candidate: The same.
        factor: As `--factor`.
        keep_samples: Whether the samples were recorded (`--record-samples`), or only their median and its interval.
    """
    sides = []
    for samples in (baseline, candidate):
        middle, stats = compute_stats(list(samples), 1)
        sides.append((middle, (stats, list(samples) if keep_samples else None)))
    (ours, ours_seen), (theirs, theirs_seen) = sides
    if _is_result_better(ours, theirs, ours_seen, theirs_seen, factor):
        return -1
    return int(_is_result_better(theirs, ours, theirs_seen, ours_seen, factor))
