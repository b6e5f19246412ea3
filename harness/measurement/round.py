"""One round of one benchmark: a fresh process for each side, alive together, taking samples in turn.

A slow phase of the machine lasts milliseconds to seconds. Neighbouring samples of two processes, milliseconds apart and
in an order that is swapped each time, meet the same phase, so their ratio is steady where the samples are not.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import statistics
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from harness.inspection.attestation import differences
from harness.jsonio import digest
from harness.measurement.options import Options
from harness.measurement.plan import Visit
from harness.measurement.process import MeasuredProcess, NotMeasuredError, Suite
from harness.measurement.records import BenchmarkId, Record, Sample, State
from harness.measurement.side import Side

__all__ = ["RowResult", "measure_visit"]

log = logging.getLogger(__name__)
# Each sample of a raw benchmark starts an interpreter of its own: it is worth a round of others, and costs as much.
_RAW_SAMPLES = 3
# Calibrations of equal processes differ by less than this, half-speed phases of the machine included.
_ALIKE = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """What one round saw of one row.

    Attributes:
        records: One for each side, in the order of the sides.
        fingerprints: The facts of the processes, by their digest.
    """

    records: tuple[Record, ...]
    fingerprints: Mapping[str, Mapping[str, Any]]


@dataclass(slots=True)
class _Member:
    """One side's process in a round. `broken` says why it cannot measure any row."""

    position: int
    process: MeasuredProcess
    since: float
    suite: Suite | None = None
    broken: NotMeasuredError | None = None
    fingerprint: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def side(self) -> Side:
        return self.process.side


@dataclass(slots=True)
class _Take:
    """What one process gives for one row."""

    member: _Member
    failure: NotMeasuredError | None = None
    number: int = 1
    samples: list[Sample] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    spent: float = 0.0

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


def measure_visit(
    visit: Visit, sides: Sequence[Side], suite: Path, options: Options, *, isolate: bool = False
) -> Generator[RowResult]:
    """Measures the rows of one benchmark in one round, and gives each as soon as it is done.

    Rows share processes until one of these ends early; the rest then get fresh ones, on every side. Close the iterator
    when it is not used up: the processes live inside it.

    Args:
        visit: The round and the rows.
        sides: The cells, in the order of the run.
        suite: The folder of the ASV suite.
        options: Samples and time.
        isolate: Whether every row gets fresh processes.
    """
    left = list(visit.rows)
    while left:
        with contextlib.ExitStack() as stack:
            crew = _start(visit, sides, suite, options, stack)
            alone = isolate or any(member.suite is not None and member.suite.one_value for member in crew)
            for row in left[:1] if alone else tuple(left):
                left.remove(row)
                result, healthy = _measure_row(row, visit.round, crew, options)
                yield result
                if not healthy:
                    break


def _start(
    visit: Visit, sides: Sequence[Side], suite: Path, options: Options, stack: contextlib.ExitStack
) -> list[_Member]:
    crew: list[_Member] = []
    for position, side in enumerate(sides):
        process = MeasuredProcess(side, suite, visit.benchmark, options)
        member = _Member(position, process, time.monotonic())
        crew.append(member)
        with _breaking(member):
            stack.enter_context(process)
            process.start()
    # They import side by side, the suite and then what it measures: nothing is timed yet.
    for member in crew:
        if member.broken is None:
            with _breaking(member):
                member.suite = member.process.started()
                if not member.suite.one_value:
                    member.process.look()
    for member in crew:
        if member.suite is not None and not member.suite.one_value:
            with _breaking(member):
                _attest(member)
    return crew


@contextlib.contextmanager
def _breaking(member: _Member) -> Iterator[None]:
    try:
        yield
    except NotMeasuredError as failure:
        member.broken = failure


def _attest(member: _Member) -> None:
    """Reads the facts of the process, and refuses it when it is not what the cell asked for."""
    member.facts = member.process.fingerprint()
    member.fingerprint = digest(member.facts)
    cell = member.side.cell
    if cell.subject == "torch" and member.facts["import_error"]:
        reason = f"torch cannot be imported: {member.facts['import_error']}"
        raise NotMeasuredError(State.CRASHED, reason)
    if unlike := differences(cell, member.facts):
        raise NotMeasuredError(State.INVALID, f"not what {cell.id} asks for: {'; '.join(unlike)}")


