from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cells.cell import Cell
from harness.measurement.side import Side
from tests.unit.measurement.helpers import SideMaker, eventually_gone

SUITE = Path(__file__).parent / "fake_suite"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A copy of the suite, whose path marks the processes of this test."""
    return Path(shutil.copytree(SUITE, tmp_path / "fake_suite", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def marker(tmp_path: Path) -> str:
    return f"marker-{tmp_path.parent.name}-{tmp_path.name}-{os.getpid()}"


@pytest.fixture
def make_side(marker: str) -> SideMaker:
    """Sides whose cell is the interpreter of the tests, with asv_runner as the subject."""

    def make(**variables: str) -> Side:
        flags = variables.pop("flags", None)
        cell = Cell(
            subject="asv-runner",
            release="0.3.2",
            python=f"{sys.version_info.major}.{sys.version_info.minor}",
            flags=tuple(flags) if flags else (),
        )
        own = {"PATH": "/usr/bin:/bin", "MARKER": marker, "PYTHONDONTWRITEBYTECODE": "1", **variables}
        return Side(cell=cell, command=(sys.executable,), environment="e1", lock="l1", variables=own)

    return make


@pytest.fixture(autouse=True)
def nothing_left(marker: str) -> Iterator[None]:
    yield
    assert eventually_gone(marker) == []


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "machine.lock"
