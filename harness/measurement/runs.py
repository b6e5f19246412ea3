"""Reading the file of a run: what it holds, what of it cannot be used, and which run is unfinished.

docs/reference/records.md describes the format.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harness.errors import ConfigurationError, StorageError
from harness.measurement.metrics import metrics_of
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId, Record
from harness.measurement.schema import FormatError, structure

__all__ = ["FILE", "SCHEMA", "Fault", "Header", "Run", "SideHeader", "find_unfinished", "load"]

log = logging.getLogger(__name__)
#: The version of the format; a file of a higher one is refused. 1: first.
SCHEMA = 1
#: The name of the file in the folder of a run.
FILE = "records.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideHeader:
    """One compared cell as the header names it: its id, the key of its environment, the digest of its lock."""

    cell: str
    environment: str
    lock: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a run's file: everything that was decided before measuring.

    Attributes:
        schema: The version of the format.
        run: The id of the run, the name of its folder.
        key: A digest of what was asked; the same command finds its unfinished run by it.
        created: ISO date and time, UTC.
        machine: A name for the machine.
        host: Facts of the machine.
        sides: The compared cells; the first is the baseline.
        rows: What is measured.
        benchmarks: The benchmarks with the attributes that ASV discovered, by name.
        options: How it is measured.
    """

    schema: int
    run: str
    key: str
    created: str
    machine: str
    host: dict[str, Any]
    sides: tuple[SideHeader, ...]
    rows: tuple[BenchmarkId, ...]
    benchmarks: dict[str, Any]
    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A line that could not be used. It stays in the file.

    Attributes:
        path: The file.
        line: Counts from 1.
        reason: What is wrong with it.
        text: Its beginning.
    """

    path: Path
    line: int
    reason: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run's file holds.

    Attributes:
        path: The file.
        header: Its first line.
        records: In the order they were written; where a round was measured again after a crash, only the last time.
        fingerprints: The facts of measured processes, by digest.
        faults: The lines that could not be used.
        finished: Whether the run came to its end.
    """

    path: Path
    header: Header
    records: tuple[Record, ...]
    fingerprints: Mapping[str, Mapping[str, Any]]
    faults: tuple[Fault, ...]
    finished: bool


def load(path: Path) -> Run:
    """Reads a run from its file or its folder.

    Raises:
        StorageError: There is no such file, it cannot be read, or its header cannot be used.
    """
    path = path / FILE if path.is_dir() else path
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror or error}"
        raise StorageError(what) from error
    # Whatever follows the last line's end was being written when the run was killed.
    *lines, torn = data.split(b"\n")
    if not lines:
        what = f"{path} holds no whole line"
        raise StorageError(what, why="the run was killed as it began", next_step=f"delete {path.parent}")
    header = _header(path, lines[0])
    faults: list[Fault] = []
    records: dict[tuple[int, BenchmarkId, int], Record] = {}
    fingerprints: dict[str, Mapping[str, Any]] = {}
    finished = False
    for number, line in enumerate(lines[1:], start=2):
        try:
            entry = _entry(line)
            match entry.pop("kind", None):
                case "record":
                    record = structure(entry, Record)
                    datetime.fromisoformat(record.started_at)
                    records.pop(_place(record), None)
                    records[_place(record)] = record
                case "fingerprint":
                    fingerprints[str(entry["digest"])] = dict(entry["facts"])
                case "end":
                    finished = True
                case kind:
                    faults.append(_fault(path, number, f"unknown kind of line {kind!r}", line))
        except (FormatError, KeyError, TypeError, ValueError) as error:
            faults.append(_fault(path, number, str(error), line))
    if torn:
        faults.append(_fault(path, len(lines) + 1, "it ends in the middle: the run was killed as it was written", torn))
    return Run(
        path=path,
        header=header,
        records=tuple(records.values()),
        fingerprints=fingerprints,
        faults=tuple(faults),
        finished=finished,
    )


def _place(record: Record) -> tuple[int, BenchmarkId, int]:
    return record.round, record.benchmark, record.side


def _entry(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line.decode("utf-8"))
    except ValueError as error:
        what = "not JSON"
        raise FormatError(what) from error
    if not isinstance(entry, dict):
        what = "not a JSON object"
        raise FormatError(what)
    return entry


def _header(path: Path, line: bytes) -> Header:
    try:
        entry = _entry(line)
        if entry.pop("kind", None) != "header":
            what = "the first line is no header"
            raise FormatError(what)
        schema = entry.get("schema")
        if isinstance(schema, int) and schema > SCHEMA:
            what = f"{path}:1: schema {schema} is newer than {SCHEMA}, the newest that this harness reads"
            raise StorageError(what, next_step="update the harness")
        header = structure(entry, Header)
        _check(header)
        return header
    except (FormatError, ConfigurationError) as error:
        what = f"{path}:1: {error}"
        raise StorageError(
            what, why="the file was changed by hand, or is none of the harness", next_step=f"move {path.parent} away"
        ) from error


def _check(header: Header) -> None:
    """Makes sure of what types do not say and a comparison relies on."""
    try:
        if datetime.fromisoformat(header.created).tzinfo is None:
            what = f"{header.created} has no time zone @ $.created"
            raise FormatError(what)
    except ValueError as error:
        what = f"{error} @ $.created"
        raise FormatError(what) from error
    options = header.options
    if not (1 <= options.rounds <= options.max_rounds and options.batch >= 1 and options.samples >= 1):
        what = "rounds that there cannot be @ $.options"
        raise FormatError(what)
    metrics_of(header.benchmarks)


def _fault(path: Path, line: int, reason: str, text: bytes) -> Fault:
    return Fault(path=path, line=line, reason=reason, text=text[:200].decode("utf-8", errors="replace"))


def find_unfinished(runs: Path, key: str, *, max_age: timedelta = timedelta(days=7)) -> Path | None:
    """The folder of the newest unfinished run with a key, or None.

    Args:
        runs: The folder of all runs.
        key: The digest of what is asked.
        max_age: Older runs are left alone: too much of the machine may have changed.
    """
    found: list[tuple[str, Path]] = []
    for path in sorted(runs.glob(f"*/{FILE}")):
        try:
            run = load(path)
        except StorageError as error:
            log.warning("%s", error.what)
            continue
        if run.header.key == key and not run.finished:
            created = datetime.fromisoformat(run.header.created)
            if datetime.now(UTC) - created <= max_age:
                found.append((run.header.created, path.parent))
    return max(found)[1] if found else None
