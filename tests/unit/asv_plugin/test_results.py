import json
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asv.results import Results
from asv_runner.statistics import compute_stats
from hypothesis import given
from hypothesis import strategies as st

from harness.asv_plugin.machine import Machine
from harness.asv_plugin.naming import result_file
from harness.asv_plugin.results import Outcome, StoredBenchmark, Written, write_results
from harness.cells.cell import Cell
from harness.errors import StorageError, UsageError
from harness.releases.line import Branch, Line, LineRelease, commit_id

MACHINE = Machine(machine="box", os="Linux", arch="x86_64", cpu="Some CPU", num_cpu="2", ram="16 GiB")
CELL = Cell(subject="torch", release="1.12.1", python="3.10")
DATE = datetime(2022, 8, 5, 17, 26, 39, tzinfo=UTC)
LINE = Line(subject="torch", releases=(LineRelease(version="1.12.1", date=DATE, branch=next(iter(Branch))),))
SUITE: dict[str, dict[str, Any]] = {
    "bench.time_plain": {"name": "bench.time_plain", "params": [], "version": "1", "unit": "seconds", "type": "time"},
    "bench.time_grid": {
        "name": "bench.time_grid",
        "params": [["'1'", "'default'"], ["2", "3"]],
        "version": "1",
        "unit": "seconds",
        "type": "time",
    },
}
BEGAN = datetime(2026, 11, 1, 12, tzinfo=UTC)


def plain(*processes: tuple[float, ...], **changes: Any) -> StoredBenchmark:
    known = StoredBenchmark(name="bench.time_plain", processes=processes, number=7, started_at=BEGAN, seconds=1.5)
    return replace(known, **changes)


def grid(*params: str, **changes: Any) -> StoredBenchmark:
    return replace(plain((1.0,)), name="bench.time_grid", params=params, **changes)


def write(results: Path, *measured: StoredBenchmark, **changes: Any) -> Written:
    known: dict[str, Any] = {"machine": MACHINE, "cell": CELL, "line": LINE, "suite": SUITE}
    return write_results(results, measured=measured, **(known | changes))


def load(written: Written) -> Results:
    return Results.load(str(written.path), machine_name="box")


def values(written: Written, name: str) -> list[float | None]:
    found: list[float | None] = load(written).get_result_value(name, SUITE[name]["params"])
    return found


def test_asv_reads_what_was_written(tmp_path: Path) -> None:
    written = write(tmp_path, plain((1.0, 2.0, 9.0), (3.0, 5.0), (4.0,)))
    assert written.path == tmp_path / result_file("box", commit_id("torch", "1.12.1"), CELL)
    loaded = load(written)
    assert loaded.commit_hash == commit_id("torch", "1.12.1")
    assert loaded.date == 1659720399000
    assert loaded.env_name == "cell-py3.10-backenddefault"
    assert loaded.params == {**MACHINE.fields(), "python": "3.10", "backend": "default"}
    # One sample a process, in the order of time.
    assert loaded.get_result_samples("bench.time_plain", []) == [[2.0, 4.0, 4.0]]
    value, stats = compute_stats([2.0, 4.0, 4.0], 7)
    assert loaded.get_result_value("bench.time_plain", []) == [value] == [4.0]
    assert loaded.get_result_stats("bench.time_plain", [])[0] == pytest.approx(stats, rel=1e-3)
    assert loaded.started_at["bench.time_plain"] == BEGAN.timestamp() * 1000
    assert loaded.duration["bench.time_plain"] == 1.5
    assert loaded.benchmark_version["bench.time_plain"] == "1"


