"""Backward: through an MLP and a convnet, over micro-batches, and through the gradient itself."""

from .common import DEVICES, THREADS, make_mlp, metric, normal, start


def make_convnet(torch, device):
    """Three 3 x 3 convolutions, halving the image twice, and a linear layer: 57,000 parameters."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    ).to(device)


def forget_gradients(parameters):
    """As an optimizer does by default since 2.0: the next backward pass keeps its result instead of adding to one."""
    for parameter in parameters:
        parameter.grad = None


class Backward:
    """One graph, recorded in `setup`, is walked again and again: `retain_graph` keeps what it saved."""

    param_names = ["threads", "device"]
    params = [THREADS, DEVICES]

    def keep_graph_of(self, model, x):
        self.parameters = list(model.parameters())
        self.loss = model(x).square().mean()

    def backward(self):
        forget_gradients(self.parameters)
        self.loss.backward(retain_graph=True)
        self.wait()


class MlpBackward(Backward):
    """Four layers of 128 x 128, a batch of 32."""

    def setup(self, threads, device):
        torch, self.wait = start(device, threads)
        self.keep_graph_of(make_mlp(torch, 128, 4, device), normal(torch, 32, 128, device=device))

    @metric(
        "mlp_backward",
        unit="s",
        direction="lower",
        hot_path="H08",
        tags=["core", "backward"],
        summary="backward pass of a small MLP",
    )
    def time_backward(self, *_):
        self.backward()


class ConvnetBackward(Backward):
    """A batch of 8 images of 3 x 32 x 32."""

    def setup(self, threads, device):
        torch, self.wait = start(device, threads)
        self.keep_graph_of(make_convnet(torch, device), normal(torch, 8, 3, 32, 32, device=device))

    @metric(
        "convnet_backward",
        unit="s",
        direction="lower",
        hot_path="H08",
        tags=["core", "backward"],
        summary="backward pass of a small convolutional network",
    )
    def time_backward(self, *_):
        self.backward()


class Accumulation:
    """Gradients of 128 samples, in one batch and added up over four micro-batches; forward included."""

    param_names = ["threads", "device", "micro_batches"]
    params = [THREADS, DEVICES, ["1", "4"]]

    def setup(self, threads, device, micro_batches):
        torch, self.wait = start(device, threads)
        self.model = make_mlp(torch, 128, 4, device)
        self.parameters = list(self.model.parameters())
        self.parts = normal(torch, 128, 128, device=device).chunk(int(micro_batches))

    @metric(
        "gradient_accumulation_throughput",
        unit="samples/s",
        direction="higher",
        work=128,
        hot_path="H08",
        tags=["backward"],
        summary="gradients of 128 samples of a small MLP, whole or in micro-batches",
    )
    def time_accumulate(self, *_):
        forget_gradients(self.parameters)
        for part in self.parts:
            self.model(part).square().sum().div(128).backward()
        self.wait()


class DoubleBackward:
    """A gradient penalty: the gradient of how far the norm of another gradient is from 1; forward included."""

    param_names = ["threads", "device"]
    params = [THREADS, DEVICES]

    def setup(self, threads, device):
        self.torch, self.wait = start(device, threads)
        self.model = make_mlp(self.torch, 128, 4, device)
        self.parameters = list(self.model.parameters())
        self.x = normal(self.torch, 32, 128, device=device).requires_grad_()

    @metric(
        "double_backward",
        unit="s",
        direction="lower",
        hot_path="H08",
        tags=["backward"],
        summary="gradient penalty of a small MLP: a gradient through a gradient",
    )
    def time_penalty(self, *_):
        forget_gradients([*self.parameters, self.x])
        (gradient,) = self.torch.autograd.grad(self.model(self.x).sum(), self.x, create_graph=True)
        (gradient.norm(dim=1) - 1).square().mean().backward()
        self.wait()
