"""Feeding data: what a DataLoader delivers, how long its first batch takes, and what it says of workers that fail."""

import os
import signal
import statistics
import time

from .children import in_child
from .common import DEVICES, explain, load_torch, metric, normal, skip, start

#: A chosen few of workers x prefetch_factor x persistent_workers x pin_memory.
LOADERS = {
    "in process": {"num_workers": 0},
    "1 worker": {"num_workers": 1},
    "2 workers": {"num_workers": 2},
    "2 workers, prefetch 8": {"num_workers": 2, "prefetch_factor": 8},
    "2 workers, persistent": {"num_workers": 2, "persistent_workers": True},
    "2 workers, persistent, pinned": {"num_workers": 2, "persistent_workers": True, "pin_memory": True},
}
SAMPLES = 128
BATCH = 8
#: Seconds that a slow sample waits, as for a disk or a network.
WAIT = 0.001


class Images:
    """A data set in memory: 128 images of 3 x 32 x 32, each after a wait or at once."""

    def __init__(self, images, wait):
        self.images = images
        self.wait = wait

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        if self.wait:
            time.sleep(self.wait)
        return self.images[index], index % 10


class Loading:
    """A loader, and its batches on the device."""

    def prepare(self, device, loader, wait):
        torch, self.wait = start(device)
        if device == "cpu" and LOADERS[loader].get("pin_memory"):
            skip("pinned memory is for copies to a device")
        self.device = device
        images = normal(torch, SAMPLES, 3, 32, 32)
        self.loader = torch.utils.data.DataLoader(Images(images, wait), batch_size=BATCH, **LOADERS[loader])

    def batches(self):
        for images, labels in self.loader:
            yield images.to(self.device, non_blocking=True), labels.to(self.device, non_blocking=True)

    def teardown(self, *_):
        # A loader with persistent workers ends them when it goes; none goes where `setup` skipped.
        self.loader = None


class Throughput(Loading):
    """A whole epoch of 16 batches, the start of the workers and their end included."""

    param_names = ["device", "loader", "sample"]
    params = [DEVICES, list(LOADERS), ["quick", "slow"]]

    def setup(self, device, loader, sample):
        self.prepare(device, loader, WAIT if sample == "slow" else 0)

    @metric(
        "data_loading_throughput",
        unit="batches/s",
        direction="higher",
        work=SAMPLES // BATCH,
        hot_path="H14",
        tags=["data-loading"],
        timeout=120.0,
        summary="an epoch of 16 batches of 8 images; a slow sample waits 1 ms",
    )
    def time_epoch(self, *_):
        for _batch in self.batches():
            pass
        self.wait()


class FirstBatch(Loading):
    """From asking for an iterator to the first batch: the middle of five epochs that end there."""

    param_names = ["device", "loader"]
    params = [DEVICES, list(LOADERS)]

    def setup(self, device, loader):
        self.prepare(device, loader, 0)

    @metric(
        "first_batch_latency",
        unit="s",
        direction="lower",
        hot_path="H14",
        tags=["data-loading"],
        timeout=120.0,
        summary="from the start of an epoch to its first batch; workers that persist are there already",
    )
    def track_first_batch(self, *_):
        for _batch in self.batches():
            pass
        return statistics.median(self.once() for _ in range(5))

    def once(self):
        begin = time.perf_counter()
        batches = self.batches()
        next(batches)
        self.wait()
        seconds = time.perf_counter() - begin
        for _batch in batches:  # workers that persist would carry the rest into the next epoch
            pass
        return seconds


#: What happens to a worker, and words that the error must have: who it was, or what it waited for.
FAULTS = {
    "killed": "DataLoader worker",
    "ends": "DataLoader worker",
    "raises": "in DataLoader worker",
    "hangs": "timed out",
}
#: The loader's own limit for one batch, in seconds, where a worker hangs.
LIMIT = 2
#: Seconds after which the whole attempt is given up.
PATIENCE = 40


class Faulty:
    """A data set that fails at its fourth sample, in the first batch of the first worker.

    In a later one it would be luck: what a worker sent is lost with it when it has not been taken yet.
    """

    def __init__(self, fault, parent):
        self.fault = fault
        self.parent = parent

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        if index == 3:
            self.fail()
        return index

    def fail(self):
        if self.fault == "raises":
            message = "planted"
            raise ValueError(message)
        if self.fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "ends":
            os._exit(0)
        # Not for ever: a worker that hangs must not outlive whom it works for.
        while os.getppid() == self.parent:
            time.sleep(0.05)
        os._exit(0)


def meet_fault(fault):
    """In a process of its own: iterates until the loader raises; what it said, and after how many seconds."""
    torch = load_torch()
    options = {"timeout": LIMIT} if fault == "hangs" else {}
    loader = torch.utils.data.DataLoader(Faulty(fault, os.getpid()), batch_size=BATCH, num_workers=2, **options)
    begin = time.monotonic()
    try:
        batches = sum(1 for _ in loader)
    except Exception as error:  # which one it is, is the question
        words = " ".join(str(error).partition("Original Traceback")[0].split())
        return {"error": f"{type(error).__name__}: {words}", "seconds": time.monotonic() - begin}
    return {"error": "", "seconds": time.monotonic() - begin, "batches": batches}


class WorkerFaults:
    """Two workers of which one is killed, ends by itself with status 0, raises, or hangs in its first batch.

    All of it happens in a child, which is killed when the loader waits on.
    """

    param_names = ["fault"]
    params = [list(FAULTS)]

    def setup(self, fault):
        start()
        self.fault = fault

    def meet(self):
        seen = in_child(meet_fault, self.fault, timeout=PATIENCE)
        explain(note=self.told(seen), error=seen["error"][:500], seconds=seen["seconds"])
        return seen

    def told(self, seen):
        if not seen["error"]:
            return f"no error: the epoch ended with {seen['batches']} of {SAMPLES // BATCH} batches"
        return f"after {seen['seconds']:.2f} s: {seen['error'][:200]}"

    @metric(
        "worker_fault_reported",
        unit="holds",
        direction="higher",
        hot_path="H14",
        tags=["data-loading", "behaviour"],
        timeout=PATIENCE + 60.0,
        summary="a loader whose worker dies, raises or hangs says so in an error that names it",
    )
    def track_reported(self, *_):
        try:
            seen = self.meet()
        except RuntimeError as error:
            explain(note=f"no answer: {str(error)[-200:]}")
            return 0.0
        return float(FAULTS[self.fault] in seen["error"])

    @metric(
        "worker_fault_latency",
        unit="s",
        direction="lower",
        hot_path="H14",
        tags=["data-loading"],
        floor=0.2,
        timeout=PATIENCE + 60.0,
        summary="until a loader raises for a worker that dies, raises or hangs (its limit is 2 s)",
    )
    def track_latency(self, *_):
        return self.meet()["seconds"]
