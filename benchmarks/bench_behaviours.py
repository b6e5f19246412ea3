"""Behaviours that changed at a release: 1.0 where torch behaves as the summary says, 0.0 where it does not.

What raises an error behaves otherwise too: the note carries the error.
"""

import warnings

from .common import metric, normal, numpy_or_skip, start
from .verdicts import verdict, words_of


class Behaviour:
    """Each of these is asked once, on the CPU, in one thread."""

    def setup(self):
        self.torch, _ = start(threads="1")


class ClearedGradient(Behaviour):
    @metric(
        "zero_grad_leaves_none",
        unit="holds",
        direction="higher",
        hot_path="H09",
        tags=["behaviour"],
        summary="optimizer.zero_grad() leaves None in .grad, not zeros",
    )
    def track_none(self):
        torch = self.torch
        weight = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        weight.sum().backward()
        optimizer.zero_grad()
        left = None if weight.grad is None else weight.grad.tolist()
        return verdict(left is None, f"after zero_grad(), .grad is {left}")


class FloorDivision(Behaviour):
    @metric(
        "floor_division_floors",
        unit="holds",
        direction="higher",
        hot_path="",
        tags=["behaviour"],
        summary="torch.tensor([-7]) // 2 is -4, rounded down, not -3",
    )
    def track_quotient(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quotient = (self.torch.tensor([-7]) // 2).item()
        return verdict(quotient == -4, f"torch.tensor([-7]) // 2 is {quotient}", quotient=quotient)


class DebugFlag(Behaviour):
    @metric(
        "version_says_debug",
        unit="holds",
        direction="higher",
        hot_path="",
        tags=["behaviour"],
        summary="torch.version.debug says that this is a debug build",
    )
    def track_debug(self):
        debug = self.torch.version.debug
        return verdict(debug is True, f"torch.version.debug is {debug!r} in torch {self.torch.__version__}")


class Encoder(Behaviour):
    """A transformer encoder that leaves its fast path as soon as a gradient is recorded."""

    def setup(self):
        super().setup()
        nn = self.torch.nn
        # Batches come first since 1.9.0. The fast path, which is what may go wrong, needs that.
        self.batch_first = hasattr(nn.MultiheadAttention(4, 2), "batch_first")
        options = {"batch_first": True} if self.batch_first else {}
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, **options).eval()
        self.x = self.batch(normal(self.torch, 2, 6, 16))

    def batch(self, x):
        """A batch in the order that the layer wants."""
        return x if self.batch_first else x.transpose(0, 1)

    def answer(self, call, grad):
        """What a call gives, and the error if it raises one."""
        with warnings.catch_warnings(), self.torch.set_grad_enabled(grad):
            warnings.simplefilter("ignore")
            try:
                return self.batch(call().detach()), ""
            except Exception as error:  # the behaviour that is asked for
                return None, words_of(error)


class EncoderLayerMask(Encoder):
    @metric(
        "encoder_takes_bool_mask",
        unit="holds",
        direction="higher",
        hot_path="",
        tags=["behaviour"],
        summary="a TransformerEncoderLayer takes a 2-D bool src_mask under no_grad",
    )
    def track_mask(self):
        mask = self.torch.ones(6, 6).triu(1) > 0
        wanted, error = self.answer(lambda: self.layer(self.x, src_mask=mask), grad=True)
        if error:
            return verdict(False, f"fails with and without grad: {error}")
        found, error = self.answer(lambda: self.layer(self.x, src_mask=mask), grad=False)
        if error:
            return verdict(False, f"works with grad and fails under no_grad: {error}")
        apart = (found - wanted).abs().max().item()
        return verdict(apart < 1e-4, f"under no_grad and with grad the outputs differ by {apart:.1g} at most")


class EncoderPadding(Encoder):
    @metric(
        "encoder_keeps_padded_length",
        unit="holds",
        direction="higher",
        hot_path="",
        tags=["behaviour"],
        summary="a TransformerEncoder keeps the length of input whose last columns are all padding",
    )
    def track_length(self):
        torch = self.torch
        encoder = torch.nn.TransformerEncoder(self.layer, 2).eval()
        padding = torch.zeros(2, 6) > 0
        padding[:, 4:] = True
        found, error = self.answer(lambda: encoder(self.x, src_key_padding_mask=padding), grad=False)
        if error:
            return verdict(False, f"fails: {error}")
        length = found.shape[1]
        return verdict(length == 6, f"6 columns, of which the last 2 are padding, come out as {length}", length=length)


class Solve(Behaviour):
    @metric(
        "torch_solve_exists",
        unit="holds",
        direction="higher",
        hot_path="",
        tags=["behaviour"],
        summary="torch.solve exists and solves",
    )
    def track_solve(self):
        torch = self.torch
        if not hasattr(torch, "solve"):
            return verdict(False, "torch has no attribute solve")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                solution = torch.solve(torch.ones(2, 1), 2 * torch.eye(2))[0]
        except RuntimeError as error:  # a name that is left to say where to go
            return verdict(False, f"torch.solve is there and says {words_of(error)}")
        return verdict(solution.tolist() == [[0.5], [0.5]], f"torch.solve gives {solution.flatten().tolist()}")


class ToNumpy(Behaviour):
    """numpy is whatever the environment has. A torch built for numpy 1 imports beside numpy 2, but cannot use it."""

    def setup(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            super().setup()
        self.numpy = numpy_or_skip()

    @metric(
        "tensor_to_numpy_works",
        unit="holds",
        direction="higher",
        hot_path="",
        tags=["behaviour"],
        summary="torch.ones(2).numpy() works with the numpy that is installed",
    )
    def track_numpy(self):
        versions = f"torch {self.torch.__version__} with numpy {self.numpy.__version__}"
        try:
            array = self.torch.ones(2).numpy()
        except Exception as error:  # the behaviour that is asked for
            return verdict(False, f"{versions}: {words_of(error)}")
        return verdict(array.tolist() == [1.0, 1.0], f"{versions}: torch.ones(2).numpy() gives {array.tolist()}")
