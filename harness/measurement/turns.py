"""The samples of one row: live processes take one each in turn, and turns that were disturbed are repeated.

A slow phase of the machine lasts milliseconds to seconds. Neighbouring samples of two processes, milliseconds apart and
in an order that is swapped each time, meet the same phase, so their ratio is steady where the samples are not. That
holds only where they meet it on the same processor: processors have phases of their own.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from harness.measurement.calm import Calm
from harness.measurement.options import Options
from harness.measurement.process import MeasuredProcess, NotMeasuredError
from harness.measurement.records import BenchmarkId, Sample

__all__ = ["Take", "agree", "take_turns"]

# Each sample of a raw benchmark starts an interpreter of its own: it is worth a round of others, and costs as much.
_RAW_SAMPLES = 3
# Calibrations of equal processes differ by less than this, half-speed phases of the machine included.
_ALIKE = 2.5


@dataclass(slots=True)
class Take:
    """What one process gives for one row.

    Attributes:
        process: The process.
        side: Its position among the sides.
        row: What it measures.
        failure: Why it gives nothing.
        type: ASV's type of the benchmark (`time`, `track`, `peakmemory`), or `timeraw`.
        number: Calls in each sample.
        alone: Whether one thread does all the work.
        samples: What it gave, in the order of time; not marked yet.
        details: What the benchmark said beside its values.
        spent: Seconds of sampling.
    """

    process: MeasuredProcess
    side: int
    row: BenchmarkId
    failure: NotMeasuredError | None = None
    type: str = ""
    number: int = 1
    alone: bool = False
    samples: list[Sample] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    spent: float = 0.0

    @property
    def gated(self) -> bool:
        """Whether a disturbed sample can be told and taken again: what runs in other processes is out of sight."""
        return self.type == "time"

    def attempt(self, action: Callable[[], None]) -> None:
        """Does something with the process unless it has failed already; keeps a failure."""
        if self.failure is not None:
            return
        start = time.monotonic()
        try:
            action()
        except NotMeasuredError as failure:
            self.failure = failure
        self.spent += time.monotonic() - start


def agree(takes: Sequence[Take]) -> None:
    """Gives all sides the same number of calls a sample, unless they really differ in speed.

    A longer sample is interrupted more often, so that on a busy machine the side that happened to be calibrated in a
    calmer moment would look slower.
    """
    numbers = [take.number for take in takes if take.failure is None]
    if numbers and max(numbers) <= _ALIKE * min(numbers):
        common = round(statistics.geometric_mean(numbers))
        for take in takes:
            take.number = common


def take_turns(takes: Sequence[Take], number: int, start: float, options: Options, calm: Calm) -> None:
    """Takes samples in turn until enough turns were calm, or the budget is spent.

    Args:
        takes: One for each side; those that failed are left aside.
        number: The round.
        start: When the row began, in seconds of the monotonic clock.
        options: How many samples, and how long.
        calm: What the sides have shown; it is told of every sample.
    """
    live = [take for take in takes if take.failure is None]
    wanted = min((_wanted(take, options) for take in live), default=0)
    gated = bool(live) and all(take.gated for take in live)
    # Where one side starts threads and the other does not, one processor would be another machine for one of them.
    pinned = options.pin and gated and all(take.alone for take in live)
    processor: int | None = None
    turns: list[bool] = []
    for turn in range(wanted + (options.repeats if gated else 0)):
        # A B, B A, A B ...: and the side that begins changes from round to round.
        order = takes if (turn + number) % 2 == 0 else takes[::-1]
        if pinned and not (turns and turns[-1]):
            processor = _calmest(order, processor)
        for take in order:
            take.attempt(partial(_sample, take, processor, start, calm))
        turns = _calm_turns(takes, calm)
        if turn + 1 >= options.min_samples and max(take.spent for take in takes) >= options.budget:
            return
        if gated and sum(turns) >= wanted:
            return


def _wanted(take: Take, options: Options) -> int:
    match take.type:
        case "time":
            return options.samples
        case "timeraw":
            return min(options.samples, _RAW_SAMPLES)
        case _:
            return 1  # all that a process gives


def _calmest(order: Sequence[Take], before: int | None) -> int | None:
    take = next((take for take in order if take.failure is None), None)
    if take is None:
        return before
    found: list[int] = []
    take.attempt(lambda: found.append(take.process.calmest()))
    return found[0] if found else before


def _sample(take: Take, processor: int | None, start: float, calm: Calm) -> None:
    said = take.process.sample(take.number, processor)
    sample = Sample(
        value=float(said["value"]),
        at=float(said["at"]) - start,
        canary=float(said["canary"]),
        faults=int(said["faults"]),
        processor=processor,
    )
    take.samples.append(sample)
    calm.see(take.side, take.row, sample.canary)


def _calm_turns(takes: Sequence[Take], calm: Calm) -> list[bool]:
    """Which turns were calm on every side, by what is known now."""
    live = [take for take in takes if take.failure is None]
    limits = [calm.limit(take.side, take.row) for take in live]
    turns = zip(*(take.samples for take in live), strict=True)
    return [all(sample.canary <= limit for sample, limit in zip(turn, limits, strict=True)) for turn in turns]
