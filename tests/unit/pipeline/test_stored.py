from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import StorageError, UsageError
from harness.measurement.store import RunFile
from harness.pipeline.stored import find_run, stored_runs
from tests.unit.measurement.test_store import header


def test_a_run_of_one_side_has_nothing_to_compare(tmp_path: Path) -> None:
    RunFile.create(tmp_path, header("one")).close()
    RunFile.create(tmp_path, replace(header("two"), sides=header().sides * 2)).close()
    assert find_run(tmp_path, "two")[0].header.run == "two"
    with pytest.raises(UsageError, match="the run one measured one cell alone"):
        find_run(tmp_path, "one")


def test_a_folder_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(stored_runs(tmp_path / "nowhere")) == []

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(StorageError, match="cannot be read: Permission denied"):
        find_run(tmp_path, "one")
