"""The benchmarks and metrics of the project, read once for each state of the suite's files."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from harness.asv_plugin.suite import Suite, discover, suite_digest
from harness.cells.matrix import Profile
from harness.errors import StorageError
from harness.jsonio import write_json
from harness.measurement.metrics import Metric, metrics_of, select
from harness.measurement.metrics import rows as rows_of
from harness.measurement.records import BenchmarkId

__all__ = ["Benchmarks", "load_benchmarks"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmarks:
    """The suite.

    Attributes:
        folder: Where it lies.
        suite: Every benchmark with its attributes, as in ASV's `benchmarks.json`.
        metrics: What they measure, by name.
    """

    folder: Path
    suite: Suite
    metrics: tuple[Metric, ...]

    def chosen(self, profile: Profile) -> tuple[Metric, ...]:
        """The metrics that a profile measures.

        Raises:
            UsageError: A name, glob or tag of the profile chooses none.
        """
        select(self.metrics, names=profile.metrics, tags=profile.tags)
        return tuple(metric for metric in self.metrics if profile.wants(metric.name, metric.tags))

    def rows(self, metrics: tuple[Metric, ...]) -> list[BenchmarkId]:
        """Every row that metrics have."""
        return [row for metric in metrics for row in rows_of(metric)]


def load_benchmarks(folder: Path, cache: Path) -> Benchmarks:
    """Reads the suite with the harness's own interpreter: it can be imported without torch.

    Args:
        folder: The suite.
        cache: The user's cache; what was read is kept there until a file of the suite changes.

    Raises:
        MeasurementError: The suite cannot be imported.
        ConfigurationError: It declares its metrics wrongly, or a file of it cannot be read.
    """
    kept = cache / "suites" / f"{_state(folder)}.json"
    suite = _kept(kept)
    if suite is None:
        variables = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        suite = discover(Path(sys.executable), folder, variables | {"PYTHONDONTWRITEBYTECODE": "1"})
        try:
            write_json(kept, suite)
        except StorageError as error:
            log.info("the list of benchmarks is not kept: %s", error.what)
    return Benchmarks(folder=folder, suite=suite, metrics=metrics_of(suite))


def _kept(path: Path) -> Suite | None:
    """The suite as it was kept; None where it is not there, or is not what was written."""
    with suppress(OSError, ValueError, RecursionError):
        document = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and all(_is_benchmark(*entry) for entry in document.items()):
            return document
    return None


def _is_benchmark(name: str, entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get("params"), list)


def _state(folder: Path) -> str:
    return sha256(f"{sys.version} {folder} {suite_digest(folder)}".encode()).hexdigest()[:16]
