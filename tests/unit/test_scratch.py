from __future__ import annotations

import os
from pathlib import Path

from harness.scratch import scratch


def test_what_a_killed_process_left_is_swept_once_it_is_old(tmp_path: Path) -> None:
    old, young = tmp_path / "tmp" / "harness-suite-old", tmp_path / "tmp" / "harness-lock-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    os.utime(old, (0, 0))
    with scratch(tmp_path, "harness-suite-") as folder:
        assert folder.parent == tmp_path / "tmp"
        assert not old.exists()
        assert young.exists()
    assert not folder.exists()


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with scratch(tmp_path / "file", "harness-suite-") as folder:
        assert folder.is_dir()
    assert not folder.exists()