def test_the_cells_axes_and_variables_are_in_the_file(tmp_path: Path) -> None:
    cell = CELL.but(slim=True, packages=(("numpy", "1.26.4"),), env=(("OMP_NUM_THREADS", "1"),))
    loaded = load(write(tmp_path, plain((1.0,)), cell=cell))
    assert loaded.env_vars == {"OMP_NUM_THREADS": "1"}
    assert loaded.params["slim"] == "true"
    assert json.loads((tmp_path / result_file("box", loaded.commit_hash, cell)).read_text())["requirements"] == {
        "backend": "default",
        "slim": "true",
        "numpy": "1.26.4",
    }


def test_skipped_is_nan_and_failed_is_null(tmp_path: Path) -> None:
    written = write(
        tmp_path,
        grid("'1'", "2"),
        grid("'1'", "3", outcome=Outcome.SKIPPED, processes=()),
        grid("'default'", "2", outcome=Outcome.FAILED, processes=()),
        grid("'default'", "3", processes=((8.0,),)),
        plain(outcome=Outcome.FAILED),
    )
    first, skipped, failed, last = values(written, "bench.time_grid")
    assert (first, failed, last) == (1.0, None, 8.0)
    assert skipped is not None
    assert math.isnan(skipped)
    assert values(written, "bench.time_plain") == [None]


def test_values_take_the_place_of_their_parameters(tmp_path: Path) -> None:
    combinations = [("'1'", "2"), ("'1'", "3"), ("'default'", "2"), ("'default'", "3")]
    measured = [grid(*c, processes=((float(n),),)) for n, c in enumerate(combinations)]
    assert values(write(tmp_path, *reversed(measured)), "bench.time_grid") == [0.0, 1.0, 2.0, 3.0]


def test_newer_values_replace_their_own_and_no_others(tmp_path: Path) -> None:
    write(tmp_path, plain((1.0,)), grid("'1'", "2"), grid("'default'", "3", processes=((3.0,),)))
    later = BEGAN + timedelta(hours=1)
    written = write(
        tmp_path,
        grid("'1'", "2", processes=((5.0,), (7.0,)), started_at=later),
        grid("'1'", "3", outcome=Outcome.SKIPPED, processes=(), started_at=later),
    )
    loaded = load(written)
    assert loaded.get_result_value("bench.time_plain", []) == [1.0]
    first, skipped, never, last = values(written, "bench.time_grid")
    assert (first, last) == (6.0, 3.0)
    assert skipped is not None
    assert math.isnan(skipped)
    assert never is None or math.isnan(never)
    assert loaded.get_result_samples("bench.time_grid", SUITE["bench.time_grid"]["params"])[3] == [3.0]
    assert loaded.get_result_stats("bench.time_grid", SUITE["bench.time_grid"]["params"])[3]["repeat"] == 1
    assert loaded.started_at["bench.time_grid"] == later.timestamp() * 1000


def test_a_new_version_of_a_benchmark_drops_the_values_of_the_old(tmp_path: Path) -> None:
    write(tmp_path, grid("'1'", "2"), grid("'1'", "3"))
    newer = SUITE | {"bench.time_grid": SUITE["bench.time_grid"] | {"version": "2"}}
    written = write(tmp_path, grid("'1'", "3", version="2", processes=((4.0,),)), suite=newer)
    first, second, *_ = values(written, "bench.time_grid")
    assert second == 4.0
    assert first is not None
    assert math.isnan(first)


@pytest.mark.parametrize(
    "stray",
    [plain((1.0,), version="0"), plain((1.0,), name="bench.gone"), grid("'1'", "4"), plain((1.0,), params=("'1'",))],
    ids=["version", "name", "value", "parameters"],
)
def test_what_the_suite_does_not_know_is_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stray: StoredBenchmark
) -> None:
    written = write(tmp_path, stray)
    assert written.left_out == (stray.name,)
    assert stray.name in caplog.text
    assert not list(load(written).get_all_result_keys())


def test_the_suite_and_the_machine_are_written_as_asv_has_them(tmp_path: Path) -> None:
    write(tmp_path, plain((1.0,)))
    assert json.loads((tmp_path / "benchmarks.json").read_text()) == {**SUITE, "version": 2}
    assert json.loads((tmp_path / "box" / "machine.json").read_text()) == {**MACHINE.fields(), "version": 1}


