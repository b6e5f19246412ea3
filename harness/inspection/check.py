"""Whether the machine is fit to measure on just now: what disturbs, how badly, and what helps against it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.inspection.host import HostFacts, available_memory, host_facts, processor_count, processor_times, read_text

__all__ = ["Activity", "HostFinding", "Severity", "check_host", "judge", "watch"]

_ROOT = Path("/")
_MEGABYTE = 2**20


class Severity(StrEnum):
    """How much a finding matters."""

    #: Measuring goes on; intervals will be wider, or the figures belong to a limited machine.
    WARN = "warn"
    #: Measuring makes no sense here.
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFinding:
    """Something about the machine that disturbs measuring.

    Attributes:
        severity: How much it matters.
        title: What it is, in one sentence with its figure.
        advice: What helps.
    """

    severity: Severity
    title: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What other processes did while this one waited.

    Attributes:
        busy: Processors kept busy.
        stolen: Share of the time that a hypervisor gave to others.
        swapped: Pages that were swapped in or out.
        busiest: The busiest process and its number, or empty.
        available: Bytes of memory that new processes can have, or None.
    """

    busy: float
    stolen: float
    swapped: int
    busiest: str
    available: int | None


def check_host(
    *, root: Path = _ROOT, seconds: float = 0.3, sleep: Callable[[float], None] = time.sleep
) -> tuple[HostFacts, tuple[HostFinding, ...]]:
    """Reads the machine's facts, watches it for a moment, and says what disturbs measuring.

    Args:
        root: The folder that holds `proc` and `sys`.
        seconds: How long to watch.
        sleep: What waits.
    """
    facts = host_facts(root)
    return facts, judge(facts, watch(root, seconds, sleep))


def watch(root: Path, seconds: float, sleep: Callable[[float], None]) -> Activity:
    """Watches what other processes do for a moment."""
    before, processes, swapped = processor_times(root), _processes(root), _swapped(root)
    sleep(seconds)
    after = processor_times(root)
    spent = [b - a for a, b in zip(before, after, strict=False)]
    total = sum(spent) or 1
    # user nice system idle iowait irq softirq steal
    idle, stolen = sum(spent[3:5]), sum(spent[7:8])
    processors = processor_count(root)
    usage = {key: ticks - processes.get(key, ticks) for key, ticks in _processes(root).items()}
    busiest = max(usage, key=lambda key: usage[key], default=None)
    return Activity(
        busy=processors * (total - idle - stolen) / total if spent else 0.0,
        stolen=stolen / total,
        swapped=_swapped(root) - swapped,
        busiest=f"{busiest[1]} (process {busiest[0]})" if busiest and usage[busiest] else "",
        available=available_memory(root),
    )


def judge(facts: HostFacts, activity: Activity) -> tuple[HostFinding, ...]:
    """What the facts and the activity mean for measuring; pure."""
    return (*_limits(facts, activity), *_noise(facts, activity))


def _limits(facts: HostFacts, activity: Activity) -> Iterator[HostFinding]:
    if activity.available is not None and activity.available < 256 * _MEGABYTE:
        title = f"only {activity.available // _MEGABYTE} MB of memory are available"
        yield HostFinding(severity=Severity.REFUSE, title=title, advice="end processes that hold memory")
    usable = len(facts.affinity)
    if facts.quota is not None and facts.quota < usable:
        # Below a whole processor the kernel stops every process again and again in mid-sample.
        severity = Severity.REFUSE if facts.quota < 1 else Severity.WARN
        title = f"a control group limits this process to {facts.quota:g} of {usable} processors"
        yield HostFinding(severity=severity, title=title, advice="raise the CPU quota of the container or the service")
    if usable < facts.processors:
        title = f"this process may run on {usable} of {facts.processors} processors only"
        advice = "start it without taskset or cpuset, or keep both sides of every comparison like this"
        yield HostFinding(severity=Severity.WARN, title=title, advice=advice)
    if facts.governor == "powersave":
        advice = "cpupower frequency-set -g performance"
        yield HostFinding(severity=Severity.WARN, title="the frequency governor is powersave", advice=advice)


def _noise(facts: HostFacts, activity: Activity) -> Iterator[HostFinding]:
    if activity.busy > max(0.3, 0.1 * facts.processors):
        busiest = f", most by {activity.busiest}" if activity.busiest else ""
        title = f"other processes keep {activity.busy:.1f} of {facts.processors} processors busy{busiest}"
        yield HostFinding(severity=Severity.WARN, title=title, advice="end them, or measure when they are done")
    elif facts.load > 0.7 * facts.processors:
        title = f"the load of the last minute is {facts.load:g} on {facts.processors} processors"
        yield HostFinding(severity=Severity.WARN, title=title, advice="wait a minute, or end what still runs")
    if activity.stolen > 0.02:
        title = f"the hypervisor takes {activity.stolen:.0%} of the time"
        advice = "measure on a machine, or at an hour, with fewer neighbours"
        yield HostFinding(severity=Severity.WARN, title=title, advice=advice)
    if activity.swapped > 0:
        advice = "end processes that hold memory"
        yield HostFinding(severity=Severity.WARN, title="the machine is swapping", advice=advice)


def _swapped(root: Path) -> int:
    return sum(int(n) for n in re.findall(r"^pswp(?:in|out) (\d+)$", read_text(root / "proc/vmstat"), re.MULTILINE))


def _processes(root: Path) -> dict[tuple[int, str], int]:
    """Clock ticks of every other process, by its number and name."""
    found: dict[tuple[int, str], int] = {}
    for path in (root / "proc").glob("[0-9]*/stat"):
        # The name stands in brackets and may hold spaces and brackets itself.
        head, bracket, rest = read_text(path).rpartition(")")
        number, _, name = head.partition(" (")
        fields = rest.split()
        if bracket and number.isdigit() and int(number) != os.getpid() and len(fields) > 12:
            found[int(number), name] = int(fields[11]) + int(fields[12])
    return found
