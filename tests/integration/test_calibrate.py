"""The rule of our verdicts keeps its promises, by the command that says so."""

from __future__ import annotations

import json
import subprocess
import sys


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
