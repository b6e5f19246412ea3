"""What the harness measures, and what `torch.utils.benchmark` measures of the same statement, side by side.

Both run in live processes of one environment and take samples in turn, milliseconds apart, so that a slow phase of the
machine meets both. A table of the figures is printed whatever the outcome.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.environments.variables import clean_variables
from harness.measurement.options import Options
from harness.measurement.process import MeasuredProcess
from harness.measurement.side import Side
from tests.integration.test_suite import NEW, SUITE, environment_of

REFERENCE = Path(__file__).with_name("agreement_suite")
#: Both on one processor: two of them need not be equally busy.
OPTIONS = Options(affinity=(max(os.sched_getaffinity(0)),))
#: How far apart the two may be.
TOLERANCE = 0.10
#: Pairs of samples that one pair of processes takes, and how many of all must be calm.
PAIRS = 20
ENOUGH = 10
ATTEMPTS = 4
#: A pair is calm when a fixed loop beside its samples took at most this many times as long as it ever did.
CALM = 1.15


@dataclass(frozen=True, kw_only=True)
class Case:
    """A benchmark of the suite and one of its parameter sets.

    Attributes:
        metric: Its metric, under which `agreement_suite` has the same statement.
        benchmark: The benchmark.
        params: Values of its parameters, on one thread where it asks.
        statements: How many statements one call is.
    """

    metric: str
    benchmark: str
    params: tuple[str, ...]
    statements: int = 1


CASES = (
    Case(metric="dispatch_overhead", benchmark="small_ops.Add.time_add", params=("1", "cpu"), statements=1000),
    Case(
        metric="tensor_creation_small",
        benchmark="create.CreateSmall.time_create",
        params=("cpu", "tensor"),
        statements=1000,
    ),
    Case(metric="view_overhead", benchmark="storage.ViewSmall.time_call", params=("cpu", "view"), statements=1000),
    Case(metric="item_round_trip", benchmark="transfer.Item.time_item", params=("cpu",), statements=1000),
    Case(metric="mlp_forward", benchmark="record.MlpForward.time_forward", params=("1", "cpu", "grad")),
    Case(metric="batched_matmul_throughput", benchmark="matmul.BatchedMatmul.time_bmm", params=("1", "cpu")),
    Case(
        metric="conv2d_throughput",
        benchmark="conv.Conv2d.time_forward",
        params=("1", "cpu", "3x3 64->64 at 56x56"),
    ),
    Case(
        metric="log_softmax_throughput",
        benchmark="softmax.LogSoftmax.time_log_softmax",
        params=("1", "cpu", "log_softmax", "10"),
    ),
)


@dataclass(frozen=True)
class Pair:
    """Neighbouring samples: seconds of a statement by the harness and by torch, and of the slowest fixed loop."""

    ours: float
    theirs: float
    canary: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def keep_processor(process: MeasuredProcess) -> None:
    """Lets nothing interrupt a sample, where that is permitted; only now, for imports would starve others."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(process._process.pid, os.SCHED_FIFO, os.sched_param(1))


def pairs_of(case: Case, side: Side) -> Iterator[Pair]:
    """Pairs of two fresh processes."""
    with ExitStack() as stack:
        ours = stack.enter_context(MeasuredProcess(side, SUITE, f"bench_{case.benchmark}", OPTIONS))
        theirs = stack.enter_context(
            MeasuredProcess(side, REFERENCE, "bench_reference.Reference.track_seconds", OPTIONS)
        )
        numbers: dict[MeasuredProcess, int] = {}
        for process, params in ((ours, case.params), (theirs, (case.metric,))):
            process.start()
            sets = list(itertools.product(*process.started().params))
            process.setup(sets.index(tuple(map(repr, params))))
            numbers[process], _ = process.calibrate()
            keep_processor(process)
        for turn in range(PAIRS):
            said = {}
            for process in (ours, theirs) if turn % 2 == 0 else (theirs, ours):
                time.sleep(OPTIONS.gap)
                # The other process has filled the caches. torch's timer makes two calls before it counts: so does this.
                for _ in range(2):
                    process.sample(numbers[process])
                said[process] = process.sample(numbers[process])
            canary = max(sample["canary"] for sample in said.values())
            yield Pair(said[ours]["value"] / case.statements, said[theirs]["value"], canary)


@pytest.mark.torch
def test_the_harness_agrees_with_torch_s_own_timer(shared_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = environment_of(NEW, shared_cache)
    side = Side.of(NEW, environment, clean_variables(NEW, environment))
    fastest = float("inf")
    apart: dict[str, float] = {}
    table = [f"{'one statement':26} {'harness, us':>12} {'torch.utils.benchmark, us':>26} {'ratio':>7}   calm pairs"]
    for case in CASES:
        pairs: list[Pair] = []
        # More, in fresh processes, while the machine is slow, and while the figures are not clearly close: where their
        # memory lies makes some processes a few per cent slower.
        for _ in range(ATTEMPTS):
            pairs += pairs_of(case, side)
            fastest = min(fastest, *(pair.canary for pair in pairs))
            calm = [pair for pair in pairs if pair.canary <= CALM * fastest]
            # Where it never is calm all pairs count: neighbours meet the same phases.
            counted = calm if len(calm) >= ENOUGH else pairs
            ratio = statistics.median(pair.ratio for pair in counted)
            if counted is calm and abs(ratio - 1) < TOLERANCE / 2:
                break
        if abs(ratio - 1) > TOLERANCE:
            apart[case.metric] = round(ratio, 3)
        ours = 1e6 * statistics.median(pair.ours for pair in counted)
        theirs = 1e6 * statistics.median(pair.theirs for pair in counted)
        table.append(f"{case.metric:26} {ours:12.3f} {theirs:26.3f} {ratio:7.3f}   {len(calm)} of {len(pairs)}")
    with capsys.disabled():
        print("", *table, sep="\n")
    assert not apart, f"further apart than {TOLERANCE:.0%}"
