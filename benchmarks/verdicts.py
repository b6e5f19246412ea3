"""What claims and behaviours share: a verdict with its evidence in one sentence."""

import re

from .common import DEVICES, device_present, explain, skip


def verdict(holds, note, **details):
    """1.0 when a statement holds and 0.0 when it does not; the note says what was measured, with the numbers."""
    explain(note=note, **details)
    return float(holds)


def words_of(error):
    """An exception in one line, without colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"


def accelerator(torch):
    """The first device that is not the CPU; skips where there is none.

    Raises:
        NotImplementedError: A skip.
    """
    others = [device for device in DEVICES if device != "cpu"]
    for device in others:
        if device_present(torch, device):
            return device
    return skip(f"no {' or '.join(others)} device")


def middle(numbers):
    """The median, the upper one of two."""
    return sorted(numbers)[len(numbers) // 2]
