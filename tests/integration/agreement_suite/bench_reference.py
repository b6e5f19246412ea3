"""Statements that say what a metric's benchmark does, timed by `torch.utils.benchmark` on one thread."""

#: A sample takes about as many seconds as one of the harness.
SAMPLE = 0.01


def make_add(torch):
    return "add(a, b)", {"add": torch.add, "a": torch.randn(8), "b": torch.randn(8)}


def make_tensor(torch):
    return "tensor(numbers)", {"tensor": torch.tensor, "numbers": torch.randn(8).tolist()}


def make_view(torch):
    return "view(-1)", {"view": torch.randn(8, 8).view}


def make_item(torch):
    return "x.item()", {"x": torch.randn(1)}


def make_forward(torch):
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(128, 128), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers[:-1])
    names = {"enable_grad": torch.enable_grad, "model": model, "x": torch.randn(32, 128)}
    return "with enable_grad():\n    model(x)", names


def make_products(torch):
    a = torch.randn(64, 96, 96)
    return "bmm(a, b)", {"bmm": torch.bmm, "a": a, "b": a.transpose(1, 2).contiguous()}


def make_convolution(torch):
    names = {"x": torch.randn(8, 64, 56, 56), "weight": torch.randn(64, 64, 3, 3)}
    return "conv2d(x, weight, None, 1, 1)", {"conv2d": torch.nn.functional.conv2d, **names}


def make_log_softmax(torch):
    log_softmax = torch.nn.functional.log_softmax
    return "log_softmax(scores, 1)", {"log_softmax": log_softmax, "scores": torch.randn(4096, 10) * 10}


STATEMENTS = {
    "dispatch_overhead": make_add,
    "tensor_creation_small": make_tensor,
    "view_overhead": make_view,
    "item_round_trip": make_item,
    "mlp_forward": make_forward,
    "batched_matmul_throughput": make_products,
    "conv2d_throughput": make_convolution,
    "log_softmax_throughput": make_log_softmax,
}


class Reference:
    param_names = ["metric"]
    params = [list(STATEMENTS)]
    version = "1"

    def setup(self, name):
        import torch
        from torch.utils.benchmark import Timer

        statement, names = STATEMENTS[name](torch)
        self.timer = Timer(statement, globals=names, num_threads=1)
        self.number = max(1, int(SAMPLE / self.timer.blocked_autorange(min_run_time=0.1).median))

    def track_seconds(self, _):
        return self.timer.timeit(self.number).mean

    track_seconds.unit = "s"
