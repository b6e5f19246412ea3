"""What all benchmarks share: how a metric is declared, seeded inputs, devices and threads, skips.

Only append here. A change of an input or of a helper changes what benchmarks measure without changing their versions.
"""

import functools
import json
import os
import re
import subprocess
import sys

#: "default" is what a user gets who sets nothing. It comes first, so that a process that walks through all parameter
#: sets has not touched torch's threads yet when it gets there.
THREADS = ["default", "1"]
#: A ROCm build answers to "cuda" too. "xpu" and "mps" are understood as well: append them to measure there.
DEVICES = ["cpu", "cuda"]
SEED = 20211121

_threads_at_start = None


def metric(
    name,
    *,
    unit,
    direction,
    hot_path,
    summary,
    work=1,
    work_by="",
    tags=(),
    claim="",
    floor=0.03,
    isolate=False,
    full_environment=False,
    requires=(),
    enough_rounds=0,
    seconds=2.0,
    version="1",
    timeout=60.0,
):
    """Declares what a benchmark function measures, as function attributes that ASV copies into its `benchmarks.json`.

    The value of a timed metric is `work / seconds` where higher is better, and `seconds / work` where lower is. That of
    any other is the number that the benchmark returns.

    Args:
        name: The name of the metric, unique in the suite.
        unit: The unit of its value.
        direction: "higher" or "lower", whichever is better.
        hot_path: Which hot path it stands for (`H11`), or empty.
        summary: One line for the list of metrics.
        work: What one call does, in units of the metric; or a mapping from the values of the parameter `work_by`.
        work_by: The name of that parameter.
        tags: What the metric can be selected by; "core" marks the small set that is measured by default.
        claim: Which claim it tests, if any.
        floor: The smallest ratio of change that matters.
        isolate: Whether each parameter set needs a fresh process.
        full_environment: Whether it says something wrong in an environment that runs on stub libraries.
        enough_rounds: Rounds after which an answer that was always the same is believed; 0 for as many as others get,
            and 2 for what holds or does not.
        seconds: How long one process takes for one set of parameters, roughly; for plans.
        requires: Packages that it needs beside torch and numpy; cells in which it is measured get them.
        version: Change it when the benchmark measures something else: old results are then set aside.
        timeout: Seconds.
    """
    if direction not in ("higher", "lower"):
        message = f"metric {name}: direction is {direction!r}, not 'higher' or 'lower'"
        raise ValueError(message)
    if bool(work_by) != isinstance(work, dict):
        message = f"metric {name}: a mapping as work needs work_by, and a number has none"
        raise ValueError(message)
    attributes = {
        "metric": name,
        "metric_unit": unit,
        "direction": direction,
        "hot_path": hot_path,
        "summary": summary,
        "work": work,
        "work_by": work_by,
        "tags": list(tags),
        "claim": claim,
        "floor": floor,
        "isolate": isolate,
        "full_environment": full_environment,
        "requires": list(requires),
        "enough_rounds": enough_rounds or (2 if unit == "holds" else 0),
        "seconds": seconds,
        "version": version,
        "timeout": timeout,
    }

    def declare(function):
        for key, value in attributes.items():
            setattr(function, key, value)
        if not function.__name__.startswith("time"):
            # ASV knows the unit of a time itself; dashboards take any other number for higher-is-better.
            function.unit = unit
            function.less_is_better = direction == "lower"
        return function

    return declare


def explain(**details):
    """Says something beside the value that is returned: a sentence, a list of numbers; the harness stores it with it.

    Under a plain `asv run` nobody listens.
    """
    path = os.environ.get("HARNESS_DETAILS")
    if path:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123  (as small as can be, in a measured process)
            file.write(json.dumps(details) + "\n")


def skip(reason):
    """Ends a `setup`: these parameters cannot be measured here, and that is no failure.

    Raises:
        NotImplementedError: ASV's sign for it.
    """
    raise NotImplementedError(reason)


