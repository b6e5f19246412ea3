"""`harness claims` from end to end: a claim that changed at a release, releases that cannot answer, an interrupt."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from tests.integration.sample_project import MEASURED, PYTHON, SUBJECT, SampleProject, make_sample_project

CLAIMS = """
import json, os, time

def explain(**details):
    with open(os.environ["HARNESS_DETAILS"], "a") as file:
        file.write(json.dumps(details) + "\\n")

def track_answer_is_one():
    import harness_sample
    explain(note=f"the answer was {harness_sample.answer}")
    return harness_sample.answer

class Version:
    params = [["is text", "is long"]]
    param_names = ["what"]

    def setup(self, what):
        if what == "is long":
            raise NotImplementedError("nobody knows what is long")

    def track_version(self, what):
        import harness_sample
        time.sleep(0.3)
        explain(note=f"it is {harness_sample.__version__!r}")
        return float(isinstance(harness_sample.__version__, str))

for function, claim in ((track_answer_is_one, "C01"), (Version.track_version, "C02")):
    function.claim = claim
    function.metric = function.__name__[6:]
    function.summary = f"the claim {claim}"
    function.direction = "higher"
    function.version = "1"
    function.timeout = 20
    function.tags = ["claim"]
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all projects: environments are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path: Path, shared: Path) -> SampleProject:
    project = make_sample_project(tmp_path / "project", shared)
    (project.root / "benchmarks" / "bench_claims.py").write_text(CLAIMS)
    return project


def test_what_holds_since_when_and_what_was_seen(project: SampleProject) -> None:
    told = project.json("claims", "--from", "1.0", "--to", "2.0")
    assert told["releases"] == ["1.0", "1.1", "2.0"]
    answer, version = told["claims"]
    assert (answer["id"], answer["statement"]) == ("C01", "the claim C01")
    assert answer["values"] == {"1.0": 1, "1.1": 1, "2.0": 0}
    assert answer["changed_at"] == ["2.0"]
    assert answer["explanation"] == "in 2.0, the answer was 0; in 1.1, the answer was 1"
    assert (version["values"]["2.0"], version["changed_at"]) == (1, [])
    assert [part["states"]["2.0"] for part in version["parts"]] == ["holds", "skipped"]
    assert "nobody knows" in version["parts"][1]["reasons"]["2.0"]
    assert told["measured_in"]["2.0"].startswith(f"{SUBJECT}2.0-py")

    # Stored as runs and as ASV's results; and not measured again.
    assert len(list((project.root / "results" / "runs").iterdir())) == 3
    files = [path for path in (project.root / "results" / "box").glob("*.json") if path.name != "machine.json"]
    stored = [json.loads(path.read_text())["results"]["bench_claims.track_answer_is_one"][0] for path in files]
    assert sorted(stored) == [[0.0], [1.0], [1.0]]
    before = project.records()
    again = project.run("claims", "--from", "1.0", "--to", "2.0")
    assert again.stderr.count("measured already") == 3
    assert "does not hold since 2.0, holds from 1.0 to 1.1" in " ".join(again.stdout.split())
    assert project.records() == before
    project.run("claims", "--release", "2.0", "--again")
    assert len(project.records()) == len(before) + 3


def test_a_release_that_cannot_answer_does_not_stop_the_rest(project: SampleProject) -> None:
    wheels = project.root / "wheels"
    shutil.copy(wheels / "harness_sample-2.0-py3-none-any.whl", wheels / "harness_sample-8.0-cp38-cp38-win_amd64.whl")
    (wheels / "harness_sample-9.0-py3-none-any.whl").write_bytes(b"no wheel at all")
    asked = [text for release in ("9.0", "8.0", "3.0", "1.0", "5.0") for text in ("--release", release)]
    told = project.json("claims", *asked, "--claim", "C01")
    (answer,) = told["claims"]
    assert told["releases"] == ["1.0", "3.0", "5.0", "8.0", "9.0"]
    assert answer["values"] == {"1.0": 1, "3.0": None, "5.0": 0, "8.0": None, "9.0": None}
    assert answer["states"] == {
        "1.0": "holds",
        "3.0": "failed",
        "5.0": "does not hold",
        "8.0": "not measured",
        "9.0": "not measured",
    }
    assert "undefined symbol" in answer["reasons"]["3.0"]
    assert "8.0" in told["missing"]["8.0"]
    assert told["missing"]["9.0"]
    assert answer["changed_at"] == ["5.0"]


def test_a_package_that_cannot_be_had_costs_only_the_claims_that_need_it(project: SampleProject) -> None:
    path = project.root / "benchmarks" / "bench_claims.py"
    path.write_text(path.read_text() + "\nVersion.track_version.requires = ['harness-sample-extra']\n")
    told = project.json("claims", "--release", "1.0", UV_OFFLINE="1")
    assert [claim["values"]["1.0"] for claim in told["claims"]] == [1, 1]
    assert "extra" not in told["measured_in"]["1.0"]
    assert "1.0 is measured without harness-sample-extra" in told["notes"][-1]


def test_behaviours_and_a_run_of_one_cell(project: SampleProject) -> None:
    told = project.json("claims", "--release", "1.0", "--behaviours", "--rounds", "2")
    assert [claim["id"] for claim in told["claims"]] == ["C01", "C02", "answer"]
    assert len([record for record in project.records() if record["state"] in MEASURED]) == 6
    (run,) = (project.root / "results" / "runs").iterdir()
    done = project.run("compare", run.name, status=2)
    assert "one cell alone" in done.stderr


def test_an_interrupted_table_goes_on_where_it_stopped(project: SampleProject) -> None:
    process = project.interrupt(signal.SIGINT, "claims", "--to", "2.0", after=4)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "same command" in said

    done = project.run("claims", "--to", "2.0")
    assert "measured already" in done.stderr
    assert len(list((project.root / "results" / "runs").iterdir())) == 3
    measured = [
        (record["cell"], record["benchmark"]["name"], *record["benchmark"]["params"]) for record in project.records()
    ]
    assert len(set(measured)) == 9
    assert len(measured) <= 10, "at most the row that was interrupted is measured again"


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (("--claim", "C99"), 2, "C99"),
        (("--from", "2.0", "--to", "1.0"), 3, "newer than"),
        (("--release", "2.5"), 3, "2.5"),
        (("--release", "2.0", "--to", "1.0"), 2, "leave out"),
        (
            ("--cell", f"{SUBJECT}1.0-py{PYTHON}-default", "--cell", f"{SUBJECT}1.0-py3.8-default"),
            2,
            "two cells",
        ),
        (("--release", "1.0", "--python", "3.7"), 4, "3.8"),
    ],
)
def test_bad_input_is_named(project: SampleProject, args: tuple[str, ...], status: int, said: str) -> None:
    done = project.run("claims", *args, status=status)
    assert said in done.stderr
    assert done.stdout == ""
