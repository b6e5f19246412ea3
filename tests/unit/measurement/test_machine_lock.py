from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import MeasurementError
from harness.measurement.machine import Holder, default_lock_path, machine_lock

HOLD = """
import sys
from pathlib import Path
from harness.measurement.machine import machine_lock
with machine_lock(Path(sys.argv[1]), command=["harness", "run", "up grade"]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_waiting_names_the_holder(lock: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    heard: list[Holder | None] = []
    with other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(MeasurementError, match=f"process {other.pid} .harness run 'up grade'., since 20"),
            machine_lock(lock, timeout=0.1, on_wait=heard.append),
        ):
            pytest.fail("held twice")
        assert [holder.pid for holder in heard if holder] == [other.pid]
        # However the holder dies, the machine is free.
        other.kill()
        with machine_lock(lock, timeout=30):
            assert json.loads(lock.read_text())["pid"] == os.getpid()
    assert lock.read_text() == ""


def test_shared_by_users(lock: Path) -> None:
    mask = os.umask(0o077)
    try:
        with machine_lock(lock):
            assert stat.S_IMODE(lock.stat().st_mode) == 0o666
    finally:
        os.umask(mask)
    with machine_lock(lock, timeout=0):
        pass


def test_unreadable_holder(lock: Path) -> None:
    lock.write_text("garbage")
    with machine_lock(lock, timeout=0):
        assert json.loads(lock.read_text())["pid"] == os.getpid()


def test_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="cannot be opened") as error, machine_lock(tmp_path / "no" / "lock"):
        pass
    assert "HARNESS_MACHINE_LOCK" in error.value.next_step
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(MeasurementError), machine_lock(tmp_path / "link"):
        pass


def test_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_MACHINE_LOCK", "/somewhere/else")
    assert default_lock_path() == Path("/somewhere/else")
