"""Seeded simulations of whole tables with all their looks: what the verdicts promise, and what they find."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.statistics.comparison import compare
from harness.statistics.looks import DEFAULT_LOOKS
from harness.statistics.verdict import Verdict, judge

ALPHA = 0.05
FLOOR = 0.03


def normal(rng, spread, size):
    return rng.normal(0, spread, size)


def long_tailed(rng, spread, size):
    return rng.standard_t(3, size) * spread / math.sqrt(3)


def wild(rng, spread, size):
    """One process pair in ten has ten times the noise."""
    return rng.normal(0, spread, size) * np.where(rng.random(size) < 0.1, 10, 1)


def judge_with_looks(replicates, rows):
    """Looks at a row as a run does, and says the first verdict and the rounds it took."""
    verdict = Verdict.UNDECIDED
    for look in DEFAULT_LOOKS.rounds:
        level = DEFAULT_LOOKS.level(rows=rows, rounds=look, alpha=ALPHA)
        verdict = judge(compare(replicates[:look], level=level), FLOOR).verdict
        if verdict is not Verdict.UNDECIDED:
            return verdict, look
    return verdict, DEFAULT_LOOKS.budget


def simulate(noise, spread, *, tables, rows, effect=0.0, seed=1):
    """The share of tables with a slower or faster row, and the verdicts of all rows."""
    rng = np.random.default_rng(seed)
    drawn = noise(rng, spread, (tables, rows, DEFAULT_LOOKS.budget)) - effect
    verdicts = [[judge_with_looks(row, rows) for row in one] for one in drawn.tolist()]
    changed = {Verdict.SLOWER, Verdict.FASTER}
    alarms = sum(any(verdict in changed for verdict, _ in one) for one in verdicts) / tables
    return alarms, [seen for one in verdicts for seen in one]


@pytest.mark.parametrize("noise", [normal, long_tailed, wild])
@pytest.mark.parametrize("spread", [0.01, 0.05])
def test_false_alarms_of_whole_unchanged_tables_stay_below_alpha(noise, spread):
    tables = 500
    alarms, _ = simulate(noise, spread, tables=tables, rows=10)
    assert alarms <= ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / tables)


def test_a_careless_rule_would_not_pass_that_test():
    """The same tables, each row and look at 95 %: the promise is not kept by luck."""
    rng = np.random.default_rng(1)
    drawn = normal(rng, 0.05, (100, 10, DEFAULT_LOOKS.budget)).tolist()
    alarms = sum(
        any(
            judge(compare(row[:look], level=0.95), FLOOR).verdict in {Verdict.SLOWER, Verdict.FASTER}
            for row in one
            for look in DEFAULT_LOOKS.rounds
        )
        for one in drawn
    )
    assert alarms > 30


@pytest.mark.parametrize(
    ("noise", "spread", "effect", "power"),
    [
        (normal, 0.01, 0.05, 0.99),
        (normal, 0.02, 0.05, 0.85),
        (normal, 0.02, 0.10, 0.99),
        (long_tailed, 0.02, 0.05, 0.90),
        (long_tailed, 0.02, 0.10, 0.99),
        (wild, 0.01, 0.05, 0.80),
        (wild, 0.01, 0.10, 0.95),
    ],
)
def test_a_true_slowdown_in_a_table_of_thirty_is_found(noise, spread, effect, power, record_property):
    _, seen = simulate(noise, spread, tables=20, rows=30, effect=math.log1p(effect))
    found = sum(verdict is Verdict.SLOWER for verdict, _ in seen) / len(seen)
    record_property("power", found)
    assert found >= power
    assert not any(verdict is Verdict.FASTER for verdict, _ in seen)


@pytest.mark.parametrize("effect", [0.0, 0.03, 0.05])
def test_same_is_rarely_said_of_a_change_that_reaches_the_floor(effect):
    _, seen = simulate(normal, 0.01, tables=20, rows=30, effect=math.log1p(effect))
    same = sum(verdict is Verdict.SAME for verdict, _ in seen) / len(seen)
    if effect:
        assert same <= 0.005
    else:
        assert same >= 0.95


def test_a_quiet_unchanged_table_is_settled_at_the_first_look():
    _, seen = simulate(normal, 0.004, tables=20, rows=30)
    assert all(verdict is Verdict.SAME for verdict, _ in seen)
    assert sum(look == DEFAULT_LOOKS.rounds[0] for _, look in seen) >= 0.95 * len(seen)
