"""Facts of the machine, read from /proc and /sys."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from harness.jsonio import digest

__all__ = [
    "HostFacts",
    "available_memory",
    "control_groups",
    "host_facts",
    "processor_count",
    "processor_times",
    "read_text",
]

_ROOT = Path("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """Facts of the machine. What cannot be read is empty, 0 or None.

    Attributes:
        hostname: Its name.
        architecture: `x86_64`.
        kernel: The release of the kernel.
        glibc: The version of the C library.
        cpu: The model of its processors.
        cpu_flags: A digest of their features: equal digests, equal features.
        vector: The features that vector code is chosen by.
        processors: Logical processors.
        cores: Physical cores.
        smt: Whether cores run two threads.
        governor: The frequency governor of the first processor.
        turbo: Whether frequencies may rise above the nominal one, or None.
        memory: Bytes of memory.
        swap: Bytes of swap in use.
        load: Load average of the last minute.
        affinity: The processors that this process may run on.
        quota: Processors that the control group may use at a time, or None without a limit.
        memory_limit: Bytes that the control group may use, or None without a limit.
        hypervisor: Whether a hypervisor runs below.
        huge_pages: The mode of transparent huge pages.
        container: Whether this process runs in a container.
    """

    hostname: str
    architecture: str
    kernel: str
    glibc: str
    cpu: str
    cpu_flags: str
    vector: tuple[str, ...]
    processors: int
    cores: int
    smt: bool
    governor: str
    turbo: bool | None
    memory: int
    swap: int
    load: float
    affinity: tuple[int, ...]
    quota: float | None
    memory_limit: int | None
    hypervisor: bool
    huge_pages: str
    container: bool


def host_facts(root: Path = _ROOT) -> HostFacts:
    """Reads the facts.

    Args:
        root: The folder that holds `proc` and `sys`.
    """
    cpuinfo = read_text(root / "proc/cpuinfo")
    flags = sorted(set(_field(cpuinfo, "flags", "Features").split()))
    meminfo = _kilobytes(root / "proc/meminfo")
    processors = len(re.findall(r"^processor\s*:", cpuinfo, re.MULTILINE)) or os.cpu_count() or 1
    cores = _cores(cpuinfo) or processors
    return HostFacts(
        hostname=platform.node(),
        architecture=platform.machine(),
        kernel=read_text(root / "proc/sys/kernel/osrelease") or platform.release(),
        glibc=platform.libc_ver()[1],
        cpu=_field(cpuinfo, "model name", "Model"),
        cpu_flags=digest(flags)[:16],
        vector=tuple(flag for flag in flags if re.match(r"avx|amx|fma|f16c|sse4|neon|asimd|sve|bf16|vnni", flag)),
        processors=processors,
        cores=cores,
        smt=cores < processors,
        governor=read_text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        turbo=_turbo(root),
        memory=meminfo.get("MemTotal", 0),
        swap=meminfo.get("SwapTotal", 0) - meminfo.get("SwapFree", 0),
        load=float((read_text(root / "proc/loadavg") or "0").split()[0]),
        affinity=tuple(sorted(os.sched_getaffinity(0))),
        quota=_quota(root),
        memory_limit=_memory_limit(root),
        hypervisor="hypervisor" in flags or (root / "sys/hypervisor/type").exists(),
        huge_pages=_chosen(read_text(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        container=(root / ".dockerenv").exists() or (root / "run/.containerenv").exists(),
    )


def available_memory(root: Path = _ROOT) -> int | None:
    """Bytes that new processes can have without swapping, or None where the kernel does not say."""
    return _kilobytes(root / "proc/meminfo").get("MemAvailable")


def processor_count(root: Path = _ROOT) -> int:
    """How many processors the kernel counts the time of."""
    return max(1, len(re.findall(r"^cpu\d+ ", read_text(root / "proc/stat"), re.MULTILINE)))


def processor_times(root: Path = _ROOT) -> list[int]:
    """Clock ticks of all processors together: user, nice, system, idle, iowait, irq, softirq, steal, guests."""
    first = read_text(root / "proc/stat").partition("\n")[0].split()
    return [int(ticks) for ticks in first[1:] if ticks.isdigit()]


def read_text(path: Path) -> str:
    """What a file of the kernel says, without the space around it; empty where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _field(text: str, *names: str) -> str:
    for name in names:
        if match := re.search(rf"^{name}\s*:\s*(.*)$", text, re.MULTILINE):
            return match[1].strip()
    return ""


def _kilobytes(path: Path) -> dict[str, int]:
    return {
        match[1]: int(match[2]) * 1024 for match in re.finditer(r"^(\w+):\s+(\d+) kB$", read_text(path), re.MULTILINE)
    }


def _cores(cpuinfo: str) -> int:
    blocks = cpuinfo.split("\n\n")
    return len({(_field(b, "physical id"), _field(b, "core id")) for b in blocks if _field(b, "core id")})


def _turbo(root: Path) -> bool | None:
    if no_turbo := read_text(root / "sys/devices/system/cpu/intel_pstate/no_turbo"):
        return no_turbo == "0"
    if boost := read_text(root / "sys/devices/system/cpu/cpufreq/boost"):
        return boost == "1"
    return None


def _chosen(text: str) -> str:
    match = re.search(r"\[(\w+)\]", text)
    return match[1] if match else text


def control_groups(root: Path = _ROOT) -> list[Path]:
    """The folders of this process's control group and those above it, in both versions of the interface."""
    base = root / "sys/fs/cgroup"
    folders: list[Path] = []
    for line in read_text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for top in [base / name for name in controllers.split(",")] if controllers else [base]:
            group = top / path.strip("/")
            folders += [folder for folder in (group, *group.parents) if folder == top or top in folder.parents]
    # Inside a container the path may be one of the host's: the top is what this process sees as its own.
    return [*dict.fromkeys([*folders, base, base / "cpu", base / "memory"])]


def _quota(root: Path) -> float | None:
    quotas: list[float] = []
    for group in control_groups(root):
        limit, _, period = read_text(group / "cpu.max").partition(" ")
        if not limit:
            limit, period = read_text(group / "cpu.cfs_quota_us"), read_text(group / "cpu.cfs_period_us")
        if limit.isdigit() and period.isdigit() and int(period):
            quotas.append(int(limit) / int(period))
    return min(quotas, default=None)


def _memory_limit(root: Path) -> int | None:
    limits: list[int] = []
    for group in control_groups(root):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = read_text(group / name)
            # Version 1 writes a number near 2 to the 63rd for no limit.
            if text.isdigit() and int(text) < 2**60:
                limits.append(int(text))
    return min(limits, default=None)
