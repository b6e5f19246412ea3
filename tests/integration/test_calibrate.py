"""The rule of our verdicts keeps its promises, and the noise of a machine is measured, kept and told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.sample_project import SampleProject, make_sample_project


def calibrate(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "calibrate", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_promises_are_kept() -> None:
    done = calibrate("--simulate", "--short", "--seed", "1", "--format", "json")
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    assert [promise for promise in said["promises"] if not promise["kept"]] == []
    assert (done.returncode, said["exit_code"]) == (0, 0)
    rules = {(rule["name"], rule["noise"]) for rule in said["rules"]}
    assert len(rules) == 8 * 6
    assert {noise for _, noise in rules} >= {"Gaussian", "outliers", "drift", "bursts", "two modes", "recorded"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--short"], "--short belongs to --simulate"),
        (["--seed", "1"], "--seed belongs to --simulate"),
        (["--simulate", "--metric", "x"], "it has no use for metrics"),
        (["--simulate", "--rounds", "3"], "it has no use for rounds"),
    ],
)
def test_options_of_the_other_form(options: list[str], said: str) -> None:
    done = calibrate(*options)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.fixture
def project(tmp_path: Path) -> SampleProject:
    return make_sample_project(tmp_path / "project", tmp_path / "cache")


def test_noise_of_the_machine_is_kept_and_told_before_a_run(project: SampleProject) -> None:
    unknown = project.json("plan")["notes"]
    assert any("harness calibrate" in note for note in unknown)
    told = project.json("calibrate", "--rounds", "4", status=None)
    assert told["exit_code"] in {0, 1}, told  # on a busy machine a false alarm is no fault of the command
    (row,) = told["rows"]
    assert row["degrees"] == row["rounds"] - 1 == 3
    assert row["spread"] > 0
    assert told["cell"] == project.cell("1.1")
    assert (project.root / told["noise"]).name == "box.json"
    again = project.json("calibrate", "--rounds", "4", status=None)
    assert again["rows"][0]["degrees"] == 6
    notes = project.json("plan")["notes"]
    assert any("see changes of" in note for note in notes)
    assert not any("harness calibrate" in note for note in notes)
    # Others measure with other settings, of which nothing is known.
    assert project.run("run", "--plain", "--claimed", "0.1%", status=None).returncode in {0, 1, 4, 5}


def test_a_claim_that_noise_would_hide_is_refused(project: SampleProject) -> None:
    project.json("calibrate", "--rounds", "3", status=None)
    before = project.records()
    refused = project.run("run", "--claimed", "0.1%", status=4)
    assert "a change of 0.1 % cannot be seen here within 3 rounds" in refused.stderr
    assert "floor" in refused.stderr
    assert project.records() == before
    document = project.json("run", "--claimed", "0.001", status=4)
    assert document["error"]["exit_code"] == 4
    # A change of ninety-nine in a hundred shows, unless the machine was badly disturbed as it was calibrated.
    assert project.run("run", "--claimed", "99%", status=None).returncode in {1, 4, 5}


def test_what_is_no_share_is_refused(project: SampleProject) -> None:
    for text in ("4", "much", "-1%", "nan"):
        assert "write 4% or 0.04" in project.run("run", "--claimed", text, status=2).stderr


def test_a_damaged_file_of_noise_costs_nothing(project: SampleProject) -> None:
    file = project.root / "results" / "noise" / "box.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"schema": 1, "entries": [{"run": 3}]}')
    assert "box.json cannot be read" in project.run("plan").stderr
    failed = project.run("calibrate", "--rounds", "3", status=4)
    assert "move it away" in failed.stderr
    measured = project.records()
    # One size in three rounds, and one that skips.
    assert len(measured) == 2 * 3 + 2
    file.rename(file.with_suffix(".bad"))
    project.run("calibrate", "--rounds", "3", status=None)
    assert project.records() == measured
    entries = {entry["row"]["params"][0]: entry["noise"] for entry in json.loads(file.read_text())["entries"]}
    assert entries["'small'"]["degrees"] == 2
    assert entries["'large'"] is None


def test_what_cannot_run_has_no_noise(project: SampleProject) -> None:
    told = project.json("calibrate", "--from", "5.0", "--to", "5.0", "--rounds", "3", status=4)
    assert [row["spread"] for row in told["rows"]] == [None]
    assert any("harness calibrate" in note for note in project.json("plan")["notes"])
