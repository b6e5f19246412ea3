"""Seeded simulations of whole tables with all their looks: what the verdicts promise, and what they find."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.statistics.comparison import compare
from harness.statistics.looks import DEFAULT_LOOKS, TABLE_ALPHA, Levels
from harness.statistics.rule import Rule
from harness.statistics.verdict import Verdict, judge

FLOOR = 0.03


def normal(rng, spread, size):
    return rng.normal(0, spread, size)


def long_tailed(rng, spread, size):
    return rng.standard_t(3, size) * spread / math.sqrt(3)


def wild(rng, spread, size):
    """One process pair in ten has ten times the noise."""
    return rng.normal(0, spread, size) * np.where(rng.random(size) < 0.1, 10, 1)


def modes(rng, spread, size):
    """Each process runs in one of two modes, whichever it happens to get, and is very steady there."""
    upper, lower = (rng.integers(0, 2, size) for _ in range(2))
    return 2 * spread * (upper - lower) + rng.normal(0, 0.05 * spread, size)


def judge_with_looks(rule, replicates):
    """Looks at a row as a run does, and says the last verdict and the rounds it took."""
    for look in DEFAULT_LOOKS.rounds:
        ruling = rule.apply(replicates[:look], FLOOR)
        if not ruling.open:
            break
    return ruling.judgement.verdict, look


def simulate(noise, spread, *, tables, rows, effect=0.0, seed=1):
    """The share of tables with a slower or faster row, and the verdicts of all rows."""
    rng = np.random.default_rng(seed)
    drawn = noise(rng, spread, (tables, rows, DEFAULT_LOOKS.budget)) - effect
    verdicts = []
    for one in drawn.tolist():
        rule = Rule.of(one, rows=rows, looks=DEFAULT_LOOKS)
        verdicts.append([judge_with_looks(rule, row) for row in one])
    changed = {Verdict.SLOWER, Verdict.FASTER}
    alarms = sum(any(verdict in changed for verdict, _ in one) for one in verdicts) / tables
    return alarms, [seen for one in verdicts for seen in one]


@pytest.mark.parametrize("noise", [normal, long_tailed, wild, modes])
@pytest.mark.parametrize("spread", [0.01, 0.05])
def test_false_alarms_of_whole_unchanged_tables_stay_below_alpha(noise, spread):
    tables = 500
    alarms, _ = simulate(noise, spread, tables=tables, rows=10)
    assert alarms <= TABLE_ALPHA + 2 * math.sqrt(TABLE_ALPHA * (1 - TABLE_ALPHA) / tables)


def test_a_careless_rule_would_not_pass_that_test():
    """The same tables, each row and look at 95 %: the promise is not kept by luck."""
    rng = np.random.default_rng(1)
    drawn = normal(rng, 0.05, (100, 10, DEFAULT_LOOKS.budget)).tolist()
    alarms = sum(
        any(
            judge(compare(row[:look], levels=Levels(row=0.95, table=0.95)), FLOOR).verdict
            in {Verdict.SLOWER, Verdict.FASTER}
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
        (normal, 0.02 * math.sqrt(2), 0.05, 0.95),
        (normal, 0.02 * math.sqrt(2), 0.10, 0.99),
        (long_tailed, 0.02, 0.05, 0.90),
        (long_tailed, 0.02, 0.10, 0.99),
        (wild, 0.01, 0.05, 0.85),
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
        assert same <= 0.03  # half of what the row's intervals may miss
    else:
        assert same >= 0.95


def test_a_quiet_unchanged_table_is_settled_at_the_first_look():
    _, seen = simulate(normal, 0.004, tables=20, rows=30)
    assert all(verdict is Verdict.SAME for verdict, _ in seen)
    assert sum(look == DEFAULT_LOOKS.rounds[0] for _, look in seen) >= 0.95 * len(seen)
