"""Small CPU work of three kinds, of which a planted share is added: 1.05 does a twentieth more calls."""

import os

#: Calls of a loop when nothing is planted: 3, 5 and 10 % of it are whole numbers.
CALLS = 200


def planted():
    """How much work there is: in ASV's project the commit says it, elsewhere the variable PLANTED."""
    try:
        import planted_factor
    except ImportError:
        return float(os.environ.get("PLANTED", "1"))
    return planted_factor.FACTOR


class Planted:
    version = "1"

    def setup(self):
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.calls = range(round(CALLS * planted()))
        self.small = torch.ones(8)
        self.long = torch.rand(20000)
        self.square = torch.rand(96, 96)
        self.exp = torch.exp
        self.matmul = torch.matmul

    def time_add(self):
        small = self.small
        for _ in self.calls:
            small + small

    def time_exp(self):
        exp, long = self.exp, self.long
        for _ in self.calls:
            exp(long)

    def time_matmul(self):
        matmul, square = self.matmul, self.square
        for _ in self.calls:
            matmul(square, square)


for _name, _what in (
    ("add", "tiny additions"),
    ("exp", "exponentials of 20,000 numbers"),
    ("matmul", "products of 96 x 96"),
):
    _function = getattr(Planted, f"time_{_name}")
    _function.metric = f"planted_{_name}"
    _function.metric_unit = "s"
    _function.direction = "lower"
    _function.tags = ["planted"]
    _function.summary = f"{CALLS} {_what}, and what is planted"
