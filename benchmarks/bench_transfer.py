"""Between host and device: copies to the device, copies beside computation, and single numbers back."""

import itertools

from .common import DEVICES, metric, normal, skip, start, start_on_device

#: Numbers in a tensor of each size.
SIZES = {"4 KiB": 1 << 10, "64 MiB": 1 << 24}
GIGA = 1e9


class HostToDevice:
    """Into memory that is there on the device. The copy has arrived when the call ends, also a `non_blocking` one."""

    param_names = ["device", "host_memory", "size"]
    params = [DEVICES, ["pageable", "pinned", "pinned non_blocking"], list(SIZES)]

    def setup(self, device, host_memory, size):
        torch, self.wait = start_on_device(device, "memory of their own")
        self.host = normal(torch, SIZES[size])
        if host_memory != "pageable":
            self.host = self.host.pin_memory()
        self.non_blocking = "non_blocking" in host_memory
        self.target = torch.empty(SIZES[size], device=device)
        self.wait()

    @metric(
        "host_to_device_throughput",
        unit="GB/s",
        direction="higher",
        work={size: 4 * numbers / GIGA for size, numbers in SIZES.items()},
        work_by="size",
        hot_path="H06",
        tags=["transfer"],
        summary="copy from the host to a device, from pageable and from pinned memory",
    )
    def time_copy(self, *_):
        self.target.copy_(self.host, non_blocking=self.non_blocking)
        self.wait()


class Overlap:
    """64 MiB to the device and four products of 2048 x 2048: on one stream, or on one each.

    The host memory is pinned and the copy `non_blocking`; without that nothing overlaps.
    """

    param_names = ["device", "copy"]
    params = [DEVICES, ["before", "beside"]]

    def setup(self, device, copy):
        torch, self.wait = start_on_device(device, "memory of their own")
        backend = getattr(torch, device)
        if not hasattr(backend, "Stream"):
            skip(f"this release has no streams on {device}")
        self.on = backend.stream
        self.stream = backend.Stream() if copy == "beside" else backend.current_stream()
        self.host = normal(torch, SIZES["64 MiB"]).pin_memory()
        self.target = torch.empty(SIZES["64 MiB"], device=device)
        self.mm = torch.mm
        self.a = normal(torch, 2048, 2048, device=device)
        self.out = torch.empty(2048, 2048, device=device)
        self.wait()

    @metric(
        "copy_and_compute_time",
        unit="s",
        direction="lower",
        hot_path="H06",
        tags=["transfer", "streams"],
        summary="a copy to the device before or beside matrix products",
    )
    def time_both(self, *_):
        with self.on(self.stream):
            self.target.copy_(self.host, non_blocking=True)
        for _ in range(4):
            self.mm(self.a, self.a, out=self.out)
        self.wait()


class Item:
    """The number in a tensor of one, as a Python number, 1,000 times: a device has to be waited for each time."""

    param_names = ["device"]
    params = [DEVICES]
    count = 1000

    def setup(self, device):
        torch, self.wait = start(device)
        self.x = normal(torch, 1, device=device)

    @metric(
        "item_round_trip",
        unit="s",
        direction="lower",
        work=1000,
        hot_path="H06",
        tags=["transfer"],
        summary="one number from a tensor to Python",
    )
    def time_item(self, *_):
        for x in itertools.repeat(self.x, self.count):
            x.item()
        self.wait()
