"""How much memory a piece of code holds at its peak, and what the kernel says of a process."""

import ctypes
import re
from pathlib import Path

from .common import skip

#: Numbers of settings, from glibc's malloc.h.
M_TOP_PAD = -2
M_MMAP_THRESHOLD = -3


class PeakMemory:
    """The most memory that a piece of code held above what was held before it.

    On the CPU: the growth of this process's resident memory to its peak, which the kernel keeps (`VmHWM`); what a
    parent process held does not count. On a device: what torch's allocator handed out.

        peak = PeakMemory(torch, device)  # in setup, for it may skip
        with peak:
            model(x)
        peak.bytes
    """

    def __init__(self, torch, device):
        self.bytes = 0
        self._before = 0
        self._allocator = None if device == "cpu" else getattr(torch, device)
        if self._allocator is None:
            give_large_blocks_back()
            forget_peak()
            status_bytes("VmHWM")
        elif not hasattr(self._allocator, "max_memory_allocated"):
            skip(f"this release does not say how much memory of {device} it handed out")

    def __enter__(self):
        if self._allocator is None:
            forget_peak()
            self._before = status_bytes("VmRSS")
        else:
            self._allocator.synchronize()
            self._allocator.reset_peak_memory_stats()
            self._before = self._allocator.memory_allocated()
        return self

    def __exit__(self, *_):
        if self._allocator is None:
            peak = status_bytes("VmHWM")
        else:
            self._allocator.synchronize()
            peak = self._allocator.max_memory_allocated()
        self.bytes = peak - self._before


def give_large_blocks_back():
    """Tells glibc to map each block of 1 MiB or more alone, so that its memory goes when it is freed.

    A heap keeps some freed blocks and cannot reuse others, as luck has it: peaks then differ by a fifth and more from
    one process to the next, for the same tensors. Other C libraries are left as they are.
    """
    libc = ctypes.CDLL(None)
    try:
        change, trim = libc.mallopt, libc.malloc_trim
    except AttributeError:
        return
    change(M_MMAP_THRESHOLD, 1 << 20)
    change(M_TOP_PAD, 0)
    trim(0)


def forget_peak():
    """Makes the kernel keep the peak memory of this process anew from here; skips where it cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        skip(f"the peak memory of a process cannot be reset here: {error}")


def status_bytes(key):
    """What the kernel says of this process's memory, in bytes: `VmRSS` is resident now, `VmHWM` is its peak."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError as error:
        skip(f"the system does not say how much memory a process holds: {error}")
    return int(re.search(rf"^{key}:\s+(\d+) kB$", status, re.MULTILINE).group(1)) * 1024
