"""The suite as data: what every benchmark declares, and that it imports on any Python, with any torch or none.

Nothing here needs torch; tests/integration/test_suite.py runs the benchmarks.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.environments.pythons import find_python
from harness.errors import InstallError
from harness.measurement.metrics import metrics_of, rows

SUITE = Path(__file__).parents[2] / "benchmarks"
FILES = sorted(SUITE.glob("*.py"))
PYTHONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]
HOT_PATHS = {"H01", "H03", "H07", "H08", "H11", "H12", "H14", "H15", "H17", "H18", "H19", "H20"}

LIST = """
import sys
from asv_runner.discovery import list_benchmarks
list_benchmarks(sys.argv[1], sys.stdout)
heavy = sorted({"torch", "numpy"} & set(sys.modules))
assert not heavy, f"listing the benchmarks imported {heavy}"
"""
SETUP = """
import sys
from asv_runner.discovery import get_benchmark_from_name
benchmark = get_benchmark_from_name(sys.argv[1], sys.argv[2])
try:
    print("skipped" if benchmark.do_setup() else "ran")
except Exception as error:
    print(f"{type(error).__name__}: {error}")
"""
TORCHES = {
    "absent": "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n",
    "broken": "raise OSError('libcudart.so.99: cannot open shared object file')\n",
    "bare": "__version__ = '1.8.1'\n",
}


def cell_python(python: str | Path, folder: Path, code: str, *arguments: str, suite: Path = SUITE) -> str:
    """Runs code beside nothing but asv_runner and what lies in a folder: no torch, no numpy, no harness."""
    runner = Path(importlib.util.find_spec("asv_runner").origin).parent
    link = folder / "asv_runner"
    if not link.exists():
        link.symlink_to(runner)
    # -S leaves out site-packages; the venv of the tests may hold anything.
    command = [str(python), "-S", "-W", "error", "-c", code, str(suite), *arguments]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    found = json.loads(cell_python(sys.executable, tmp_path_factory.mktemp("bare"), LIST))
    return {benchmark["name"]: benchmark for benchmark in found}


class FakeTorch(ModuleType):
    """As much of torch as `start` and `normal` touch."""

    float32 = "float32"

    def __init__(self) -> None:
        super().__init__("torch")
        self.threads = 4
        self.told: list[int] = []
        self.seeds: list[int] = []
        self.cuda = SimpleNamespace(is_available=lambda: False)

    def get_num_threads(self) -> int:
        return self.threads

    def set_num_threads(self, number: int) -> None:
        self.threads = number
        self.told.append(number)

    def manual_seed(self, seed: int) -> None:
        pass

    def Generator(self) -> SimpleNamespace:  # noqa: N802  (torch's name)
        return SimpleNamespace(manual_seed=self.seeds.append)

    def randn(self, *shape: int, generator: object) -> SimpleNamespace:
        return SimpleNamespace(to=lambda device, dtype: (shape, generator, device, dtype))


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    fake = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


@pytest.fixture
def common() -> ModuleType:
    """`benchmarks/common.py`, fresh: it remembers the threads of its process."""
    spec = importlib.util.spec_from_file_location("common_under_test", SUITE / "common.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_asv_finds_the_right_arguments(tmp_path: Path) -> None:
    code = "import sys; from asv_runner.check import _check; _check(sys.argv[1:])"
    assert cell_python(sys.executable, tmp_path, code) == ""


def test_every_hot_path_has_a_benchmark(suite: dict[str, dict[str, Any]]) -> None:
    assert {benchmark["hot_path"] for benchmark in suite.values()} == HOT_PATHS


def test_declarations(suite: dict[str, dict[str, Any]]) -> None:
    for name, benchmark in suite.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]+", benchmark["metric"]), name
        assert benchmark["metric_unit"], name
        assert benchmark["direction"] in ("higher", "lower"), name
        assert benchmark["version"] == "1", f"{name}: only a declared version outlives an edit of a comment"
        assert 30 <= benchmark["timeout"] <= 600, name
        assert 10 < len(benchmark["summary"]) < 100, name
        assert not benchmark["summary"].endswith("."), name
        assert benchmark["tags"], name
        assert 0 < benchmark["floor"] < 1, name
        assert benchmark["type"] in ("time", "track"), name
        if benchmark["direction"] == "higher":
            assert benchmark["type"] == "track" or benchmark["metric_unit"].endswith("/s"), name
        if benchmark["type"] == "track":
            assert benchmark["unit"] == benchmark["metric_unit"], name
            assert benchmark["less_is_better"] is (benchmark["direction"] == "lower"), name


def test_the_harness_understands_the_suite(suite: dict[str, dict[str, Any]]) -> None:
    metrics = metrics_of(suite)
    assert [metric.benchmark for metric in sorted(metrics, key=lambda m: m.benchmark)] == sorted(suite)
    assert len({metric.name for metric in metrics}) == len(suite)
    conv = next(metric for metric in metrics if metric.name == "conv2d_throughput")
    assert (conv.unit, conv.direction, conv.hot_path, conv.work) == ("images/s", "higher", "H11", 8)


def test_the_core_set_stays_small(suite: dict[str, dict[str, Any]]) -> None:
    core = [metric for metric in metrics_of(suite) if "core" in metric.tags]
    assert 6 <= len(core) <= 9
    # About one second for each parameter set that can run on a machine without a device.
    on_cpu = [row for metric in core for row in rows(metric) if "'cuda'" not in row.params]
    assert len(on_cpu) <= 26
    assert not any(metric.full_environment or metric.isolate for metric in core)


def test_memory_and_import_need_a_full_environment(suite: dict[str, dict[str, Any]]) -> None:
    assert all(metric.full_environment for metric in metrics_of(suite) if {"memory", "startup"} & set(metric.tags))


def test_threads_and_devices(suite: dict[str, dict[str, Any]]) -> None:
    for name, benchmark in suite.items():
        values = dict(zip(benchmark["param_names"], benchmark["params"], strict=True))
        assert values.get("device", ["'cpu'", "'cuda'"]) == ["'cpu'", "'cuda'"], name
        # The default comes first and outermost: nothing has touched torch's threads when it is measured.
        assert values.get("threads", ["'default'", "'1'"]) == ["'default'", "'1'"], name
        assert "threads" not in benchmark["param_names"][1:], name


@pytest.mark.parametrize("torch", TORCHES)
def test_the_same_list_with_any_torch(torch: str, suite: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(TORCHES[torch])
    assert {b["name"]: b for b in json.loads(cell_python(sys.executable, tmp_path, LIST))} == suite


@pytest.mark.parametrize("torch", ["absent", "broken"])
def test_a_missing_torch_fails_in_setup_and_says_so(
    torch: str, suite: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "torch.py").write_text(TORCHES[torch])
    says = {"absent": "No module named 'torch'", "broken": "libcudart.so.99: cannot open shared object file"}[torch]
    for name in {benchmark.split(".")[0]: benchmark for benchmark in suite if "startup" not in benchmark}.values():
        said = cell_python(sys.executable, tmp_path, SETUP, f"{name}-0")
        assert said.startswith("RuntimeError: torch cannot be imported: "), name
        assert says in said


@pytest.mark.parametrize(
    "name", ["ImportTime.timeraw_import", "ImportMemory.track_resident", "FirstCall.track_first_call-0"]
)
def test_start_up_does_not_import_torch_to_see_whether_it_is_there(name: str, tmp_path: Path) -> None:
    assert "RuntimeError: torch is not installed" in cell_python(
        sys.executable, tmp_path, SETUP, f"bench_startup.{name}"
    )
    (tmp_path / "torch.py").write_text("raise SystemExit('imported')\n")
    assert cell_python(sys.executable, tmp_path, SETUP, f"bench_startup.{name}") == "ran\n"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_same_list_on_every_python(python: str, suite: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    try:
        interpreter = find_python(python, fetch=False)
    except InstallError:
        # The grammar is checked without it, the library is not.
        for file in FILES:
            ast.parse(file.read_text(), file.name, feature_version=tuple(int(part) for part in python.split(".")))
        return
    found = {b["name"]: b for b in json.loads(cell_python(interpreter.path, tmp_path, LIST))}
    assert found == suite


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_file_imports_what_a_cell_may_lack(file: Path) -> None:
    tree = ast.parse(file.read_text())
    allowed = {*sys.stdlib_module_names, "asv_runner"}
    for node in tree.body:
        match node:
            case ast.Import(names=names):
                assert {alias.name.split(".")[0] for alias in names} <= allowed
            case ast.ImportFrom(module=module, level=0):
                assert module.split(".")[0] in allowed
            case _:
                pass


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_name_of_a_file_is_taken_for_a_setting(file: Path) -> None:
    # ASV looks for settings in the module too: an imported itertools.repeat would become the number of repetitions.
    settings = {
        *("env", "min_run_count", "number", "param_names", "params", "processes", "repeat", "rounds", "sample_time"),
        *("setup", "setup_cache", "skip_params", "teardown", "timeout", "timer", "type", "unit", "version"),
        *("pretty_name", "pretty_source", "warmup_time"),
    }
    names: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        match node:
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names |= {alias.asname or alias.name for alias in imported}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case _:
                pass
    assert not {name.lower() for name in names} & settings


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"direction": "up"}, "direction is 'up'"),
        ({"work": {"a": 1}}, "needs work_by"),
        ({"work_by": "size"}, "needs work_by"),
    ],
)
def test_a_wrong_declaration_is_refused(common: ModuleType, arguments: dict[str, Any], says: str) -> None:
    declaration = {"unit": "s", "direction": "lower", "hot_path": "H01", "summary": "a metric"} | arguments
    with pytest.raises(ValueError, match=says):
        common.metric("wrong", **declaration)


def test_inputs_are_seeded_by_their_shape(common: ModuleType, torch: FakeTorch) -> None:
    for shape in [(8,), (8,), (2, 3), (3, 2)]:
        common.normal(torch, *shape)
    first, again, wide, tall = torch.seeds
    assert first == again
    assert len({first, wide, tall}) == 3


def test_threads_return_to_what_they_were(common: ModuleType, torch: FakeTorch) -> None:
    for threads in ["default", "1", "default", "default"]:
        common.start("cpu", threads)
    assert torch.told == [1, 4], "torch is told only what changes"


@pytest.mark.parametrize(
    ("device", "threads", "says"),
    [
        ("cuda", "1", "threads do not matter"),
        ("cuda", "default", "no cuda device"),
        ("xpu", "default", "no xpu device"),
    ],
)
@pytest.mark.usefixtures("torch")
def test_what_cannot_run_is_skipped_with_a_reason(common: ModuleType, device: str, threads: str, says: str) -> None:
    with pytest.raises(NotImplementedError, match=says):
        common.start(device, threads)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("\"conv\" not implemented for 'BFloat16'\nat line 3"), NotImplementedError),
        (NotImplementedError("no kernel"), NotImplementedError),
        (RuntimeError("out of memory"), RuntimeError),
    ],
)
def test_only_missing_support_is_a_skip(common: ModuleType, error: Exception, expected: type[Exception]) -> None:
    def call() -> None:
        raise error

    with pytest.raises(RuntimeError) as caught:
        common.skip_unless_supported(call, "conv2d in bfloat16")
    assert type(caught.value) is expected
    assert "at line 3" not in str(caught.value)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel keeps no peak memory")
def test_peak_memory_is_that_of_the_block_alone() -> None:
    # In a process of its own: what this one held before, and what its heap keeps, must not show.
    code = f"""
