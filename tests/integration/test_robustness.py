"""Ordinary mishaps, from end to end: each is told in words, and costs no more than what it touches."""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.sample_project import SampleProject, make_sample_project
from tests.integration.test_commands import interrupt, workers_of

RUN = ("run", "--rounds", "3", "--max-rounds", "3", "--samples", "5", "--from", "1.0", "--to", "1.1")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all projects: environments are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path: Path, shared: Path) -> SampleProject:
    return make_sample_project(tmp_path / "project", shared)


def test_odd_answers_cost_their_rows_only(project: SampleProject) -> None:
    (project.root / "benchmarks" / "bench_odd.py").write_text(
        "import os\n"
        "def track_details():\n"
        "    open(os.environ['HARNESS_DETAILS'], 'a').write('{\"loss\": NaN}\\n')\n"
        "    return 1\n"
        "def track_forked():\n"
        "    os.fork()\n"
        "    return 1\n"
        "def track_no_text():\n"
        "    raise ValueError('cannot open \\udcff.pt')\n"
    )
    told = project.json(*RUN, "--metric", "bench_odd.*", status=None)
    verdicts = {row["benchmark"]: row["verdict"] for row in told["rows"]}
    assert verdicts["bench_odd.track_no_text"] == "incomparable"
    assert verdicts["bench_odd.track_details"] == verdicts["bench_odd.track_forked"] == "same"
    assert "udcff.pt" in (project.root / told["report"]).read_text()


def test_a_damaged_environment_is_built_again_and_no_verdict(project: SampleProject, tmp_path: Path) -> None:
    project.env["HARNESS_CACHE"] = str(tmp_path / "own")
    folder = Path(project.run("env", "build", project.cell("1.1")).stdout.split()[1])
    module = next(folder.glob("lib/python*/site-packages/harness_sample.py"))
    module.unlink()
    told = project.json(*RUN, "--metric", "answer", status=0)
    assert [row["verdict"] for row in told["rows"]] == ["same"]
    assert module.exists()


@pytest.mark.parametrize("args", [("plan",), ("plan", "--format", "json"), ("env", "--help")])
def test_standard_output_that_is_full(project: SampleProject, args: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            project.command(*args),
            cwd=project.root,
            env=project.env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert "cannot write to standard output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_no_standard_error(project: SampleProject) -> None:
    command = shlex.join(project.command(*RUN, "--metric", "answer"))
    done = subprocess.run(
        ["sh", "-c", f"{command} 2>&-"], cwd=project.root, env=project.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "same" in done.stdout


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_ended_from_outside_as_by_the_keyboard(project: SampleProject, how: signal.Signals) -> None:
    process = interrupt(project, how)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "same command" in said
    deadline = time.monotonic() + 10
    while workers_of(project):
        assert time.monotonic() < deadline, workers_of(project)
        time.sleep(0.1)


def test_a_damaged_line_is_begun_anew(project: SampleProject) -> None:
    path = project.root / "matrix" / "line.releases.json"
    whole = path.read_text()
    path.write_text(whole[:-20])
    # The project's folder of wheels has no dates, so that no new line can be begun from it; that is told too.
    done = project.run("releases", "refresh", status=3)
    assert path.with_name(path.name + ".corrupt").read_text() == whole[:-20]
    assert "a new one is begun" in done.stderr
