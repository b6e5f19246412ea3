"""What one round saw: the types of a run's append-only file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness.inspection.conditions import Conditions

__all__ = ["BenchmarkId", "Record", "Sample", "State"]


class State(StrEnum):
    """How a round of one benchmark ended in one cell."""

    OK = "ok"
    #: The benchmark says that it cannot run here.
    SKIPPED = "skipped"
    TIMEOUT = "timeout"
    #: It raised, or its process ended early.
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out of memory"
    #: The process was not what the cell asked for, or never ran undisturbed.
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class BenchmarkId:
    """One row of a verdict table.

    Attributes:
        name: The benchmark, as ASV names it (`bench_conv.Conv2d.time_forward`).
        params: The values of its parameters, as ASV writes them (their `repr`).
        version: The version of its code: results of two versions are never compared.
    """

    name: str
    params: tuple[str, ...] = ()
    version: str = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample of a measured process.

    Attributes:
        value: In ASV's unit of the benchmark: seconds a call for `time_`, else what the benchmark returned.
        at: When it began: seconds of the machine's monotonic clock since the round began.
        canary: Seconds of a fixed pure-Python loop, the slower of one before and one after the sample.
        faults: Minor page faults during the sample.
        calm: Whether the canary was about as fast as it ever was on this side; None in records that did not ask.
        processor: The one that the benchmark's thread was kept on, or None where it might run anywhere.
    """

    value: float
    at: float
    canary: float
    faults: int
    calm: bool | None = None
    processor: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one process saw of one benchmark in one round. Never changed once written.

    Attributes:
        round: Counts from 0; the processes of one round lived side by side.
        cell: The id of the cell.
        side: Position among the cells of the run (0 is the baseline), so that an A/A run can tell its two sides apart.
        benchmark: What was measured.
        state: How it ended.
        samples: In the order of time; empty unless the state is ok, or the process never ran undisturbed.
        number: Calls in each sample.
        details: What the benchmark said beside its values, by name: sentences, lists of numbers.
        reason: Why the state is not ok, one line.
        log: What the process said, at most its last 4,000 characters.
        lock: The digest of the cell's lock.
        environment: The key of the environment in the store.
        fingerprint: The digest of the facts read inside the process.
        started_at: ISO date and time, UTC.
        seconds: Wall time from the start of the process, or from the end of its previous benchmark.
        conditions: What the machine was like meanwhile; None in records that did not look.
    """

    round: int
    cell: str
    side: int
    benchmark: BenchmarkId
    state: State
    samples: tuple[Sample, ...] = ()
    number: int = 1
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    reason: str = ""
    log: str = ""
    lock: str
    environment: str
    fingerprint: str
    started_at: str
    seconds: float
    conditions: Conditions | None = None

    @property
    def disturbed(self) -> bool:
        """Whether the process was what it should be, but never ran undisturbed."""
        return self.state is State.INVALID and bool(self.samples)
