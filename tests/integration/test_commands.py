"""The command line from end to end: a real project, real environments, real processes, and every way to fail."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.releases.line import commit_id, read_line
from tests.integration.sample_project import MEASURED, PYTHON, SUBJECT, SampleProject, make_sample_project

UPGRADE = ("run", "--from", "1.1", "--to", "2.0")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all projects: environments are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path: Path, shared: Path) -> SampleProject:
    return make_sample_project(tmp_path / "project", shared)


def test_a_slower_release_is_found_stored_and_told_again(project: SampleProject) -> None:
    told = project.json("run", status=1)
    (row,) = told["rows"]
    assert (told["baseline"], told["candidate"]) == (project.cell("1.1"), project.cell("2.0"))
    assert (row["metric"], row["params"], row["verdict"]) == ("work_throughput", {"size": "small"}, "slower")
    # A fifth of the speed: so much that a busy machine does not hide it in three rounds.
    assert 0.1 < row["ratio"] < 0.4
    assert row["low"] < row["ratio"] < row["high"] < 0.97
    assert [skipped["reason"] for skipped in told["skipped"]] == ["large is for large machines"]
    report = project.root / told["report"]
    assert "slower" in report.read_text()
    assert project.cell("2.0") in report.read_text()

    again = project.json("compare", project.cell("1.1"), project.cell("2.0"), status=1)
    assert again["rows"] == told["rows"]
    swapped = project.json("compare", project.cell("2.0"), project.cell("1.1"))
    assert swapped["rows"][0]["verdict"] == "faster"
    assert swapped["rows"][0]["ratio"] == pytest.approx(1 / row["ratio"])
    by_run = project.json("compare", report.parent.name, status=1)
    assert by_run["rows"] == told["rows"]


def test_sides_that_cannot_be_compared_are_when_told_to(project: SampleProject) -> None:
    told = project.json("run", status=1)
    (records,) = project.root.glob("results/runs/*/records.jsonl")
    # One side as a process that might use one processor only: not what was asked to be compared.
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    facts = next(line for line in lines if line["kind"] == "fingerprint")
    other = {**facts, "digest": "0" * 64, "facts": {**facts["facts"], "affinity": [0, 7]}}
    moved = [{**line, "fingerprint": other["digest"]} if line.get("side") == 1 else line for line in lines]
    records.write_text("".join(json.dumps(line) + "\n" for line in (moved[0], other, *moved[1:])))
    sides = (project.cell("1.1"), project.cell("2.0"))
    refused = project.json("compare", *sides, status=4)
    assert [row["verdict"] for row in refused["rows"]] == ["incomparable"]
    assert "processors that may be used" in refused["rows"][0]["reason"]
    anyway = project.json("compare", *sides, "--anyway", status=1)
    assert anyway["rows"] == told["rows"]
    assert any("processors that may be used" in finding["title"] for finding in anyway["findings"])


def test_a_run_and_its_comparison_are_drawn(project: SampleProject) -> None:
    told = project.json("run", status=1)
    (plot,) = told["plots"]
    assert plot["rows"] == [{"metric": "work_throughput", "params": {"size": "small"}}]
    drawn = (project.root / plot["file"]).read_text()
    assert "slower: work_throughput" in drawn
    page = project.root / told["report"]
    assert f"({Path(plot['file']).relative_to(Path(told['report']).parent)})" in page.read_text()

    def compare(*args: str, status: int = 1) -> str:
        done = project.run("compare", project.cell("1.1"), project.cell("2.0"), *args, status=status)
        return done.stdout if status == 1 else done.stderr

    assert "mine.svg" in compare("--plot", "mine.svg")
    mine = (project.root / "mine.svg").read_bytes()
    compare("--plot", "mine.svg", "--metric", "work_*")
    assert (project.root / "mine.svg").read_bytes() == mine, "the same records give the same plot"
    compare("--plot", "mine.png")
    assert (project.root / "mine.png").read_bytes().startswith(b"\x89PNG")

    assert "ends in .svg or .png" in compare("--plot", "mine.pdf", status=2)
    assert "is a directory" in compare("--plot", "results", status=2)
    assert "add --plot" in compare("--metric", "work_throughput", status=2)
    assert "work_throughput" in compare("--plot", "other.svg", "--metric", "work_throughputs", status=2)
    assert "cannot be written" in compare("--plot", "mine.svg/other.svg", status=4)
    assert not (project.root / "other.svg").exists()


def test_records_and_asv_results_have_every_process(project: SampleProject) -> None:
    project.run("run", status=1)
    records = [record for record in project.records() if record["state"] in MEASURED]
    assert sorted((record["round"], record["side"]) for record in records) == [(r, s) for r in range(3) for s in (0, 1)]
    # Ten, and at most twenty more for those that something disturbed.
    assert all(10 <= len(record["samples"]) <= 30 for record in records)
    (folder,) = (path for path in (project.root / "results").iterdir() if path.name == "box")
    files = sorted(path for path in folder.glob("*.json") if path.name != "machine.json")
    assert len(files) == 2
    for path in files:
        rows = json.loads(path.read_text())["results"]["bench_work.Work.time_work"]
        small, large = rows[0]
        assert small > 0
        assert math.isnan(large)


def test_unchanged_release_has_not_changed(project: SampleProject) -> None:
    told = project.json("run", "--from", "1.1", "--to", "1.1", "--rounds", "4", "--max-rounds", "8", status=None)
    assert told["baseline"] == told["candidate"]
    assert {row["verdict"] for row in told["rows"]} <= {"same", "undecided"}


def test_a_behaviour_that_changed(project: SampleProject) -> None:
    told = project.json("run", "--metric", "answer", status=1)
    (row,) = told["rows"]
    assert row["verdict"] == "slower"
    assert "no longer" in row["reason"]


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("3.0", "undefined symbol"),
        ("4.0", "SIGSEGV"),
        ("5.0", "no such operator"),
        ("6.0", "timed out"),
        ("7.0", "SIGKILL"),
    ],
)
def test_a_release_that_cannot_be_measured_is_broken(project: SampleProject, release: str, said: str) -> None:
    told = project.json("run", "--from", "1.1", "--to", release, "--rounds", "2", "--max-rounds", "2", status=1)
    row = next(row for row in told["rows"] if row["params"] == {"size": "small"})
    assert row["verdict"] == "broken"
    assert said in row["reason"]


def workers_of(project: SampleProject) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if "worker.py" in line and str(project.root) in line:
            found.append(line)
    return found


def interrupt(project: SampleProject, how: signal.Signals) -> subprocess.Popen[str]:
    """Starts a long run, waits for its first stored rounds, and sends it a signal."""
    return project.interrupt(how, *UPGRADE, "--rounds", "8", "--max-rounds", "8", after=6)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_goes_on_where_it_stopped(project: SampleProject, how: signal.Signals) -> None:
    process = interrupt(project, how)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if how is signal.SIGINT else -9)
    assert how is signal.SIGKILL or "same command" in said
    deadline = time.monotonic() + 10
    while workers_of(project):
        assert time.monotonic() < deadline, workers_of(project)
        time.sleep(0.1)

    before = project.records()
    done = project.run(*UPGRADE, "--rounds", "8", "--max-rounds", "8", status=1)
    assert "goes on" in done.stderr
    after = project.records()
    assert after[: len(before) - len(before) % 2] == before[: len(before) - len(before) % 2]
    measured = [(record["round"], record["side"]) for record in after if record["state"] in MEASURED]
    assert sorted(set(measured)) == [(r, s) for r in range(8) for s in (0, 1)]
    assert len(measured) == 16, "a finished round was measured again"
    assert len(list((project.root / "results" / "runs").iterdir())) == 1


def test_two_runs_at_once_wait_for_each_other(project: SampleProject) -> None:
    first = interrupt(project, signal.SIGCONT)
    second = project.run("run", "--metric", "answer", status=1)
    first.communicate(timeout=120)
    assert first.returncode == 1
    assert "waiting: this machine measures for" in second.stderr


def test_a_corrupt_line_and_a_torn_end_cost_only_themselves(project: SampleProject) -> None:
    told = project.json("run", status=1)
    path = project.root / Path(told["report"]).parent / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    spoiled = next(n for n, line in enumerate(lines) if b'"kind":"record"' in line and b'"state":"ok"' in line)
    lines[spoiled] = b'{"kind":"record","samples":[1,\n'
    path.write_bytes(b"".join(lines) + b'{"kind":"rec')
    again = project.json("compare", project.cell("1.1"), project.cell("2.0"), status=None)
    assert again["rows"][0]["rounds"] == told["rows"][0]["rounds"] - 1
    titles = [finding["title"] for finding in again["findings"]]
    assert any(f":{spoiled + 1}: " in title for title in titles)
    assert b'"samples":[1,\n' in path.read_bytes(), "nothing is deleted"


def test_a_corrupt_asv_file_is_set_aside(project: SampleProject) -> None:
    project.run("run", status=1)
    path = next(p for p in (project.root / "results" / "box").glob("*.json") if p.name != "machine.json")
    path.write_text("{ not json")
    done = project.run("run", status=1)
    assert path.with_name(path.name + ".corrupt").read_text() == "{ not json"
    assert path.name in done.stderr


# ------------------------------------------------------------------------------------------------ what people get wrong


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (("run", "--from", "1.1", "--to", "9.9"), 3, "9.9"),
        (("run", "--to", "nonsense"), 2, "nonsense"),
        (("run", "--metric", "work_throughputt"), 2, "work_throughput"),
        (("run", "--tag", "cor"), 2, "core"),
        (("run", "upgrad"), 2, "perhaps you meant 'upgrade'"),
        (("run", "--python", "3.7"), 4, "3.8"),
        (("run", "--cell", "sample-1"), 2, "sample-1"),
        (("run", "--image", "centos"), 2, "centos"),
        (("run", "--backend", "cuda"), 2, "cuda"),
        (("compare", "x1.0-py3.11-default", "x2.0-py3.11-default"), 2, "never measured side by side"),
        (("compare", "2020"), 2, "no run"),
        (("env", "prune", "--max-size", "lots"), 2, "40GB"),
        (("env", "path", f"{SUBJECT}1.0-py{PYTHON}-default+build.X=1"), 3, "env build"),
        (("rum",), 2, "Perhaps you meant 'run'"),
        (("run", "--rounds", "0"), 2, "--rounds"),
    ],
)
def test_bad_input_is_named_with_a_way_out(
    project: SampleProject, args: tuple[str, ...], status: int, said: str
) -> None:
    done = project.run(*args, status=status)
    assert said in done.stderr
    assert done.stdout == ""


def test_outside_a_project(project: SampleProject, tmp_path: Path) -> None:
    done = subprocess.run(
        project.command("plan"), cwd=tmp_path, env=project.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "matrix/matrix.toml" in done.stderr


def test_every_fault_of_the_matrix_at_once(project: SampleProject) -> None:
    matrix = project.root / "matrix" / "matrix.toml"
    matrix.write_text(matrix.read_text().replace("[axes]", "[axs]").replace("rounds = 3", 'rounds = "3"', 1))
    done = project.run("plan", status=2)
    assert "perhaps you meant 'axes'" in done.stderr
    assert "profiles.upgrade.rounds" in done.stderr


def test_a_suite_that_cannot_be_imported(project: SampleProject) -> None:
    (project.root / "benchmarks" / "bench_more.py").write_text("import nowhere_to_be_found\n")
    done = project.run("plan", status=4)
    assert "nowhere_to_be_found" in done.stderr


def test_no_network_and_nothing_known(project: SampleProject, tmp_path: Path) -> None:
    project.env |= {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "HARNESS_CACHE": str(tmp_path / "empty")}
    del project.env["UV_FIND_LINKS"]
    done = project.run("plan", status=3)
    assert "UV_DEFAULT_INDEX: cannot be reached" in done.stderr
    assert "Next:" in done.stderr


def test_no_network_but_a_catalogue(project: SampleProject) -> None:
    project.run("plan")
    told = project.json("plan", "--offline")
    assert [cell["exists"] for cell in told["cells"]] == [True, True]
    assert any("ago" in note for note in told["notes"])


@pytest.fixture
def tmpfs(project: SampleProject) -> Iterator[Path]:
    """A results folder on a disk of its own, a small one."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = project.root / "results"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_read_only_results(project: SampleProject, tmpfs: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(tmpfs)], check=True)
    done = project.run("run", status=4)
    assert str(tmpfs) in done.stderr
    assert "Read-only" in done.stderr
    assert "measured," not in done.stderr, "it was known before anything was measured"


