"""What the tests of measuring share: quick options, and a look at what processes live."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from harness.measurement.options import Options
from harness.measurement.side import Side

QUICK = Options(
    rounds=2, max_rounds=2, samples=4, min_samples=2, budget=0.2, repeats=0, calm=1000.0, gap=0.0, timeout=20.0
)
SideMaker = Callable[..., Side]


def processes_naming(text: str) -> list[int]:
    """Live processes whose command line or variables contain a text; zombies are dead."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "Z":
                continue
            said = folder.joinpath("cmdline").read_bytes() + folder.joinpath("environ").read_bytes()
        except OSError:
            continue
        if text.encode() in said and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


def eventually_gone(text: str) -> list[int]:
    """Processes that still live after they had a moment to die."""
    for _ in range(100):
        if not (left := processes_naming(text)):
            return []
        time.sleep(0.05)
    return left
