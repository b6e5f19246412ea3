"""Samples in turn, of processes that do as they are told."""

from __future__ import annotations

import itertools

import pytest

from harness.measurement.calm import Calm
from harness.measurement.options import Options
from harness.measurement.process import NotMeasuredError
from harness.measurement.records import BenchmarkId, State
from harness.measurement.turns import Take, take_turns

ROW = BenchmarkId(name="b.time_add")
OPTIONS = Options(samples=4, min_samples=2, budget=60.0, repeats=3, calm=1.2)


class Scripted:
    """A process whose loops take as long as the script says, over and over."""

    clock = itertools.count()

    def __init__(self, canaries=(1.0,), *, calmest=(), fails_at=None):
        self.canaries = itertools.cycle(canaries)
        self.calm_processors = itertools.cycle(calmest)
        self.fails_at = fails_at
        self.asked = []

    def sample(self, number, processor):
        if len(self.asked) == self.fails_at:
            raise NotMeasuredError(State.CRASHED, "gone")
        self.asked.append((next(self.clock), number, processor))
        return {"value": 1.0, "at": 10.0 + self.asked[-1][0], "canary": next(self.canaries), "faults": 0}

    def calmest(self):
        return next(self.calm_processors)


def takes(*processes, kind="time", alone=False):
    return [Take(process=process, side=side, row=ROW, type=kind, alone=alone) for side, process in enumerate(processes)]


def order(found):
    """Which side was asked, in the order of time."""
    return [side for _, side in sorted((when, take.side) for take in found for when, _, _ in take.process.asked)]


@pytest.mark.parametrize(("number", "sides"), [(0, [0, 1, 1, 0, 0, 1, 1, 0]), (1, [1, 0, 0, 1, 1, 0, 0, 1])])
def test_the_order_is_swapped_from_turn_to_turn_and_from_round_to_round(number, sides):
    found = takes(Scripted(), Scripted())
    take_turns(found, number, 0.0, OPTIONS, Calm(1.2))
    assert order(found) == sides


def test_a_turn_that_was_disturbed_on_one_side_is_repeated_on_both():
    found = takes(Scripted([1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Scripted([1.0]))
    take_turns(found, 0, 0.0, OPTIONS, Calm(1.2))
    assert [len(take.samples) for take in found] == [5, 5]
    assert [sample.canary for sample in found[0].samples] == [1.0, 2.0, 1.0, 1.0, 1.0], "what was disturbed is kept"


def test_repeats_end():
    found = takes(Scripted([1.0, *[2.0] * 20]), Scripted())
    take_turns(found, 0, 0.0, OPTIONS, Calm(1.2))
    assert [len(take.samples) for take in found] == [7, 7]


def test_a_number_that_a_benchmark_returns_is_taken_once():
    found = takes(Scripted([5.0]), Scripted(), kind="track")
    take_turns(found, 0, 0.0, OPTIONS, Calm(1.2))
    assert [len(take.samples) for take in found] == [1, 1]


def test_the_budget_ends_sampling_but_not_before_the_least():
    found = takes(Scripted(), Scripted())
    for take in found:
        take.spent = 61.0
    take_turns(found, 0, 0.0, OPTIONS, Calm(1.2))
    assert [len(take.samples) for take in found] == [2, 2]


def test_single_threads_share_a_processor_that_changes_after_a_disturbed_turn():
    ours = Scripted([1.0, 2.0, 1.0], calmest=[3, 5])
    found = takes(ours, Scripted(calmest=[3, 5]), alone=True)
    take_turns(found, 0, 0.0, OPTIONS, Calm(1.2))
    processors = [[sample.processor for sample in take.samples] for take in found]
    assert processors[0] == processors[1]
    assert processors[0][:3] == [3, 3, 5]


def test_one_side_with_threads_leaves_both_unpinned():
    found = takes(Scripted(), Scripted())
    found[0].alone = True
    take_turns(found, 0, 0.0, OPTIONS, Calm(1.2))
    assert {sample.processor for take in found for sample in take.samples} == {None}


def test_a_process_that_dies_leaves_the_other_to_go_on():
    found = takes(Scripted(fails_at=1), Scripted())
    take_turns(found, 0, 0.0, OPTIONS, Calm(1.2))
    assert found[0].failure is not None
    assert [len(take.samples) for take in found] == [1, 4]
    # Times count from the beginning of the row.
    assert all(sample.at >= 10.0 for sample in found[1].samples)