def test_full_disk_loses_nothing_that_was_measured(project: SampleProject, tmpfs: Path) -> None:
    process = interrupt(project, signal.SIGCONT)
    free = os.statvfs(tmpfs)
    ballast = tmpfs / "ballast"
    with contextlib.suppress(OSError):
        ballast.write_bytes(b"x" * (free.f_bavail * free.f_frsize + 4096))
    _, said = process.communicate(timeout=120)
    assert process.returncode == 4, said
    assert "No space left" in said
    assert "same command" in said
    before = project.records()
    assert before
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=8m", str(tmpfs)], check=True)
    done = project.run(*UPGRADE, "--rounds", "8", "--max-rounds", "8", status=1)
    assert "goes on" in done.stderr
    assert project.records()[: len(before)] == before


# ---------------------------------------------------------------------------------------------------------- the others


def test_plan_prints_what_will_be_done(project: SampleProject) -> None:
    told = project.json("plan")
    assert [cell["id"] for cell in told["cells"]] == [project.cell("1.1"), project.cell("2.0")]
    assert told["cells"][0]["wheel"] == "harness_sample-1.1-py3-none-any.whl"
    text = project.run("plan").stdout
    assert "harness run" in text


def test_the_plan_names_the_nearest_that_exists(project: SampleProject) -> None:
    wheel = project.root / "wheels" / "harness_sample-8.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    shutil.copy(project.root / "wheels" / "harness_sample-2.0-py3-none-any.whl", wheel)
    told = project.json("plan", "--cell", f"{SUBJECT}8.0-py3.10-default", "--cell", f"{SUBJECT}2.0-py3.10-default")
    first, second = told["cells"]
    assert (first["exists"], first["nearest"]) == (False, f"{SUBJECT}8.0-py3.12-default")
    assert "no wheel for Python 3.10" in first["reason"]
    assert second["exists"]


