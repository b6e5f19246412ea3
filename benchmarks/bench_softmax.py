"""A stable softmax: made by hand from five operations, and as torch has it in one."""

from .common import DEVICES, THREADS, metric, normal, start

#: Rows for each number of classes: few long rows, as of a vocabulary, and many short ones.
ROWS = {"10": 4096, "10000": 64}


def log_softmax_by_hand(scores):
    """Shifted by the maximum, so that no exponential overflows."""
    shifted = scores - scores.max(1, keepdim=True)[0]
    return shifted - shifted.exp().sum(1, keepdim=True).log()


def cross_entropy_by_hand(scores, targets):
    """The mean of minus the logarithm of what the right classes get."""
    return -log_softmax_by_hand(scores).gather(1, targets.unsqueeze(1)).mean()


def make_scores(torch, classes, device):
    """Scores, and a right class for each row."""
    rows = ROWS[classes]
    scores = normal(torch, rows, int(classes), device=device) * 10
    return scores, torch.arange(rows, device=device) % int(classes)


class LogSoftmax:
    """Forward only."""

    param_names = ["threads", "device", "how", "classes"]
    params = [THREADS, DEVICES, ["by hand", "log_softmax"], list(ROWS)]

    def setup(self, threads, device, how, classes):
        torch, self.wait = start(device, threads)
        self.scores, _ = make_scores(torch, classes, device)
        functional = torch.nn.functional
        self.call = log_softmax_by_hand if how == "by hand" else lambda scores: functional.log_softmax(scores, 1)

    @metric(
        "log_softmax_throughput",
        unit="rows/s",
        direction="higher",
        work=ROWS,
        work_by="classes",
        hot_path="H10",
        tags=["log-softmax"],
        summary="logarithm of a softmax, made by hand or by log_softmax",
    )
    def time_log_softmax(self, *_):
        self.call(self.scores)
        self.wait()


class CrossEntropy:
    """The loss and the gradient of the scores."""

    param_names = ["threads", "device", "how", "classes"]
    params = [THREADS, DEVICES, ["by hand", "cross_entropy"], list(ROWS)]

    def setup(self, threads, device, how, classes):
        torch, self.wait = start(device, threads)
        scores, self.targets = make_scores(torch, classes, device)
        self.scores = scores.requires_grad_()
        self.loss = cross_entropy_by_hand if how == "by hand" else torch.nn.functional.cross_entropy
        self.grad = torch.autograd.grad

    @metric(
        "cross_entropy_throughput",
        unit="rows/s",
        direction="higher",
        work=ROWS,
        work_by="classes",
        hot_path="H10",
        tags=["log-softmax", "backward"],
        summary="cross entropy and its gradient, made by hand or by cross_entropy",
    )
    def time_loss_and_gradient(self, *_):
        self.grad(self.loss(self.scores, self.targets), self.scores)
        self.wait()
