"""What was measured of a benchmark, in the form in which ASV stores it.

One sample is stored for each measured process: the median of what it saw. ASV treats samples as independent, and those
of one process are not; with all of them its `compare` would call a third of unchanged pairs different. Every single
value stays in the run's own records.
"""

from __future__ import annotations

import itertools
import logging
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, assert_never

from harness.asv_plugin.suite import Suite

__all__ = ["Outcome", "StoredBenchmark", "add_to"]

log = logging.getLogger(__name__)


class Outcome(StrEnum):
    """What ASV can say of a benchmark that was asked for."""

    MEASURED = "measured"
    #: It cannot run in this cell: ASV's NaN, shown as n/a.
    SKIPPED = "skipped"
    #: It raised, crashed, or ran out of time or memory: ASV's null, shown as failed.
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBenchmark:
    """What was seen of one benchmark with one set of parameters in one cell.

    Attributes:
        name: The benchmark, as ASV names it.
        params: The values of its parameters, as ASV writes them (their `repr`); empty without parameters.
        version: The version of its code.
        outcome: Whether there are values.
        processes: The values that each measured process saw, in ASV's unit; not empty when measured.
        number: Calls in each value.
        started_at: When the first process began, with a time zone.
        seconds: Wall time of all processes together.
    """

    name: str
    params: tuple[str, ...] = ()
    version: str = "1"
    outcome: Outcome = Outcome.MEASURED
    processes: tuple[tuple[float, ...], ...] = ()
    number: int = 1
    started_at: datetime
    seconds: float


def add_to(stored: Any, suite: Suite, measured: Iterable[StoredBenchmark]) -> tuple[str, ...]:
    """Adds what was measured to an `asv.results.Results`, and returns the names that the suite does not know.

    Args:
        stored: ASV's object; values of other benchmarks and parameters in it stay.
        suite: Every benchmark.
        measured: At most one for each benchmark and parameters; a later one replaces an earlier.
    """
    grouped: dict[str, dict[tuple[str, ...], StoredBenchmark]] = {}
    left_out: dict[str, None] = {}
    for one in measured:
        known = suite.get(one.name)
        if known is None or known["version"] != one.version or one.params not in _combinations(known):
            left_out[one.name] = None
        else:
            grouped.setdefault(one.name, {})[one.params] = one
    for name, by_params in grouped.items():
        _add_benchmark(stored, suite[name], by_params)
    for name in left_out:
        log.warning("%s: not stored, since the suite has another version of it, or none", name)
    return tuple(left_out)


def _combinations(benchmark: Mapping[str, Any]) -> list[tuple[str, ...]]:
    # In ASV's order; one empty combination where there are no parameters.
    return list(itertools.product(*benchmark["params"]))


def _add_benchmark(
    stored: Any, benchmark: Mapping[str, Any], by_params: Mapping[tuple[str, ...], StoredBenchmark]
) -> None:
    from asv.runner import BenchmarkResult  # noqa: PLC0415  # heavy

    combinations = _combinations(benchmark)
    # NaN for what was not asked for now, as ASV itself writes; `add_result` puts older values there.
    rows = [_row(by_params[c]) if c in by_params else (math.nan, None, None) for c in combinations]
    stored.add_result(
        benchmark,
        BenchmarkResult(
            result=[row[0] for row in rows],
            samples=[row[1] for row in rows],
            number=[row[2] for row in rows],
            errcode=0,
            stderr="",
            profile=None,
        ),
        started_at=min(one.started_at for one in by_params.values()),
        duration=sum(one.seconds for one in by_params.values()),
        record_samples=True,
        selected_idx={place for place, combination in enumerate(combinations) if combination in by_params},
    )


def _row(one: StoredBenchmark) -> tuple[float | None, Sequence[float] | None, int | None]:
    """ASV's result, samples and number; the result of samples is a mere mark, ASV computes it and its interval."""
    match one.outcome:
        case Outcome.MEASURED:
            medians = [statistics.median(values) for values in one.processes if values]
            if not medians:
                return None, None, None
            return 0.0, medians, one.number
        case Outcome.SKIPPED:
            return math.nan, None, None
        case Outcome.FAILED:
            return None, None, None
        case _:
            assert_never(one.outcome)
