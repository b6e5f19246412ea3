"""How a run measures: rounds, samples, time, scheduling. Written into the run's header."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a run measures.

    Attributes:
        rounds: Rounds that every row gets.
        max_rounds: Rounds that an undecided row gets at most; equal to `rounds` for no extra ones.
        batch: Extra rounds between two looks at the verdicts.
        samples: Samples of each process and row, at most.
        min_samples: Samples that are taken even when the budget is spent.
        budget: Seconds of sampling for each process and row, after which no further sample is taken.
        repeats: Turns that a row gets beyond `samples` at most, in place of those that were disturbed.
        calm: A sample is calm when the fixed loop around it took at most this many times as long as it ever did.
        pin: Whether the processes of a round share one processor where the benchmark runs in one thread.
        gap: Seconds after a sample at most, in which its spinning OpenMP threads go to sleep before the next process.
        timeout: Seconds that one command may take when the benchmark does not say.
        start_timeout: Seconds that importing the suite may take.
        affinity: Processors that measured processes may run on; empty for all.
        realtime: SCHED_FIFO priority of measured processes, where that is permitted; 0 for ordinary scheduling.
        strict_host: Whether warnings of the host check stop the run.
        seed: Orders the benchmarks within each round.
    """

    rounds: int = 5
    max_rounds: int = 20
    batch: int = 5
    samples: int = 20
    min_samples: int = 5
    budget: float = 0.7
    repeats: int = 20
    calm: float = 1.2
    pin: bool = True
    gap: float = 0.05
    timeout: float = 60.0
    start_timeout: float = 180.0
    affinity: tuple[int, ...] = ()
    realtime: int = 0
    strict_host: bool = False
    seed: int = 0
