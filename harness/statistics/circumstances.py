"""What happened around the samples: how many ran undisturbed, and page faults that explain a step."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from harness.measurement.records import Record

__all__ = ["calm_share", "page_faults"]

#: Page faults a call, above which the kernel's work shows in the time of an operation (about 0.1 to 0.25 µs each).
_TELLING = 1.0
#: How many times as many one side must meet.
_APART = 2.0


def calm_share(records: Iterable[Record]) -> float | None:
    """The share of samples that nothing disturbed; None where no record asked."""
    asked = [sample.calm for record in records for sample in record.samples if sample.calm is not None]
    return sum(asked) / len(asked) if asked else None


def page_faults(baseline: Iterable[Record], candidate: Iterable[Record]) -> str:
    """Words on page faults where one side meets far more of them; empty otherwise.

    An allocator that gives memory back to the system between calls pays for it with page faults in the next one, so a
    step in time may come from it and not from the operation.
    """
    ours, theirs = _faults_a_call(baseline), _faults_a_call(candidate)
    if ours is None or theirs is None or max(ours, theirs) < _TELLING or max(ours, theirs) < _APART * min(ours, theirs):
        return ""
    return f"the allocator may be the cause: {ours:.3g} page faults a call against {theirs:.3g}"


def _faults_a_call(records: Iterable[Record]) -> float | None:
    found = [sample.faults / record.number for record in records for sample in record.samples]
    return median(found) if found else None
