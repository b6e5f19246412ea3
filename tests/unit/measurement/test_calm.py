from __future__ import annotations

import math

from harness.measurement.calm import Calm
from harness.measurement.records import BenchmarkId, Record, Sample, State

ADD, CONV = BenchmarkId(name="b.time_add"), BenchmarkId(name="b.time_conv")


def record(row, canaries, *, state=State.OK, calm=None, side=0):
    samples = tuple(Sample(value=1.0, at=0.0, canary=canary, faults=0, calm=calm) for canary in canaries)
    return Record(
        round=0,
        cell="torch1.12.1-py3.10-cpu",
        side=side,
        benchmark=row,
        state=state,
        samples=samples,
        reason="it never ran undisturbed" if state is State.INVALID else "",
        lock="l",
        environment="e",
        fingerprint="f",
        started_at="2026-01-01T00:00:00+00:00",
        seconds=1.0,
    )


def test_before_the_first_loop_everything_is_calm():
    assert Calm(1.2).limit(0, ADD) == math.inf


def test_the_reference_is_the_fastest_loop_of_the_side_whatever_was_measured():
    calm = Calm(1.2)
    calm.see(0, ADD, 0.001)
    calm.see(0, CONV, 0.002)
    calm.see(1, ADD, 0.003)
    assert calm.limit(0, CONV) == 1.2 * 0.001
    assert calm.limit(1, CONV) == 1.2 * 0.003
    assert calm.excess(0, CONV, [0.004, 0.002]) == 2.0


def test_a_resumed_run_knows_what_was_seen_before():
    calm = Calm(1.5, [record(ADD, [0.004, 0.002], calm=True)])
    assert calm.limit(0, CONV) == 1.5 * 0.002


def test_a_row_that_never_came_near_the_reference_has_one_of_its_own():
    calm = Calm(1.2, [record(ADD, [0.001], calm=True), record(CONV, [0.002], state=State.INVALID, calm=False)])
    assert calm.limit(0, CONV) == 1.2 * 0.002
    assert calm.limit(0, ADD) == 1.2 * 0.001


def test_a_row_that_was_calm_once_is_held_to_the_reference():
    calm = Calm(1.2, [record(CONV, [0.001], calm=True), record(CONV, [0.002], state=State.INVALID, calm=False)])
    assert calm.limit(0, CONV) == 1.2 * 0.001
