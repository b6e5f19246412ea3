"""The contract with ASV: its own commands over the harness's repository, environments and results.

ASV is pinned since these rest on what it does not promise. A tiny package with real wheels stands for torch, and real
uv environments for the store. The tests tell one story in the order of the file, so that all of it takes seconds.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asv_runner
import pytest
import uv

from harness.asv_plugin.history import History
from harness.asv_plugin.machine import this_machine
from harness.asv_plugin.naming import asv_name
from harness.asv_plugin.results import Outcome, StoredBenchmark, write_results
from harness.asv_plugin.suite import discover
from harness.cells.cell import Cell
from harness.releases.line import Branch, Line, LineRelease, commit_id, write_line

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
BEGAN = datetime(2026, 11, 1, 12, tzinfo=UTC)
#: Seconds that the tiny package's work takes in each release: 1.2 is worse, and 1.3 has no wheel.
SPEED = {"1.0": 0.001, "1.1": 0.001, "1.2": 0.004, "1.4": 0.004, "2.0.dev20260901": 0.004}
VERSIONS = ["1.0", "1.1", "1.2", "1.3", "1.4", "2.0.dev20260901"]
LINE = Line(
    subject="speedy",
    releases=tuple(
        LineRelease(
            version=version,
            date=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=30 * number),
            branch=list(Branch)[2 if "dev" in version else 0],
        )
        for number, version in enumerate(VERSIONS)
    ),
)
CELL = Cell(subject="speedy", release="1.2", python=PYTHON, env=(("TINY", "1"),))
NAME = f"cell-py{PYTHON}-backenddefault-TINY1"
FAST = ["--attribute", "rounds=2", "--attribute", "repeat=2", "--attribute", "warmup_time=0"]

STAND_IN = """
import functools, pathlib, subprocess
from harness.asv_plugin.provide import use_provider
from harness.environments.environment import Environment
from harness.errors import InstallError
from harness.releases.lock import Lock

HERE = pathlib.Path(__file__).parent

def provide(cell):
    path = HERE / "store" / (cell.release + cell.backend)
    if not path.exists():
        with open(HERE / "installed.txt", "a") as log:
            print(cell.id, file=log)
        subprocess.run([UV, "venv", "-q", "--no-project", "--no-config", "--python", PYTHON, str(path)], check=True)
        site = next(path.glob("lib/python*/site-packages"))
        (site / "asv_runner").symlink_to(RUNNER)
        command = [UV, "pip", "install", "-q", "--offline", "--no-config", "--no-index", "--find-links",
                   str(HERE / "wheels"), "--python", str(path), f"speedy=={cell.release}"]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            subprocess.run(["rm", "-r", str(path)], check=True)
            raise InstallError(f"{cell.id} cannot be installed: no wheel")
    lock = Lock(python=cell.python, platform="any", index="default", as_of="", slim=False, files=())
    return Environment(key=path.name, path=path, lock=lock, python_version=cell.python)

use_provider(provide)
"""
SUITE = """
import os, time
from asv_runner.benchmarks.time import TimeBenchmark
TimeBenchmark._setup_isolates_timed_calls = False


class Work:
    params = [["1", "default"]]
    param_names = ["threads"]
    version = "1"

    def setup(self, threads):
        import speedy
        self.work = speedy.work
        if threads == "default" and speedy.version == "1.0":
            raise NotImplementedError("not in 1.0")

    def time_work(self, threads):
        self.work()

    time_work.metric = "work_throughput"
    time_work.work = 1


def track_variables():
    return sum(name in os.environ for name in ("LEAK", "OMP_NUM_THREADS", "PYTHONPATH")) + 10 * int(os.environ["TINY"])


track_variables.version = "1"


def track_release():
    import speedy
    return float(speedy.version[:3])


