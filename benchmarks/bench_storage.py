"""Views that share memory and copies that do not: what each costs, small and large."""

import itertools
import operator
from functools import partial

from .common import DEVICES, THREADS, metric, normal, start

#: These return another tensor over the same memory.
SHARING = ["view", "reshape", "slice", "contiguous"]
#: These move every number.
COPYING = ["clone", "contiguous_of_transpose", "reshape_of_transpose", "copy_into_view"]


def make_call(torch, kind, side, device):
    """A function without arguments that does the operation on a square matrix."""
    x = normal(torch, side, side, device=device)
    if kind == "copy_into_view":
        # The left half of a matrix of twice the width: rows with gaps between them.
        return partial(torch.empty(side, 2 * side, device=device)[:, :side].copy_, x)
    return {
        "view": partial(x.view, -1),
        "reshape": partial(x.reshape, -1),
        "slice": partial(operator.getitem, x, slice(1, side // 2)),
        "contiguous": x.contiguous,
        "clone": x.clone,
        "contiguous_of_transpose": x.t().contiguous,
        "reshape_of_transpose": partial(x.t().reshape, -1),
    }[kind]


class ViewSmall:
    """An 8 x 8 matrix, 1,000 times: the price of a call, which threads do not change, and sizes do not for views."""

    param_names = ["device", "kind"]
    params = [DEVICES, SHARING + COPYING]
    count = 1000

    def setup(self, device, kind):
        torch, self.wait = start(device)
        self.call = make_call(torch, kind, 8, device)

    @metric(
        "view_overhead",
        unit="s",
        direction="lower",
        work=1000,
        hot_path="H02",
        tags=["storage"],
        summary="one view, or one copy, of an 8 x 8 matrix",
    )
    def time_call(self, *_):
        call = self.call
        for _ in itertools.repeat(None, self.count):
            call()
        self.wait()


class CopyLarge:
    """A matrix of 1024 x 1024, 4 MiB; each number is counted once, though it is read and written."""

    param_names = ["threads", "device", "kind"]
    params = [THREADS, DEVICES, ["clone", "contiguous_of_transpose", "copy_into_view"]]

    def setup(self, threads, device, kind):
        torch, self.wait = start(device, threads)
        self.call = make_call(torch, kind, 1024, device)

    @metric(
        "copy_throughput",
        unit="GB/s",
        direction="higher",
        work=4 * 1024**2 / 1e9,
        hot_path="H02",
        tags=["storage"],
        summary="a copy of a matrix of 1024 x 1024, straight, transposed or into a view",
    )
    def time_copy(self, *_):
        self.call()
        self.wait()
