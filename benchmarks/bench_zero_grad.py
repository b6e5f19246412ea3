"""Clearing gradients: dropping them or filling them with zeros, and what happens to their memory."""

from .common import DEVICES, THREADS, explain, make_mlp, metric, normal, start


def make_optimizer(torch, model):
    """Its `zero_grad` is what training loops call."""
    return torch.optim.SGD(model.parameters(), lr=0.1)


class ZeroGrad:
    """Eight parameters, 1 MiB in all. Each call first puts the same gradients back, so that it has some to clear."""

    param_names = ["threads", "device", "leaves"]
    params = [THREADS, DEVICES, ["None", "zeros"]]

    def setup(self, threads, device, leaves):
        torch, self.wait = start(device, threads)
        model = make_mlp(torch, 256, 4, device)
        self.optimizer = make_optimizer(torch, model)
        self.gradients = [(parameter, torch.ones_like(parameter)) for parameter in model.parameters()]
        self.drop = leaves == "None"

    @metric(
        "zero_grad_time",
        unit="s",
        direction="lower",
        hot_path="H09",
        tags=["zero-grad"],
        summary="zero_grad of a small MLP, leaving None or zeros",
    )
    def time_zero_grad(self, *_):
        for parameter, gradient in self.gradients:
            parameter.grad = gradient
        self.optimizer.zero_grad(set_to_none=self.drop)
        self.wait()


class ZeroGradBackward:
    """What the choice costs later: a backward pass keeps its result where there is none, and adds it to zeros.

    The same MLP over a batch of 8; its graph is recorded in `setup` and kept.
    """

    param_names = ["threads", "device", "leaves"]
    params = [THREADS, DEVICES, ["None", "zeros"]]

    def setup(self, threads, device, leaves):
        torch, self.wait = start(device, threads)
        model = make_mlp(torch, 256, 4, device)
        self.optimizer = make_optimizer(torch, model)
        self.loss = model(normal(torch, 8, 256, device=device)).square().mean()
        self.drop = leaves == "None"

    @metric(
        "zero_grad_backward_time",
        unit="s",
        direction="lower",
        hot_path="H09",
        tags=["zero-grad", "backward"],
        summary="zero_grad and the backward pass after it, with None or zeros between",
    )
    def time_zero_grad_and_backward(self, *_):
        self.optimizer.zero_grad(set_to_none=self.drop)
        self.loss.backward(retain_graph=True)
        self.wait()


class GradientAddress:
    """Whether gradients stay where they are, over five backward passes.

    The first gradients are held during that time. Otherwise dropped ones leave memory that the next ones may or may not
    get again, as luck has it.
    """

    param_names = ["device", "cleared_by"]
    params = [DEVICES, ["nothing", "zero_grad()", "set_to_none=False", "set_to_none=True"]]
    passes = 5

    def setup(self, device, cleared_by):
        self.torch, self.wait = start(device)
        self.model = make_mlp(self.torch, 64, 2, device)
        self.x = normal(self.torch, 8, 64, device=device)
        optimizer = make_optimizer(self.torch, self.model)
        self.cleared_by = cleared_by
        self.clear = {
            "nothing": lambda: None,
            "zero_grad()": optimizer.zero_grad,
            "set_to_none=False": lambda: optimizer.zero_grad(set_to_none=False),
            "set_to_none=True": lambda: optimizer.zero_grad(set_to_none=True),
        }[cleared_by]

    @metric(
        "gradient_address_stable",
        unit="holds",
        direction="higher",
        hot_path="H09",
        tags=["behaviour", "zero-grad"],
        summary="grad.data_ptr() is the same after each backward pass",
    )
    def track_stable(self, *_):
        addresses, held = [], []
        for _ in range(self.passes):
            self.clear()
            self.model(self.x).square().mean().backward()
            gradients = [parameter.grad for parameter in self.model.parameters()]
            held = held or gradients
            addresses.append([gradient.data_ptr() for gradient in gradients])
        self.wait()
        different = [len(set(of_one)) for of_one in zip(*addresses)]
        explain(
            note=f"cleared by {self.cleared_by}, the gradients of {len(different)} parameters were at up to "
            f"{max(different)} addresses each in {self.passes} backward passes",
        )
        return float(max(different) == 1)
