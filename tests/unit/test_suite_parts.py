"""The parts of the suite that need no torch: children that always end, curves, honest variables."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import bench_reproducible as reproducible
from benchmarks.children import in_child, in_children

ROOT = Path(__file__).parents[2]
ONE, NEXT = (1.0).hex(), (1.0 + 2**-23).hex()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_child_returns_what_its_function_does(folder: Path) -> None:
    assert in_child(reproducible.first_difference, [ONE, ONE], [ONE, NEXT], timeout=30) == 2
    assert in_children(math.gcd, [(12, 18), (7, 21)], timeout=30) == [6, 7]
    assert not list(folder.iterdir())


def test_a_child_gets_the_variables_that_it_is_given() -> None:
    assert in_child(os.getenv, "ONLY", timeout=30, variables={"ONLY": "this"}) == "this"
    assert in_child(os.getenv, "PATH", timeout=30, variables={"ONLY": "this"}) is None


def test_a_child_that_watches_its_own_children_ends_well() -> None:
    code = (
        "__import__('signal').signal(17, lambda *_: 1 / 0) and None, "
        "[__import__('subprocess').Popen(['sleep', '60']) for _ in range(30)] and None, 'fine'"
    )
    assert in_child(eval, code, timeout=30)[-1] == "fine"


def test_a_child_that_hangs_is_killed(folder: Path) -> None:
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="had not ended after 1 s and was killed"):
        in_child(time.sleep, 60, timeout=1)
    assert time.monotonic() - begin < 20
    assert not list(folder.iterdir())


def test_one_that_fails_ends_all_and_says_why(folder: Path) -> None:
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"(?s)status 1: .*ValueError"):
        in_child(math.sqrt, -1, timeout=60)
    with pytest.raises(RuntimeError, match="status 3"):
        in_children(eval, [("__import__('os')._exit(3)",), ("__import__('time').sleep(60)",)], timeout=60)
    assert time.monotonic() - begin < 30
    assert not list(folder.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel kills it there")
def test_a_child_does_not_outlive_its_parent(tmp_path: Path) -> None:
    mark = str(10_000_000 + os.getpid())
    code = f"import time; from benchmarks.children import in_child; in_child(time.sleep, {mark}, timeout=100)"
    parent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path)
    try:
        wait_for(lambda: len(running(mark)) == 2)
        time.sleep(2)  # the child asks for its death only once it has imported the suite
    finally:
        parent.kill()
        parent.wait()
    wait_for(lambda: not running(mark))


def running(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_for(condition) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_curves_are_told_apart() -> None:
    curve, other = [ONE] * 20, [ONE, NEXT, *[ONE] * 18]
    assert "bitwise equal to itself; the last is 1" in reproducible.told(curve, curve, "itself")
    said = reproducible.told(curve, other, "another")
    assert said.startswith(
        "step 2 of 20 is the first that differs from another: 1 against 1.00000012, 1 ULP, relative 1"
    )
    nan = [ONE, "nan", *[ONE] * 18]
    assert "inf ULP, relative inf" in reproducible.told(nan, curve, "one without")
    assert "bitwise equal" in reproducible.told(nan, nan, "itself")
    assert reproducible.distance(ONE, (0.5).hex()) == 0.5
    assert reproducible.ulps((-0.0).hex(), (2.0**-149).hex()) == 1


def test_the_reference_sees_no_setting_of_threads(tmp_path: Path) -> None:
    plain, runtime = tmp_path / "plain", tmp_path / "runtime"
    for folder in (plain, runtime):
        folder.mkdir()
    (runtime / "libgomp.so.1").touch()
    environ = {
        "PATH": "/bin",
        "OMP_THREAD_LIMIT": "1",
        "KMP_AFFINITY": "none",
        "GOMP_CPU_AFFINITY": "0",
        "LD_PRELOAD": "libiomp5.so",
        "LD_LIBRARY_PATH": f"{runtime}:{plain}",
    }
    kept = {"PATH": "/bin", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    assert reproducible.honest_variables(environ) == {**kept, "LD_LIBRARY_PATH": str(plain)}
    assert reproducible.honest_variables({"PATH": "/bin"}) == kept


def test_what_a_child_leaves_behind_is_killed() -> None:
    start = "__import__('subprocess').Popen(['sleep', '300']).pid"
    left = in_child(eval, start, timeout=30)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{left}").exists() and "zombie" not in Path(f"/proc/{left}/status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