track_release.version = "1"
"""


@dataclass(frozen=True)
class Project:
    root: Path
    env: dict[str, str]

    def asv(self, *args: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "asv", *args],
            cwd=self.root,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        output = done.stdout + done.stderr
        assert done.returncode == status, output
        assert "Traceback" not in output, output
        return output

    def results(self) -> dict[str, Any]:
        """Every results file, by its name."""
        paths = (self.root / "results").glob("*/*.json")
        return {path.name: json.loads(path.read_text()) for path in paths if path.name != "machine.json"}

    def values(self, version: str, benchmark: str, name: str = NAME) -> Any:
        return self.results()[file_of(version, name)]["results"][f"bench_work.{benchmark}"][0]


def file_of(version: str, name: str = NAME) -> str:
    return f"{commit_id('speedy', version)[:8]}-{name}.json"


def write_wheel(folder: Path, version: str) -> None:
    info = f"speedy-{version}.dist-info"
    code = f"import time\nversion = {version!r}\ndef work():\n    time.sleep({SPEED[version]})\n"
    with zipfile.ZipFile(folder / f"speedy-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("speedy.py", code)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: speedy\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("project")
    for folder in ("wheels", "matrix", "benchmarks", "results", "home"):
        (root / folder).mkdir()
    for version in SPEED:
        write_wheel(root / "wheels", version)
    write_line(root / "matrix" / "line.releases.json", LINE)
    names = {"UV": uv.find_uv_bin(), "PYTHON": sys.executable, "RUNNER": str(Path(asv_runner.__file__).parent)}
    stand_in = "".join(f"{name} = {value!r}\n" for name, value in names.items()) + STAND_IN
    (root / "stand_in.py").write_text(stand_in)
    package, bench = SUITE.split("\n\n\n", 1)
    (root / "benchmarks" / "__init__.py").write_text(package)
    (root / "benchmarks" / "bench_work.py").write_text("import os\n" + bench)
    configuration = {
        "version": 1,
        "project": "speedy",
        "plugins": [".harness.asv_plugin", ".stand_in"],
        "dvcs": "releases",
        "repo": "matrix/line.releases.json",
        "branches": [branch.value for branch in Branch],
        "environment_type": "cell",
        "pythons": [PYTHON],
        "matrix": {"req": {"backend": ["default"], "slim": [None]}, "env_nobuild": {"TINY": ["1"]}},
        "env_dir": ".asv/env",
        "html_dir": ".asv/html",
    }
    (root / "asv.conf.json").write_text(json.dumps(configuration))
    env = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    env |= {
        "HOME": str(root / "home"),
        "HARNESS_MACHINE": "box",
        "UV_CACHE_DIR": str(root / "cache"),
        "LEAK": "1",
        "OMP_NUM_THREADS": "3",
    }
    yield Project(root, env)
    shutil.rmtree(root)


def stored(name: str, *processes: tuple[float, ...], params: tuple[str, ...] = (), **changes: Any) -> StoredBenchmark:
    return StoredBenchmark(
        name=f"bench_work.{name}", params=params, processes=processes, started_at=BEGAN, seconds=1.0, **changes
    )


def test_asv_is_the_one_that_was_read() -> None:
    assert (importlib.metadata.version("asv"), importlib.metadata.version("asv_runner")) == ("0.6.6", "0.3.2")


def test_run_over_a_range_of_releases(project: Project) -> None:
    project.asv("run", "v1.0..v1.2", *FAST)
    assert set(project.results()) == {file_of("1.1"), file_of("1.2")}
    one, default = project.values("1.2", "Work.time_work")
    assert 0.004 < one < 0.04
    assert 0.004 < default < 0.04


def test_each_release_was_measured_in_its_own_environment(project: Project) -> None:
    assert [project.values(version, "track_release") for version in ("1.1", "1.2")] == [[1.1], [1.2]]


def test_measured_processes_see_the_cells_variables_and_no_others(project: Project) -> None:
    assert project.values("1.2", "track_variables") == [10]


def test_the_file_has_the_steady_description_of_the_machine(project: Project) -> None:
    found = project.results()[file_of("1.2")]
    machine = this_machine(project.root / "results", name="box")
    assert found["params"] == {**machine.fields(), "python": PYTHON, "backend": "default"}
    assert found["env_vars"] == {"TINY": "1"}
    assert found["env_name"] == asv_name(CELL) == NAME
    assert json.loads((project.root / "results/box/machine.json").read_text()) == {**machine.fields(), "version": 1}
    assert not list((project.root / "home").iterdir())


def test_all_goes_on_after_a_release_that_cannot_be_installed(project: Project) -> None:
    output = project.asv("run", "ALL", "--skip-existing-commits", *FAST, status=2)
    assert "no wheel" in output
    assert set(project.results()) == {file_of(version) for version in VERSIONS}
    assert project.values("1.3", "Work.time_work") is None
    one, default = project.values("1.0", "Work.time_work")
    assert one > 0.001
    assert default != default  # noqa: PLR0124  # NaN: skipped there


def test_new_finds_nothing_more_to_do(project: Project) -> None:
    assert "No commit hashes selected" in project.asv("run", "NEW", *FAST, status=1)


def test_each_environment_was_built_once(project: Project) -> None:
    built = (project.root / "installed.txt").read_text().split()
    # 1.3 is tried again: only what is installed is in the store.
    assert sorted(set(built) - {CELL.but(release="1.3").id}) == sorted(CELL.but(release=v).id for v in SPEED)
    assert all(built.count(CELL.but(release=v).id) == 1 for v in SPEED)


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [("v1.1^!", ["1.1"]), ("v1.2~2..v1.2^", ["1.1"]), (f"{commit_id('speedy', '1.1')[:8]}..v1.2", ["1.2"])],
)
def test_ranges_as_git_has_them(project: Project, spec: str, wanted: Sequence[str]) -> None:
    output = project.asv("run", spec, "--dry-run", "--bench", "track_release", *FAST)
    assert re.findall(r"<v(.*?)>", output) == list(wanted)


def test_releases_from_a_file_in_rounds_that_alternate(project: Project) -> None:
    (project.root / "hashes.txt").write_text("v1.1\n1.2\n")
    output = project.asv(
        "run", "HASHFILE:hashes.txt", "--interleave-rounds", "--bench", "track_release|time_work", *FAST
    )
    assert re.findall(r"<v(.*?)>", output) == ["1.2", "1.1", "1.1", "1.2"]
    assert [project.values(version, "track_release") for version in ("1.1", "1.2")] == [[1.1], [1.2]]


def test_environments_installed_by_other_processes(project: Project) -> None:
    shutil.rmtree(project.root / "store")
    project.asv("run", "v1.0..v1.2", "-j", "2", "--bench", "track_release", *FAST)
    assert [project.values(version, "track_release") for version in ("1.1", "1.2")] == [[1.1], [1.2]]


def test_an_environment_that_left_the_store_comes_back(project: Project) -> None:
    shutil.rmtree(project.root / "store")
    project.asv("run", "v1.1^!", "--bench", "track_release", *FAST)
    assert project.values("1.1", "track_release") == [1.1]


def test_tags_store_nothing_under_names_that_nothing_finds(project: Project) -> None:
    before = set(project.results())
    assert "use ALL" in project.asv("run", "TAGS", *FAST, status=1)
    assert set(project.results()) == before


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("run", "v1.0..v1.22"), "v1.2"),
        (("run", "--merges v1.0"), "not a range"),
        (("compare", "v1.0", "v9.0"), "v9.0"),
        (("continuous", "v9.0", "v1.0"), "v9.0"),
    ],
)
def test_unknown_releases_are_errors_and_no_tracebacks(project: Project, command: Sequence[str], said: str) -> None:
    assert said in project.asv(*command, status=1)


def test_show(project: Project) -> None:
    output = project.asv("show", "v1.2", "--details")
    assert "v1.2" in output
    assert NAME in output
    assert "bench_work.Work.time_work" in output
    assert "bench_work.track_release" in project.asv("show", "v1.1")


def test_compare(project: Project) -> None:
    rows = [line for line in project.asv("compare", "v1.1", "v1.2").splitlines() if "time_work" in line]
    # Before, after and ratio of both parameters.
    assert [bool(re.search(r"1\.\d+±.*4\.\d+±", row)) for row in rows] == [True, True], rows


def test_continuous(project: Project) -> None:
    output = project.asv("continuous", "v1.1", "v1.2", "--factor", "2", "--bench", "time_work", *FAST, status=1)
    assert "PERFORMANCE DECREASED" in output


def test_our_results_join_the_series_of_asv_run(project: Project) -> None:
    results = project.root / "results"
    variables = {"PATH": project.env["PATH"], "TINY": "1"}
    suite = discover(project.root / "store" / "1.1default" / "bin" / "python", project.root / "benchmarks", variables)
    assert suite == {
        name: benchmark
        for name, benchmark in json.loads((results / "benchmarks.json").read_text()).items()
        if name != "version"
    }
    machine = this_machine(results, name="box")
    before = set(project.results())
    processes = tuple((0.0100 + 0.0001 * n,) for n in range(8))
    measured = [
        stored("Work.time_work", *processes, params=("'1'",)),
        stored("Work.time_work", params=("'default'",), outcome=Outcome.SKIPPED),
        stored("track_release", (1.4,), (1.4,)),
    ]
    for version in ("1.3", "1.4"):
        written = write_results(
            results, machine=machine, cell=CELL.but(release=version), line=LINE, suite=suite, measured=measured
        )
        assert written.path == results / "box" / file_of(version)
    assert set(project.results()) == before
    # What asv run measured and we did not is still there.
    assert project.values("1.4", "track_variables") == [10]
    assert "10.3±" in project.asv("show", "v1.4", "--bench", "time_work")
    output = project.asv("compare", "v1.2", "v1.4")
    assert re.search(r"10\.\d±0\.\dms .*time_work\('1'\)", output), output
    assert re.search(r"n/a .*time_work\('default'\)", output), output


def test_asv_runs_on_over_our_results(project: Project) -> None:
    project.asv("run", "v1.4^!", "--bench", "track_release", *FAST)
    one, default = project.values("1.4", "Work.time_work")
    assert one == pytest.approx(0.01035)
    assert default != default  # noqa: PLR0124  # NaN
    assert project.values("1.4", "track_release") == [1.4]


def test_publish(project: Project) -> None:
    output = project.asv("publish")
    assert "Couldn't find" not in output
    assert "Skipping" not in output
    html = project.root / ".asv" / "html"
    index = json.loads((html / "index.json").read_text())
    history = History(LINE)
    assert index["revision_to_hash"] == {str(n): commit for n, commit in enumerate(history.commits())}
    assert index["tags"] == {f"v{version}": n for n, version in enumerate(VERSIONS[:-1])}
    assert index["params"]["machine"] == ["box"]
    assert index["benchmarks"]["bench_work.Work.time_work"]["metric"] == "work_throughput"
    # One series of all releases, measured by asv run and by us; the nightly is in its own.
    graphs = [
        json.loads(path.read_text())
        for path in (html / "graphs").rglob("bench_work.track_release.json")
        if "summary" not in path.parts
    ]
    assert sorted(len(points) for points in graphs) == [1, 5]
    regressions = json.loads((html / "regressions.json").read_text())["regressions"]
    assert any(name.startswith("bench_work.Work.time_work") for name, *_ in regressions)


def test_a_cell_by_name_and_a_second_python_are_environments_of_their_own(project: Project) -> None:
    project.asv("run", "v1.1^!", "-E", NAME, "--bench", "track_release", *FAST)
    output = project.asv("run", "v1.1^!", "-E", "cell:3.99", "--bench", "track_release", "--dry-run", *FAST)
    assert "cell-py3.99-backenddefault-TINY1" in output


def test_a_matrix_that_is_no_cell_stops_asv(project: Project) -> None:
    configuration = json.loads((project.root / "asv.conf.json").read_text())
    for matrix, said in [
        ({"req": {"backend": ["default"], "slim": ["yes"]}}, "slim"),
        ({"env": {"X": ["1"]}}, "build.X"),
    ]:
        path = project.root / "wrong.conf.json"
        path.write_text(json.dumps(configuration | {"matrix": matrix}))
        assert said in project.asv("run", "v1.1^!", "--config", str(path), status=1)


def test_the_projects_own_configuration() -> None:
    """What the repository ships is what these tests rest on."""
    from asv.config import Config

    conf = Config.load(str(Path(__file__).parents[2] / "asv.conf.json"))
    assert conf.plugins[0] == ".harness.asv_plugin"
    assert conf.branches == [branch.value for branch in Branch]
    assert (conf.dvcs, conf.environment_type, conf.repo) == ("releases", "cell", "matrix/line.releases.json")
    assert conf.project == "torch"
