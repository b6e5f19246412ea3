"""Whole training steps: forward, loss, backward and optimizer of a residual network and of a transformer.

Learning rates are zero. The optimizer does all its work and the weights stay, so that each call is the same step.
"""

from .common import DEVICES, THREADS, metric, normal, start

#: Samples in a batch.
BATCH = {"resnet": 16, "transformer": 8}
TOKENS = 64
LENGTH = 32


def make_resnet(torch):
    """A stem and three residual blocks of 16, 32 and 64 channels, the last two halving the image: 78,000 parameters."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels, outputs, stride):
            super().__init__()
            self.straight = nn.Sequential(
                nn.Conv2d(channels, outputs, 3, stride=stride, padding=1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(),
                nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                nn.BatchNorm2d(outputs),
            )
            self.around = nn.Identity()
            if channels != outputs:
                self.around = nn.Sequential(
                    nn.Conv2d(channels, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x):
            return torch.relu(self.straight(x) + self.around(x))

    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        Block(16, 16, 1),
        Block(16, 32, 2),
        Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def make_transformer(torch):
    """Two pre-norm blocks of width 64 with four heads, over sequences of 32 out of 64 tokens: 110,000 parameters.

    `MultiheadAttention` chooses its own way through a release's kernels.
    """
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.before_attention = nn.LayerNorm(width)
            self.attention = nn.MultiheadAttention(width, heads)
            self.feed_forward = nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x):
            y = self.before_attention(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return x + self.feed_forward(x)

    class Transformer(nn.Module):
        def __init__(self, width=64, heads=4, depth=2):
            super().__init__()
            self.tokens = nn.Embedding(TOKENS, width)
            self.positions = nn.Parameter(torch.zeros(LENGTH, 1, width))
            self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
            self.scores = nn.Linear(width, TOKENS)

        def forward(self, tokens):
            return self.scores(self.blocks(self.tokens(tokens) + self.positions)).flatten(0, 1)

    return Transformer()


def make_task(torch, model, device):
    """The model, its inputs, its targets and its optimizer."""
    if model == "resnet":
        network = make_resnet(torch).to(device)
        inputs = normal(torch, BATCH[model], 3, 32, 32, device=device)
        targets = torch.arange(BATCH[model], device=device) % 10
        return network, inputs, targets, torch.optim.SGD(network.parameters(), lr=0.0, momentum=0.9)
    network = make_transformer(torch).to(device)
    # Positions come first, as MultiheadAttention has them in all releases; a token is followed by the next number.
    inputs = (torch.arange(LENGTH * BATCH[model], device=device) * 7 % TOKENS).view(LENGTH, BATCH[model])
    targets = (inputs + 1).flatten() % TOKENS
    return network, inputs, targets, torch.optim.AdamW(network.parameters(), lr=0.0)


class TrainingStep:
    """16 images of 3 x 32 x 32 with SGD and momentum, or 8 sequences of 32 tokens with AdamW."""

    param_names = ["threads", "device", "model"]
    params = [THREADS, DEVICES, list(BATCH)]

    def setup(self, threads, device, model):
        torch, self.wait = start(device, threads)
        self.model, self.inputs, self.targets, self.optimizer = make_task(torch, model, device)
        self.loss = torch.nn.functional.cross_entropy
        self.wait()

    @metric(
        "training_throughput",
        unit="samples/s",
        direction="higher",
        work=BATCH,
        work_by="model",
        hot_path="H13",
        tags=["training", "backward"],
        summary="a training step of a small residual network and of a small transformer",
    )
    def time_step(self, *_):
        self.optimizer.zero_grad()
        self.loss(self.model(self.inputs), self.targets).backward()
        self.optimizer.step()
        self.wait()
