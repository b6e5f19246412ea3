"""A machine that replays what a real one did: rounds of unchanged code, as the harness measured them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from harness.calibration.layout import Floats, Layout, Order

__all__ = ["Recorded", "recorded"]

FILE = "recorded.json"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Real rounds.

    A row is a metric, and rounds that followed each other, from a random one on. Which process of a round stands for
    which side is drawn anew, so that rows which meet the same round are not the same. Tools that do not measure side by
    side get the processes in the order in which theirs would have run.

    Attributes:
        description: Where and when.
        rounds: By metric, logarithms of seconds: rounds x 2 processes x samples.
    """

    description: str
    rounds: tuple[Floats, ...]

    def run(self, rng: np.random.Generator, layout: Layout, rows: int) -> Floats:
        """Logarithms of the times of unchanged code: rows x 2 sides x processes x samples."""
        return np.stack([self._row(rng, layout) for _ in range(rows)])

    def _row(self, rng: np.random.Generator, layout: Layout) -> Floats:
        rounds = self.rounds[rng.integers(len(self.rounds))]
        needed = layout.processes * (1 if layout.order is Order.SAMPLES else 2)
        at = (rng.integers(len(rounds)) + np.arange(needed)) % len(rounds)
        first = rng.integers(2, size=needed)
        samples = rounds[:, :, : layout.samples]
        match layout.order:
            case Order.SAMPLES:
                return np.stack([samples[at, first], samples[at, 1 - first]])
            case Order.ROUNDS:
                taken = samples[at, first]
                return np.stack([taken[0::2], taken[1::2]])
            case Order.BLOCKS:
                taken = samples[at, first]
                return np.stack([taken[: layout.processes], taken[layout.processes :]])


def recorded() -> Recorded:
    """The rounds that come with the harness."""
    said: dict[str, Any] = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return Recorded(
        description=said["description"],
        rounds=tuple(np.log(np.array(rounds, dtype=np.float64)) for rounds in said["seconds"].values()),
    )
