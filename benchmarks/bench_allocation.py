"""Allocating and freeing: the C library's allocator on the CPU, torch's caching allocator on a device."""

import itertools
import random
import statistics
import time

from .common import DEVICES, SEED, metric, start, start_on_device


def sizes_of(kind, count):
    """How many numbers each tensor has."""
    if kind != "mixed":
        return [{"small": 64, "large": 1 << 20}[kind]] * count
    # Powers of two from 64 bytes to 4 MiB. Only random() gives the same numbers on every Python.
    drawn = random.Random(SEED)
    return [1 << int(4 + 17 * drawn.random()) for _ in range(count)]


class Churn:
    """1,000 tensors without content, of which 32 live at a time: each new one takes the place of the oldest.

    Small ones have 256 bytes, large ones 4 MiB. Nothing touches the memory, so that what remains is the allocator's
    own work; on a device all but the first call are served from its cache.
    """

    param_names = ["device", "sizes"]
    params = [DEVICES, ["small", "large", "mixed"]]
    live = 32

    def setup(self, device, sizes):
        torch, self.wait = start(device)
        self.empty = torch.empty
        self.device = torch.device(device)
        self.sizes = sizes_of(sizes, 1000)

    @metric(
        "allocation_churn",
        unit="tensors/s",
        direction="higher",
        work=1000,
        hot_path="H04",
        tags=["allocation"],
        summary="empty tensors made and freed in a loop, small, large and mixed",
    )
    def time_churn(self, *_):
        empty, device = self.empty, self.device
        slots = [None] * self.live
        for slot, size in zip(itertools.cycle(range(self.live)), self.sizes):
            slots[slot] = empty(size, device=device)
        del slots
        self.wait()


class CachingAllocator:
    """Eight blocks of 32 MiB on a device, each too large to share a segment with another.

    A hit finds all of them in the cache, a miss finds it empty and asks the driver, and `empty_cache` gives them back.
    A miss needs an emptied cache and an emptied cache a miss, so each is timed by itself, ten times; the value is the
    median, for one block.
    """

    param_names = ["device", "what"]
    params = [DEVICES, ["hit", "miss", "empty_cache"]]
    blocks = 8
    turns = 10

    def setup(self, device, what):
        torch, self.wait = start_on_device(device, "a caching allocator")
        self.allocator = getattr(torch, device)
        self.allocate = lambda: [torch.empty(8 << 20, device=device) for _ in range(self.blocks)]
        self.empty = self.allocator.empty_cache
        self.steps = {
            # What is done before, and what is timed.
            "hit": (self.allocate_and_free, self.allocate),
            "miss": (self.empty, self.allocate),
            "empty_cache": (self.allocate_and_free, self.empty),
        }[what]
        self.allocate_and_free()

    def teardown(self, *_):
        if hasattr(self, "empty"):
            self.empty()

    def allocate_and_free(self):
        self.allocate()

    @metric(
        "caching_allocator_time",
        unit="s",
        direction="lower",
        hot_path="H04",
        tags=["allocation"],
        summary="a block of 32 MiB from the cache, from the driver, and back to the driver",
    )
    def track_seconds(self, *_):
        before, timed = self.steps
        seconds = []
        for _ in range(self.turns):
            before()
            self.wait()
            begin = time.perf_counter()
            kept = timed()
            self.wait()
            seconds.append(time.perf_counter() - begin)
            del kept
        return statistics.median(seconds) / self.blocks
