"""The switches that a cell can set inside its measured process: one table, on the standard library alone.

The worker loads this file by path on the cell's Python (3.8 or newer), so it imports nothing of the harness.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["FLAGS", "FlagError", "apply_flags"]


class FlagError(Exception):
    """A flag that is not in the table, or a value that it cannot take."""


def _switch(value: str) -> bool:
    if value.lower() in ("1", "on", "true", "yes"):
        return True
    if value.lower() in ("0", "off", "false", "no"):
        return False
    message = f"it takes on or off, not {value!r}"
    raise ValueError(message)


def _deterministic(torch: Any, value: str) -> None:
    # Releases before 1.8 have the older name.
    setter = getattr(torch, "use_deterministic_algorithms", None) or torch.set_deterministic
    setter(_switch(value))


def _tf32(torch: Any, value: str) -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = _switch(value)


def _cudnn(torch: Any, value: str) -> None:
    torch.backends.cudnn.enabled = _switch(value)


def _cudnn_benchmark(torch: Any, value: str) -> None:
    torch.backends.cudnn.benchmark = _switch(value)


#: What sets each flag, given torch and the value in the cell's id.
FLAGS: Mapping[str, Callable[[Any, str], object]] = {
    "anomaly": lambda torch, value: torch.autograd.set_detect_anomaly(_switch(value)),
    "cudnn": _cudnn,
    "cudnn_benchmark": _cudnn_benchmark,
    "default_dtype": lambda torch, value: torch.set_default_dtype(getattr(torch, value)),
    "deterministic": _deterministic,
    "flush_denormal": lambda torch, value: torch.set_flush_denormal(_switch(value)),
    "grad": lambda torch, value: torch.set_grad_enabled(_switch(value)),
    "matmul_precision": lambda torch, value: torch.set_float32_matmul_precision(value),
    "mkldnn": lambda torch, value: torch._C._set_mkldnn_enabled(_switch(value)),
    "num_interop_threads": lambda torch, value: torch.set_num_interop_threads(int(value)),
    "num_threads": lambda torch, value: torch.set_num_threads(int(value)),
    "tf32": _tf32,
}


def apply_flags(flags: Mapping[str, str]) -> None:
    """Sets flags in this process; torch is imported only when there is one to set.

    Raises:
        FlagError: A flag is not in the table, cannot take its value, or does not exist in this torch.
    """
    unknown = sorted(set(flags) - set(FLAGS))
    if unknown:
        message = f"unknown flag {', '.join(unknown)}; known are {', '.join(sorted(FLAGS))}"
        raise FlagError(message)
    for name, value in sorted(flags.items()):
        _apply(name, value)


def _apply(name: str, value: str) -> None:
    torch = importlib.import_module("torch")
    try:
        FLAGS[name](torch, value)
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        message = f"flag {name}={value} cannot be set here: {error}"
        raise FlagError(message) from error
