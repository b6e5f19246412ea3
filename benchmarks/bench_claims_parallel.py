"""What is said of data-parallel training and of DataLoader workers. Both start processes of their own."""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

from .claims import claim
from .common import load_torch, skip, start
from .verdicts import middle, verdict

#: Seconds that the two ranks may take together; each of them ends itself then, even when nobody is left to end it.
PATIENCE = 150

#: One rank. The layers have 4 MiB of gradients each: the first bucket of DDP takes 1 MiB, further ones 25 MiB.
RANK = f"""
import faulthandler, sys
faulthandler.dump_traceback_later({PATIENCE}, exit=True)
import json, torch
rank, store = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
torch.manual_seed(1)
torch.distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
layers = [torch.nn.Linear(1024, 1024) for _ in range(8)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
x = torch.randn(64, 1024)
for _ in range(2):  # DDP orders its buckets anew after the first step
    model(x).sum().backward()
loss = model(x).sum()
with torch.autograd.profiler.profile() as profile:
    loss.backward()
events = [(event.name, event.time_range.start, event.time_range.end) for event in profile.function_events]
begin = min(start for _, start, _ in events)
reduced = [start - begin for name, start, _ in events if name == "gloo:all_reduce"]
layers = [end - begin for name, _, end in events if name.startswith("AddmmBackward")]
nodes = [end - begin for name, _, end in events if "Backward" in name]
torch.distributed.barrier()
print(json.dumps({{"reduced": sorted(reduced), "layers": sorted(layers), "end": max(nodes)}}))
"""


def run_ranks():
    """Runs the two ranks and returns what the first one saw. Nothing of them is left, however it ends.

    Raises:
        RuntimeError: A rank failed or did not end in time; carries the end of what it said.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
        ranks = []
        try:
            for rank in range(2):
                command = [sys.executable, "-c", RANK, str(rank), os.path.join(folder, "store")]  # noqa: PTH118
                pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                ranks.append(subprocess.Popen(command, env=environment, cwd=folder, **pipes))
            said = [process.communicate(timeout=PATIENCE + 10) for process in ranks]
        except subprocess.TimeoutExpired as error:
            message = f"no answer from the ranks within {error.timeout:.0f} s"
            raise RuntimeError(message) from error
        finally:
            for process in ranks:
                process.kill()
                process.communicate()
    for process, (_, errors) in zip(ranks, said):
        if process.returncode != 0:
            message = f"a rank ended with status {process.returncode}: {errors.decode(errors='replace')[-1000:]}"
            raise RuntimeError(message)
    return json.loads(said[0][0].decode().splitlines()[-1])


class AllReduce:
    """A backward pass of eight layers under DDP, with its default buckets, on two ranks of one machine."""

    def setup(self):
        torch = load_torch()
        if not torch.distributed.is_available():
            skip("this build has no torch.distributed")
        if not hasattr(torch, "profiler"):
            skip("the profiler of this release does not show collective operations")
        if sys.platform != "linux":
            skip("the ranks meet on Linux's loopback interface")

    @claim(
        "C26",
        "claim_ddp_reduces_after_backward",
        "DDP starts its all-reduce only when the whole backward pass has ended",
        hot_path="H15",
        timeout=2.0 * PATIENCE,
    )
    def track_first_all_reduce(self):
        seen = run_ranks()
        if not seen["reduced"]:
            message = "the profiler saw no all-reduce"
            raise RuntimeError(message)
        first, end = seen["reduced"][0], seen["end"]
        before = sum(layer <= first for layer in seen["layers"])
        note = (
            f"the first of {len(seen['reduced'])} all-reduces started {first / 1e3:.1f} ms into a backward pass of "
            f"{end / 1e3:.1f} ms, when {before} of {len(seen['layers'])} layers had their gradients"
        )
        return verdict(first >= end, note, **seen)


class Items:
    """A dataset whose items either compute or wait, for a millisecond or two."""

    def __init__(self, kind, length):
        self.kind = kind
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.kind == "wait":
            time.sleep(0.002)
        else:
            sum(range(40000))
        return index


class Workers:
    """Items a second of a DataLoader with 1.5 workers a core and with twice as many, from the first batch to the last.

    The two take turns. Workers are started anew for each turn, and their start is not counted.
    """

    kinds = ["compute", "wait"]
    turns = 5
    batch = 4

    def setup(self):
        self.torch, _ = start()
        self.cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.few = max(1, round(1.5 * self.cores))
        self.many = 2 * self.few

    def throughput(self, kind, workers):
        """Items a second, without the first two batches of each worker, which wait for the start."""
        batches = 10 * self.many
        skipped = 2 * self.many
        begin = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch itself finds them too many
            loader = self.torch.utils.data.DataLoader(
                Items(kind, batches * self.batch), batch_size=self.batch, num_workers=workers, timeout=60
            )
            for number, _ in enumerate(loader):
                if number == skipped:
                    begin = time.perf_counter()
        return (batches - skipped - 1) * self.batch / (time.perf_counter() - begin)

    @claim(
        "C27",
        "claim_more_workers_are_slower",
        "more DataLoader workers than 1.5 x cores lower the throughput",
        hot_path="H14",
        timeout=300.0,
    )
    def track_throughput(self):
        """It holds when twice as many are slower in all five turns, by 5 % in the middle one, for both kinds."""
        ratios, notes = {}, []
        for kind in self.kinds:
            few, many = [], []
            for turn in range(self.turns):
                order = [(self.few, few), (self.many, many)]
                for workers, results in order if turn % 2 == 0 else reversed(order):
                    results.append(self.throughput(kind, workers))
            ratios[kind] = [b / a for a, b in zip(few, many)]
            notes.append(
                f"{middle(ratios[kind]):.2f} ({min(ratios[kind]):.2f} to {max(ratios[kind]):.2f}) for items that {kind}"
            )
        holds = all(max(found) < 1 and middle(found) < 0.95 for found in ratios.values())
        note = (
            f"{self.many} workers on {self.cores} cores had, against {self.few} workers, this share of the throughput: "
            + " and ".join(notes)
        )
        return verdict(holds, note, ratios=ratios)