def test_metrics(project: SampleProject) -> None:
    told = project.json("metrics")
    assert [metric["name"] for metric in told["metrics"]] == ["answer", "work_throughput"]
    assert [m["name"] for m in project.json("metrics", "--tag", "core")["metrics"]] == ["work_throughput"]


def test_environments(project: SampleProject) -> None:
    built = project.run("env", "build", project.cell("1.0")).stdout.split()
    assert built[0] == project.cell("1.0")
    assert project.run("env", "path", project.cell("1.0")).stdout.strip() == built[1]
    assert Path(built[1], "bin", "python").exists()
    assert built[1] in {entry["path"] for entry in project.json("env", "list")["environments"]}
    assert project.json("env", "check")["environments"]


def test_an_ill_environment_is_named(project: SampleProject, tmp_path: Path) -> None:
    project.env["HARNESS_CACHE"] = str(tmp_path / "own")
    folder = Path(project.run("env", "build", project.cell("1.0")).stdout.split()[1])
    next(folder.glob("lib/python*/site-packages/harness_sample.py")).unlink()
    told = project.json("env", "check", status=1)
    assert "harness_sample.py" in told["environments"][0]["ill"]
    project.run("env", "prune", "--max-size", "0")
    assert not folder.exists()


def test_locks(project: SampleProject) -> None:
    assert project.run("lock", "--check", status=1).stdout.count("missing") == 2
    project.run("lock")
    files = sorted(path.name for path in (project.root / "matrix" / "locks").iterdir())
    assert files == [f"{project.cell(release)}.lock" for release in ("1.1", "2.0")]
    assert project.run("lock", "--check").stdout.count("current") == 2
    assert project.run("lock").stdout.count("current") == 2
    path = project.root / "matrix" / "locks" / files[0]
    path.write_text(path.read_text().replace("asv-runner==0.3.2", "asv-runner==0.3.1"))
    assert "stale" in project.run("lock", "--check", status=1).stdout


