"""Claims about what autograd records, what stops it, and what becomes of gradients."""

import gc
import threading
import weakref

from .claims import Claim, claim, failure_of
from .common import make_mlp, normal
from .verdicts import verdict


def quoted(said):
    """What an error said before its first colon; the rest are addresses and hints."""
    return f"'{said.split(':')[0]}'" if said else "nothing"


def fed_back(model, x):
    """Runs a model forward and backward once."""
    model(x).sum().backward()


class Graph(Claim):
    """What nodes keep, and where the graph ends."""

    @claim(
        "C07",
        "claim_nodes_keep_no_values",
        "autograd nodes keep no input values, only references to earlier nodes",
    )
    def track_kept_values(self):
        torch = self.torch
        x = normal(torch, 64).requires_grad_()
        hidden = x * 3
        node = hidden.exp().mul(hidden).grad_fn
        named = sorted(name for name in dir(node) if name.startswith("_saved"))
        product = hidden * hidden
        values = hidden.detach().clone()
        # Nobody but the graph refers to the input now, and the gradient needs its values.
        del hidden
        product.sum().backward()
        right = bool(torch.allclose(x.grad, 2 * values * 3))
        again = x * 3
        product = again * again
        with torch.no_grad():
            again.add_(1)
        refused = failure_of(lambda: product.sum().backward())
        total = x + x
        with torch.no_grad():
            x.add_(1)
        plain = failure_of(lambda: total.sum().backward())
        note = (
            f"after its input was deleted, the backward pass of a product {'still used' if right else 'did not have'} "
            f"the input's values; after it was changed in place, it said {quoted(refused)}; a sum, whose gradient "
            f"needs no values, said {quoted(plain)}; the product's node names "
            f"{', '.join(named) or 'nothing that is saved'}"
        )
        return verdict(not right and refused is None and not named, note)

    @claim("C08", "claim_detach_cuts_at_once", "detach cuts the graph at once")
    def track_detach(self):
        torch = self.torch
        x = normal(torch, 64).requires_grad_()
        kept = _Kept.make(torch)
        hidden = kept.apply(x)
        result = hidden.detach()
        cut = result.grad_fn is None and not result.requires_grad and not (result * 2).requires_grad
        shared = result.data_ptr() == hidden.data_ptr()
        original = hidden.grad_fn is not None
        node = kept.nodes.pop()
        alive = node() is not None
        del hidden
        gone = node() is None
        gc.collect()
        late = node() is None
        note = (
            f"the result of detach {'has no' if cut else 'still has a'} graph and {'shares' if shared else 'copies'} "
            f"the memory; the tensor that it was called on {'keeps its own' if original and alive else 'lost its own'}"
            f", which went {'at once' if gone else 'with the next collection' if late else 'not'} when that tensor did"
        )
        return verdict(cut, note)

    @claim(
        "C09",
        "claim_max_values_break_the_graph",
        "the values returned by max(dim) do not require grad, so subtracting them breaks the graph",
    )
    def track_max(self):
        torch = self.torch
        x = normal(torch, 8, 16).requires_grad_()
        values, indices = x.max(1)
        shifted = x - values.unsqueeze(1)
        failed = failure_of(lambda: (shifted * shifted).sum().backward())
        at = torch.zeros(8, 16).scatter_(1, indices.unsqueeze(1), 1.0)
        difference = (x - x.max(1)[0].unsqueeze(1)).detach()
        expected = 2 * (difference - at * difference.sum(1, keepdim=True))
        right = failed is None and bool(torch.allclose(x.grad, expected, atol=1e-5))
        note = (
            f"values of max(1): requires_grad is {values.requires_grad}, from {type(values.grad_fn).__name__}; "
            f"backward through x - values {'failed: ' + failed if failed else 'ran'}, and its gradient "
            f"{'counts' if right else 'does not count'} the subtracted values"
        )
        return verdict(not values.requires_grad and not right, note)


