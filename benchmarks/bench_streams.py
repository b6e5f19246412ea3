"""Streams of a device: work on one or two of them, and waiting for one or for all."""

import statistics
import time

from .common import DEVICES, metric, normal, skip, start_on_device


def streams_of(torch, device):
    """The part of torch that has `Stream`, `stream` and `current_stream` for a device."""
    backend = getattr(torch, device)
    if not hasattr(backend, "Stream"):
        skip(f"this release has no streams on {device}")
    return backend


class Chain:
    """Twenty products of 512 x 512 one after the other, into memory that is there: far too small to fill a device."""

    def __init__(self, torch, device):
        self.mm = torch.mm
        self.a = normal(torch, 512, 512, device=device)
        self.b = normal(torch, 512, 512, device=device).t().contiguous()
        self.out = torch.empty(512, 512, device=device)

    def run(self):
        for _ in range(20):
            self.mm(self.a, self.b, out=self.out)


class StreamWork:
    """Two independent chains: both on the default stream, both on another stream, or each on one of its own."""

    param_names = ["device", "streams"]
    params = [DEVICES, ["default", "side", "two"]]

    def setup(self, device, streams):
        torch, self.wait = start_on_device(device, "streams")
        backend = streams_of(torch, device)
        self.on = backend.stream
        first = backend.current_stream() if streams == "default" else backend.Stream()
        second = backend.Stream() if streams == "two" else first
        self.work = [(first, Chain(torch, device)), (second, Chain(torch, device))]
        self.wait()

    @metric(
        "stream_work_time",
        unit="s",
        direction="lower",
        hot_path="H05",
        tags=["streams"],
        summary="two chains of small matrix products, on one stream or on two",
    )
    def time_work(self, *_):
        for stream, chain in self.work:
            with self.on(stream):
                chain.run()
        self.wait()


class Synchronize:
    """From a tiny operation on one stream until a wait for that stream, or for the whole device, returns.

    The other stream is idle, or busy with two chains that were launched before; these are waited for outside the timed
    region, since whether a wait includes them is the question. Ten times; the value is the median.
    """

    param_names = ["device", "wait_for", "other_stream"]
    params = [DEVICES, ["stream", "device"], ["idle", "busy"]]
    turns = 10

    def setup(self, device, wait_for, other_stream):
        torch, self.wait_for_all = start_on_device(device, "streams")
        backend = streams_of(torch, device)
        self.on = backend.stream
        self.mine, self.other = backend.Stream(), backend.Stream()
        self.wait = self.mine.synchronize if wait_for == "stream" else self.wait_for_all
        self.chain = Chain(torch, device)
        self.busy = other_stream == "busy"
        self.x = torch.zeros(8, device=device)
        self.wait_for_all()

    @metric(
        "synchronize_time",
        unit="s",
        direction="lower",
        hot_path="H05",
        tags=["streams"],
        summary="waiting for one stream or for the device, while another stream is idle or busy",
    )
    def track_seconds(self, *_):
        seconds = []
        for _ in range(self.turns + 1):
            if self.busy:
                with self.on(self.other):
                    self.chain.run()
                    self.chain.run()
            begin = time.perf_counter()
            with self.on(self.mine):
                self.x.add_(1)
            self.wait()
            seconds.append(time.perf_counter() - begin)
            self.wait_for_all()
        return statistics.median(seconds[1:])  # the first one loads kernels
