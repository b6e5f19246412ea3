"""A whole project on a small subject: wheels in a folder, a suite of its own, and the real command line."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.releases.line import Line, write_line

#: The states of a record whose process ran: on a busy machine it may never have run undisturbed.
MEASURED = frozenset({"ok", "invalid"})
SUBJECT = "harness-sample"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"

#: What each release does: calls of its unit of work, and code that runs on import or instead of the work.
RELEASES = {
    "1.0": (2000, "", ""),
    "1.1": (2000, "", ""),
    "2.0": (10000, "", ""),
    "3.0": (2000, "raise ImportError('libsample.so: undefined symbol')", ""),
    "4.0": (2000, "", "import ctypes; ctypes.string_at(0)"),
    "5.0": (2000, "", "raise ValueError('no such operator')"),
    "6.0": (2000, "", "while True: pass"),
    "7.0": (2000, "", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
}

MATRIX = f"""
schema = 1
subject = "{SUBJECT}"
default_profile = "upgrade"

[axes]
python = "{PYTHON}"
backend = "default"

[profiles.upgrade]
description = "A slower release against the one before"
{SUBJECT} = ["1.1", "2.0"]
tags = ["core"]
rounds = 3
max_rounds = 3
samples = 10
"""

SUITE = """
from asv_runner.benchmarks.time import TimeBenchmark

TimeBenchmark._setup_isolates_timed_calls = False
"""

BENCH = """
class Work:
    params = [["small", "large"]]
    param_names = ["size"]
    version = "1"
    timeout = 3

    def setup(self, size):
        import harness_sample
        if size == "large":
            raise NotImplementedError("large is for large machines")
        self.work = harness_sample.work

    def time_work(self, size):
        self.work()

    time_work.metric = "work_throughput"
    time_work.metric_unit = "items/s"
    time_work.direction = "higher"
    time_work.work = 100
    time_work.tags = ["core"]
    time_work.summary = "units of work"


def track_answer():
    import harness_sample
    return harness_sample.answer

track_answer.version = "1"
track_answer.metric = "answer"
track_answer.direction = "higher"
track_answer.tags = ["behaviour"]
"""


class DisturbedError(Exception):
    """The machine was so busy that a verdict could not be reached: such a test is tried again, and only such a one."""


@dataclass
class SampleProject:
    """The project and the environment of its commands."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def command(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "harness", *args]

    def run(self, *args: str, status: int | None = 0, **env: str) -> subprocess.CompletedProcess[str]:
        """Runs a harness command; a traceback is never a good answer."""
        done = subprocess.run(
            self.command(*args),
            cwd=self.root,
            env=self.env | env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        said = f"{done.stdout}\n{done.stderr}"
        assert "Traceback" not in said, said
        if status == 1 and done.returncode in {4, 5} and "never ran undisturbed" in said:
            raise DisturbedError(said)
        assert status is None or done.returncode == status, said
        return done

    def interrupt(self, how: signal.Signals, *args: str, after: int) -> subprocess.Popen[str]:
        """Starts a command, waits until it has stored so many records, and sends it a signal."""
        process = subprocess.Popen(
            self.command(*args), cwd=self.root, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 120
        while len(self.records()) < after:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(how)
        return process

    def json(self, *args: str, status: int | None = 0, **env: str) -> dict[str, Any]:
        done = self.run(*args, "--format", "json", status=status, **env)
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def cell(self, release: str) -> str:
        return f"{SUBJECT}{release}-py{PYTHON}-default"

    def records(self) -> list[dict[str, Any]]:
        """Every record of every run, in the order they were written."""
        texts = [path.read_text() for path in sorted(self.root.glob("results/runs/*/records.jsonl"))]
        # What follows the last line end is still being written.
        entries = [json.loads(line) for text in texts for line in text.split("\n")[:-1]]
        return [entry for entry in entries if entry["kind"] == "record"]


def make_sample_project(root: Path, cache: Path) -> SampleProject:
    """Lays the project down; its environments and downloads lie in `cache`."""
    for folder in ("wheels", "matrix", "benchmarks", "home"):
        (root / folder).mkdir(parents=True)
    for version in RELEASES:
        write_wheel(root / "wheels", version)
    (root / "matrix" / "matrix.toml").write_text(MATRIX)
    (root / "benchmarks" / "__init__.py").write_text(SUITE)
    (root / "benchmarks" / "bench_work.py").write_text(BENCH)
    dates = {version: f"2020-01-0{number + 1}T00:00:00+00:00" for number, version in enumerate(RELEASES)}
    write_line(root / "matrix" / "line.releases.json", line_of(dates))
    keep = ("PATH", "PYTHONPATH", "LANG", "TMPDIR", "SSL_CERT_FILE", "UV_DEFAULT_INDEX", "PYENV_ROOT")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    env |= {
        "HOME": str(root / "home"),
        "HARNESS_CACHE": str(cache),
        "HARNESS_MACHINE": "box",
        "HARNESS_MACHINE_LOCK": str(root / "machine.lock"),
        "UV_FIND_LINKS": str(root / "wheels"),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    return SampleProject(root, env)


def line_of(dates: dict[str, str]) -> Line:
    from datetime import datetime

    from harness.releases.line import Branch, LineRelease

    return Line(
        subject=SUBJECT,
        releases=tuple(
            LineRelease(version=version, date=datetime.fromisoformat(date), branch=Branch.RELEASES)
            for version, date in dates.items()
        ),
    )


def write_wheel(folder: Path, version: str) -> Path:
    steps, on_import, instead = RELEASES[version]
    module = "harness_sample"
    info = f"{module}-{version}.dist-info"
    body = instead or f"total = 0\n    for i in range({steps}): total += i"
    code = f"__version__ = {version!r}\n{on_import}\nanswer = {int(version < '2')}\ndef work():\n    {body}\n"
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        contents = {
            f"{module}.py": code,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {SUBJECT}\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        rows = [f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in contents.items()]
        contents[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\n"
        for name, text in contents.items():
            wheel.writestr(name, text)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
