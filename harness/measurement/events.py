"""What a run tells while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.inspection.check import HostFinding
from harness.inspection.host import HostFacts
from harness.measurement.machine import Holder
from harness.measurement.records import BenchmarkId, Record
from harness.measurement.runs import Fault

__all__ = ["Event", "Finished", "HostChecked", "Progress", "Started", "Undecided", "Waiting", "seconds_left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostChecked:
    """The machine was looked at."""

    host: HostFacts
    findings: tuple[HostFinding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Another measurement holds the machine; None when it is not known which."""

    holder: Holder | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The run's file is open.

    Attributes:
        folder: Where it lies.
        resumed: Whether an unfinished run goes on.
        done: Rows of rounds that are measured already.
        total: Rows of rounds in all, as far as is known.
        faults: Lines of a resumed file that could not be used.
    """

    folder: Path
    resumed: bool
    done: int
    total: int
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One row of one round was measured and is stored.

    Attributes:
        records: One for each side.
        done: Rows of rounds that are measured.
        total: Rows of rounds in all, as far as is known.
        seconds_left: An estimate.
    """

    records: tuple[Record, ...]
    done: int
    total: int
    seconds_left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """Rows get further rounds.

    Attributes:
        rows: Which ones.
        rounds: How many they will have then.
    """

    rows: tuple[BenchmarkId, ...]
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Nothing remains to be measured."""

    folder: Path


Event = HostChecked | Waiting | Started | Progress | Undecided | Finished

# Before anything is measured: two processes that import a large package, and sample for a second and a half each.
_GUESS = 5.0


@dataclass(slots=True)
class Pace:
    """How long rows take in this run: a mean for each benchmark, and over all for the others."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def took(self, name: str, seconds: float) -> None:
        """Notes how long a row of a benchmark took."""
        self.seconds.setdefault(name, []).append(seconds)


def seconds_left(pace: Pace, remaining: Mapping[str, int]) -> float:
    """An estimate for the rows that remain, counted by benchmark."""
    every = [seconds for taken in pace.seconds.values() for seconds in taken]
    usual = sum(every) / len(every) if every else _GUESS
    return sum(
        count * (sum(taken) / len(taken) if (taken := pace.seconds.get(name)) else usual)
        for name, count in remaining.items()
    )
