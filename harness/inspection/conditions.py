"""What the machine was like while something was measured: a look before, a look after, and what lies between them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from harness.inspection.host import control_groups, processor_count, processor_times, read_text

__all__ = ["Conditions", "Look", "between", "look"]

_ROOT = Path("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What the machine was like during a row of a round.

    Attributes:
        load: Load average of the last minute, at the end.
        busy: Processors that were kept busy, by the measured processes too.
        stolen: Share of the processors' time that a hypervisor gave to others.
        throttled: Seconds for which a control group held its processes back; None where the kernel does not say.
        megahertz: Frequency of the first processor that may be used, at the end; None where it cannot be read.
    """

    load: float
    busy: float
    stolen: float
    throttled: float | None
    megahertz: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Counters and gauges at one moment.

    Attributes:
        load: Load average of the last minute.
        times: Clock ticks of all processors together, by kind: user, nice, system, idle, iowait, irq, softirq, steal.
        processors: How many processors there are.
        throttled: Seconds for which control groups have held their processes back, or None.
        megahertz: Frequency of the first processor that may be used, or None.
    """

    load: float
    times: tuple[int, ...]
    processors: int
    throttled: float | None
    megahertz: float | None


def look(root: Path = _ROOT) -> Look:
    """Looks at the machine; takes well under a millisecond.

    Args:
        root: The folder that holds `proc` and `sys`.
    """
    return Look(
        load=float((read_text(root / "proc/loadavg") or "0").split()[0]),
        times=tuple(processor_times(root)),
        processors=processor_count(root),
        throttled=_throttled(root),
        megahertz=_megahertz(root, min(os.sched_getaffinity(0))),
    )


def between(before: Look, after: Look) -> Conditions:
    """What two looks say of the time between them; pure."""
    spent = [b - a for a, b in zip(before.times, after.times, strict=False)]
    total = sum(spent[:8]) or 1  # time of guests is among the user's already
    idle, stolen = sum(spent[3:5]), sum(spent[7:8])
    known = before.throttled is not None and after.throttled is not None
    return Conditions(
        load=after.load,
        busy=after.processors * max(0, sum(spent[:8]) - idle - stolen) / total,
        stolen=stolen / total,
        throttled=max(0.0, after.throttled - before.throttled) if known else None,  # type: ignore[operator]
        megahertz=after.megahertz,
    )


def _throttled(root: Path) -> float | None:
    """Seconds, of this process's control group and those above it together."""
    found = []
    for group in control_groups(root):
        for name, value in re.findall(
            r"^(throttled_usec|throttled_time) (\d+)$", read_text(group / "cpu.stat"), re.MULTILINE
        ):
            # The first version of the interface counts nanoseconds.
            found.append(int(value) / (1e6 if name == "throttled_usec" else 1e9))
    return sum(found) if found else None


def _megahertz(root: Path, processor: int) -> float | None:
    frequency = read_text(root / f"sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_cur_freq")
    if frequency.isdigit():
        return int(frequency) / 1000
    # A virtual machine has no such file, and tells the nominal frequency if anything.
    said = re.search(r"^cpu MHz\s*:\s*([\d.]+)$", read_text(root / "proc/cpuinfo"), re.MULTILINE)
    return float(said[1]) if said else None