def _measure_row(row: BenchmarkId, number: int, crew: Sequence[_Member], options: Options) -> tuple[RowResult, bool]:
    start, started_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="milliseconds")
    takes = [_Take(member, failure=member.broken) for member in crew]
    for take in takes:
        take.attempt(partial(_prepare, take, row))
    _agree(takes)
    for take in takes:
        take.spent = 0.0
    _alternate(takes, number, start, options)
    for take in takes:
        take.attempt(partial(_finish, take))
    records = tuple(_record(take, row, number, started_at) for take in takes)
    # A process whose benchmark raised still answers, but is no longer as fresh as its partner.
    healthy = all(
        take.member.broken is not None or take.failure is None or take.failure.state is State.SKIPPED for take in takes
    )
    prints = {take.member.fingerprint: take.member.facts for take in takes if take.member.fingerprint}
    return RowResult(records=records, fingerprints=prints), healthy


def _prepare(take: _Take, row: BenchmarkId) -> None:
    suite = take.member.suite
    assert suite is not None
    if suite.version != row.version:
        reason = f"the benchmark has version {suite.version} here, not {row.version}"
        raise NotMeasuredError(State.INVALID, reason)
    sets = list(itertools.product(*suite.params))
    if row.params not in sets:
        reason = f"the benchmark has no parameters {', '.join(row.params) or '(none)'} here"
        raise NotMeasuredError(State.INVALID, reason)
    take.member.process.setup(sets.index(row.params))
    take.number = take.member.process.calibrate()


def _agree(takes: Sequence[_Take]) -> None:
    """Gives all sides the same number of calls a sample, unless they really differ in speed.

    A longer sample is interrupted more often, so that on a busy machine the side that happened to be calibrated in a
    calmer moment would look slower.
    """
    numbers = [take.number for take in takes if take.failure is None]
    if numbers and max(numbers) <= _ALIKE * min(numbers):
        common = round(statistics.geometric_mean(numbers))
        for take in takes:
            take.number = common


def _alternate(takes: Sequence[_Take], number: int, start: float, options: Options) -> None:
    wanted = min((_samples(take, options) for take in takes if take.failure is None), default=0)
    for turn in range(wanted):
        # A B, B A, A B ...: and the side that begins changes from round to round.
        order = takes if (turn + number) % 2 == 0 else takes[::-1]
        for take in order:
            if take.failure is None:
                time.sleep(options.gap)
                take.attempt(partial(_sample, take, start))
        if turn + 1 >= options.min_samples and max(take.spent for take in takes) >= options.budget:
            return


def _samples(take: _Take, options: Options) -> int:
    suite = take.member.suite
    assert suite is not None
    if suite.one_value:
        return 1
    return min(options.samples, _RAW_SAMPLES) if suite.type == "timeraw" else options.samples


def _sample(take: _Take, start: float) -> None:
    said = take.member.process.sample(take.number)
    take.samples.append(
        Sample(
            value=float(said["value"]),
            at=float(said["at"]) - start,
            canary=float(said["canary"]),
            faults=int(said["faults"]),
        )
    )


def _finish(take: _Take) -> None:
    # Where one value is all that a process gives, reading its facts first could have changed the value.
    take.details = take.member.process.teardown()
    if not take.member.fingerprint:
        take.member.process.look()
        _attest(take.member)


def _record(take: _Take, row: BenchmarkId, number: int, started_at: str) -> Record:
    member, failure = take.member, take.failure
    now = time.monotonic()
    seconds, member.since = now - member.since, now
    return Record(
        round=number,
        cell=member.side.cell.id,
        side=member.position,
        benchmark=row,
        state=State.OK if failure is None else failure.state,
        samples=tuple(take.samples) if failure is None else (),
        number=take.number,
        details=take.details,
        reason="" if failure is None else failure.reason,
        log=member.process.words(),
        lock=member.side.lock,
        environment=member.side.environment,
        fingerprint=member.fingerprint,
        started_at=started_at,
        seconds=seconds,
    )
