"""Claims about what memory a process holds: after a free, without a graph, pinned."""

import ctypes
import os
import re
import struct
from pathlib import Path

from .claims import Claim, ask_new_process, claim
from .common import load_torch, make_mlp, normal, skip
from .memory import PeakMemory, status_bytes
from .verdicts import accelerator, verdict

#: Settings of glibc's allocator that a measured process may have, and that users do not.
ALLOCATOR = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")
MIB = 1 << 20


class Free(Claim):
    """In a process with the allocator as users have it: settings that hold freed memory back would decide."""

    @claim(
        "C05",
        "claim_freed_memory_is_cached",
        "freeing a large CPU tensor does not give memory back to the system, because CPU memory is cached",
        timeout=180.0,
    )
    def track_given_back(self):
        found = ask_new_process(FREE, 120, without=ALLOCATOR)
        kept = [1 - (full - after) / (full - before) for before, full, after in found]
        said = ", ".join(f"{(full - before) / MIB:.0f}" for before, full, _ in found)
        note = (
            f"three tensors in turn took {said} MiB, and when they were freed the system had "
            f"{', '.join(f'{100 * (1 - share):.0f}' for share in kept)} % of that back at once"
        )
        return verdict(min(kept) > 0.5, note)


FREE = """
import json, re, torch
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) * 1024
torch.ones(8).add(1)
found = []
for _ in range(3):
    before = resident()
    tensor = torch.ones(256 << 18)
    full = resident()
    del tensor
    found.append((before, full, resident()))
print(json.dumps(found))
"""


class ForwardPeak(Claim):
    """Six layers of 128 x 128 over a batch of 32,768: each activation is 16 MiB."""

    def setup(self, *_):
        super().setup()
        self.model = make_mlp(self.torch, 128, 6)
        self.x = normal(self.torch, 32768, 128)
        # Code and buffers of the libraries come into memory with the first call.
        self.model(self.x[:64])
        self.peak = PeakMemory(self.torch, "cpu")

    @claim("C15", "claim_no_grad_lowers_peak_memory", "no_grad lowers the peak memory of a forward pass", isolate=True)
    def track_peak(self):
        peaks = {}
        for mode in ("no_grad", "enable_grad"):
            with getattr(self.torch, mode)(), self.peak:
                self.model(self.x)
            peaks[mode] = self.peak.bytes
        note = (
            f"a forward pass of six layers took {peaks['no_grad'] / MIB:.0f} MiB at its peak under no_grad and "
            f"{peaks['enable_grad'] / MIB:.0f} MiB with grad"
        )
        return verdict(peaks["no_grad"] < 0.9 * peaks["enable_grad"], note)


class Pinned:
    """Pinned pages against ordinary ones, both offered to the kernel for swapping."""

    size = 64 * MIB

    def setup(self):
        torch = load_torch()
        accelerator(torch)
        before = pinned_bytes()
        self.pinned = torch.ones(self.size, dtype=torch.uint8).pin_memory()
        self.counted = pinned_bytes() - before
        self.flags = mapping_flags(self.pinned.data_ptr())
        self.left = pages_left(self.pinned.data_ptr(), self.size)
        self.ordinary = torch.ones(self.size, dtype=torch.uint8)
        self.control = pages_left(self.ordinary.data_ptr(), self.size)
        self.locked = self.counted >= 0.9 * self.size or bool({"lo", "io", "pf"} & self.flags)
        if not self.locked and self.left > 0.99 and self.control > 0.5:
            skip("the kernel neither counts pinned pages here nor swaps ordinary ones out: nothing can be told")

    @claim(
        "C31", "claim_pinned_memory_is_page_locked", "memory pinned by pin_memory is page-locked (cannot be swapped)"
    )
    def track_pinned(self):
        note = (
            f"of 64 MiB pinned the kernel counts {self.counted / MIB:.0f} MiB as locked or pinned, the mapping's flags "
            f"are {' '.join(sorted(self.flags)) or 'unknown'}, and asked to swap it out the kernel left "
            f"{100 * self.left:.0f} % in place, and {100 * self.control:.0f} % of ordinary memory"
        )
        # Pages of a driver's own mapping have no entry that says whether they are in memory: they always are.
        return verdict(self.locked or self.left > 0.99, note)


def pinned_bytes():
    """What the kernel counts as locked or pinned for this process."""
    return status_bytes("VmLck") + status_bytes("VmPin")


def mapping_flags(address):
    """The kernel's two-letter flags of the mapping around an address: `lo` is locked, `io` and `pf` are a driver's."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        bounds = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if bounds:
            inside = int(bounds.group(1), 16) <= address < int(bounds.group(2), 16)
        elif inside and line.startswith("VmFlags:"):
            return set(line.split()[1:])
    return set()


def pages_left(address, size):
    """Which share of pages stays in memory when the kernel is asked to swap them out.

    A driver's own mapping refuses to be asked; the kernel never swaps it.
    """
    page = os.sysconf("SC_PAGESIZE")
    first = -(-address // page) * page
    length = (address + size - first) // page * page
    pageout = 21  # MADV_PAGEOUT, which Python does not name
    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(length), pageout)
    with open("/proc/self/pagemap", "rb") as file:  # noqa: PTH123
        file.seek(first // page * 8)
        entries = struct.unpack(f"{length // page}Q", file.read(length // page * 8))
    return sum(entry >> 63 for entry in entries) / len(entries)
