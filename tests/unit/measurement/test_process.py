from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.jsonio import canonical
from harness.measurement.process import LOG_LIMIT, MeasuredProcess, NotMeasuredError
from harness.measurement.records import State
from tests.unit.measurement.helpers import QUICK, SideMaker, eventually_gone, processes_naming

SETS = ["raise", "hang", "segfault", "kill", "memory", "skip", "exit", "leave", "starve", "fine"]


def run_set(process: MeasuredProcess, index: int = 0) -> dict[str, object]:
    process.setup(index)
    process.calibrate()
    sample = process.sample(1)
    process.teardown()
    return sample


def measure(make_side: SideMaker, suite: Path, benchmark: str, index: int = 0) -> dict[str, object]:
    with MeasuredProcess(make_side(), suite, benchmark, QUICK) as process:
        process.start()
        process.started()
        return run_set(process, index)


def test_timed(make_side: SideMaker, suite: Path) -> None:
    with MeasuredProcess(make_side(), suite, "good.time_plain", QUICK) as process:
        process.start()
        said = process.started()
        process.setup(0)
        number, alone = process.calibrate()
        # On a busy machine a calibration of some milliseconds may be in doubt.
        alone = alone or any(process.calibrate()[1] for _ in range(20))
        first, second = process.sample(1), process.sample(1)
    assert (said.type, said.params, said.one_value) == ("time", (), False)
    # Ten milliseconds of an operation of about a microsecond.
    assert 100 < number < 1_000_000
    assert alone
    assert 0 < first["value"] < 0.001
    assert second["at"] > first["at"]
    assert first["canary"] > 0
    assert first["faults"] >= 0


def test_noise_does_not_disturb_the_conversation(make_side: SideMaker, suite: Path) -> None:
    with MeasuredProcess(make_side(), suite, "good.time_noisy", QUICK) as process:
        process.start()
        process.started()
        process.setup(0)
        assert process.calibrate()[0] == 3
        process.words()
        process.sample(3)
        words = process.words()
        for _ in range(60):
            process.sample(3)
        assert len(process.words()) == LOG_LIMIT
        assert process.words() == ""
    for text in ("on standard output", "on standard error", "straight to the descriptor", "looks like an answer"):
        assert words.count(text) == 3


def test_noise_of_start_up_files(make_side: SideMaker, suite: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "usercustomize.py").write_text("")
    (site / "sitecustomize.py").write_text("print('hello from sitecustomize')\n")
    with MeasuredProcess(make_side(PYTHONPATH=str(site)), suite, "good.time_plain", QUICK) as process:
        process.start()
        process.started()
        assert "hello from sitecustomize" in process.words()


def test_parameters_and_version(make_side: SideMaker, suite: Path) -> None:
    with MeasuredProcess(make_side(), suite, "good.Pair.time_copy", QUICK) as process:
        process.start()
        said = process.started()
        for index in range(4):
            run_set(process, index)
    assert said.params == (("'a'", "'b'"), ("1", "2"))
    assert said.version == "7"


def test_isolating_setup_is_run_before_each_call(make_side: SideMaker, suite: Path) -> None:
    with MeasuredProcess(make_side(), suite, "good.Isolating.time_fresh", QUICK) as process:
        process.start()
        process.started()
        process.setup(0)
        assert process.calibrate()[0] == 4
        assert process.sample(1)["value"] > 0


def test_setup_is_reused_where_the_suite_says_so(make_side: SideMaker, suite: Path) -> None:
    (suite / "__init__.py").write_text(
        "from asv_runner.benchmarks.time import TimeBenchmark\nTimeBenchmark._setup_isolates_timed_calls = False\n"
    )
    with MeasuredProcess(make_side(), suite, "good.Pair.time_copy", QUICK) as process:
        process.start()
        process.started()
        process.setup(0)
        assert process.calibrate()[0] > 100
        assert process.sample(1)["value"] < 0.001


@pytest.mark.parametrize(
    ("benchmark", "index", "value"),
    [
        ("good.track_number", 0, 42),
        ("good.Cached.track_cache", 0, 2),
        ("good.Cached.track_cache", 1, 3),
        ("good.track_standard_input", 0, 0),
        ("good.track_sees_harness", 0, 0),
        ("good.Isolating.track_setups", 0, 1),
    ],
)
def test_tracked(make_side: SideMaker, suite: Path, benchmark: str, index: int, value: float) -> None:
    assert measure(make_side, suite, benchmark, index)["value"] == value


