"""Matrix products: one large, many small, and a linear layer, in float32.

Work counts a multiplication and an addition as two operations; a linear layer's bias is not counted. What a device
may round (TF32) is left at its default, which is part of what a release changes.
"""

from .common import DEVICES, THREADS, metric, normal, start

GIGA = 1e9


class Matmul:
    """1000 x 1000 times 1000 x 1000."""

    param_names = ["threads", "device"]
    params = [THREADS, DEVICES]

    def setup(self, threads, device):
        torch, self.wait = start(device, threads)
        self.matmul = torch.matmul
        self.a = normal(torch, 1000, 1000, device=device)
        self.b = normal(torch, 1000, 1000, device=device).t().contiguous()

    @metric(
        "matmul_throughput",
        unit="GFLOP/s",
        direction="higher",
        work=2 * 1000**3 / GIGA,
        hot_path="H12",
        tags=["core", "matmul"],
        summary="product of two matrices of 1000 x 1000",
    )
    def time_matmul(self, *_):
        self.matmul(self.a, self.b)
        self.wait()


class BatchedMatmul:
    """64 products of 96 x 96, as in the heads of an attention layer."""

    param_names = ["threads", "device"]
    params = [THREADS, DEVICES]

    def setup(self, threads, device):
        torch, self.wait = start(device, threads)
        self.bmm = torch.bmm
        self.a = normal(torch, 64, 96, 96, device=device)
        self.b = self.a.transpose(1, 2).contiguous()

    @metric(
        "batched_matmul_throughput",
        unit="GFLOP/s",
        direction="higher",
        work=2 * 64 * 96**3 / GIGA,
        hot_path="H12",
        tags=["matmul"],
        summary="64 products of matrices of 96 x 96",
    )
    def time_bmm(self, *_):
        self.bmm(self.a, self.b)
        self.wait()


class Linear:
    """256 rows through a layer of 1024 to 1024."""

    param_names = ["threads", "device"]
    params = [THREADS, DEVICES]

    def setup(self, threads, device):
        torch, self.wait = start(device, threads)
        self.linear = torch.nn.functional.linear
        self.x = normal(torch, 256, 1024, device=device)
        self.weight = normal(torch, 1024, 1024, device=device)
        self.bias = normal(torch, 1024, device=device)

    @metric(
        "linear_throughput",
        unit="GFLOP/s",
        direction="higher",
        work=2 * 256 * 1024**2 / GIGA,
        hot_path="H12",
        tags=["matmul"],
        summary="a linear layer of 1024 to 1024 over 256 rows",
    )
    def time_linear(self, *_):
        self.linear(self.x, self.weight, self.bias)
        self.wait()