class _Kept:
    """An autograd function whose nodes can be watched."""

    @staticmethod
    def make(torch):
        nodes = []

        class Kept(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.token = _Token()
                nodes.append(weakref.ref(ctx.token))
                return x * 2

            @staticmethod
            def backward(_, grad):
                return grad * 2

        Kept.nodes = nodes
        return Kept


class _Token:
    """Lives as long as the node that holds it."""


class Gradients(Claim):
    """What lies in `grad`."""

    def setup(self, *_):
        super().setup()
        self.model = make_mlp(self.torch, 64, 2)
        self.x = normal(self.torch, 8, 64)
        self.weight = next(self.model.parameters())

    @claim("C10", "claim_grad_accumulates", "param.grad is a tensor that accumulates over repeated backward calls")
    def track_accumulation(self):
        torch = self.torch
        before = self.weight.grad
        fed_back(self.model, self.x)
        first = self.weight.grad.clone()
        fed_back(self.model, self.x)
        doubled = bool(torch.equal(self.weight.grad, 2 * first))
        kind = type(self.weight.grad)
        note = (
            f"grad was {before} before, a {kind.__name__} after one backward pass, and "
            f"{'twice' if doubled else 'not twice'} that after two"
        )
        return verdict(before is None and issubclass(kind, torch.Tensor) and doubled, note)

    @claim(
        "C11", "claim_zero_grad_keeps_the_tensor", "zero_grad() zeroes the gradient in place rather than dropping it"
    )
    def track_zero_grad(self):
        torch = self.torch
        found = {}
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for name, clear in [("the optimizer", optimizer.zero_grad), ("the module", self.model.zero_grad)]:
            fed_back(self.model, self.x)
            address = self.weight.grad.data_ptr()
            clear()
            left = self.weight.grad
            if left is None:
                found[name] = "None"
            elif bool((left == 0).all()):
                found[name] = "zeros in place" if left.data_ptr() == address else "zeros elsewhere"
            else:
                found[name] = "the gradient"
        said = " and ".join(f"{left} of {name}" for name, left in found.items())
        return verdict(set(found.values()) == {"zeros in place"}, f"zero_grad() left {said}")

    @claim("C12", "claim_grad_address_can_change", "the address of param.grad can change between backward passes")
    def track_address(self):
        moved = {}
        for name, between, create_graph in [
            ("nothing", lambda: None, False),
            ("zeros written into it", self._zero, False),
            ("it set to None", self._drop, False),
            ("nothing, with create_graph=True", lambda: None, True),
        ]:
            for parameter in self.model.parameters():
                parameter.grad = None
            fed_back(self.model, self.x)
            held = self.weight.grad
            address = held.data_ptr()
            between()
            self.model(self.x).pow(2).sum().backward(create_graph=create_graph)
            moved[name] = self.weight.grad.data_ptr() != address
        said = "; ".join(f"{name}: {'moved' if here else 'stayed'}" for name, here in moved.items())
        return verdict(any(moved.values()), f"with this between two backward passes, the gradient moved or not: {said}")

    def _zero(self):
        self.weight.grad.zero_()

    def _drop(self):
        self.weight.grad = None


class Modes(Claim):
    """What `no_grad` does."""

    def setup(self, *_):
        super().setup()
        self.model = make_mlp(self.torch, 64, 2)
        self.x = normal(self.torch, 8, 64)

    @claim("C13", "claim_no_grad_results_require_grad", "a result computed under no_grad still says requires_grad=True")
    def track_requires_grad(self):
        torch = self.torch
        weight = next(self.model.parameters())
        with torch.no_grad():
            results = {"a model": self.model(self.x), "a sum": weight + 1, "a norm": weight.norm()}
            view = weight.view(-1)
            made = torch.ones(2, requires_grad=True)
        requiring = [name for name, result in results.items() if result.requires_grad]
        note = (
            f"{len(requiring)} of {len(results)} results computed under no_grad ({', '.join(results)}) say that they "
            f"require grad, while the weights do; of what is not computed, a view of the weights made there says "
            f"{view.requires_grad}, and a tensor made with requires_grad=True says {made.requires_grad}"
        )
        return verdict(bool(requiring), note)

    @claim("C14", "claim_no_grad_is_process_wide", "no_grad is one switch for the whole process (and not per thread)")
    def track_threads(self):
        torch = self.torch
        seen = {}

        def look(name):
            seen[name] = torch.is_grad_enabled() and self.model(self.x).requires_grad

        def switch_off():
            torch.set_grad_enabled(False)

        waiting = threading.Event()
        earlier = threading.Thread(target=lambda: (waiting.wait(20), look("earlier")), daemon=True)
        earlier.start()
        with torch.no_grad():
            later = threading.Thread(target=look, args=("later",), daemon=True)
            later.start()
            later.join(20)
            waiting.set()
            earlier.join(20)
            here = torch.is_grad_enabled()
        other = threading.Thread(target=switch_off, daemon=True)
        other.start()
        other.join(20)
        after = torch.is_grad_enabled()
        note = (
            f"inside no_grad recording is {'on' if here else 'off'} here, {'on' if seen['later'] else 'off'} in a "
            f"thread that began inside, {'on' if seen['earlier'] else 'off'} in one that began before; after another "
            f"thread switched it off it is {'on' if after else 'off'} here"
        )
        return verdict(not (here or seen["later"] or seen["earlier"] or after), note)

    @claim(
        "C16",
        "claim_penalty_under_no_grad_raises",
        "a gradient penalty computed from outputs made under no_grad raises an error",
    )
    def track_penalty(self):
        torch = self.torch
        x = self.x.clone().requires_grad_()

        def penalty(outputs):
            (gradient,) = torch.autograd.grad(outputs.sum(), x, create_graph=True)
            (gradient.norm(2, dim=1) - 1).pow(2).mean().backward()

        ordinary = failure_of(lambda: penalty(self.model(x)))
        with torch.no_grad():
            outputs = self.model(x)
        raised = failure_of(lambda: penalty(outputs))
        note = (
            f"with outputs made under no_grad the penalty {'raised: ' + raised if raised else 'raised nothing'}; with "
            f"others it {'raised: ' + ordinary if ordinary else 'worked'}"
        )
        return verdict(raised is not None and ordinary is None, note)