def test_cache_is_fresh_for_each_set(make_side: SideMaker, suite: Path) -> None:
    with MeasuredProcess(make_side(), suite, "good.Cached.track_cache", QUICK) as process:
        process.start()
        process.started()
        assert [run_set(process, index)["value"] for index in (0, 1, 0)] == [2, 3, 2]


def test_raw(make_side: SideMaker, suite: Path) -> None:
    value = measure(make_side, suite, "good.timeraw_import")["value"]
    assert isinstance(value, float)
    assert 0 < value < 10


def test_peak_memory_is_the_workers_own(make_side: SideMaker, suite: Path) -> None:
    held = bytearray(300 * 2**20)  # a large parent must not show
    value = measure(make_side, suite, "good.peakmem_megabytes")["value"]
    assert isinstance(value, float)
    assert 64 * 2**20 < value < 200 * 2**20
    del held


def test_no_value_is_a_skip(make_side: SideMaker, suite: Path) -> None:
    with pytest.raises(NotMeasuredError) as error:
        measure(make_side, suite, "good.track_nothing")
    assert error.value.state is State.SKIPPED


def test_not_a_number(make_side: SideMaker, suite: Path) -> None:
    with pytest.raises(NotMeasuredError, match="returned str, not a number") as error:
        measure(make_side, suite, "good.track_text")
    assert error.value.state is State.CRASHED


@pytest.mark.parametrize(
    ("how", "state", "reason"),
    [
        ("raise", State.CRASHED, "ValueError: a bad value"),
        ("hang", State.TIMEOUT, "still in sample after 2 s, killed"),
        ("segfault", State.CRASHED, "killed by SIGSEGV while in sample"),
        ("kill", State.CRASHED, "killed by SIGKILL while in sample"),
        ("memory", State.OUT_OF_MEMORY, "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory"),
        ("skip", State.SKIPPED, "not on this machine"),
        ("exit", State.CRASHED, "SystemExit: 3"),
        ("leave", State.CRASHED, "ended with status 4 while in sample"),
        ("starve", State.OUT_OF_MEMORY, "MemoryError"),
    ],
)
def test_bad_benchmarks(make_side: SideMaker, suite: Path, marker: str, how: str, state: State, reason: str) -> None:
    with MeasuredProcess(make_side(), suite, "bad.Bad.time_it", QUICK) as process:
        process.start()
        process.started()
        with pytest.raises(NotMeasuredError) as error:
            run_set(process, SETS.index(how))
        words = process.words()
    assert error.value.state is state
    assert error.value.reason.startswith(reason)
    if how != "skip":
        assert f"about to {how}" in words
    if how in ("raise", "segfault"):
        assert "in do_" in words  # where it happened
    assert eventually_gone(marker) == []


def test_details_that_cannot_be_stored_are_told_as_words(make_side: SideMaker, suite: Path) -> None:
    with MeasuredProcess(make_side(), suite, "odd.track_details", QUICK) as process:
        process.start()
        process.started()
        process.setup(0)
        process.calibrate()
        process.sample(1)
        details = process.teardown()
    assert details == {"loss": "nan", "path": "\\udcff.pt", "far": "inf", "kept": 1}
    assert canonical(details).encode()


def test_a_child_that_returns_into_the_worker_says_nothing(make_side: SideMaker, suite: Path) -> None:
    assert measure(make_side, suite, "odd.track_forked")["value"] == 1


def test_children_in_sessions_of_their_own_end_too(make_side: SideMaker, suite: Path, marker: str) -> None:
    assert measure(make_side, suite, "odd.track_leaving")["value"] == 1
    assert eventually_gone(marker) == []


@pytest.mark.parametrize("name", ["track_closed_output", "track_no_variables"])
def test_a_suite_that_spoils_its_process_is_measured_all_the_same(make_side: SideMaker, suite: Path, name: str) -> None:
    assert measure(make_side, suite, f"odd.{name}")["value"] == 1


def test_what_was_raised_is_told_without_standard_error(make_side: SideMaker, suite: Path) -> None:
    with pytest.raises(NotMeasuredError) as error:
        measure(make_side, suite, "odd.track_closed_and_raised")
    assert error.value.reason == "ValueError: after the end"


def test_an_answer_to_no_question_is_a_crash(make_side: SideMaker, suite: Path) -> None:
    with pytest.raises(NotMeasuredError, match="gave an answer to no question while in sample") as error:
        measure(make_side, suite, "odd.track_answering")
    assert error.value.state is State.CRASHED


