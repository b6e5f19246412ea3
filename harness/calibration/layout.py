"""How a tool spends its processes on one row: how many, how many samples each, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

__all__ = ["SAMPLE", "START", "Floats", "Layout", "Order"]

Floats = npt.NDArray[np.float64]

#: Seconds that a process takes to start, to import and to warm up.
START = 1.0
#: Seconds of one sample.
SAMPLE = 0.01


class Order(StrEnum):
    """In which order the processes of two sides are measured."""

    #: All of the baseline, then all of the candidate.
    BLOCKS = "one side after the other"
    #: A process of each side in turn.
    ROUNDS = "processes in turn"
    #: Two processes side by side, taking samples in turn.
    SAMPLES = "samples in turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a tool measures for one row.

    Attributes:
        processes: Of each side.
        samples: Of each process.
        order: In which order.
    """

    processes: int
    samples: int
    order: Order

    def times(self) -> Floats:
        """When each sample begins, in seconds: sides x processes x samples."""
        process, sample = np.arange(self.processes)[:, None], np.arange(self.samples)[None, :]
        life = START + SAMPLE * self.samples
        match self.order:
            case Order.BLOCKS:
                first = process * life + sample * SAMPLE
                return np.stack([first, first + self.processes * life])
            case Order.ROUNDS:
                first = 2 * process * life + sample * SAMPLE
                return np.stack([first, first + life])
            case Order.SAMPLES:
                turn = 2 * process * life + 2 * sample * SAMPLE
                # A B, B A, A B ...
                late = ((sample + process) % 2) * SAMPLE
                return np.stack([turn + late, turn + SAMPLE - late])
