"""Where things are: the project's folders and the user's caches."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from harness.errors import UsageError

__all__ = ["Project", "cache_dir", "find_project", "home_dir"]


@dataclass(frozen=True, slots=True)
class Project:
    """A checkout or a folder of the same shape: `matrix/matrix.toml` marks its root."""

    root: Path

    @property
    def matrix(self) -> Path:
        """The matrix file."""
        return self.root / "matrix" / "matrix.toml"

    @property
    def locks(self) -> Path:
        """The committed locks."""
        return self.root / "matrix" / "locks"

    @property
    def images(self) -> Path:
        """The Dockerfile and the table of images."""
        return self.root / "matrix" / "images"

    @property
    def releases(self) -> Path:
        """The release line, as ASV's repository reads it."""
        return self.root / "matrix" / "line.releases.json"

    @property
    def benchmarks(self) -> Path:
        """The ASV suite."""
        return self.root / "benchmarks"

    @property
    def asv_config(self) -> Path:
        """ASV's view of the project."""
        return self.root / "asv.conf.json"

    @property
    def results(self) -> Path:
        """Results in ASV's format, one folder a machine; `runs/` beside them."""
        return self.root / "results"

    @property
    def runs(self) -> Path:
        """Records, one folder a run."""
        return self.results / "runs"

    def noise(self, machine: str) -> Path:
        """What A/A runs on a machine said of its noise."""
        return self.results / "noise" / f"{machine}.json"


def find_project(start: Path | None = None) -> Project:
    """The project around a folder (the current one by default).

    Raises:
        UsageError: No folder upwards has a `matrix/matrix.toml`.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "matrix" / "matrix.toml").is_file():
            return Project(folder)
    what = f"no matrix/matrix.toml in {here} or above it"
    raise UsageError(
        what, why="the command was run outside a checkout of the harness", next_step="cd into the checkout"
    )


def cache_dir() -> Path:
    """The user's cache: catalogues, environments, uv's downloads. `HARNESS_CACHE` moves all of it.

    Environments and uv's cache must share one file system, for uv to hard-link between them.

    Raises:
        UsageError: `HARNESS_CACHE` is not set, and this user has no home folder.
    """
    configured = os.environ.get("HARNESS_CACHE")
    if configured:
        return Path(configured).resolve()
    try:
        return platformdirs.user_cache_path("torch-harness")
    except RuntimeError as error:
        what = "this user has no home folder to keep a cache in"
        raise UsageError(what, next_step="point HARNESS_CACHE to a folder that you own") from error


def home_dir() -> Path:
    """The user's home folder; the root for one whom the system does not know, as a bare number in a container."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
