"""Measuring in real environments: old and new Pythons, and torch itself on both sides."""

from __future__ import annotations

import math
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.asv_plugin.suite import discover
from harness.cells.cell import Cell, parse_cell_id
from harness.cells.wheels import Target, host_glibc
from harness.environments.environment import Environment
from harness.environments.pythons import find_python
from harness.environments.store import Store
from harness.environments.variables import clean_variables
from harness.errors import InstallError, ResolveError
from harness.measurement.metrics import metrics_of, rows, select
from harness.measurement.options import Options
from harness.measurement.plan import Visit
from harness.measurement.records import BenchmarkId, Record, State
from harness.measurement.round import measure_visit
from harness.measurement.run import run_rounds
from harness.measurement.side import Side
from harness.releases.catalog import load_catalog
from harness.releases.resolve import Request, resolve
from harness.releases.sources import sources_for
from harness.releases.uv import Uv

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FAKE_SUITE = Path(__file__).parents[1] / "unit" / "measurement" / "fake_suite"
# A busy machine is no reason to fail here.
OPTIONS = Options(rounds=2, max_rounds=2, samples=6, min_samples=6, budget=5.0, calm=100.0)
TORCH = "torch2.13.0-py3.11-cpu"


def environment_of(cell: Cell, cache: Path) -> Environment:
    """A real environment; skips where the release or the Python cannot be had."""
    sources = sources_for(["default"], environ=os.environ)
    try:
        find_python(cell.python)
        catalog = load_catalog(cell.subject, sources, cache=cache)
        target = Target(python=cell.python_minor, glibc=host_glibc())
        request = Request(cell=cell, target=target, offers=catalog.files)
        lock = resolve(request, Uv(sources=sources, cache=cache, environ=os.environ))
    except (ResolveError, InstallError) as error:
        pytest.skip(f"{cell.id} cannot be had here: {error.what}")
    return Store.default().ensure(cell, lock)


def side_of(cell: Cell, environment: Environment, **variables: str) -> Side:
    return Side.of(cell, environment, clean_variables(cell, environment) | variables)


def medians(records: Sequence[Record]) -> list[float]:
    return [statistics.median(sample.value for sample in record.samples) for record in records]


@pytest.mark.parametrize("python", ["3.8", "3.13"])
def test_worker_on_old_and_new_pythons(python: str, shared_cache: Path) -> None:
    # asv_runner stands for the subject: a small package that runs on all of them.
    cell = Cell(subject="asv-runner", release="0.3.2", python=python)
    environment = environment_of(cell, shared_cache)
    visit = Visit(round=0, benchmark="bad.time_slow", rows=(BenchmarkId(name="bad.time_slow"),))
    (result,) = measure_visit(visit, [side_of(cell, environment)] * 2, FAKE_SUITE, OPTIONS)
    assert [record.state for record in result.records] == [State.OK] * 2, [r.reason for r in result.records]
    (facts,) = result.fingerprints.values()
    assert facts["python"]["version"] == environment.python_version
    assert facts["torch"] is None