import sys
sys.path.insert(0, {str(SUITE.parent)!r})
from benchmarks.memory import PeakMemory
bytearray(200 << 20).count(1)
peak = PeakMemory(None, "cpu")
for size in (50, 20):
    with peak:
        bytearray(size << 20).count(1)
    print(peak.bytes / (1 << 20))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    large, small = map(float, done.stdout.split())
    assert large == pytest.approx(50, abs=2)
    assert small == pytest.approx(20, abs=2)


def test_the_documentation_lists_every_metric(suite: dict[str, dict[str, Any]]) -> None:
    page = (SUITE.parent / "docs" / "explanation" / "suite.md").read_text()
    listed = re.findall(r"^\| `(\w+)`( \*)? \| `(\w+)` \| ([\w, ]*) ?\| .* \| (higher|lower) \|$", page, re.MULTILINE)
    assert sorted(
        (name, bool(star), file, parameters.strip(), better) for name, star, file, parameters, better in listed
    ) == [
        (
            metric.name,
            "core" in metric.tags,
            metric.benchmark.split(".")[0],
            ", ".join(metric.param_names),
            metric.direction,
        )
        for metric in metrics_of(suite)
    ]


def test_the_guide_s_example_is_a_benchmark(tmp_path: Path) -> None:
    guide = (SUITE.parent / "docs" / "how-to" / "add-a-benchmark.md").read_text()
    example = re.search(r"```python\n(.*?)```", guide, re.DOTALL)[1]
    copy = tmp_path / "suite" / "benchmarks"
    shutil.copytree(SUITE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "bench_softmax.py").write_text(example)
    found = json.loads(cell_python(sys.executable, tmp_path, LIST, suite=copy))
    (metric,) = [m for m in metrics_of({b["name"]: b for b in found}) if m.tags == ("softmax",)]
    assert (metric.name, metric.unit, metric.work) == ("softmax_throughput", "rows/s", 64)
