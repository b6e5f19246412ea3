"""The suite on real torch, the oldest and a new one: each benchmark runs with each parameter set, or says why not."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.asv_plugin.suite import discover
from harness.cells.cell import Cell, parse_cell_id
from harness.cells.offers import serves
from harness.cells.wheels import Target, host_glibc
from harness.environments.environment import Environment
from harness.environments.pythons import find_python
from harness.environments.store import Store
from harness.environments.variables import clean_variables
from harness.errors import InstallError, ResolveError
from harness.measurement.metrics import metrics_of, value
from harness.releases.catalog import load_catalog
from harness.releases.resolve import Request, resolve
from harness.releases.sources import sources_for
from harness.releases.uv import Uv

SUITE = Path(__file__).parents[2] / "benchmarks"
ONCE = Path(__file__).with_name("suite_once.py")
OLDEST = parse_cell_id("torch1.8.1-py3.8-default")
NEW = parse_cell_id("torch2.13.0-py3.11-cpu")
#: Skips that a machine may have, and those that a release has.
NO_DEVICE = (
    "no cuda device",
    "CPU threads do not matter to work on cuda",
    "only devices have",
    "pinned memory is for copies to a device",
)
NO_PACKAGE = "is not installed"
NO_COMPILER = "there is no C++ compiler"
MISSING = "this release has no "

pytestmark = pytest.mark.torch


def environment_of(cell: Cell, cache: Path) -> Environment:
    """A real environment; skips where the release or the Python cannot be had."""
    sources = sources_for(["default"], environ=os.environ)
    try:
        find_python(cell.python)
        offers = load_catalog(cell.subject, sources, cache=cache).files_of(cell.release)
    except (ResolveError, InstallError) as error:
        pytest.skip(f"{cell.id} cannot be had here: {error.what}")
    if not any(serves(file, cell.backend) for file in offers):
        pytest.skip(f"{cell.id} cannot be had here: no index or folder offers it")
    request = Request(
        cell=cell,
        target=Target(python=cell.python_minor, glibc=host_glibc()),
        offers=offers,
        requirements=["numpy", "onnx", "onnxruntime", "setuptools<70" if cell == OLDEST else "onnxscript"],
    )
    lock = resolve(request, Uv(sources=sources, cache=cache, environ=os.environ))
    return Store.default().ensure(cell, lock)


def run_once(
    cell: Cell, environment: Environment, suite: Path, names: Sequence[str] = (), **changed: str
) -> list[dict[str, Any]]:
    """The outcome of each parameter set of the named benchmarks, or of all."""
    command = [str(environment.python), str(ONCE), str(suite), *names]
    variables = clean_variables(cell, environment) | changed
    # Benchmarks leave their files where they run, as they do in the folder that the harness gives each process.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, env=variables, cwd=folder, capture_output=True, text=True, check=False, timeout=1500
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("cell", [OLDEST, NEW], ids=lambda cell: cell.release)
def test_everything_runs_or_says_why_not(cell: Cell, shared_cache: Path) -> None:
    environment = environment_of(cell, shared_cache)
    found = metrics_of(discovered(cell, environment))
    # Each row of those takes a minute and more: they have a test of their own.
    metrics = {metric.benchmark: metric for metric in found if "instructions" not in metric.tags}
    outcomes = run_once(cell, environment, SUITE, list(metrics))

    failed = [(o["benchmark"], o["params"], o["reason"]) for o in outcomes if o["state"] == "failed"]
    assert not failed
    expected = {
        (metric.benchmark, *params) for metric in metrics.values() for params in itertools.product(*metric.params)
    }
    assert {(o["benchmark"], *map(repr, o["params"])) for o in outcomes} == expected
    # On the CPU only what needs a package or a compiler is skipped, and what the release does not have.
    allowed = (*NO_DEVICE, NO_PACKAGE, NO_COMPILER, MISSING)
    skipped = [outcome for outcome in outcomes if outcome["state"] == "skipped"]
    for outcome in skipped:
        assert any(reason in outcome["reason"] for reason in allowed), outcome
    assert any(MISSING in outcome["reason"] for outcome in skipped) is (cell == OLDEST)
    for outcome in outcomes:
        for number in outcome["values"]:
            measured = value(metrics[outcome["benchmark"]], [repr(p) for p in outcome["params"]], number)
            assert math.isfinite(measured), outcome
            assert measured >= 0, outcome


def discovered(cell: Cell, environment: Environment) -> dict[str, dict[str, Any]]:
    return discover(environment.python, SUITE, clean_variables(cell, environment))


def test_a_benchmark_that_fails_is_seen(shared_cache: Path, tmp_path: Path) -> None:
    broken = tmp_path / "benchmarks"
    shutil.copytree(SUITE, broken, ignore=shutil.ignore_patterns("__pycache__"))
    file = broken / "bench_matmul.py"
    file.write_text(file.read_text().replace("torch.bmm", "torch.bmmm"))
    outcomes = run_once(NEW, environment_of(NEW, shared_cache), broken, ["bench_matmul.BatchedMatmul.time_bmm"])
    assert {o["state"] for o in outcomes if o["params"][1] == "cpu"} == {"failed"}
    assert "bmmm" in outcomes[0]["reason"]


def test_peak_memory_is_steady_and_recording_costs_memory(shared_cache: Path) -> None:
    environment = environment_of(NEW, shared_cache)
    name = "bench_record.MlpForwardMemory.track_peak"
    code = (
        "import sys; from asv_runner.discovery import get_benchmark_from_name as get\n"
        "benchmark = get(sys.argv[1], sys.argv[2]); benchmark.do_setup(); print(benchmark.do_run())"
    )

    def peak(index: int) -> int:
        command = [str(environment.python), "-c", code, str(SUITE), f"{name}-{index}"]
        variables = clean_variables(NEW, environment)
        return int(subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout)

    recording, again, plain = peak(0), peak(0), peak(1)
    assert again == pytest.approx(recording, rel=0.02)
    # Six activations of 16 MiB are kept, or at most the two that a layer works on.
    assert recording == pytest.approx(6 * (16 << 20), rel=0.1)
    assert plain == pytest.approx(2 * (16 << 20), rel=0.1)


#: What torch is known to do, by the name of the function that asks.
KNOWN = {
    "track_none": {OLDEST: 0.0, NEW: 1.0},
    "track_quotient": {OLDEST: 0.0, NEW: 1.0},
    "track_debug": {OLDEST: 0.0, NEW: 0.0},
    "track_mask": {OLDEST: 1.0, NEW: 1.0},
    "track_length": {OLDEST: 1.0, NEW: 1.0},
    "track_solve": {OLDEST: 1.0, NEW: 0.0},
    "track_numpy": {OLDEST: 1.0, NEW: 1.0},
    "track_refused": {OLDEST: 0.0, NEW: 1.0},
}


@pytest.mark.parametrize("cell", [OLDEST, NEW], ids=lambda cell: cell.release)
def test_known_behaviours(cell: Cell, shared_cache: Path) -> None:
    environment = environment_of(cell, shared_cache)
    names = [name for name in discovered(cell, environment) if name.startswith("bench_behaviours.")]
    names.append("bench_claims_saving.PickledObject.track_refused")
    outcomes = run_once(cell, environment, SUITE, names)
    found = {outcome["benchmark"].split(".")[-1]: outcome["values"] for outcome in outcomes}
    assert found == {name: [values[cell]] for name, values in KNOWN.items()}


COUNT = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]).parent))
from benchmarks import bench_instructions as bench
bench.CALLS = 20
for count in (100, 101):
    bench.OPERATIONS[count] = (f"for _ in range({count}): torch.add(a, b)", bench.OPERATIONS["add"][1])
    benchmark = bench.Instructions()
    benchmark.setup(count)
    print(benchmark.track_instructions(count))
"""


@pytest.mark.timeout(900)
def test_instructions_show_one_percent_on_a_busy_machine(shared_cache: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    environment = environment_of(NEW, shared_cache)
    command = [str(environment.python), "-c", COUNT, str(SUITE)]
    done = subprocess.run(
        command, env=clean_variables(NEW, environment), capture_output=True, text=True, check=False, timeout=800
    )
    assert done.returncode == 0, done.stderr[-4000:]
    hundred, one_more = map(float, done.stdout.split())
    assert one_more / hundred == pytest.approx(1.01, abs=0.001)
    assert 2_000 < hundred / 100 < 50_000


def test_instructions_need_valgrind_and_say_so(shared_cache: Path, tmp_path: Path) -> None:
    environment = environment_of(NEW, shared_cache)
    name = "bench_instructions.Instructions.track_instructions"
    outcomes = run_once(NEW, environment, SUITE, [name], PATH=str(tmp_path))
    assert {outcome["state"] for outcome in outcomes} == {"skipped"}
    assert all("valgrind is not installed" in outcome["reason"] for outcome in outcomes)
