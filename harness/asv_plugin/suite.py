"""Which benchmarks there are: the suite is imported by a cell's own interpreter, never by the harness."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.errors import ConfigurationError, MeasurementError
from harness.paths import cache_dir
from harness.proc import CommandError, run
from harness.scratch import scratch

__all__ = ["Suite", "discover", "runner_script", "suite_digest"]

#: Benchmark name to its description, as in ASV's `benchmarks.json`: `params`, `param_names`, `type`, `unit`,
#: `version`, `timeout`, and every plain attribute of the benchmark's function.
Suite = dict[str, dict[str, Any]]


def suite_digest(folder: Path) -> str:
    """Names the code of a suite: the same for the same files.

    Raises:
        ConfigurationError: A file cannot be read.
    """
    found = sha256()
    for path in sorted(folder.rglob("*.py")):
        if not path.is_file():  # an editor's lock is a link to nowhere
            continue
        try:
            found.update(os.fsencode(path.relative_to(folder)) + b"\0" + path.read_bytes() + b"\0")
        except OSError as error:
            what = f"{path} cannot be read: {error.strerror or error}"
            raise ConfigurationError(what, next_step="mend its permissions, or move it out of the suite") from error
    return found.hexdigest()


def runner_script() -> Path:
    """ASV's script that runs inside a cell; found without importing ASV."""
    spec = importlib.util.find_spec("asv")
    if spec is None or not spec.submodule_search_locations:
        what = "asv is not installed beside the harness"
        raise MeasurementError(what, next_step="install the harness again, with its dependencies")
    return Path(spec.submodule_search_locations[0], "benchmark.py")


def discover(python: Path, benchmarks_dir: Path, variables: Mapping[str, str], *, timeout: float = 300.0) -> Suite:
    """Imports the suite in an environment and lists its benchmarks.

    Args:
        python: The environment's interpreter, with `asv_runner` beside it.
        benchmarks_dir: The suite, a package.
        variables: The whole environment of the process.
        timeout: Seconds.

    Raises:
        MeasurementError: The suite cannot be imported there; has the end of the traceback.
    """
    if not (benchmarks_dir / "__init__.py").is_file():
        what = f"{benchmarks_dir} is not a suite: it has no __init__.py"
        raise MeasurementError(what)
    with scratch(cache_dir(), "harness-suite-") as folder:
        answer = folder / "benchmarks"
        command: list[str | Path] = [python, runner_script(), "discover", benchmarks_dir.absolute(), answer]
        try:
            run(command, env=variables, cwd=folder, timeout=timeout)
            found = json.loads(answer.read_text(encoding="utf-8"))
        except CommandError as error:
            what = f"the suite {benchmarks_dir} cannot be imported by {python}: {error.reason}"
            raise MeasurementError(what, why=_last_lines(error.stderr or error.stdout)) from error
        except (OSError, ValueError) as error:
            what = f"the suite {benchmarks_dir} was imported by {python}, but its benchmarks cannot be read: {error}"
            raise MeasurementError(what) from error
    return {benchmark["name"]: benchmark for benchmark in sorted(found, key=lambda b: str(b["name"]))}


def _last_lines(text: str, count: int = 6) -> str:
    return "\n".join(text.rstrip().splitlines()[-count:])
