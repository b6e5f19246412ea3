"""The noise of machines, as A/A runs show it: one file a machine, to which each run is added."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import StorageError
from harness.jsonio import write_json
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId
from harness.measurement.runs import Run
from harness.measurement.schema import FormatError, structure, unstructure
from harness.paths import Project
from harness.statistics.noise import Noise, pooled
from harness.statistics.table import VerdictTable
from harness.statistics.verdict import MINIMUM_ROUNDS

__all__ = ["Entry", "keep_noise", "known_noise", "settings_of", "skipped_rows", "stored_noise"]

SCHEMA = 1
#: So many runs of a row count, the newest: machines change.
_NEWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one A/A run says of one row.

    Attributes:
        run: The id of the run; ids sort by time.
        cell: What was measured against itself.
        row: The benchmark.
        settings: What else the noise depends on (see `settings_of`).
        noise: The spread of its rounds; None for a row that skips here.
    """

    run: str
    cell: str
    row: BenchmarkId
    settings: tuple[str, ...]
    noise: Noise | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    schema: int
    entries: tuple[Entry, ...]


def stored_noise(path: Path) -> tuple[Entry, ...]:
    """What is known of a machine's noise; nothing where no A/A run was made yet.

    Raises:
        StorageError: The file cannot be read.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            what = f"it is no object of schema {SCHEMA}"
            raise FormatError(what)
        return structure(document, _File).entries
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError, FormatError) as error:
        what = f"{path} cannot be read: {error}"
        why = "the file was changed by hand, or is of a newer harness"
        raise StorageError(what, why=why, next_step="move it away, then run `harness calibrate`") from error


def keep_noise(project: Project, run: Run, table: VerdictTable, *, plain: bool) -> Path:
    """Adds what an A/A run shows to what is known of the machine; the same run once only.

    Returns:
        The file.

    Raises:
        StorageError: The file cannot be read or written; the run's records are whole all the same.
    """
    from filelock import FileLock  # noqa: PLC0415  # pulls asyncio

    path = project.noise(run.header.machine)
    found: dict[BenchmarkId, Noise | None] = {row.benchmark: None for row in table.skipped}
    found |= {
        row.benchmark: Noise(spread=row.comparison.spread, degrees=row.comparison.rounds - 1)
        for row in table.rows
        if row.comparison is not None and row.comparison.rounds >= MINIMUM_ROUNDS
    }
    fresh = [
        Entry(
            run=run.header.run,
            cell=run.header.sides[0].cell,
            row=row,
            settings=settings_of(run.header.options, plain=plain, realtime=_was_realtime(run)),
            noise=noise,
        )
        for row, noise in found.items()
    ]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            others = [entry for entry in stored_noise(path) if entry.run != run.header.run]
            entries = sorted((*others, *fresh), key=lambda entry: (entry.run, entry.row))
            write_json(path, unstructure(_File(schema=SCHEMA, entries=tuple(entries))))
    except OSError as error:
        what = f"{path} cannot be written: {error.strerror or error}"
        raise StorageError(what, next_step="mend the folder's permissions, then run the same command again") from error
    return path


def known_noise(entries: Iterable[Entry], settings: tuple[str, ...]) -> dict[BenchmarkId, Noise]:
    """The noise of each row that was measured with these settings, from its newest runs, whatever the cell."""
    by_row: defaultdict[BenchmarkId, dict[str, Noise]] = defaultdict(dict)
    for entry in entries:
        if entry.settings == settings and entry.noise is not None:
            by_row[entry.row][entry.run] = entry.noise
    found = {row: pooled(runs[run] for run in sorted(runs)[-_NEWEST:]) for row, runs in by_row.items()}
    return {row: noise for row, noise in found.items() if noise is not None}


def skipped_rows(entries: Iterable[Entry], cells: Collection[str]) -> frozenset[BenchmarkId]:
    """The rows that one of these cells skipped when it was last measured here."""
    last = {(entry.cell, entry.row): entry for entry in sorted(entries, key=lambda entry: entry.run)}
    return frozenset(row for (cell, row), entry in last.items() if cell in cells and entry.noise is None)


def settings_of(options: Options, *, plain: bool, realtime: bool) -> tuple[str, ...]:
    """What else the noise of a row depends on: how many samples, and of `plain` and `realtime` those in use."""
    chosen = {f"{options.samples} samples": True, "plain": plain, "realtime": realtime}
    return tuple(name for name, on in chosen.items() if on)


def _was_realtime(run: Run) -> bool:
    """Whether that was permitted, by the processes' own account."""
    seen = [facts.get("scheduling") for facts in run.fingerprints.values()]
    return bool(seen) and all(scheduling in {"fifo", "rr"} for scheduling in seen)