@pytest.mark.torch
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the wheel in the folder is for Python 3.11")
class TestTorch:
    def test_against_itself(self, shared_cache: Path, tmp_path: Path) -> None:
        cell = parse_cell_id(TORCH)
        environment = environment_of(cell, shared_cache)
        sides = [side_of(cell, environment), side_of(cell, environment)]
        discovered = discover(environment.python, BENCHMARKS, sides[0].variables)
        metric = next(m for m in select(metrics_of(discovered)) if m.benchmark == "bench_small_ops.Add.time_add")
        run = run_rounds(
            sides,
            rows(metric),
            discovered,
            OPTIONS,
            suite=BENCHMARKS,
            runs=tmp_path / "runs",
            lock=tmp_path / "lock",
        )
        cpu = [record for record in run.records if "'cpu'" in record.benchmark.params]
        elsewhere = [record for record in run.records if "'cpu'" not in record.benchmark.params]
        assert len(cpu) == 2 * 2 * 2
        assert {(record.state, record.reason) for record in cpu} == {(State.OK, "")}
        assert {len(record.samples) for record in cpu} == {6}
        # A sample holds many of these: the suite keeps its setup.
        assert min(record.number for record in cpu) > 1
        assert all(math.isfinite(value) and value > 0 for value in medians(cpu))
        # Skips are said once, and not asked for again.
        assert {record.state for record in elsewhere} <= {State.SKIPPED, State.OK}
        (facts,) = run.fingerprints.values()
        assert facts["torch"]["version"] == "2.13.0+cpu"
        assert facts["import_error"] == ""
        assert "libtorch_cpu.so" in facts["libraries"]
        assert any(name.startswith("libgomp") for name in facts["libraries"])
        assert facts["environment"]["MALLOC_MMAP_THRESHOLD_"] == "33554432"
        assert "Build settings" in facts["config"]

    def test_flags_and_variables_reach_the_process(self, shared_cache: Path) -> None:
        plain = parse_cell_id(TORCH)
        cell = parse_cell_id(f"{TORCH}+flag.mkldnn=off+flag.grad=off+flag.deterministic=on+OMP_NUM_THREADS=1")
        environment = environment_of(plain, shared_cache)
        row = BenchmarkId(name="bench_small_ops.Add.time_add", params=("'default'", "'cpu'"))
        visit = Visit(round=0, benchmark=row.name, rows=(row,))
        sides = [side_of(cell, environment), side_of(plain.but(release="2.12.0"), environment)]
        (result,) = measure_visit(visit, sides, BENCHMARKS, OPTIONS)
        asked, other = result.records
        assert (asked.state, asked.reason) == (State.OK, "")
        facts = result.fingerprints[asked.fingerprint]
        assert (facts["flags"]["mkldnn"], facts["flags"]["grad"], facts["flags"]["deterministic"]) == (
            False,
            False,
            True,
        )
        assert facts["flags"]["num_threads"] == 1
        assert other.state is State.INVALID
        assert "has torch 2.13.0+cpu, not 2.12.0" in other.reason

    def test_torch_that_fails_to_import(self, shared_cache: Path, tmp_path: Path) -> None:
        cell = parse_cell_id(TORCH)
        environment = environment_of(cell, shared_cache)
        (tmp_path / "torch.py").write_text("raise OSError('libc10.so: cannot open shared object file')\n")
        broken = side_of(cell, environment, PYTHONPATH=str(tmp_path))
        row = BenchmarkId(name="bench_small_ops.Add.time_add", params=("'1'", "'cpu'"))
        visit = Visit(round=0, benchmark=row.name, rows=(row,))
        (result,) = measure_visit(visit, [side_of(cell, environment), broken], BENCHMARKS, OPTIONS)
        assert [record.state for record in result.records] == [State.OK, State.CRASHED]
        assert result.records[1].reason == (
            "torch cannot be imported: OSError: libc10.so: cannot open shared object file"
        )

    def test_memory_that_is_not_there(self, shared_cache: Path, tmp_path: Path) -> None:
        cell = parse_cell_id(TORCH)
        environment = environment_of(cell, shared_cache)
        suite = tmp_path / "greedy"
        suite.mkdir()
        (suite / "__init__.py").write_text("")
        (suite / "bench.py").write_text(
            "def time_huge():\n    import torch\n    torch.empty(2**50)\ntime_huge.version = '1'\n"
        )
        row = BenchmarkId(name="bench.time_huge")
        visit = Visit(round=0, benchmark=row.name, rows=(row,))
        (result,) = measure_visit(visit, [side_of(cell, environment)], suite, replace(OPTIONS, samples=1))
        assert result.records[0].state is State.OUT_OF_MEMORY
        assert "allocate" in result.records[0].reason
