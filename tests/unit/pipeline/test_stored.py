from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.measurement.store import RunFile
from harness.pipeline.stored import find_run
from tests.unit.measurement.test_store import header


def test_a_run_of_one_side_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    RunFile.create(tmp_path, header("one")).close()
    RunFile.create(tmp_path, replace(header("two"), sides=header().sides * 2)).close()
    assert find_run(tmp_path, "two")[0].header.run == "two"
    with caplog.at_level(logging.WARNING), pytest.raises(UsageError, match="no run is called 'one'"):
        find_run(tmp_path, "one")
    assert "compares no two sides" in caplog.text
