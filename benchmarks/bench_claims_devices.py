"""What is said of copies to a device and of waiting for it. All of it skips without one.

Each statement is about the ratio of two times. They are taken in turn, in pairs, and the median of the ratios of the
pairs is judged.
"""

import math
import time

from .claims import claim
from .common import normal, start, waiter
from .verdicts import accelerator, middle, verdict

PAIRS = 9


def seconds_of(call):
    """Seconds that a call takes to return."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


class DeviceWork:
    """Keeps a device busy for a known time."""

    def __init__(self, torch, device):
        self.wait = waiter(torch, device)
        self.square = normal(torch, 2048, 2048, device=device)
        self.product = normal(torch, 2048, 2048, device=device)
        self.count = 10
        self.begin()
        self.wait()
        one = seconds_of(self.begin_and_wait) / self.count
        self.count = max(1, math.ceil(0.1 / one))

    def begin(self):
        """Hands the device about 0.1 s of work and returns at once."""
        for _ in range(self.count):
            self.square.mm(self.square, out=self.product)

    def begin_and_wait(self):
        self.begin()
        self.wait()


class PinnedCopy:
    """64 MiB to memory of the device that is there already, from pageable and from page-locked memory."""

    def setup(self):
        self.torch, _ = start()
        device = accelerator(self.torch)
        self.wait = waiter(self.torch, device)
        self.pageable = normal(self.torch, 1 << 24)
        self.target = self.torch.empty(1 << 24, device=device)

    def copy(self, source, non_blocking):
        self.target.copy_(source, non_blocking=non_blocking)
        self.wait()

    @claim(
        "C23",
        "claim_pinned_is_three_times_faster",
        "pinned, non-blocking copies are three times as fast as pageable ones",
        hot_path="H06",
    )
    def track_ratio(self):
        begin = time.perf_counter()
        pinned = self.pageable.pin_memory()
        pinning = time.perf_counter() - begin
        for source in (self.pageable, pinned):
            self.copy(source, source is pinned)
        slow, fast = [], []
        for _ in range(PAIRS):
            slow.append(seconds_of(lambda: self.copy(self.pageable, False)))
            fast.append(seconds_of(lambda: self.copy(pinned, True)))
        ratio = middle([a / b for a, b in zip(slow, fast)])
        note = (
            f"64 MiB to the device took {middle(slow) * 1e3:.2f} ms from pageable and {middle(fast) * 1e3:.2f} ms from "
            f"pinned memory, {ratio:.2f} times as long; pinning it took {pinning * 1e3:.2f} ms"
        )
        return verdict(ratio >= 3, note, ratio=ratio)


class PageableCopy:
    """How long a copy from pageable memory keeps its caller while the device is busy, with and without non_blocking."""

    sizes = {"16 KiB": 1 << 12, "64 MiB": 1 << 24}

    def setup(self):
        self.torch, _ = start()
        device = accelerator(self.torch)
        self.wait = waiter(self.torch, device)
        self.work = DeviceWork(self.torch, device)
        self.pairs = {
            name: (normal(self.torch, length), self.torch.empty(length, device=device))
            for name, length in self.sizes.items()
        }

    def seconds(self, name, non_blocking):
        source, target = self.pairs[name]
        self.work.begin()
        taken = seconds_of(lambda: target.copy_(source, non_blocking=non_blocking))
        self.wait()
        return taken

    @claim(
        "C24",
        "claim_non_blocking_needs_pinned",
        "non_blocking=True has no effect from pageable memory",
        hot_path="H06",
    )
    def track_effect(self):
        """It has an effect when the call returns in less than 0.8 of the time, for either size."""
        ratios, notes = [], []
        for name in self.sizes:
            self.seconds(name, True)
            plain, free = [], []
            for _ in range(PAIRS):
                plain.append(self.seconds(name, False))
                free.append(self.seconds(name, True))
            ratios.append(middle([b / a for a, b in zip(plain, free)]))
            notes.append(f"{middle(free) * 1e3:.2f} ms with and {middle(plain) * 1e3:.2f} ms without for {name}")
        note = f"behind 100 ms of work a copy from pageable memory returned after {', '.join(notes)}"
        return verdict(min(ratios) >= 0.8, note, ratios=ratios)


class Item:
    """`.item()` of a number that the device has computed long ago, while it does other work."""

    def setup(self):
        self.torch, _ = start()
        device = accelerator(self.torch)
        self.work = DeviceWork(self.torch, device)
        self.number = self.torch.ones(1, device=device)
        self.number.item()

    def seconds(self, call):
        self.work.begin()
        taken = seconds_of(call)
        self.work.wait()
        return taken

    @claim(
        "C25",
        "claim_item_does_not_wait",
        ".item() avoids waiting for the device",
        hot_path="H06",
    )
    def track_waiting(self):
        """It avoids it when it returns in less than half the time that a synchronisation takes."""
        waits, items = [], []
        for _ in range(PAIRS):
            waits.append(self.seconds(self.work.wait))
            items.append(self.seconds(self.number.item))
        ratio = middle([b / a for a, b in zip(waits, items)])
        note = (
            f"with the device busy, .item() of a finished number returned after {middle(items) * 1e3:.2f} ms and a "
            f"synchronisation after {middle(waits) * 1e3:.2f} ms"
        )
        return verdict(ratio < 0.5, note, ratio=ratio)
