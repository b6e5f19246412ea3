from __future__ import annotations

from pathlib import Path

from harness.measurement.memory import oom_kills


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_counts_the_machine_and_every_group_above(tmp_path: Path) -> None:
    write(tmp_path, "proc/vmstat", "pswpin 4\noom_kill 2\n")
    write(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    write(tmp_path, "sys/fs/cgroup/a/b/memory.events", "low 0\noom 9\noom_kill 3\noom_group_kill 0\n")
    write(tmp_path, "sys/fs/cgroup/a/memory.events", "oom_kill 5\n")
    assert oom_kills(tmp_path) == 10


def test_first_version_of_groups(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/y\n")
    write(tmp_path, "sys/fs/cgroup/memory/y/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n")
    assert oom_kills(tmp_path) == 7


def test_nothing_to_read(tmp_path: Path) -> None:
    assert oom_kills(tmp_path) == 0


def test_this_machine() -> None:
    assert oom_kills() >= 0