def load_torch():
    """Imports torch; called in `setup`, where ASV expects failures and keeps what they say.

    Raises:
        RuntimeError: torch is missing or broken. It is a failure and never a skip: each environment promises torch.
    """
    try:
        import torch
    except Exception as error:
        message = f"torch cannot be imported: {type(error).__name__}: {error}"
        raise RuntimeError(message) from error
    return torch


def start(device="cpu", threads="default"):
    """Begins a `setup`: imports torch, seeds it, sets the number of threads.

    Returns:
        The torch module, and a function that waits until the device has done all that it was given.

    Raises:
        NotImplementedError: A skip: the device is not here, or the pair of device and threads says nothing new.
    """
    torch = load_torch()
    if device != "cpu" and threads != "default":
        skip(f"CPU threads do not matter to work on {device}: measured with the default")
    if not device_present(torch, device):
        skip(f"no {device} device")
    set_threads(torch, threads)
    torch.manual_seed(SEED)
    return torch, waiter(torch, device)


def set_threads(torch, threads):
    """Sets the threads of one operation to a number, or back to what they were in the beginning.

    torch is told only what changes: setting threads also changes MKL's own choice, even when the number is the same.
    """
    global _threads_at_start  # noqa: PLW0603  (a setting of the whole process, as torch's own is)
    now = torch.get_num_threads()
    if _threads_at_start is None:
        _threads_at_start = now
    wanted = _threads_at_start if threads == "default" else int(threads)
    if wanted != now:
        torch.set_num_threads(wanted)


def device_present(torch, device):
    """Whether this build can use the device and the device is here."""
    if device == "cpu":
        return True
    where = torch.backends if device == "mps" else torch
    backend = getattr(where, device, None)
    return backend is not None and backend.is_available()


def waiter(torch, device):
    """A function that returns when all work on the device is done. Timed calls end with it."""
    if device == "cpu":
        return _done_already
    return getattr(torch, device).synchronize


def _done_already():
    """Work on the CPU is done when the call returns."""


def normal(torch, *shape, device="cpu", dtype="float32"):
    """Normally distributed numbers: the same ones for a shape in each process, on each device and in each dtype."""
    generator = torch.Generator().manual_seed(functools.reduce(lambda seed, n: (seed * 31 + n) % 2**31, shape, SEED))
    return torch.randn(*shape, generator=generator).to(device, getattr(torch, dtype))


def make_mlp(torch, width, depth, device="cpu"):
    """A multilayer perceptron of `depth` square linear layers, a ReLU after each but the last."""
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Linear(width, width), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).to(device)


def numpy_or_skip():
    """numpy, which torch can do without."""
    try:
        import numpy
    except ModuleNotFoundError:
        skip("numpy is not installed")
    return numpy


def skip_unless_supported(call, what):
    """Tries an operation once, and skips if this build or this processor has no implementation of it.

    Raises:
        NotImplementedError: A skip, with torch's own words.
        RuntimeError: The operation failed in another way.
    """
    try:
        call()
    except RuntimeError as error:  # a NotImplementedError is one too
        words = str(error).strip().splitlines() or [type(error).__name__]
        if isinstance(error, NotImplementedError) or re.search(r"not (implemented|supported)|unsupported", words[0]):
            skip(f"{what}: {words[0]}")
        raise


def new_process(code, timeout):
    """Runs Python code in a fresh process of the same environment and returns the number that it prints.

    Raises:
        RuntimeError: The process failed; carries the end of what it said.
    """
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=timeout, capture_output=True)
    if done.returncode != 0:
        message = f"status {done.returncode}: {done.stderr.decode(errors='replace')[-1000:]}"
        raise RuntimeError(message)
    return float(done.stdout)


def start_on_device(device, what):
    """As `start`, for what the CPU has not (`what` names it): skips there."""
    torch, wait = start(device)
    if device == "cpu":
        skip(f"only devices have {what}")
    return torch, wait