def test_releases(project: SampleProject) -> None:
    told = project.json("releases", "list")
    assert [release["version"] for release in told["releases"]][:3] == ["1.0", "1.1", "2.0"]


def test_plain_asv_runs_on_the_same_cells(project: SampleProject) -> None:
    configuration = {
        "version": 1,
        "project": SUBJECT,
        "plugins": [".harness.asv_plugin", ".harness.pipeline.asv"],
        "dvcs": "releases",
        "repo": "matrix/line.releases.json",
        "branches": ["releases"],
        "environment_type": "cell",
        "pythons": [PYTHON],
        "matrix": {"req": {"backend": ["default"]}},
        "benchmark_dir": "benchmarks",
        "results_dir": "results",
        "env_dir": ".asv/env",
        "html_dir": ".asv/html",
    }
    (project.root / "asv.conf.json").write_text(json.dumps(configuration))

    def asv(*args: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "asv", *args],
            cwd=project.root,
            env=project.env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    asv("run", "v1.0..v2.0", "--quick", "--bench", "time_work")
    project.run("run", status=1)
    shown = asv("compare", "v1.1", "v2.0", "--factor", "1.05")
    row = next(line for line in shown.splitlines() if "time_work('small')" in line)
    # ASV calls three samples a side too few to be sure of anything: it marks the ratio with a tilde.
    assert float(row.split("|")[4].strip(" ~")) > 2
    asv("publish")
    graphs = list((project.root / ".asv" / "html" / "graphs").rglob("bench_work.Work.time_work.json"))
    assert graphs
    assert "cell" not in str(graphs[0].parent.name)


