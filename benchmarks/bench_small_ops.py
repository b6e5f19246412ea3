"""Many small operations: what a call costs before any number is computed."""

import itertools

from .common import DEVICES, THREADS, metric, normal, start


class Add:
    """One addition of eight numbers to eight, 1,000 times: the loop costs under 10 ns each."""

    param_names = ["threads", "device"]
    params = [THREADS, DEVICES]
    count = 1000

    def setup(self, threads, device):
        torch, self.wait = start(device, threads)
        self.add = torch.add
        self.a = normal(torch, 8, device=device)
        self.b = normal(torch, 8, device=device)

    @metric(
        "dispatch_overhead",
        unit="s",
        direction="lower",
        work=1000,
        hot_path="H03",
        tags=["core", "small-ops"],
        summary="one addition of 8 numbers",
    )
    def time_add(self, *_):
        add, b = self.add, self.b
        for a in itertools.repeat(self.a, self.count):
            add(a, b)
        self.wait()


class Recurrent:
    """A recurrent cell, h = tanh(x W + h U + b), over 64 steps of a batch of 4 with 16 features."""

    param_names = ["threads", "device", "steps_are"]
    params = [THREADS, DEVICES, ["views", "clones"]]
    steps = 64

    def setup(self, threads, device, steps_are):
        torch, self.wait = start(device, threads)
        self.torch = torch
        self.sequence = normal(torch, self.steps, 4, 16, device=device)
        self.first = torch.zeros(4, 16, device=device)
        self.w = normal(torch, 16, 16, device=device) / 4
        self.u = normal(torch, 16, 16, device=device) / 4
        self.b = normal(torch, 16, device=device)
        self.clone = steps_are == "clones"

    @metric(
        "recurrent_throughput",
        unit="steps/s",
        direction="higher",
        work=64,
        hot_path="H03",
        tags=["small-ops"],
        summary="a recurrent cell that reads each step of its input as a view or as a clone",
    )
    def time_steps(self, *_):
        sequence, w, u, b, h = self.sequence, self.w, self.u, self.b, self.first
        tanh, clone = self.torch.tanh, self.clone
        for t in range(self.steps):
            x = sequence[t]
            if clone:
                x = x.clone()
            h = tanh(x @ w + h @ u + b)
        self.wait()
