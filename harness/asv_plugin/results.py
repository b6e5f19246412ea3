"""Measured values as plain ASV results, which `asv show`, `compare` and `publish` read like those of `asv run`.

Files are merged, not overwritten; written whole or not at all; and never lost when they cannot be read.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.asv_plugin import naming
from harness.asv_plugin.history import History
from harness.asv_plugin.machine import Machine
from harness.asv_plugin.stored import Outcome, StoredBenchmark, add_to
from harness.asv_plugin.suite import Suite
from harness.cells.cell import Cell
from harness.errors import StorageError
from harness.jsonio import write_atomic
from harness.releases.line import Line, commit_id

__all__ = ["Outcome", "StoredBenchmark", "Written", "write_results"]

log = logging.getLogger(__name__)
# ASV reads every .json under the results folder, so nothing else there may be called that.
_LOCK = "asv.lock"
# Seconds; writing takes well under one.
_PATIENCE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What `write_results` did.

    Attributes:
        path: The results file.
        set_aside: Where an unreadable file of that name was moved, or None.
        left_out: Benchmarks that were not stored, since the suite has another version of them, or none.
    """

    path: Path
    set_aside: Path | None = None
    left_out: tuple[str, ...] = ()


def write_results(
    results: Path, *, machine: Machine, cell: Cell, line: Line, suite: Suite, measured: Iterable[StoredBenchmark]
) -> Written:
    """Adds what was measured in a cell to ASV's results; other benchmarks and parameters there stay as they are.

    Also writes `benchmarks.json`, without which ASV ignores the results, and the machine's `machine.json` once. A file
    that cannot be read is kept beside its place under another name, and a new one takes its place.

    Args:
        results: The results folder.
        machine: This machine.
        cell: The cell.
        line: The release line, for the commit id and its date.
        suite: Every benchmark, from `discover`.
        measured: At most one for each benchmark and parameters; a later one replaces an earlier.

    Raises:
        UsageError: The cell's release is not in the line.
        StorageError: The files cannot be written, or the file belongs to another cell.
    """
    history, commit = History(line), commit_id(cell.subject, cell.release)
    date = history.milliseconds(commit)
    path = results / naming.result_file(machine.machine, commit, cell)
    with _locked(results):
        _write_machine(results, machine)
        _write_suite(results, suite)
        stored, set_aside = _open(path, machine, cell, commit, date)
        left_out = add_to(stored, suite, measured)
        _save(stored, path)
    return Written(path=path, set_aside=set_aside, left_out=left_out)


@contextlib.contextmanager
def _locked(results: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout  # noqa: PLC0415  # pulls asyncio

    try:
        results.mkdir(parents=True, exist_ok=True)
        lock = FileLock(results / _LOCK)
        lock.acquire(timeout=_PATIENCE)
    except Timeout as error:
        what = f"another process has been writing to {results} for {_PATIENCE} s"
        raise StorageError(what, next_step="wait for it to end, then run the same command again") from error
    except OSError as error:
        what = f"{results} cannot be written: {error.strerror or error}"
        raise StorageError(what, next_step="mend the folder's permissions, then run the same command again") from error
    try:
        yield
    finally:
        lock.release()


def _write_machine(results: Path, machine: Machine) -> None:
    path = results / machine.machine / "machine.json"
    wanted: dict[str, Any] = {**machine.fields(), "version": 1}
    if _json(path) != wanted:
        write_atomic(path, json.dumps(wanted, indent=4, sort_keys=True))


def _write_suite(results: Path, suite: Suite) -> None:
    from asv.benchmarks import Benchmarks  # noqa: PLC0415  # heavy

    path = results / "benchmarks.json"
    stored = _json(path)
    # Benchmarks of another suite (a folder of the user's own) stay: ASV drops the results of what is not listed here.
    others = stored if isinstance(stored, dict) else {}
    wanted: dict[str, Any] = {**others, **suite, "version": Benchmarks.api_version}
    if stored != wanted:
        write_atomic(path, json.dumps(wanted, indent=4, sort_keys=True))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _open(path: Path, machine: Machine, cell: Cell, commit: str, date: int) -> tuple[Any, Path | None]:
    """ASV's object for the file, with what it has already, and where an unreadable one went."""
    from asv.results import Results  # noqa: PLC0415  # heavy

    requirements = naming.asv_requirements(cell)
    variables = {name: value for (_, name), value in naming.asv_variables(cell).items()}
    params = {**machine.fields(), "python": cell.python, **requirements}
    stored = Results(params, requirements, commit, date, cell.python, naming.asv_name(cell), variables)
    if not path.exists():
        return stored, None
    old = _readable(path)
    if old is None:
        return stored, _set_aside(path)
    found = (old["commit_hash"], old["python"], old["requirements"], old.get("env_vars", {}))
    if found != (commit, cell.python, requirements, variables):
        what = f"{path} holds results of another cell than {cell.id}"
        raise StorageError(
            what,
            why="ASV's file names leave characters out, and two cells came out alike",
            next_step="change a value of the cell so that its name differs, or move that file away",
        )
    stored.load_data(str(path.parents[1]))
    return stored, None


def _readable(path: Path) -> Mapping[str, Any] | None:
    from asv.results import Results  # noqa: PLC0415  # heavy
    from asv.util import UserError  # noqa: PLC0415

    try:
        Results.load(str(path))
        found = json.loads(path.read_text(encoding="utf-8"))
    except (UserError, ValueError, TypeError, AttributeError, LookupError):
        return None
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror or error}"
        raise StorageError(what, next_step="mend the file's permissions, then run the same command again") from error
    return found if isinstance(found, dict) else None


def _set_aside(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.corrupt{number or ''}") for number in itertools.count())
    place = next(name for name in names if not name.exists())
    try:
        path.rename(place)
    except OSError as error:
        what = f"{path} is not a results file, and cannot be moved away: {error.strerror or error}"
        raise StorageError(what, next_step="move it away by hand, then run the same command again") from error
    log.warning("%s is not a readable results file; it is kept as %s, and a new one is begun", path, place.name)
    return place


def _save(stored: Any, path: Path) -> None:
    # ASV writes in place; a copy elsewhere is renamed into place, so that a kill never leaves half a file.
    try:
        with tempfile.TemporaryDirectory(prefix="harness-results-") as folder:
            stored.save(folder)
            text = Path(folder, path.parent.name, path.name).read_text(encoding="utf-8")
    except OSError as error:
        what = f"results of {path.name} cannot be prepared: {error.strerror or error}"
        raise StorageError(what, next_step="free some space, then run the same command again") from error
    write_atomic(path, text)
