"""Machines that disturb measurements, each in its own way.

The logarithm of a sample is that of the true time, plus what its process got (memory layout, placement), plus what the
machine does at that moment, plus noise of its own. Every machine has the same noise between and within processes, as
standard deviations of the logarithm; what else happens on it is its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np

from harness.calibration.layout import Floats, Layout

__all__ = ["BETWEEN", "MACHINES", "WITHIN", "Machine"]

#: Standard deviation between processes, and of the samples of one process.
BETWEEN = 0.02
WITHIN = 0.01


class Machine(Protocol):
    """Something that benchmarks run on."""

    def run(self, rng: np.random.Generator, layout: Layout, rows: int) -> Floats:
        """Logarithms of the times of unchanged code: rows x 2 sides x processes x samples."""
        ...


class Phases(Protocol):
    """What a machine does as time goes by."""

    def slowed(self, rng: np.random.Generator, at: Floats) -> Floats:
        """By how much it is slower (log scale) at these seconds, of any shape, within one row."""
        ...


@dataclass(frozen=True, slots=True)
class Steady:
    """Always the same."""

    def slowed(self, rng: np.random.Generator, at: Floats) -> Floats:  # noqa: ARG002
        """Not at all."""
        return np.zeros_like(at)


@dataclass(frozen=True, slots=True)
class Drift:
    """Gets slower as it warms up, and has warmed up for a while already.

    Attributes:
        by: How much slower it is when warm.
        seconds: The time constant.
    """

    by: float = 0.10
    seconds: float = 60.0

    def slowed(self, rng: np.random.Generator, at: Floats) -> Floats:
        """An exponential approach, from a random moment on."""
        slowed: Floats = self.by * (1 - np.exp(-(at + rng.uniform(0, self.seconds)) / self.seconds))
        return slowed


@dataclass(frozen=True, slots=True)
class Switching:
    """Is slow for a while, then fast for a while, with exponential holding times.

    Attributes:
        by: How much slower it is while slow.
        slow: Seconds that it stays slow, in the mean.
        fast: Seconds that it stays fast.
    """

    by: float
    slow: float
    fast: float

    def slowed(self, rng: np.random.Generator, at: Floats) -> Floats:
        """Slow or not at each moment."""
        start = int(rng.random() < self.slow / (self.slow + self.fast))
        count = 20 + int(4 * at.max() / min(self.slow, self.fast))
        holding = np.where((np.arange(count) + start) % 2, self.slow, self.fast)
        switches = np.cumsum(rng.exponential(holding))
        slow = (np.searchsorted(switches, at) + start) % 2
        return self.by * slow.astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Noise of two levels, and phases.

    Attributes:
        phases: What the machine does as time goes by.
        wild: The share of processes that are unlucky, and by how much in the mean (log scale, exponential).
        spikes: The same for samples.
    """

    phases: Phases
    wild: tuple[float, float] = (0.0, 0.0)
    spikes: tuple[float, float] = (0.0, 0.0)

    def run(self, rng: np.random.Generator, layout: Layout, rows: int) -> Floats:
        """Logarithms of the times of unchanged code: rows x 2 sides x processes x samples."""
        at = layout.times()
        shape = (rows, *at.shape)
        process = rng.normal(0, BETWEEN, (*shape[:-1], 1)) + _tail(rng, self.wild, (*shape[:-1], 1))
        sample = rng.normal(0, WITHIN, shape) + _tail(rng, self.spikes, shape)
        phases = np.stack([self.phases.slowed(rng, at) for _ in range(rows)])
        return process + sample + phases


def _tail(rng: np.random.Generator, tail: tuple[float, float], shape: tuple[int, ...]) -> Floats:
    share, size = tail
    if not share:
        return np.zeros(shape)
    return np.where(rng.random(shape) < share, rng.exponential(size, shape), 0.0)


MACHINES: Mapping[str, Machine] = MappingProxyType(
    {
        "Gaussian": Simulated(phases=Steady()),
        "outliers": Simulated(phases=Steady(), wild=(0.1, 0.05), spikes=(0.05, 0.3)),
        "drift": Simulated(phases=Drift()),
        "bursts": Simulated(phases=Switching(by=0.3, slow=5, fast=15)),
        "two modes": Simulated(phases=Switching(by=0.15, slow=30, fast=30)),
    }
)
