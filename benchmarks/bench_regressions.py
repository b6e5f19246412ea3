"""Operations whose speed once jumped at a release. All run on the CPU in one thread: the jumps do not need more."""

import inspect

from .common import SEED, load_torch, metric, normal, skip, start


def seeded(torch):
    """A generator of integers, the same in each process."""
    return torch.Generator().manual_seed(SEED)


class IndexSelect:
    """100,000 numbers picked from 100,000, at random places. Slow in 1.5.0 alone."""

    def setup(self):
        torch, _ = start(threads="1")
        self.x = normal(torch, 100000)
        self.places = torch.randint(0, 100000, (100000,), generator=seeded(torch))
        self.index_select = torch.index_select

    @metric(
        "index_select_1d_time",
        unit="s",
        direction="lower",
        hot_path="",
        tags=["regressions"],
        summary="index_select of 100,000 places of a 1-D float tensor",
    )
    def time_index_select(self):
        self.index_select(self.x, 0, self.places)


class ObjectToTensor:
    """5 MB of bytes as the collectives for objects send them, without a process group. Slow in 1.9.0 alone."""

    def setup(self):
        torch = load_torch()
        if not torch.distributed.is_available():
            skip("this build has no torch.distributed")
        start(threads="1")
        from torch.distributed import distributed_c10d

        if not hasattr(distributed_c10d, "_object_to_tensor"):
            skip("this release has no torch.distributed.distributed_c10d._object_to_tensor")
        self.convert = distributed_c10d._object_to_tensor
        # Later releases ask for the device, and then for the process group, which may be None.
        further = {"device": torch.device("cpu"), "group": None}
        known = inspect.signature(self.convert).parameters
        self.options = {name: value for name, value in further.items() if name in known}
        self.object = bytes(range(250)) * 20000

    @metric(
        "object_to_tensor_time",
        unit="s",
        direction="lower",
        hot_path="H15",
        tags=["regressions"],
        summary="conversion of a 5 MB object to a tensor, as collectives for objects do it",
    )
    def time_convert(self):
        self.convert(self.object, **self.options)


class UniqueConsecutive:
    """10,000 sorted integers, each four times. Over a thousand times as fast since 1.10.0."""

    def setup(self):
        torch, _ = start(threads="1")
        self.x = torch.arange(2500).repeat_interleave(4)
        self.unique_consecutive = torch.unique_consecutive

    @metric(
        "unique_consecutive_1d_time",
        unit="s",
        direction="lower",
        hot_path="",
        tags=["regressions"],
        summary="unique_consecutive along the one dimension of 10,000 sorted integers",
    )
    def time_unique(self):
        self.unique_consecutive(self.x, dim=0)


class Norm:
    """The lengths of 100,000 vectors of two numbers. About 15 times as fast since 1.12.0."""

    def setup(self):
        torch, _ = start(threads="1")
        self.x = normal(torch, 100000, 2)

    @metric(
        "norm_last_dim_2_time",
        unit="s",
        direction="lower",
        hot_path="",
        tags=["regressions"],
        summary="norm over a last dimension of 2, for 100,000 rows",
    )
    def time_norm(self):
        self.x.norm(dim=-1)


class Stack:
    """2,048 tensors of eight numbers. More than twice as fast since 1.11.0."""

    def setup(self):
        torch, _ = start(threads="1")
        self.parts = list(normal(torch, 2048, 8).unbind())
        self.stack = torch.stack

    @metric(
        "stack_small_time",
        unit="s",
        direction="lower",
        hot_path="H03",
        tags=["regressions"],
        summary="stack of 2,048 tensors of 8 numbers",
    )
    def time_stack(self):
        self.stack(self.parts)
