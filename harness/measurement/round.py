"""One round of one benchmark: a fresh process for each side, alive together, taking samples in turn."""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from harness.inspection.attestation import differences
from harness.inspection.conditions import Conditions, between, look
from harness.jsonio import digest
from harness.measurement.calm import Calm
from harness.measurement.options import Options
from harness.measurement.plan import Visit
from harness.measurement.process import MeasuredProcess, NotMeasuredError, Suite
from harness.measurement.records import BenchmarkId, Record, State
from harness.measurement.side import Side
from harness.measurement.turns import Take, agree, take_turns

__all__ = ["RowResult", "measure_visit"]

log = logging.getLogger(__name__)


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


def measure_visit(
    visit: Visit,
    sides: Sequence[Side],
    suite: Path,
    options: Options,
    *,
    isolate: bool = False,
    calm: Calm | None = None,
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
        calm: What earlier rounds showed; it is told of this one.
    """
    calm = calm or Calm(options.calm)
    left = list(visit.rows)
    while left:
        with contextlib.ExitStack() as stack:
            crew = _start(visit, sides, suite, options, stack)
            alone = isolate or any(member.suite is not None and member.suite.one_value for member in crew)
            for row in left[:1] if alone else tuple(left):
                left.remove(row)
                result, healthy = _measure_row(row, visit.round, crew, options, calm)
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


def _measure_row(
    row: BenchmarkId, number: int, crew: Sequence[_Member], options: Options, calm: Calm
) -> tuple[RowResult, bool]:
    start, started_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="milliseconds")
    takes = [Take(process=one.process, side=one.position, row=row, failure=one.broken) for one in crew]
    for member, take in zip(crew, takes, strict=True):
        take.attempt(partial(_prepare, member, take))
    agree(takes)
    for take in takes:
        take.spent = 0.0
    before = look()
    take_turns(takes, number, start, options, calm)
    conditions = between(before, look())
    for member, take in zip(crew, takes, strict=True):
        take.attempt(partial(_finish, member, take))
    records = tuple(
        _record(member, take, number, started_at, conditions, calm) for member, take in zip(crew, takes, strict=True)
    )
    for record in records:
        calm.learn(record)
    # A process whose benchmark raised still answers, but is no longer as fresh as its partner.
    healthy = all(
        member.broken is not None or take.failure is None or take.failure.state is State.SKIPPED
        for member, take in zip(crew, takes, strict=True)
    )
    prints = {member.fingerprint: member.facts for member in crew if member.fingerprint}
    return RowResult(records=records, fingerprints=prints), healthy


def _prepare(member: _Member, take: Take) -> None:
    suite, row = member.suite, take.row
    assert suite is not None
    if suite.version != row.version:
        reason = f"the benchmark has version {suite.version} here, not {row.version}"
        raise NotMeasuredError(State.INVALID, reason)
    sets = list(itertools.product(*suite.params))
    if row.params not in sets:
        reason = f"the benchmark has no parameters {', '.join(row.params) or '(none)'} here"
        raise NotMeasuredError(State.INVALID, reason)
    take.type = suite.type
    take.process.setup(sets.index(row.params))
    take.number, take.alone = take.process.calibrate()


def _finish(member: _Member, take: Take) -> None:
    # Where one value is all that a process gives, reading its facts first could have changed the value.
    take.details = take.process.teardown()
    if not member.fingerprint:
        take.process.look()
        _attest(member)


def _record(member: _Member, take: Take, number: int, started_at: str, conditions: Conditions, calm: Calm) -> Record:
    now = time.monotonic()
    seconds, member.since = now - member.since, now
    record = Record(
        round=number,
        cell=member.side.cell.id,
        side=member.position,
        benchmark=take.row,
        state=State.OK if take.failure is None else take.failure.state,
        number=take.number,
        details=take.details,
        reason="" if take.failure is None else take.failure.reason,
        log=take.process.words(),
        lock=member.side.lock,
        environment=member.side.environment,
        fingerprint=member.fingerprint,
        started_at=started_at,
        seconds=seconds,
        conditions=conditions,
    )
    return record if take.failure is not None else _marked(record, take, calm)


def _marked(record: Record, take: Take, calm: Calm) -> Record:
    """The record with its samples, each marked by what is known at the end of the row."""
    limit = calm.limit(take.side, take.row)
    samples = tuple(replace(sample, calm=sample.canary <= limit) for sample in take.samples)
    if not take.gated or any(sample.calm for sample in samples):
        return replace(record, samples=samples)
    times = calm.excess(take.side, take.row, (sample.canary for sample in samples))
    reason = f"never ran undisturbed: a fixed loop took {times:.2f} times as long as it can, or longer"
    return replace(record, state=State.INVALID, reason=reason, samples=samples)
