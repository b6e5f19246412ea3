"""Data-parallel training: two gloo ranks on this machine, in processes of their own with one thread each."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from .children import in_children
from .common import SEED, make_mlp, metric, normal, skip, start

RANKS = 2
#: Seconds for the ranks to start, meet, measure and part.
PATIENCE = 90
WARM_UP = 5
STEPS = 30
#: float32 numbers.
SIZES = {"64 KiB": 16 * 1024, "16 MiB": 4 * 1024 * 1024}


def meet(rank, store):
    """In a rank: imports torch and joins the group through a file, on the loopback interface."""
    import datetime
    import os

    os.environ["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
    import torch
    import torch.distributed as dist

    # As launchers do: two ranks with all threads each would fight for the cores.
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    limit = datetime.timedelta(seconds=PATIENCE)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS, timeout=limit)
    return torch, dist


def middle_of(dist, step):
    """The median of the seconds that a step takes; the ranks begin each together."""
    seconds = []
    for number in range(WARM_UP + STEPS):
        dist.barrier()
        begin = time.perf_counter()
        step()
        if number >= WARM_UP:
            seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def train_in_rank(rank, store, between):
    """In a rank: seconds of a training step of a wrapped MLP."""
    torch, dist = meet(rank, store)
    model = torch.nn.parallel.DistributedDataParallel(make_mlp(torch, 256, 4))
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    x = normal(torch, 64, 256)

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        if between == "gradient norm":
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        elif between == "item":
            loss.item()
        optimizer.step()

    return middle_of(dist, step)


def reduce_in_rank(rank, store, numbers):
    """In a rank: seconds of one all-reduce."""
    torch, dist = meet(rank, store)
    values = normal(torch, numbers)

    def step():
        # Zero after the first: sums of sums would overflow.
        dist.all_reduce(values)
        values.zero_()

    return middle_of(dist, step)


def in_ranks(function, argument):
    """The longest of what the ranks return."""
    with tempfile.TemporaryDirectory(prefix="ranks-", dir=Path.cwd()) as folder:
        store = str(Path(folder) / "store")
        return max(in_children(function, [(rank, store, argument) for rank in range(RANKS)], timeout=PATIENCE))


def require_gloo():
    """Skips where this build has no gloo."""
    torch, _ = start()
    if not torch.distributed.is_available():
        skip("this build has no torch.distributed")
    if not getattr(torch.distributed, "is_gloo_available", lambda: True)():
        skip("this build has no gloo")


class Step:
    """Four layers of 256 x 256, a batch of 64 in each rank: 1 MiB of gradients. Without the meeting of the ranks."""

    param_names = ["between"]
    params = [["nothing", "gradient norm", "item"]]

    def setup(self, between):
        require_gloo()
        self.between = between

    @metric(
        "ddp_step_time",
        unit="s",
        direction="lower",
        hot_path="H15",
        tags=["data-parallel"],
        timeout=PATIENCE + 60.0,
        summary="a training step of two gloo ranks, something between backward and optimizer",
    )
    def track_step(self, *_):
        return in_ranks(train_in_rank, self.between)


class AllReduce:
    """The size of the tensor by the time of one all-reduce."""

    param_names = ["size"]
    params = [list(SIZES)]

    def setup(self, size):
        require_gloo()
        self.numbers = SIZES[size]

    @metric(
        "allreduce_bandwidth",
        unit="bytes/s",
        direction="higher",
        hot_path="H15",
        tags=["data-parallel"],
        timeout=PATIENCE + 60.0,
        summary="bytes of a tensor that two gloo ranks add up, by the time it takes",
    )
    def track_bandwidth(self, *_):
        return 4 * self.numbers / in_ranks(reduce_in_rank, self.numbers)
