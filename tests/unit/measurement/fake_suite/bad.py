"""Benchmarks that do not behave, each in its own way."""

# ruff: noqa: EM101, RUF012  (written as users write benchmarks)

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time


class Bad:
    params = [["raise", "hang", "segfault", "kill", "memory", "skip", "exit", "leave", "starve", "fine"]]
    param_names = ["how"]
    timeout = 2.0
    warmup_time = 0

    def setup(self, how):
        if how == "skip":
            raise NotImplementedError("not on this machine")

    def time_it(self, how):
        print("about to", how)
        getattr(self, "do_" + how)()

    def do_raise(self):
        raise ValueError("a bad\nvalue")

    def do_hang(self):
        # A child that would stay behind.
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", os.environ["MARKER"]])
        time.sleep(600)

    def do_segfault(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        ctypes.string_at(0)

    def do_kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def do_memory(self):
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    def do_exit(self):
        sys.exit(3)

    def do_leave(self):
        os._exit(4)

    def do_starve(self):
        resource.setrlimit(resource.RLIMIT_AS, (512 * 2**20,) * 2)
        bytearray(2 * 2**30)

    def do_fine(self):
        pass


class Elsewhere:
    """Behaves on the side whose variables do not say otherwise."""

    params = [["one", "two", "three"]]

    def setup(self, word):
        if os.environ.get("SKIPS") == word:
            raise NotImplementedError("not on this side")
        if os.environ.get("FAILS") == word:
            raise OSError("no such library")

    def time_it(self, word):
        len(word)

    time_it.version = "1"
    time_it.warmup_time = 0


def time_slow():
    time.sleep(0.05)


time_slow.warmup_time = 0
time_slow.number = 1
time_slow.version = "1"