def test_nothing_else_there_is_called_json_or_left_over(tmp_path: Path) -> None:
    written = write(tmp_path, plain((1.0,)))
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()} == {
        "asv.lock",
        "benchmarks.json",
        "box/machine.json",
        str(written.path.relative_to(tmp_path)),
    }


def test_unchanged_files_are_not_written_again(tmp_path: Path) -> None:
    write(tmp_path, plain((1.0,)))
    before = {p: p.stat().st_ino for p in (tmp_path / "benchmarks.json", tmp_path / "box" / "machine.json")}
    write(tmp_path, plain((2.0,)))
    assert {p: p.stat().st_ino for p in before} == before


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"version": 2}', '{"version": 1}', "\x00\xff", '{"results":1}']
)
def test_an_unreadable_file_is_kept_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str) -> None:
    path = write(tmp_path, plain((1.0,))).path
    path.write_text(text, encoding="latin-1")
    with caplog.at_level(logging.WARNING):
        written = write(tmp_path, plain((2.0,)))
    assert written.set_aside is not None
    assert written.set_aside.read_text(encoding="latin-1") == text
    assert written.set_aside.suffix != ".json"
    assert str(path) in caplog.text
    assert values(written, "bench.time_plain") == [2.0]
    path.write_text(text, encoding="latin-1")
    assert write(tmp_path, plain((3.0,))).set_aside not in (None, written.set_aside)


@pytest.mark.parametrize("broken", [{"results": {"x": 1}}, {"result_columns": ["surprise"]}, {"results": []}])
def test_a_file_whose_inside_is_wrong_is_kept_aside(tmp_path: Path, broken: dict[str, Any]) -> None:
    path = write(tmp_path, plain((1.0,))).path
    path.write_text(json.dumps(json.loads(path.read_text()) | broken))
    assert write(tmp_path, plain((2.0,))).set_aside is not None


def test_two_cells_whose_file_names_come_out_alike_are_told_apart(tmp_path: Path) -> None:
    one, other = (CELL.but(env=(("PLACE", value),)) for value in ("a/b", "a:b"))
    written = write(tmp_path, plain((1.0,)), cell=one)
    before = written.path.read_bytes()
    with pytest.raises(StorageError, match="another cell"):
        write(tmp_path, plain((2.0,)), cell=other)
    assert written.path.read_bytes() == before


def test_a_release_outside_the_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write(tmp_path, plain((1.0,)), cell=CELL.but(release="1.12.2"))


def test_a_folder_that_cannot_be_written_is_an_error_with_advice() -> None:
    # Nobody can make a folder there, not even root.
    with pytest.raises(StorageError) as caught:
        write(Path("/proc/self/results"), plain((1.0,)))
    assert caught.value.next_step


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(StorageError):
        write(tmp_path / "results", plain((1.0,)))


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    cells = [("'1'", "2"), ("'1'", "3"), ("'default'", "2"), ("'default'", "3")]
    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(lambda params: write(tmp_path, grid(*params)), cells * 3))
    assert values(written[0], "bench.time_grid") == [1.0, 1.0, 1.0, 1.0]


samples = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=5).map(tuple)


@given(st.lists(samples, min_size=1, max_size=12).map(tuple))
def test_any_values_can_be_stored_and_read(
    tmp_path_factory: pytest.TempPathFactory, processes: tuple[tuple[float, ...], ...]
) -> None:
    results = tmp_path_factory.mktemp("results")
    written = write(results, plain(*processes))
    (value,) = values(written, "bench.time_plain")
    assert value is not None
    assert min(map(min, processes)) <= value <= max(map(max, processes))
    assert len(load(written).get_result_samples("bench.time_plain", [])[0]) == len(processes)
