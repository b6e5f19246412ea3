"""Reproducible training: the loss after each of 20 seeded steps, from run to run and against one thread."""

import hashlib
import math
import os
import struct
from pathlib import Path

from .children import in_child
from .common import SEED, THREADS, explain, load_torch, make_mlp, metric, normal, set_threads, start

MODELS = ["cnn", "mlp"]
STEPS = 20
#: Seconds for a child to import torch and to train.
PATIENCE = 100
#: How far losses may be apart, as a share: other orders of summation come to a thousandth of it.
TOLERANCE = 0.001


def make_cnn(torch):
    """Two 3 x 3 convolutions with 64 channels and a linear layer, for images of 8 x 16 x 16.

    The numbers are chosen: with 3 channels, or fewer outputs, oneDNN's gradient of the weights does not go wrong but
    waits for ever where the OpenMP runtime runs fewer threads than it says.
    """
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(8, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 8 * 8, 10),
    )


def train(name, threads="default"):
    """The losses of 20 steps of Adam on one batch of 16, as hexadecimal numbers: nothing is rounded."""
    torch = load_torch()
    set_threads(torch, threads)
    torch.manual_seed(SEED)
    if name == "cnn":
        model, x = make_cnn(torch), normal(torch, 16, 8, 16, 16)
    else:
        model, x = torch.nn.Sequential(make_mlp(torch, 256, 4), torch.nn.Linear(256, 10)), normal(torch, 16, 256)
    labels = torch.arange(16) % 10
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    curve = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        curve.append(loss.item().hex())
    return curve


def first_difference(curve, other):
    """The first step, from 1, at which two curves are not the same bits, or 0; a NaN is the same as a NaN."""
    return next((step for step, (a, b) in enumerate(zip(curve, other), 1) if a != b), 0)


def distance(a, b):
    """How far two losses are apart, as a share of the larger; infinite where one is no number."""
    a, b = float.fromhex(a), float.fromhex(b)
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0


def ulps(a, b):
    """How many float32 numbers two losses are apart; infinite where one is no number."""
    a, b = float.fromhex(a), float.fromhex(b)
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(_ordinal(a) - _ordinal(b))


def _ordinal(number):
    bits = struct.unpack("<i", struct.pack("<f", number))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def told(curve, other, what):
    """One sentence: equal, or where two curves part and how far."""
    step = first_difference(curve, other)
    if not step:
        return f"{STEPS} losses, bitwise equal to {what}; the last is {float.fromhex(curve[-1]):.9g}"
    a, b = curve[step - 1], other[step - 1]
    largest = max(map(distance, curve, other))
    return (
        f"step {step} of {STEPS} is the first that differs from {what}: {float.fromhex(a):.9g} against "
        f"{float.fromhex(b):.9g}, {ulps(a, b):g} ULP, relative {distance(a, b):.3g}; the largest relative difference "
        f"of any step is {largest:.3g}"
    )


def explain_curve(curve, note, **more):
    """Stores the curve with the value, so that those of other releases and machines can be held against it."""
    explain(note=note, curve=curve, hash=hashlib.sha256("\n".join(curve).encode()).hexdigest(), **more)


class Repeats:
    """The same training twice."""

    param_names = ["threads", "model"]
    params = [THREADS, MODELS]

    def setup(self, threads, model):
        start()
        self.curve = train(model, threads)

    @metric(
        "training_repeats",
        unit="holds",
        direction="higher",
        hot_path="H20",
        tags=["reproducible", "behaviour"],
        timeout=PATIENCE,
        summary="two seeded trainings in one process give bitwise equal losses",
    )
    def track_in_process(self, threads, model):
        again = train(model, threads)
        explain_curve(self.curve, told(again, self.curve, "the first run in the same process"))
        return float(again == self.curve)

    @metric(
        "training_repeats_in_new_process",
        unit="holds",
        direction="higher",
        hot_path="H20",
        tags=["reproducible", "behaviour"],
        timeout=2.0 * PATIENCE,
        summary="seeded trainings in two processes give bitwise equal losses",
    )
    def track_in_new_process(self, threads, model):
        again = in_child(train, model, threads, timeout=PATIENCE)
        explain_curve(self.curve, told(again, self.curve, "the run in another process"))
        return float(again == self.curve)


#: What could make a runtime run other threads than it says, or replace it.
_THREAD_SETTINGS = ("OMP_", "GOMP_", "KMP_", "MKL_", "LD_PRELOAD")
_RUNTIMES = ("libgomp*", "libiomp5*", "libomp*")


def honest_variables(environ):
    """These variables with one thread and without what could make an OpenMP runtime say other than it does."""
    kept = {name: value for name, value in environ.items() if not name.startswith(_THREAD_SETTINGS)}
    kept["OMP_NUM_THREADS"] = kept["MKL_NUM_THREADS"] = "1"
    folders = kept.pop("LD_LIBRARY_PATH", "").split(os.pathsep)
    folders = [folder for folder in folders if folder and not any(any(Path(folder).glob(g)) for g in _RUNTIMES)]
    if folders:
        kept["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
    return kept


class Reference:
    """Training with the settings of this process, against one thread that cannot be wrong about how many there are.

    Gradients go wrong without a word where the OpenMP runtime runs fewer threads than it says: `OMP_THREAD_LIMIT=1`,
    `OMP_DYNAMIC=true`, a runtime that was preloaded. Both trainings are children, for the same fault can make one
    wait for ever.
    """

    param_names = ["model"]
    params = [MODELS]

    def setup(self, model):
        start()
        self.reference = in_child(train, model, "1", timeout=PATIENCE, variables=honest_variables(os.environ))

    @metric(
        "training_matches_reference",
        unit="holds",
        direction="higher",
        hot_path="H20",
        tags=["reproducible", "behaviour"],
        timeout=2.0 * PATIENCE,
        summary="losses with the threads of this process are those of one thread, but for rounding",
    )
    def track_reference(self, model):
        says = load_torch().get_num_threads()
        what = f"one honest thread (this process says {says})"
        try:
            curve = in_child(train, model, timeout=PATIENCE)
        except RuntimeError as error:
            explain(note=f"the training fails, and does not with {what}: {str(error)[:300]}", reference=self.reference)
            return 0.0
        explain_curve(curve, told(curve, self.reference, what), reference=self.reference)
        return float(max(map(distance, curve, self.reference)) <= TOLERANCE)
