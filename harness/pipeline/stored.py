"""Finds the records of an earlier run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from harness.cells.cell import parse_cell_id
from harness.errors import StorageError, UsageError
from harness.measurement.runs import FILE, Run, load

__all__ = ["find_run", "stored_runs"]

log = logging.getLogger(__name__)


def stored_runs(runs: Path) -> Iterator[Run]:
    """Every run whose records can be read, the newest first; says which cannot.

    Raises:
        StorageError: The folder cannot be read.
    """
    for path in sorted(_files(runs), reverse=True):
        try:
            yield load(path)
        except StorageError as error:
            log.warning("not read: %s", error.what)


def _files(runs: Path) -> list[Path]:
    # A glob takes a folder that cannot be read for an empty one.
    try:
        return [path for folder in runs.iterdir() if (path := folder / FILE).is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        what = f"{error.filename or runs} cannot be read: {error.strerror or error}"
        raise StorageError(what, next_step="mend its permissions") from error


def find_run(runs: Path, baseline: str, candidate: str = "") -> tuple[Run, bool]:
    """The run to be compared again.

    Args:
        runs: The folder of all runs.
        baseline: The id of a cell; or of a run, or the beginning of one, when there is no candidate.
        candidate: The id of the other cell.

    Returns:
        The newest run, a finished one before others, and whether the candidate is its first side.

    Raises:
        UsageError: There is none; says what there is.
    """
    if not candidate:
        found = [run for run in stored_runs(runs) if run.header.run.startswith(baseline)]
        if len(found) == 1 and len(found[0].header.sides) != 2:
            what = f"the run {found[0].header.run} measured one cell alone: there is nothing to compare"
            raise UsageError(what, next_step=_what_there_is(runs))
        if len(found) == 1:
            return found[0], False
        what = f"no run is called {baseline!r}" if not found else f"{len(found)} runs begin with {baseline!r}"
        raise UsageError(what, next_step=_what_there_is(runs))
    wanted = [parse_cell_id(text).id for text in (baseline, candidate)]
    matching: list[tuple[Run, bool]] = []
    for run in stored_runs(runs):
        sides = [side.cell for side in run.header.sides]
        if sides in (wanted, wanted[::-1]):
            matching.append((run, sides != wanted))
    if not matching:
        what = f"{wanted[0]} and {wanted[1]} were never measured side by side here"
        raise UsageError(what, why="only what was measured in turn can be compared", next_step=_what_there_is(runs))
    return next((one for one in matching if one[0].finished), matching[0])


def _what_there_is(runs: Path) -> str:
    lines = []
    for run in stored_runs(runs):
        sides = " ".join(side.cell for side in run.header.sides)
        lines.append(f"{run.header.run}: {sides}")
        if len(lines) == 5:
            break
    if not lines:
        return "measure first: harness run"
    return "\n  ".join(["the newest stored runs are", *lines])
