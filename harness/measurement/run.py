"""A whole run, in a straight line: look at the machine, hold it, measure what remains, store each row at once."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.asv_plugin.suite import suite_digest
from harness.errors import MeasurementError
from harness.inspection.check import HostFinding, Severity, check_host
from harness.inspection.host import HostFacts
from harness.jsonio import digest
from harness.measurement.calm import Calm
from harness.measurement.events import (
    Event,
    Finished,
    HostChecked,
    Pace,
    Progress,
    Started,
    Undecided,
    Waiting,
    seconds_left,
)
from harness.measurement.machine import machine_lock
from harness.measurement.metrics import metrics_of
from harness.measurement.options import Options
from harness.measurement.plan import Visit, given_up, looks, remaining_visits, rounds_done
from harness.measurement.records import BenchmarkId, Record
from harness.measurement.round import measure_visit
from harness.measurement.runs import SCHEMA, Header, Run, SideHeader, find_unfinished, load
from harness.measurement.schema import unstructure
from harness.measurement.side import Side
from harness.measurement.store import RunFile

__all__ = ["UndecidedRows", "run_key", "run_rounds"]

#: Which rows still lack a verdict, given all records of the run.
UndecidedRows = Callable[[Sequence[Record]], Collection[BenchmarkId]]


def run_rounds(
    sides: Sequence[Side],
    rows: Sequence[BenchmarkId],
    benchmarks: Mapping[str, Any],
    options: Options,
    *,
    suite: Path,
    runs: Path,
    machine: str = "",
    undecided: UndecidedRows = lambda _: (),
    conclude: Callable[[Run], None] = lambda _: None,
    on_event: Callable[[Event], None] = lambda _: None,
    lock: Path | None = None,
) -> Run:
    """Measures rows on all sides in alternating rounds, and returns everything that is stored of it.

    A run of the same sides, rows and options that was interrupted goes on where it stopped. Each row of a round is on
    disk before the next begins, so that an interrupt of any kind costs one row at most.

    Args:
        sides: The cells, the baseline first.
        rows: What to measure.
        benchmarks: The benchmarks with the attributes that ASV discovered, by name; those of the rows at least.
        options: Rounds, samples and time.
        suite: The folder of the ASV suite.
        runs: The folder of all runs.
        machine: A name for the machine; its host name by default.
        undecided: Asked after the first rounds and after each further batch; its rows get more, up to the limit.
        conclude: Given all records, before the run is marked as finished: what is made of them is made again when the
            same command is given after it failed.
        on_event: Told of everything that happens.
        lock: The machine lock's file; the shared one by default.

    Raises:
        MeasurementError: The machine is not fit to measure on, or there is nothing to measure.
        StorageError: What was measured cannot be written.
    """
    if not sides or not rows:
        what = "there is nothing to measure"
        raise MeasurementError(what, why="no cell can be built, or no benchmark was selected")
    names = {row.name for row in rows}
    # The source of a benchmark is in the repository; its version names it.
    chosen = {
        name: {key: value for key, value in entry.items() if key != "code"}
        for name, entry in benchmarks.items()
        if name in names
    }
    metrics = metrics_of(chosen)
    isolated = {metric.benchmark for metric in metrics if metric.isolate}
    enough = {metric.benchmark: metric.enough_rounds for metric in metrics if metric.enough_rounds}
    shares = _shares(rows, enough, options.rounds)
    key = run_key(sides, rows, options, machine=machine, suite=suite_digest(suite))
    with machine_lock(lock, on_wait=lambda holder: on_event(Waiting(holder=holder))):
        host, findings = check_host()
        on_event(HostChecked(host=host, findings=findings))
        _refuse(findings, strict=options.strict_host)
        with _open(runs, key, lambda run: _header(run, key, sides, rows, chosen, options, host, machine)) as file:
            session = _Session(sides, options, suite, isolated, file, on_event)
            session.begin(sum(len(share) * rounds for share, rounds in shares))
            for share, rounds in shares:
                session.measure(share, rounds)
            for look, following in looks(options.rounds, options.max_rounds, options.batch):
                # A resumed run takes every look again, at what was there then, and so comes to the same decisions.
                open_rows = undecided([record for record in session.records if record.round < look])
                if not open_rows:
                    break
                on_event(Undecided(rows=tuple(sorted(open_rows)), rounds=following))
                session.measure(sorted(open_rows), following)
            conclude(load(file.path))
            file.finish()
            on_event(Finished(folder=file.folder))
    return load(file.path)


def run_key(
    sides: Sequence[Side], rows: Sequence[BenchmarkId], options: Options, *, machine: str = "", suite: str = ""
) -> str:
    """Names what is asked: the same again, of the same code on the same machine, is the same run while unfinished."""
    return digest(
        {
            "machine": machine,
            "suite": suite,
            "sides": [[side.cell.id, side.environment, side.lock, _settings(side)] for side in sides],
            "rows": unstructure(sorted(rows)),
            "options": unstructure(options),
        }
    )


def _shares(rows: Sequence[BenchmarkId], enough: Mapping[str, int], rounds: int) -> list[tuple[list[BenchmarkId], int]]:
    """Rows with the number of rounds that they get before the first look, the fewest first."""
    shares: dict[int, list[BenchmarkId]] = {}
    for row in rows:
        shares.setdefault(min(enough.get(row.name, rounds), rounds), []).append(row)
    return [(share, number) for number, share in sorted(shares.items())]


def _settings(side: Side) -> dict[str, str]:
    # Where files go differs from shell to shell, and changes nothing that is measured.
    return {name: value for name, value in side.variables.items() if name not in ("HOME", "PATH", "TMPDIR")}


def _refuse(findings: Sequence[HostFinding], *, strict: bool) -> None:
    reasons = [finding for finding in findings if strict or finding.severity is Severity.REFUSE]
    if reasons:
        what = "\n".join(["this machine cannot measure now:", *(finding.title for finding in reasons)])
        raise MeasurementError(what, next_step="; ".join(finding.advice for finding in reasons))


def _open(runs: Path, key: str, header: Callable[[str], Header]) -> RunFile:
    unfinished = find_unfinished(runs, key)
    if unfinished is not None:
        return RunFile.reopen(unfinished)
    # Sorts by time; the end keeps two that begin in one second apart.
    run = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{key[:6]}{secrets.token_hex(2)}"
    return RunFile.create(runs, header(run))


def _header(
    run: str,
    key: str,
    sides: Sequence[Side],
    rows: Sequence[BenchmarkId],
    benchmarks: Mapping[str, Any],
    options: Options,
    host: HostFacts,
    machine: str,
) -> Header:
    return Header(
        schema=SCHEMA,
        run=run,
        key=key,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine or host.hostname,
        host=dataclasses.asdict(host),
        sides=tuple(SideHeader(cell=side.cell.id, environment=side.environment, lock=side.lock) for side in sides),
        rows=tuple(rows),
        benchmarks=dict(benchmarks),
        options=options,
    )


class _Session:
    """The records so far, and what is told of them."""

    def __init__(
        self,
        sides: Sequence[Side],
        options: Options,
        suite: Path,
        isolated: Collection[str],
        file: RunFile,
        on_event: Callable[[Event], None],
    ) -> None:
        self.records = list(file.run.records)
        self._sides = sides
        self._options = options
        self._suite = suite
        self._isolated = isolated
        self._file = file
        self._tell = on_event
        self._pace = Pace()
        self._calm = Calm(options.calm, self.records)
        self._done = sum(len(numbers) for numbers in rounds_done(self.records, len(sides)).values())

    def begin(self, total: int) -> None:
        """Tells where the run lies, how much of it there is already, and how much there will be at the first look."""
        file = self._file
        self._tell(
            Started(
                folder=file.folder,
                resumed=bool(self.records),
                done=self._done,
                total=max(self._done, total),
                faults=file.run.faults,
            )
        )

    def measure(self, rows: Sequence[BenchmarkId], rounds: int) -> None:
        """Measures what rows lack of their first rounds, and stores each row at once."""
        visits = remaining_visits(rows, self.records, sides=len(self._sides), rounds=rounds, seed=self._options.seed)
        for number, visit in enumerate(visits):
            hopeless = given_up(self.records)
            wanted = tuple(row for row in visit.rows if row not in hopeless)
            left = Counter(row.name for later in visits[number + 1 :] for row in later.rows if row not in hopeless)
            left[visit.benchmark] += len(wanted)
            self._visit(dataclasses.replace(visit, rows=wanted), left)

    def _visit(self, visit: Visit, left: Counter[str]) -> None:
        isolate = visit.benchmark in self._isolated
        results = measure_visit(visit, self._sides, self._suite, self._options, isolate=isolate, calm=self._calm)
        start = time.monotonic()
        # The processes live inside the iterator: it is closed whatever happens here.
        with contextlib.closing(results):
            for result in results:
                self._file.append(result.records, result.fingerprints)
                self.records += result.records
                self._done += 1
                left[visit.benchmark] -= 1
                now = time.monotonic()
                self._pace.took(visit.benchmark, now - start)
                start = now
                self._tell(
                    Progress(
                        records=result.records,
                        done=self._done,
                        total=self._done + left.total(),
                        seconds_left=seconds_left(self._pace, left),
                    )
                )
