"""Creating a tensor: from a list, from an array, empty, filled."""

import itertools
from functools import partial

from .common import DEVICES, THREADS, metric, normal, numpy_or_skip, skip, start

#: Each takes the data named beside it, and nothing else.
KINDS = {
    "tensor": "list",
    "Tensor": "list",
    "as_tensor": "array",
    "from_numpy": "array",
    "empty": "length",
    "zeros": "length",
}


def make_creation(torch, device, kind, length):
    """The function of a kind and the data to call it with."""
    if device != "cpu" and kind in ("Tensor", "from_numpy"):
        skip(f"{kind} makes tensors on the CPU only")
    create = getattr(torch, kind)
    if device != "cpu":
        create = partial(create, device=device)
    if KINDS[kind] == "length":
        return create, length
    numbers = normal(torch, length).tolist()
    return create, numbers if KINDS[kind] == "list" else numpy_or_skip().array(numbers, dtype="float32")


class CreateSmall:
    """Eight numbers, 1,000 times: the price of a call, which threads do not change. The loop costs under 10 ns each."""

    param_names = ["device", "kind"]
    params = [DEVICES, list(KINDS)]
    count = 1000

    def setup(self, device, kind):
        torch, self.wait = start(device)
        self.create, self.data = make_creation(torch, device, kind, 8)

    @metric(
        "tensor_creation_small",
        unit="tensors/s",
        direction="higher",
        work=1000,
        hot_path="H01",
        tags=["core", "create"],
        summary="tensors of 8 numbers, made by each constructor",
    )
    def time_create(self, *_):
        create = self.create
        for data in itertools.repeat(self.data, self.count):
            create(data)
        self.wait()


class CreateLarge:
    """262,144 numbers, 1 MiB: the price of the data.

    `as_tensor` and `from_numpy` share the array's memory, and nothing touches that of `empty`: they stay as cheap as
    for small data, and this shows that they do.
    """

    param_names = ["threads", "device", "kind"]
    params = [THREADS, DEVICES, list(KINDS)]

    def setup(self, threads, device, kind):
        torch, self.wait = start(device, threads)
        self.create, self.data = make_creation(torch, device, kind, 1 << 18)

    @metric(
        "tensor_creation_large",
        unit="s",
        direction="lower",
        hot_path="H01",
        tags=["create"],
        summary="one tensor of 262,144 numbers, made by each constructor",
    )
    def time_create(self, *_):
        self.create(self.data)
        self.wait()
