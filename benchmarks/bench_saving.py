"""Saving and loading: state dicts, files, how long, how large and with how much memory.

Files lie in a folder of their own below the working directory, and in the page cache: what a disk does is not measured.
"""

import inspect
import io
import os
import tempfile
from pathlib import Path

from .common import metric, normal, skip, start
from .memory import PeakMemory

#: How many tensors, and of how many numbers: what a tensor costs, and what its data costs.
CONTENTS = {"300 small": (300, 8), "16 large": (16, 1 << 18)}
#: Arguments of `torch.load`; not every release has all of them.
LOADING = {
    "default": {},
    "weights_only=True": {"weights_only": True},
    "weights_only=False": {"weights_only": False},
    "mmap=True": {"mmap": True},
}


def make_tensors(torch, contents):
    """A dict of tensors, as a state dict is one."""
    count, numbers = CONTENTS[contents]
    return {f"layer{i}.weight": normal(torch, numbers) for i in range(count)}


def make_deep(torch, width):
    """50 linear layers, 100 parameters."""
    return torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(50)])


def loading_arguments(torch, how):
    """Those of `torch.load`, where the release knows them."""
    arguments = LOADING[how]
    for name in arguments:
        if name not in inspect.signature(torch.load).parameters:
            skip(f"this release has no {name} in torch.load")
    return arguments


class Files:
    """A folder for the files of a benchmark, gone after it."""

    folder = None

    def new_file(self):
        self.folder = tempfile.TemporaryDirectory(prefix="saving-", dir=os.curdir)
        return str(Path(self.folder.name).resolve() / "tensors.pt")

    def teardown(self, *_):
        if self.folder is not None:
            self.folder.cleanup()
            self.folder = None


class StateDict:
    """A model of 50 linear layers of 16 x 16: what the modules cost, for nothing is copied."""

    def setup(self):
        torch, _ = start()
        self.model = make_deep(torch, 16)

    @metric(
        "state_dict_time",
        unit="s",
        direction="lower",
        hot_path="H16",
        tags=["saving"],
        summary="state_dict of a model of 50 layers",
    )
    def time_state_dict(self):
        self.model.state_dict()


class LoadStateDict:
    """The same model, and a state dict that has what it asks for: each parameter is copied."""

    param_names = ["strict"]
    params = [["True", "False"]]

    def setup(self, strict):
        torch, _ = start()
        self.model = make_deep(torch, 16)
        self.state = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.strict = strict == "True"

    @metric(
        "load_state_dict_time",
        unit="s",
        direction="lower",
        hot_path="H16",
        tags=["saving"],
        summary="load_state_dict of a model of 50 layers, strict and not",
    )
    def time_load_state_dict(self, *_):
        self.model.load_state_dict(self.state, strict=self.strict)


class Save(Files):
    """Over the same file again and again."""

    param_names = ["contents"]
    params = [list(CONTENTS)]

    def setup(self, contents):
        torch, _ = start()
        self.save = torch.save
        self.tensors = make_tensors(torch, contents)
        self.path = self.new_file()

    @metric(
        "save_time",
        unit="s",
        direction="lower",
        hot_path="H16",
        tags=["saving"],
        summary="torch.save of a dict of many small tensors, or of 16 MiB in a few large ones",
    )
    def time_save(self, *_):
        self.save(self.tensors, self.path)


class Load(Files):
    """What the default means depends on the release."""

    param_names = ["contents", "how"]
    params = [list(CONTENTS), list(LOADING)]

    def setup(self, contents, how):
        torch, _ = start()
        self.load = torch.load
        self.arguments = loading_arguments(torch, how)
        self.path = self.new_file()
        torch.save(make_tensors(torch, contents), self.path)

    @metric(
        "load_time",
        unit="s",
        direction="lower",
        hot_path="H16",
        tags=["saving"],
        summary="torch.load of a dict of many small tensors, or of 16 MiB in a few large ones",
    )
    def time_load(self, *_):
        self.load(self.path, **self.arguments)


class FileSize(Files):
    """2,400 numbers are 9,600 bytes, and 4,194,304 are 16 MiB; the rest is the format's own."""

    param_names = ["contents"]
    params = [list(CONTENTS)]

    def setup(self, contents):
        self.torch, _ = start()
        self.tensors = make_tensors(self.torch, contents)
        self.path = self.new_file()

    @metric(
        "saved_file_size",
        unit="bytes",
        direction="lower",
        hot_path="H16",
        tags=["saving"],
        floor=0.005,
        summary="size of a file with many small tensors, or with 16 MiB in a few large ones",
    )
    def track_size(self, *_):
        self.torch.save(self.tensors, self.path)
        return Path(self.path).stat().st_size


class SavingMemory(Files):
    """Sixteen tensors of 4 MiB, 64 MiB in all.

    They are made and saved, to a file or to memory, or loaded, and one of them read; so their own 64 MiB count, but for
    what `mmap` does not bring into memory.
    """

    param_names = ["what"]
    params = [["save to file", "save to memory", "load", "load mmap=True"]]

    def setup(self, what):
        self.torch, _ = start()
        self.arguments = loading_arguments(self.torch, "mmap=True" if "mmap" in what else "default")
        self.path = self.new_file()
        self.tensors = {f"layer{i}.weight": normal(self.torch, 1 << 20) for i in range(16)}
        self.action = {"save to file": self.save, "save to memory": self.save_to_memory}.get(what, self.load)
        # Code and buffers of the libraries come into memory with the first calls.
        self.save()
        self.load()
        if self.action == self.load:
            self.tensors = None
        self.peak = PeakMemory(self.torch, "cpu")

    def copies(self):
        return {name: tensor.clone() for name, tensor in self.tensors.items()}

    def save(self):
        self.torch.save(self.copies(), self.path)

    def save_to_memory(self):
        self.torch.save(self.copies(), io.BytesIO())

    def load(self):
        self.torch.load(self.path, **self.arguments)["layer0.weight"].sum()

    @metric(
        "saving_peak_memory",
        unit="bytes",
        direction="lower",
        hot_path="H16",
        tags=["saving", "memory"],
        isolate=True,
        full_environment=True,
        summary="memory that saving or loading 64 MiB of tensors takes at its peak",
    )
    def track_peak(self, *_):
        with self.peak:
            self.action()
        return self.peak.bytes