def test_a_script_gets_errors_as_json(project: SampleProject) -> None:
    told = project.json("plan", "upgrad", status=2)
    assert told["error"]["exit_code"] == 2
    assert "upgrade" in told["error"]["what"]


def test_a_suite_of_ones_own(project: SampleProject, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "__init__.py").write_text("")
    (mine / "bench_mine.py").write_text(
        "def track_mine():\n    import harness_sample\n    return harness_sample.answer + 1\n\n"
        "track_mine.version = '1'\ntrack_mine.metric = 'mine'\ntrack_mine.direction = 'higher'\n"
    )
    project.run("run", status=1)
    assert [m["name"] for m in project.json("metrics", "--benchmarks", str(mine))["metrics"]] == ["mine"]
    told = project.json("run", "--benchmarks", str(mine), "--metric", "mine", status=1)
    assert [(row["metric"], row["baseline_value"], row["candidate_value"]) for row in told["rows"]] == [("mine", 2, 1)]
    listed = json.loads((project.root / "results" / "benchmarks.json").read_text())
    assert {"bench_mine.track_mine", "bench_work.Work.time_work"} <= listed.keys()


# ---------------------------------------------------------------------------------------------- what testers once broke


def test_a_run_that_could_not_be_stored_is_stored_by_the_same_command(project: SampleProject) -> None:
    line = read_line(project.root / "matrix" / "line.releases.json")
    commit = commit_id(line.subject, "1.1")[:8]
    blocked = project.root / "results" / "box" / f"{commit}-cell-py{PYTHON}-backenddefault.json"
    blocked.mkdir(parents=True)
    done = project.run("run", status=4)
    assert str(blocked.name) in done.stderr
    before = project.records()
    blocked.rmdir()
    done = project.run("run", status=1)
    assert "goes on" in done.stderr
    assert project.records() == before
    assert blocked.is_file()


