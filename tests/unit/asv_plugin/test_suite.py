import os
import sys
from pathlib import Path

import pytest

from harness.asv_plugin.suite import discover, runner_script
from harness.errors import MeasurementError

HERE = Path(sys.executable)
BENCH = """
class Work:
    params = [["1", "default"], [2, 3]]
    param_names = ["threads", "size"]
    timeout = 7.5

    def time_it(self, threads, size):
        pass

    time_it.version = "1"
    time_it.metric = "work_throughput"
    time_it.work = {"2": 10}
    time_it.tags = ["core"]
    time_it.isolate = True


def track_size():
    return 1


track_size.unit = "bytes"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "bench_work.py").write_text(BENCH)
    return folder


def test_the_suite_is_listed_with_the_attributes_of_its_functions(suite: Path) -> None:
    found = discover(HERE, suite, os.environ)
    assert list(found) == ["bench_work.Work.time_it", "bench_work.track_size"]
    work = found["bench_work.Work.time_it"]
    assert work["params"] == [["'1'", "'default'"], ["2", "3"]]
    assert work["param_names"] == ["threads", "size"]
    assert work["version"] == "1"
    assert work["timeout"] == 7.5
    assert (work["metric"], work["work"], work["tags"], work["isolate"]) == (
        "work_throughput",
        {"2": 10},
        ["core"],
        True,
    )
    assert (found["bench_work.track_size"]["unit"], found["bench_work.track_size"]["params"]) == ("bytes", [])


def test_only_the_given_variables_reach_the_suite(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAK", "1")
    (suite / "bench_leak.py").write_text(
        "import os\nif 'LEAK' in os.environ:\n    def track_leak(): return 1\n"
        "if 'MINE' in os.environ:\n    def track_mine(): return 1\n"
    )
    found = discover(HERE, suite, {"MINE": "1"})
    assert "bench_leak.track_mine" in found
    assert "bench_leak.track_leak" not in found


def test_a_suite_that_fails_to_import_shows_the_end_of_its_traceback(suite: Path) -> None:
    (suite / "bench_bad.py").write_text("raise RuntimeError('libfoo.so is missing')")
    with pytest.raises(MeasurementError) as caught:
        discover(HERE, suite, os.environ)
    assert "libfoo.so is missing" in caught.value.why
    assert "bench_bad.py" in caught.value.why
    assert str(HERE) in caught.value.what


def test_an_interpreter_without_the_runner_is_an_error(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="cannot be started"):
        discover(tmp_path / "no-python", suite, {})


def test_a_suite_that_hangs_is_killed(suite: Path) -> None:
    (suite / "bench_hang.py").write_text("import time\ntime.sleep(60)")
    with pytest.raises(MeasurementError, match="still running"):
        discover(HERE, suite, os.environ, timeout=1.5)


def test_a_folder_that_is_no_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="__init__"):
        discover(HERE, tmp_path, {})


def test_the_runner_is_found_without_importing_asv() -> None:
    assert runner_script().is_file()
