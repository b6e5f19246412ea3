"""A forward pass that records the graph, and one that does not: time and peak memory."""

from .common import DEVICES, THREADS, make_mlp, metric, normal, skip, start
from .memory import PeakMemory

MODES = ["grad", "no_grad", "inference_mode"]


def mode_of(torch, mode):
    """The context of a mode, made anew for each use."""
    if mode == "grad":
        return torch.enable_grad
    if not hasattr(torch, mode):
        skip(f"this release has no torch.{mode}")
    return getattr(torch, mode)


class MlpForward:
    """Four layers of 128 x 128 over a batch of 32: small enough for recording to show."""

    param_names = ["threads", "device", "mode"]
    params = [THREADS, DEVICES, MODES]

    def setup(self, threads, device, mode):
        torch, self.wait = start(device, threads)
        self.context = mode_of(torch, mode)
        self.model = make_mlp(torch, 128, 4, device)
        self.x = normal(torch, 32, 128, device=device)

    @metric(
        "mlp_forward",
        unit="s",
        direction="lower",
        hot_path="H07",
        tags=["core", "record"],
        summary="forward pass of a small MLP, recording the graph or not",
    )
    def time_forward(self, *_):
        with self.context():
            self.model(self.x)
        self.wait()


class MlpForwardMemory:
    """Six layers of 128 x 128 over a batch of 32,768: each activation is 16 MiB, and a graph keeps most of them."""

    param_names = ["device", "mode"]
    params = [DEVICES, MODES]

    def setup(self, device, mode):
        torch, _ = start(device)
        self.context = mode_of(torch, mode)
        self.model = make_mlp(torch, 128, 6, device)
        self.x = normal(torch, 32768, 128, device=device)
        with self.context():
            # Code and buffers of the libraries come into memory with the first call.
            self.model(self.x[:64])
        self.peak = PeakMemory(torch, device)

    @metric(
        "mlp_forward_peak_memory",
        unit="bytes",
        direction="lower",
        hot_path="H07",
        tags=["record", "memory"],
        isolate=True,
        full_environment=True,
        summary="memory that a forward pass of an MLP takes at its peak",
    )
    def track_peak(self, *_):
        with self.context(), self.peak:
            self.model(self.x)
        return self.peak.bytes
