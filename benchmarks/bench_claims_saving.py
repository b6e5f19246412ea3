"""What is said of saving, loading and capturing models."""

import argparse
import io
import warnings
from collections import OrderedDict

from .claims import claim
from .common import start
from .verdicts import verdict, words_of


class KeyOrder:
    """Modules whose names are registered in an order that is not that of the alphabet."""

    names = ["zulu", "alpha", "mike"]

    def setup(self):
        self.torch, _ = start()

    def keys(self, *registered):
        """The keys of a module for which pairs of a kind and a name are registered in this order."""
        nn, module = self.torch.nn, self.torch.nn.Module()
        for kind, name in registered:
            if kind == "child":
                module.add_module(name, nn.PReLU())
            elif kind == "buffer":
                module.register_buffer(name, self.torch.zeros(1))
            else:
                module.register_parameter(name, nn.Parameter(self.torch.zeros(1)))
        return [key.split(".")[0] for key in module.state_dict()]

    @claim(
        "C17",
        "claim_state_dict_order",
        "state_dict keys come in registration order",
        hot_path="H16",
    )
    def track_registration_order(self):
        """Among parameters, among buffers and among children; the note says in which order the three kinds come."""
        kinds = ["child", "buffer", "parameter"]
        orders = {kind: self.keys(*((kind, name) for name in self.names)) for kind in kinds}
        moved = [kind for kind, order in orders.items() if order != self.names]
        mixed = self.keys(*((kind, kind) for kind in kinds))
        note = (
            f"registered as {', '.join(self.names)}: "
            + "; ".join(f"{kind} keys come as {', '.join(order)}" for kind, order in orders.items())
            + f"; across kinds, child, buffer, parameter come as {', '.join(mixed)}"
        )
        return verdict(not moved, note, orders=orders, across_kinds=mixed)


class OtherKeyOrder:
    """A network with parameters and buffers, loaded from its own keys in reverse."""

    def setup(self):
        self.torch, _ = start()
        self.source, self.target = self.network(), self.network()

    def network(self):
        nn = self.torch.nn
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))

    @claim(
        "C18",
        "claim_strict_needs_key_order",
        "load_state_dict(strict=True) fails when only the key order differs",
        hot_path="H16",
    )
    def track_strict(self):
        state = self.source.state_dict()
        turned = OrderedDict(reversed(list(state.items())))
        try:
            self.target.load_state_dict(turned, strict=True)
        except RuntimeError as error:
            return verdict(True, f"{len(turned)} keys in reverse order were refused: {words_of(error)}")
        loaded = self.target.state_dict()
        equal = sum(bool((loaded[key] == state[key]).all()) for key in state)
        return verdict(False, f"{len(turned)} keys in reverse order were loaded, {equal} of them with the right values")


def step(x):
    """Adds one to more than four rows, and takes one from fewer."""
    if x.size(0) > 4:
        return x + 1
    return x - 1


class Branch:
    """Captured with eight rows, called with two."""

    def setup(self):
        self.torch, _ = start()

    @claim(
        "C19",
        "claim_tracing_freezes_branches",
        "tracing freezes an if on the input's size, scripting keeps it",
        hot_path="H17",
    )
    def track_branch(self):
        torch = self.torch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(step, torch.zeros(8, 1))
            scripted = torch.jit.script(step)
        few = torch.zeros(2, 1)
        python, by_trace, by_script = (call(few)[0, 0].item() for call in (step, traced, scripted))
        note = (
            "on 2 rows, an if on more than 4 rows gives "
            f"{python:+.0f} in Python, {by_trace:+.0f} traced with 8 rows, {by_script:+.0f} scripted"
        )
        return verdict(by_trace != python and by_script == python, note)


class PickledObject:
    """Files that hold a whole module and an ordinary object, loaded with no argument but the file."""

    def setup(self):
        self.torch, _ = start()
        self.objects = {"module": self.torch.nn.Linear(2, 2), "object": argparse.Namespace(epoch=3)}

    def load(self, thing):
        """What `torch.load` says when it refuses, else nothing."""
        file = io.BytesIO()
        self.torch.save(thing, file)
        file.seek(0)
        try:
            self.torch.load(file)
        except Exception as error:  # the type differs by release
            return words_of(error)
        return ""

    @claim(
        "C22",
        "claim_load_refuses_objects",
        "torch.load of a pickled object fails by default",
        hot_path="H16",
    )
    def track_refused(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = {kind: self.load(thing) for kind, thing in self.objects.items()}
        note = "; ".join(f"a pickled {kind}: {words or 'loaded'}" for kind, words in said.items())
        return verdict(all(said.values()), note)
