"""Claims about constructors, and about which tensors share memory."""

import sys

from .claims import Claim, claim, failure_of
from .common import normal, numpy_or_skip
from .memory import give_large_blocks_back, status_bytes
from .verdicts import verdict


def storage_of(tensor):
    """The storage, without a type where the release knows such: the typed one is deprecated there."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def name_of(dtype):
    """`float32`."""
    return str(dtype).split(".")[-1]


class Dtype(Claim):
    """Of a tensor in place of data the second half of the statement is tried alone."""

    param_names = ["data"]
    params = [["lists and arrays", "a tensor"]]

    @claim(
        "C01",
        "claim_tensor_infers_dtype",
        "torch.tensor infers the dtype from its data, torch.Tensor always gives the default float type",
    )
    def track_dtype(self, data):
        return self._of_data() if data == "lists and arrays" else self._of_a_tensor()

    def _of_data(self):
        torch = self.torch
        numbers = numpy_or_skip()
        data = {
            "int64": [1, 2],
            "float32": [1.5, 2.0],
            "bool": [True, False],
            "complex64": [1j],
            "int16": numbers.array([1, 2], dtype="int16"),
            "float64": numbers.array([1.0, 2.0]),
        }
        inferred = {wanted: name_of(torch.tensor(value).dtype) for wanted, value in data.items()}
        # Complex numbers do not fit into a float: it may refuse them, but may not become another type.
        given, refused = set(), []
        for kind, value in data.items():
            why = failure_of(lambda value=value: given.add(name_of(torch.Tensor(value).dtype)))
            refused += [kind] if why else []
        changed = self._with_default(torch.float64, lambda: torch.Tensor([1, 2]))
        note = (
            f"of {', '.join(data)} data torch.tensor made {', '.join(inferred.values())}; torch.Tensor made "
            f"{', '.join(sorted(given))} of the same, {changed} when the default is float64, and refused "
            f"{', '.join(refused) or 'none'}"
        )
        right = all(wanted == found for wanted, found in inferred.items())
        return verdict(right and given == {"float32"} and changed == "float64", note)

    def _of_a_tensor(self):
        torch = self.torch
        found = []
        why = failure_of(lambda: found.append(name_of(torch.Tensor(torch.tensor([1, 2])).dtype)))
        said = f"refuses it: {why}" if why else f"gives {found[0]}"
        return verdict(bool(why) or found == ["float32"], f"torch.Tensor of an int64 tensor {said}")

    def _with_default(self, dtype, make):
        before = self.torch.get_default_dtype()
        self.torch.set_default_dtype(dtype)
        try:
            return name_of(make().dtype)
        finally:
            self.torch.set_default_dtype(before)


class Constructors(Claim):
    @claim(
        "C02",
        "claim_tensor_of_a_number",
        "torch.Tensor(3) makes an uninitialised vector of three elements, torch.tensor(3) a scalar",
    )
    def track_number(self):
        torch = self.torch
        vector, scalar = torch.Tensor(3), torch.tensor(3)
        # Memory that was written and freed just before: who sets it to zero would show zeros.
        old = 0
        length = 1000
        for _ in range(20):
            used = torch.full((length,), 7.0)
            del used
            old = max(old, int((torch.Tensor(length) == 7.0).sum()))
        note = (
            f"torch.Tensor(3) has shape {tuple(vector.shape)}, torch.tensor(3) has shape {tuple(scalar.shape)} and "
            f"dtype {name_of(scalar.dtype)}; torch.Tensor({length}) showed up to {old} numbers of a freed tensor"
        )
        return verdict(tuple(vector.shape) == (3,) and scalar.shape == () and int(scalar) == 3 and old > 0, note)


class Storage(Claim):
    @claim("C03", "claim_view_shares_storage", "a view shares its base's storage, a clone does not")
    def track_sharing(self):
        base = normal(self.torch, 16, 16)
        address = storage_of(base).data_ptr()
        views = {
            "view": base.view(256),
            "slice": base[2:5],
            "transpose": base.t(),
            "detach": base.detach(),
            "expand": base[:1].expand(4, 16),
        }
        sharing = [kind for kind, view in views.items() if storage_of(view).data_ptr() == address]
        clone = base.clone()
        base.fill_(7.0)
        seen = [kind for kind, view in views.items() if bool((view == 7.0).all())]
        apart = storage_of(clone).data_ptr() != address and not bool((clone == 7.0).any())
        note = (
            f"{len(sharing)} of {len(views)} kinds of views ({', '.join(views)}) had the base's storage and "
            f"{len(seen)} showed what was written into it; a clone {'had its own' if apart else 'did not have its own'}"
        )
        return verdict(len(sharing) == len(seen) == len(views) and apart, note)

    @claim(
        "C04",
        "claim_storage_nbytes_is_the_size",
        "the storage's nbytes is the real size, sys.getsizeof of the tensor is not",
    )
    def track_size(self):
        torch = self.torch
        give_large_blocks_back()
        torch.ones(1 << 20).add_(1)
        before = status_bytes("VmRSS")
        length = 1 << 25
        tensor = torch.ones(length)
        held = status_bytes("VmRSS") - before
        told = sys.getsizeof(tensor)
        small = sys.getsizeof(torch.ones(1))
        storage = storage_of(tensor[:1])
        if not hasattr(storage, "nbytes"):
            return verdict(False, f"the storage has no nbytes; getsizeof says {told} bytes of {held:,} held")
        says = storage.nbytes() if callable(storage.nbytes) else storage.nbytes
        note = (
            f"a tensor of {length * 4:,} bytes, of which one number is viewed, took {held:,} bytes of memory; the "
            f"storage's nbytes says {says:,}, sys.getsizeof {told:,} (and {small:,} for a tensor of one number)"
        )
        return verdict(abs(says / held - 1) < 0.02 and abs(told / held - 1) > 0.02, note)

    @claim(
        "C06",
        "claim_write_into_view_copies",
        "writing into a view triggers a copy-on-write of the shared storage",
    )
    def track_copy_on_write(self):
        torch = self.torch
        kinds = {
            "view": lambda base: base.view(256),
            "slice": lambda base: base[2:5],
            "transpose": lambda base: base.t(),
            "reshape": lambda base: base.reshape(4, 64),
            "detach": lambda base: base.detach(),
        }
        copied = []
        for kind, make in kinds.items():
            base = torch.zeros(16, 16)
            view = make(base)
            before = storage_of(view).data_ptr()
            view.fill_(7.0)
            moved = storage_of(view).data_ptr() != before or storage_of(base).data_ptr() != before
            if moved or not bool((base == 7.0).any()):
                copied.append(kind)
        lazy = "; torch._lazy_clone, which is no view, copies when written to" if self._lazy_clone_copies() else ""
        note = (
            f"{len(copied)} of {len(kinds)} kinds of views ({', '.join(kinds)}) moved to other memory when written into"
            f"; the base showed what was written into {len(kinds) - len(copied)}{lazy}"
        )
        return verdict(bool(copied), note)

    def _lazy_clone_copies(self):
        torch = self.torch
        if not hasattr(torch, "_lazy_clone"):
            return False
        base = torch.zeros(16)
        lazy = torch._lazy_clone(base)
        lazy.fill_(7.0)
        return not bool((base == 7.0).any())
