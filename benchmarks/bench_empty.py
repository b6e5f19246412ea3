"""Nothing: what a timed call carries beside its operation."""

from .common import DEVICES, metric, start


class Empty:
    """ASV's call of a method that only waits for an idle device; for the CPU that is a function without content.

    Each timed metric contains this much, once for a call. Read it against the smallest of them.
    """

    param_names = ["device"]
    params = [DEVICES]

    def setup(self, device):
        _, self.wait = start(device)

    @metric(
        "empty_call_overhead",
        unit="s",
        direction="lower",
        hot_path="",
        tags=["overhead"],
        floor=0.1,
        summary="a timed call that does nothing but wait for an idle device",
    )
    def time_nothing(self, *_):
        self.wait()
