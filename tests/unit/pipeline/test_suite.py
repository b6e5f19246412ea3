from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import ConfigurationError, MeasurementError
from harness.pipeline.suite import load_benchmarks

BENCH = "def time_x():\n    pass\n\ntime_x.version = '1'\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "bench_x.py").write_text(BENCH)
    return folder


def test_what_is_no_file_is_passed_over(folder: Path, tmp_path: Path) -> None:
    (folder / ".#bench_x.py").symlink_to("someone@somewhere.1234")
    assert [metric.name for metric in load_benchmarks(folder, tmp_path / "cache").metrics] == ["bench_x.time_x"]
    (folder / "bench_folder.py").mkdir()
    with pytest.raises(MeasurementError, match="cannot be imported"):
        load_benchmarks(folder, tmp_path / "other")


def test_a_file_that_cannot_be_read_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ConfigurationError, match=r"__init__\.py cannot be read: Permission denied"):
        load_benchmarks(folder, tmp_path / "cache")


@pytest.mark.parametrize("kept", ["[]", '"x"', '{"x": {"params": 5}}', '{"a": 1}', "{"])
def test_a_spoiled_cache_is_read_anew(folder: Path, tmp_path: Path, kept: str) -> None:
    first = load_benchmarks(folder, tmp_path / "cache")
    [path] = (tmp_path / "cache" / "suites").iterdir()
    path.write_text(kept)
    assert load_benchmarks(folder, tmp_path / "cache") == first
    assert json.loads(path.read_text()) == first.suite
