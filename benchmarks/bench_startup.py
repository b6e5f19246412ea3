"""Starting up: what `import torch` takes in a fresh process, and the first call after it.

Each sample is a process of its own, so that the measuring process never imports torch here.
"""

import importlib.util

from .common import DEVICES, metric, new_process, skip
from .memory import status_bytes

#: Seconds for one fresh process; an import from a cold disk takes tens of seconds.
PATIENCE = 100


def require_torch():
    """Fails in `setup`, before anything is timed, when torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        message = "torch is not installed"
        raise RuntimeError(message)


class ImportTime:
    """Without the start of the interpreter itself. One import before brings the files into the page cache."""

    number = 1
    repeat = (1, 3, 10.0)
    warmup_time = 0.001

    def setup(self):
        require_torch()

    @metric(
        "import_time",
        unit="s",
        direction="lower",
        hot_path="H19",
        tags=["startup"],
        full_environment=True,
        timeout=4.0 * PATIENCE,
        summary="import of torch in a fresh process",
    )
    def timeraw_import(self):
        return "import torch"


class ImportMemory:
    def setup(self):
        require_torch()
        status_bytes("VmRSS")

    @metric(
        "import_memory",
        unit="bytes",
        direction="lower",
        hot_path="H19",
        tags=["startup", "memory"],
        full_environment=True,
        timeout=PATIENCE + 20.0,
        summary="resident memory of a process that has imported torch",
    )
    def track_resident(self):
        return new_process(IMPORT_MEMORY, PATIENCE)


IMPORT_MEMORY = """
import re, torch
print(int(re.search(r"VmRSS:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) * 1024)
"""


class FirstCall:
    """The first operation and its result after an import: on a device it starts the driver and loads kernels."""

    param_names = ["device"]
    params = [DEVICES]

    def setup(self, device):
        require_torch()
        self.device = device
        if device != "cpu" and not new_process(DEVICE_PRESENT.format(device=device), PATIENCE):
            skip(f"no {device} device")

    @metric(
        "first_call_time",
        unit="s",
        direction="lower",
        hot_path="H19",
        tags=["startup"],
        full_environment=True,
        timeout=2.0 * PATIENCE + 20.0,
        summary="first operation of a process after the import of torch",
    )
    def track_first_call(self, *_):
        return new_process(FIRST_CALL.format(device=self.device), PATIENCE)


DEVICE_PRESENT = """
import torch
backend = getattr(torch.backends if "{device}" == "mps" else torch, "{device}", None)
print(int(backend is not None and backend.is_available()))
"""
FIRST_CALL = """
import time, torch
start = time.perf_counter()
torch.ones(8, device="{device}").add(1).sum().item()
print(time.perf_counter() - start)
"""