def test_a_reason_that_is_no_text_can_be_written(make_side: SideMaker, suite: Path) -> None:
    with pytest.raises(NotMeasuredError) as error:
        measure(make_side, suite, "odd.track_no_text")
    assert error.value.reason == "ValueError: cannot open \\udcff.pt"


def test_killed_by_the_kernel_for_memory(make_side: SideMaker, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([3, 4])
    monkeypatch.setattr("harness.measurement.process.oom_kills", lambda: next(counts))
    with MeasuredProcess(make_side(), suite, "bad.Bad.time_it", QUICK) as process:
        process.start()
        process.started()
        with pytest.raises(NotMeasuredError) as error:
            run_set(process, SETS.index("kill"))
    assert error.value.state is State.OUT_OF_MEMORY


def test_suite_that_cannot_be_imported(make_side: SideMaker, suite: Path) -> None:
    with pytest.raises(NotMeasuredError) as error:
        measure(make_side, suite, "broken.time_never")
    assert error.value.state is State.CRASHED
    assert error.value.reason == "ModuleNotFoundError: No module named 'no_such_module_anywhere'"


def test_unknown_flag(make_side: SideMaker, suite: Path) -> None:
    side = make_side(flags=(("speed", "high"),))
    with MeasuredProcess(side, suite, "good.time_plain", QUICK) as process:
        process.start()
        with pytest.raises(NotMeasuredError, match=r"unknown flag speed; known are .*mkldnn"):
            process.started()


def test_interpreter_that_is_not_there(make_side: SideMaker, suite: Path) -> None:
    side = make_side()
    absent = type(side)(cell=side.cell, command=("/no/such/python",), environment="", lock="", variables=side.variables)
    with pytest.raises(NotMeasuredError, match="cannot be started"), MeasuredProcess(absent, suite, "x", QUICK):
        pass


def test_interrupt_leaves_nothing(make_side: SideMaker, suite: Path, marker: str) -> None:
    def interrupted() -> None:
        with MeasuredProcess(make_side(), suite, "bad.Bad.time_it", QUICK) as process:
            process.start()
            process.started()
            process.setup(SETS.index("hang"))
            process.calibrate()
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            process.sample(1)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert eventually_gone(marker) == []


HANG = """
import pickle, sys
from pathlib import Path
from harness.measurement.process import MeasuredProcess
with MeasuredProcess(*pickle.loads(Path(sys.argv[1]).read_bytes())) as process:
    process.start()
    process.started()
    process.setup(1)
    process.calibrate()
    process.sample(1)
"""


def test_harness_killed_while_a_worker_hangs(make_side: SideMaker, suite: Path, marker: str, tmp_path: Path) -> None:
    folders = tmp_path / "folders"
    folders.mkdir()
    (tmp_path / "asked").write_bytes(pickle.dumps((make_side(), suite, "bad.Bad.time_it", QUICK)))
    bad = suite / "bad.py"
    bad.write_text(
        bad.read_text()
        .replace("timeout = 2.0", "timeout = 60.0")
        .replace(
            "# A child",
            "os.makedirs('written/by'); open('written/by/me', 'w').close()\n"
            "        subprocess.Popen(['sleep', '600'], start_new_session=True)\n        # A child",
        )
    )
    variables = os.environ | {"TMPDIR": str(folders)}
    with subprocess.Popen([sys.executable, "-c", HANG, str(tmp_path / "asked")], env=variables) as harness:
        for _ in range(600):
            if len(processes_naming(marker)) >= 4:  # the worker, its guard, and the children of the benchmark
                break
            time.sleep(0.05)
        else:
            pytest.fail("the benchmark did not come to hang")
        time.sleep(0.2)
        assert list(folders.glob("*/written/by/me"))
        harness.kill()
    assert eventually_gone(marker) == []
    assert list(folders.iterdir()) == []


def test_affinity_and_scheduling(make_side: SideMaker, suite: Path) -> None:
    processor = min(os.sched_getaffinity(0))
    options = replace(QUICK, affinity=(processor,), realtime=1)
    with MeasuredProcess(make_side(), suite, "good.time_plain", options) as process:
        process.start()
        process.started()
        process.look()
        facts = process.fingerprint()
    assert facts["affinity"] == [processor]
    assert facts["python"]["version"] == ".".join(map(str, sys.version_info[:3]))
    # Permitted or not, it is on record.
    assert (facts["scheduling"] == "fifo") is (facts["notes"] == [])