def test_an_unfinished_run_of_another_machine_or_another_suite_is_not_gone_on_with(project: SampleProject) -> None:
    process = interrupt(project, signal.SIGKILL)
    process.communicate()
    arguments = (*UPGRADE, "--rounds", "8", "--max-rounds", "8")
    assert "goes on" not in project.run(*arguments, status=1, HARNESS_MACHINE="other").stderr
    path = project.root / "benchmarks" / "bench_work.py"
    path.write_text(path.read_text() + "\n# another one\n")
    assert "goes on" not in project.run(*arguments, status=1).stderr


def test_the_exit_code_outlives_a_reader_that_had_enough(project: SampleProject) -> None:
    project.run("run", status=1)
    command = shlex.join(project.command("compare", project.cell("1.1"), project.cell("2.0")))
    done = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"],
        cwd=project.root,
        env=project.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(project.command('plan'))} | true; exit ${{PIPESTATUS[0]}}"],
        cwd=project.root,
        env=project.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_pairs_that_cannot_be_made_are_in_the_document(project: SampleProject) -> None:
    matrix = project.root / "matrix" / "matrix.toml"
    matrix.write_text(matrix.read_text().replace('["1.1", "2.0"]', '["1.0", "1.1", "2.0"]'))
    (project.root / "wheels" / "harness_sample-1.0-py3-none-any.whl").write_bytes(b"no wheel")
    project.env["HARNESS_CACHE"] += "-own"
    told = project.json("run", status=1)
    assert [report["candidate"] for report in told["comparisons"]] == [project.cell("2.0")]
    assert [pair["candidate"] for pair in told["failed"]] == [project.cell("1.1")]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("plan", "--cell", f"torch2.0-py{PYTHON}-default"), "compares releases of"),
        (("run", "--rounds", "5", "--max-rounds", "2"), "--max-rounds"),
    ],
)
def test_more_bad_input(project: SampleProject, args: tuple[str, ...], said: str) -> None:
    assert said in project.run(*args, status=2).stderr


def test_the_title_of_a_plan_is_that_of_what_was_asked(project: SampleProject) -> None:
    assert project.json("plan")["title"] == "Plan: A slower release against the one before"
    assert "slower" not in project.json("plan", "--from", "1.0", "--to", "1.1")["title"]
    assert [c["id"] for c in project.json("plan", "--to", "2.0")["cells"]] == [project.cell(r) for r in ("1.1", "2.0")]


def test_what_holds_or_not_is_asked_twice(project: SampleProject) -> None:
    path = project.root / "benchmarks" / "bench_work.py"
    path.write_text(path.read_text() + "track_answer.enough_rounds = 2\n")
    told = project.json("run", "--metric", "*", "--rounds", "3", "--max-rounds", "6", status=1)
    rounds = {row["metric"]: row["rounds"] for row in told["rows"]}
    assert rounds["answer"] == 2
    assert rounds["work_throughput"] >= 3


def test_a_package_that_cannot_be_had_costs_only_its_metrics(project: SampleProject) -> None:
    path = project.root / "benchmarks" / "bench_work.py"
    path.write_text(path.read_text() + "track_answer.requires = ['harness-sample-extra-that-nobody-offers']\n")
    told = project.json("run", "--metric", "*", status=1)
    assert {row["metric"] for row in told["rows"]} == {"answer", "work_throughput"}
    assert any("harness-sample-extra-that-nobody-offers cannot be had" in note for note in told["notes"])
