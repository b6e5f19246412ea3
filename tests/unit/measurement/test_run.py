from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import MeasurementError, StorageError
from harness.inspection.check import HostFinding, Severity
from harness.inspection.host import host_facts
from harness.measurement import run as run_module
from harness.measurement.events import Event, Finished, HostChecked, Progress, Started, Undecided
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId, Record, State
from harness.measurement.run import UndecidedRows, run_key, run_rounds
from harness.measurement.runs import Run, load
from harness.measurement.side import Side
from tests.unit.measurement.helpers import QUICK, SideMaker, eventually_gone, processes_naming

WORDS = [BenchmarkId(name="bad.Elsewhere.time_it", params=(word,)) for word in ("'one'", "'two'")]
SLOW = [BenchmarkId(name="bad.time_slow")]
BENCHMARKS = {
    "bad.Elsewhere.time_it": {"type": "time", "params": [["'one'", "'two'"]], "param_names": ["word"], "code": "x"},
    "bad.time_slow": {"type": "time", "params": []},
}
FAST = replace(QUICK, samples=2, min_samples=1, budget=0.01)


@pytest.fixture(autouse=True)
def quiet_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "check_host", lambda: (host_facts(), ()))


class Runner:
    """Runs rounds with everything set but what a test is about."""

    def __init__(self, suite: Path, runs: Path, lock: Path, sides: list[Side]) -> None:
        self.suite, self.runs, self.lock, self.sides = suite, runs, lock, sides
        self.events: list[Event] = []

    def __call__(
        self,
        rows: Sequence[BenchmarkId] = tuple(WORDS),
        options: Options = FAST,
        undecided: UndecidedRows = lambda _: (),
        stop_after: int | None = None,
    ) -> Run:
        def hear(event: Event) -> None:
            self.events.append(event)
            if stop_after is not None and isinstance(event, Progress) and event.done == stop_after:
                raise KeyboardInterrupt

        self.events.clear()
        return run_rounds(
            self.sides,
            rows,
            BENCHMARKS,
            options,
            suite=self.suite,
            runs=self.runs,
            undecided=undecided,
            on_event=hear,
            lock=self.lock,
        )

    def seen(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def runner(suite: Path, tmp_path: Path, lock: Path, make_side: SideMaker) -> Runner:
    return Runner(suite, tmp_path / "runs", lock, [make_side(), make_side()])


def places(records: Sequence[Record]) -> Counter[tuple[int, BenchmarkId, int]]:
    return Counter((record.round, record.benchmark, record.side) for record in records)


def whole(rows: Sequence[BenchmarkId], rounds: int) -> Counter[tuple[int, BenchmarkId, int]]:
    return Counter((number, row, side) for number in range(rounds) for row in rows for side in (0, 1))


def test_a_whole_run(runner: Runner) -> None:
    run = runner()
    assert places(run.records) == whole(WORDS, 2)
    assert {record.state for record in run.records} == {State.OK}
    assert run.finished
    assert run.path.parent.parent == runner.runs
    assert run.header.benchmarks == {
        "bad.Elsewhere.time_it": {"type": "time", "params": [["'one'", "'two'"]], "param_names": ["word"]}
    }
    assert {record.fingerprint for record in run.records} == set(run.fingerprints)
    assert [type(event) for event in runner.events] == [HostChecked, Started, *[Progress] * 4, Finished]
    last = runner.events[-2]
    assert isinstance(last, Progress)
    assert (last.done, last.total, last.seconds_left) == (4, 4, 0.0)


def test_finished_runs_are_not_resumed(runner: Runner) -> None:
    first = runner()
    second = runner()
    assert first.path != second.path


def test_interrupt_and_resume(runner: Runner, marker: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        runner(stop_after=2)
    assert eventually_gone(marker) == []
    (path,) = runner.runs.glob("*/records.jsonl")
    before = path.read_bytes()
    run = runner()
    assert run.path == path
    assert path.read_bytes().startswith(before)
    assert places(run.records) == whole(WORDS, 2)
    assert len(runner.seen(Progress)) == 2
    (started,) = runner.seen(Started)
    assert isinstance(started, Started)
    assert (started.resumed, started.done, started.total) == (True, 2, 4)


def test_other_options_are_another_run(runner: Runner) -> None:
    with pytest.raises(KeyboardInterrupt):
        runner(stop_after=1)
    runner(options=replace(FAST, seed=1))
    assert len(list(runner.runs.glob("*/records.jsonl"))) == 2


def test_key(runner: Runner, make_side: SideMaker) -> None:
    key = run_key(runner.sides, WORDS, FAST)
    assert run_key(runner.sides, WORDS[::-1], FAST) == key
    assert run_key([make_side(HOME="/elsewhere", TMPDIR="/t"), make_side()], WORDS, FAST) == key
    assert run_key([make_side(OMP_NUM_THREADS="1"), make_side()], WORDS, FAST) != key
    assert run_key(runner.sides, WORDS[:1], FAST) != key


def test_undecided_rows_get_more(runner: Runner) -> None:
    looks: list[int] = []

    def undecided(records: Sequence[Record]) -> set[BenchmarkId]:
        looks.append(max(record.round for record in records) + 1)
        return {WORDS[1]}

    run = runner(options=replace(FAST, max_rounds=5, batch=2), undecided=undecided)
    assert looks == [2, 4]
    assert places(run.records) == whole(WORDS[:1], 2) + whole(WORDS[1:], 5)
    assert [event.rounds for event in runner.events if isinstance(event, Undecided)] == [4, 5]


def test_resumed_looks_see_what_they_saw(runner: Runner) -> None:
    options = replace(FAST, max_rounds=6, batch=2)
    looks: list[int] = []

    def undecided(records: Sequence[Record]) -> set[BenchmarkId]:
        looks.append(len(records))
        return {WORDS[0]}

    with pytest.raises(KeyboardInterrupt):
        runner(options=options, undecided=undecided, stop_after=5)
    run = runner(options=options, undecided=undecided)
    assert looks == [8, 8, 12]
    assert places(run.records) == whole(WORDS[1:], 2) + whole(WORDS[:1], 6)


def test_failing_rows_are_not_tried_for_ever(runner: Runner, make_side: SideMaker) -> None:
    runner.sides = [make_side(), make_side(FAILS="two", SKIPS="one")]
    run = runner(options=replace(FAST, rounds=4, max_rounds=4))
    assert places(run.records) == whole(WORDS[:1], 1) + whole(WORDS[1:], 2)
    assert [record.state for record in run.records if record.side == 1].count(State.CRASHED) == 2


def test_refusals(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = (HostFinding(severity=Severity.WARN, title="it is loud", advice="be quiet"),)
    monkeypatch.setattr(run_module, "check_host", lambda: (host_facts(), findings))
    assert runner().finished
    with pytest.raises(MeasurementError, match="it is loud") as error:
        runner(options=replace(FAST, strict_host=True))
    assert error.value.next_step == "be quiet"
    refusal = (replace(findings[0], severity=Severity.REFUSE),)
    monkeypatch.setattr(run_module, "check_host", lambda: (host_facts(), refusal))
    with pytest.raises(MeasurementError, match="cannot measure now"):
        runner()


def test_nothing_to_measure(runner: Runner) -> None:
    with pytest.raises(MeasurementError, match="nothing to measure"):
        runner(rows=())


def test_results_that_cannot_be_written_are_known_before_measuring(runner: Runner, marker: str) -> None:
    runner.runs.write_text("a file")
    with pytest.raises(StorageError, match="cannot be written"):
        runner()
    assert runner.seen(Progress) == []
    assert processes_naming(marker) == []


SCRIPT = """
import pickle, sys
from pathlib import Path
from harness.measurement.run import run_rounds
sides, rows, benchmarks, options, suite, runs, lock = pickle.loads(Path(sys.argv[1]).read_bytes())
run_rounds(sides, rows, benchmarks, options, suite=suite, runs=runs, lock=lock)
"""


def test_kill_and_resume(runner: Runner, tmp_path: Path, marker: str) -> None:
    options = replace(FAST, rounds=4, max_rounds=4, samples=8, min_samples=8)
    asked = (runner.sides, SLOW, BENCHMARKS, options, runner.suite, runner.runs, runner.lock)
    (tmp_path / "asked").write_bytes(pickle.dumps(asked))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    harness = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "asked")],
        env={**os.environ, "MARKER": marker, "TMPDIR": str(temporary)},
    )
    try:
        stored = wait_for_records(runner.runs, 2, harness)
        time.sleep(0.7)  # into the next round
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.wait()
    assert eventually_gone(marker) == []
    assert list(temporary.iterdir()) == []
    before = stored.read_bytes()
    run = runner(rows=SLOW, options=options)
    assert run.path == stored
    assert stored.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    # Each round was measured once, by both sides.
    lines = [json.loads(line) for line in stored.read_text().splitlines()]
    counts = Counter((line["round"], line["side"]) for line in lines if line["kind"] == "record")
    assert counts == Counter((number, side) for number in range(4) for side in (0, 1))
    assert load(stored).finished


def wait_for_records(runs: Path, count: int, harness: subprocess.Popen[bytes]) -> Path:
    for _ in range(600):
        for path in runs.glob("*/records.jsonl"):
            if path.read_text().count('"kind":"record"') >= count:
                return path
        assert harness.poll() is None
        time.sleep(0.05)
    pytest.fail("no record came")
