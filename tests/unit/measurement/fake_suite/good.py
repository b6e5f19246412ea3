"""Benchmarks that behave."""

# ruff: noqa: ARG002, RUF012  (written as users write benchmarks)

import os
import sys


def time_plain():
    sum(range(50))


def time_noisy():
    print("on standard output")
    print("on standard error", file=sys.stderr)
    os.write(1, b"straight to the descriptor\n")
    print("\x1e{} looks like an answer")


time_noisy.number = 3
time_noisy.warmup_time = 0


class Pair:
    params = [["a", "b"], [1, 2]]
    param_names = ["letter", "number"]
    version = "7"
    warmup_time = 0.01

    def setup(self, letter, number):
        self.data = [letter] * number

    def time_copy(self, letter, number):
        list(self.data)


class Isolating:
    number = 4
    warmup_time = 0
    setups = 0

    def setup(self):
        Isolating.setups += 1

    def time_fresh(self):
        pass

    def track_setups(self):
        return Isolating.setups


class Cached:
    params = [1, 2]
    calls = 0

    def setup_cache(self):
        return {"made": 1}

    def setup(self, cache, number):
        # Each parameter set has a copy of its own.
        cache["made"] += number

    def track_cache(self, cache, number):
        return cache["made"]


def track_number():
    return 42


track_number.unit = "things"


def track_nothing():
    return float("nan")


def track_text():
    return "many"


def timeraw_import():
    return "import json"


def peakmem_megabytes():
    return bytearray(64 * 2**20)


def track_standard_input():
    return len(sys.stdin.read())


def track_sees_harness():
    return sum("measurement" in path for path in sys.path)
