"""Whether the kernel killed a process for memory: counters of this machine, read before and after."""

from __future__ import annotations

from pathlib import Path

__all__ = ["oom_kills"]


def oom_kills(root: Path = Path("/")) -> int:
    """How many processes the kernel has killed for memory, as far as this process can see.

    The sum of the machine's counter and those of this process's control group and the groups above it, so that it grows
    whoever's limit was hit. Counters that cannot be read count as 0.
    """
    files = [root / "proc/vmstat"]
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        base, name = root / "sys/fs/cgroup", "memory.events"
        if controllers:
            if "memory" not in controllers.split(","):
                continue
            base, name = base / "memory", "memory.oom_control"
        group = base / path.strip("/")
        files += [folder / name for folder in (group, *group.parents) if folder.is_relative_to(base)]
    return sum(_counter(path) for path in files)


def _counter(path: Path) -> int:
    for line in _lines(path):
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return 0


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []
