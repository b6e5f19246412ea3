"""Convolution in two dimensions: forward, forward and backward; layers, number formats, memory formats.

All see a batch of 8, so that a call is 8 images.
"""

from .common import DEVICES, THREADS, metric, normal, skip_unless_supported, start

BATCH = 8
#: Channels in and out, kernel, groups, height and width. A pointwise layer is a matmul, which has its own file.
LAYERS = {
    "3x3 64->64 at 56x56": (64, 64, 3, 1, 56),
    "depthwise 3x3 64 at 28x28": (64, 64, 3, 64, 28),
}


class Layer:
    """The input, the weight and the gradient of the output of a layer, and its two passes."""

    def __init__(self, torch, shape, device, dtype="float32", memory_format="contiguous_format"):
        channels, outputs, kernel, self.groups, side = shape
        self.padding = kernel // 2
        layout = getattr(torch, memory_format)

        def tensor(*sizes):
            return normal(torch, *sizes, device=device, dtype=dtype).contiguous(memory_format=layout)

        self.x = tensor(BATCH, channels, side, side)
        self.weight = tensor(outputs, channels // self.groups, kernel, kernel)
        self.gradient = tensor(BATCH, outputs, side, side)
        self.conv2d = torch.nn.functional.conv2d
        self.grad = torch.autograd.grad

    def forward(self):
        return self.conv2d(self.x, self.weight, None, 1, self.padding, 1, self.groups)

    def require_gradients(self):
        self.x.requires_grad_()
        self.weight.requires_grad_()
        return self

    def forward_and_backward(self):
        return self.grad(self.forward(), (self.x, self.weight), self.gradient)


class Conv2d:
    """Contiguous float32."""

    param_names = ["threads", "device", "layer"]
    params = [THREADS, DEVICES, list(LAYERS)]

    def setup(self, threads, device, layer):
        torch, self.wait = start(device, threads)
        self.layer = Layer(torch, LAYERS[layer], device)

    @metric(
        "conv2d_throughput",
        unit="images/s",
        direction="higher",
        work=BATCH,
        hot_path="H11",
        tags=["core", "conv"],
        summary="forward pass of a convolution",
    )
    def time_forward(self, *_):
        self.layer.forward()
        self.wait()


class Conv2dTraining:
    """Contiguous float32; gradients of the input and of the weight."""

    param_names = ["threads", "device", "layer"]
    params = [THREADS, DEVICES, list(LAYERS)]

    def setup(self, threads, device, layer):
        torch, self.wait = start(device, threads)
        self.layer = Layer(torch, LAYERS[layer], device).require_gradients()

    @metric(
        "conv2d_training_throughput",
        unit="images/s",
        direction="higher",
        work=BATCH,
        hot_path="H11",
        tags=["conv", "backward"],
        summary="forward and backward pass of a convolution",
    )
    def time_training(self, *_):
        self.layer.forward_and_backward()
        self.wait()


class Conv2dFormats:
    """A 3 x 3 layer of 64 to 64 channels at 14 x 14.

    Small, because a release without a bfloat16 kernel for the processor takes a thousand times as long.
    """

    param_names = ["threads", "device", "dtype", "memory_format"]
    params = [THREADS, DEVICES, ["float32", "bfloat16"], ["contiguous_format", "channels_last"]]
    shape = (64, 64, 3, 1, 14)

    def setup(self, threads, device, dtype, memory_format):
        torch, self.wait = start(device, threads)
        self.layer = Layer(torch, self.shape, device, dtype, memory_format)
        if dtype != "float32":
            skip_unless_supported(self.layer.forward, f"conv2d in {dtype}")

    @metric(
        "conv2d_formats_throughput",
        unit="images/s",
        direction="higher",
        work=BATCH,
        hot_path="H11",
        tags=["conv", "formats"],
        summary="forward pass of a convolution in each number and memory format",
    )
    def time_forward(self, *_):
        self.layer.forward()
        self.wait()


class Conv2dFormatsTraining:
    """The same layer; gradients of the input and of the weight."""

    param_names = Conv2dFormats.param_names
    params = Conv2dFormats.params

    def setup(self, threads, device, dtype, memory_format):
        torch, self.wait = start(device, threads)
        self.layer = Layer(torch, Conv2dFormats.shape, device, dtype, memory_format).require_gradients()
        if dtype != "float32":
            skip_unless_supported(self.layer.forward_and_backward, f"gradients of conv2d in {dtype}")

    @metric(
        "conv2d_formats_training",
        unit="images/s",
        direction="higher",
        work=BATCH,
        hot_path="H11",
        tags=["conv", "formats", "backward"],
        summary="forward and backward pass of a convolution in each number and memory format",
    )
    def time_training(self, *_):
        self.layer.forward_and_backward()
        self.wait()
