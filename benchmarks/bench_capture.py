"""Capturing a graph: what `jit.trace`, `jit.script` and `torch.compile` take, and how fast the result runs."""

import functools
import importlib.util
import os
import shutil
import sysconfig
import tempfile
import time
import warnings
from pathlib import Path

from .common import DEVICES, THREADS, metric, normal, skip, start

CAPTURES = ["trace", "script", "compile"]
#: A compilation with all that it imports takes half a minute on two busy cores.
PATIENCE = 300.0
#: Calls after which every capture has done its work: an executor optimises after it has profiled a first one.
CALLS = 3


def make_model(torch, device):
    """Four times a linear layer, GELU and a layer norm, 256 wide: products, and chains of small operations to fuse."""
    nn = torch.nn
    layers = []
    for _ in range(4):
        layers += [nn.Linear(256, 256), nn.GELU(), nn.LayerNorm(256)]
    return nn.Sequential(*layers).to(device).eval()


@functools.lru_cache(maxsize=None)
def isolate_caches():
    """Makes compilers keep what they keep in a folder that is empty now, and goes with this process.

    One for the whole process: torch.compile remembers where it has put its headers. It lies in the working folder,
    which the harness removes even when this process is killed.
    """
    folder = tempfile.TemporaryDirectory(prefix="caches-", dir=Path.cwd())
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        os.environ[name] = str(Path(folder.name) / name)
    # Otherwise a pool of processes compiles, which outlives the compilation.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    return folder


class Capture:
    """Captures a model."""

    def prepare(self, device, capture, threads="default"):
        isolate_caches()
        self.torch, self.wait = start(device, threads)
        self.model = make_model(self.torch, device)
        self.x = normal(self.torch, 64, 256, device=device)
        self.capture = getattr(self, capture)
        if capture == "compile":
            self.require_compiler(device)

    def require_compiler(self, device):
        torch = self.torch
        if not hasattr(torch, "compile"):
            skip("this release has no torch.compile")
        if device == "cpu":
            compiler = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++", "c++")), "")
            if not shutil.which(compiler):
                skip("there is no C++ compiler: no g++, clang++, c++ on PATH and no CXX")
            if not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
                skip("this Python has no headers: no Python.h")
            # Its compiler imports it, which old releases do not say in their requirements.
            if importlib.util.find_spec("setuptools") is None:
                skip("setuptools is not installed")
        try:
            torch.compile(self.model)
        except RuntimeError as error:
            if "not" in str(error) and "support" in str(error):
                skip(f"torch.compile: {str(error).splitlines()[0]}")
            raise

    def eager(self):
        return self.model

    def trace(self):
        return self.torch.jit.trace(self.model, self.x)

    def script(self):
        return self.torch.jit.script(self.model)

    def compile(self):
        return self.torch.compile(self.model)

    def call_first(self):
        """The captured model, after the calls in which it gets ready."""
        with warnings.catch_warnings(), self.torch.no_grad():
            warnings.simplefilter("ignore")
            captured = self.capture()
            for _ in range(CALLS):
                captured(self.x)
        self.wait()
        return captured


class CaptureTime(Capture):
    """In a fresh process, with all that a capture imports, and three calls."""

    param_names = ["device", "capture"]
    params = [DEVICES, CAPTURES]

    def setup(self, device, capture):
        self.prepare(device, capture)

    @metric(
        "capture_time",
        unit="s",
        direction="lower",
        hot_path="H17",
        tags=["capture"],
        timeout=PATIENCE,
        summary="capturing a model of 12 layers in a fresh process, and its first three calls",
    )
    def track_capture(self, *_):
        begin = time.perf_counter()
        self.call_first()
        return time.perf_counter() - begin


class CapturedRun(Capture):
    """One forward pass, warm; eager beside it."""

    param_names = ["threads", "device", "capture"]
    params = [THREADS, DEVICES, ["eager", *CAPTURES]]

    def setup(self, threads, device, capture):
        self.prepare(device, capture, threads)
        self.captured = self.call_first()

    @metric(
        "captured_run_time",
        unit="s",
        direction="lower",
        hot_path="H17",
        tags=["capture"],
        timeout=PATIENCE,
        summary="forward pass of a captured model of 12 layers over a batch of 64",
    )
    def time_run(self, *_):
        with self.torch.no_grad():
            self.captured(self.x)
        self.wait()
