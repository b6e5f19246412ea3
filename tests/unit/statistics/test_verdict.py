from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.comparison import Comparison, Method, compare, exact_comparison
from harness.statistics.constants import constant_of, is_binary, judge_constants, judge_flips
from harness.statistics.looks import Levels
from harness.statistics.verdict import Verdict, hopeless, judge

replicate = st.floats(-1, 1)


LEVELS = Levels(row=0.99, table=0.999)


def at(level):
    """Both intervals at one level."""
    return Levels(row=level, table=level)


def comparison(low, ratio, high, rounds=6, table=None):
    table_low, table_high = table or (low, high)
    return Comparison(
        ratio=ratio,
        low=low,
        high=high,
        table_low=table_low,
        table_high=table_high,
        levels=LEVELS,
        replicates=(math.log(ratio),) * rounds,
        spread=0.01,
        detectable=1.01,
    )


@pytest.mark.parametrize(
    ("low", "ratio", "high", "verdict"),
    [
        (0.90, 0.93, 0.96, Verdict.SLOWER),
        (1.04, 1.06, 1.08, Verdict.FASTER),
        (0.99, 1.00, 1.01, Verdict.SAME),
        (1.01, 1.015, 1.02, Verdict.SAME),  # a change, but shown to stay below the floor
        (1.01, 1.02, 1.04, Verdict.UNDECIDED),  # a change, which may or may not reach the floor
        (0.98, 1.01, 1.04, Verdict.UNDECIDED),
        (0.95, 1.00, 1.02, Verdict.UNDECIDED),
        (0.90, 1.00, 1.10, Verdict.UNDECIDED),
        (0.90, 0.95, 1.0, Verdict.UNDECIDED),  # the estimate reaches the floor, the interval touches no change
    ],
)
def test_floor_and_interval(low, ratio, high, verdict):
    assert judge(comparison(low, ratio, high), 0.03).verdict is verdict


def test_undecided_says_what_is_excluded():
    assert "slowdown of 3 % is excluded" in judge(comparison(0.98, 1.01, 1.04)).reason
    assert "speedup of 3 % is excluded" in judge(comparison(0.95, 1.00, 1.02)).reason
    assert "too noisy" in judge(comparison(0.90, 1.00, 1.10)).reason
    assert "reach or to stay below 3 %" in judge(comparison(1.01, 1.02, 1.04)).reason


def test_the_table_alarms_and_the_row_alone_says_same():
    """Slower is read from the wide interval, same from the narrow one."""
    assert judge(comparison(0.90, 0.93, 0.96, table=(0.85, 1.02))).verdict is Verdict.UNDECIDED
    assert "if this row stood alone" in judge(comparison(0.90, 0.93, 0.96, table=(0.85, 1.02))).reason
    assert judge(comparison(0.98, 1.0, 1.02, table=(0.90, 1.11))).verdict is Verdict.SAME


def test_two_rounds_decide_nothing():
    judged = judge(comparison(0.5, 0.5, 0.5, rounds=2))
    assert (judged.verdict, judged.reason) == (Verdict.UNDECIDED, "2 rounds of at least 3")


@pytest.mark.parametrize("floor", [-0.1, math.nan, math.inf])
def test_a_floor_is_a_share(floor):
    with pytest.raises(ValueError, match="floor"):
        judge(comparison(0.9, 1, 1.1), floor)


@pytest.mark.parametrize(
    ("replicates", "expected"),
    [
        ([0.01, -0.012, 0.004, -0.002, 0.001] * 2, False),  # twenty rounds will show that it is the same
        ([0.5, -0.5, 0.4, -0.6, 0.2] * 2, True),
        ([0.5, -0.5, 0.4, -0.6, 0.2], False),  # too early to give up
        ([-0.5, -0.6, -0.3, -0.7, -0.1] * 2, False),  # noisy, and yet a change may be found
    ],
)
def test_what_no_budget_would_decide(replicates, expected):
    found = compare(replicates, levels=Levels(row=0.9875, table=0.9999))
    assert hopeless(found, 0.03, budget=20, levels=Levels(row=0.9875, table=0.9999)) is expected


def test_exact_values_are_never_hopeless():
    assert not hopeless(exact_comparison(0.9, rounds=5, levels=LEVELS), 0.03, budget=20, levels=LEVELS)


@given(st.lists(replicate, min_size=1, max_size=20), st.floats(0.5, 0.9999), st.floats(0, 0.5))
def test_a_verdict_turns_with_its_sides(values, level, floor):
    turned = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}
    there = judge(compare(values, levels=at(level)), floor).verdict
    back = judge(compare([-value for value in values], levels=at(level)), floor).verdict
    assert back is turned.get(there, there)


@given(st.lists(replicate, min_size=2, max_size=20), st.floats(0.5, 0.9999))
def test_the_estimate_lies_in_its_interval(values, level):
    found = compare(values, levels=at(level))
    assert found.low <= found.ratio <= found.high
    assert found.detectable >= 1
    assert (found.rounds, found.method) == (len(values), Method.TRIMMED_T)


@given(st.lists(replicate, min_size=3, max_size=20), st.floats(0.001, 0.5))
def test_more_confidence_never_turns_undecided_into_a_verdict(values, floor):
    strict, loose = (judge(compare(values, levels=at(level)), floor).verdict for level in (0.9999, 0.9))
    assert strict in {loose, Verdict.UNDECIDED}


def test_one_round_has_no_interval():
    found = compare([0.1], levels=at(0.99))
    assert (found.low, found.high, found.detectable) == (0.0, math.inf, math.inf)
    assert math.isnan(found.spread)


def test_an_interval_beyond_floats_saturates():
    assert compare([-300.0, 300.0], levels=at(0.99999)).high == math.inf


def judged(baseline, candidate, *, rounds=2, floor=0.03, higher=False):
    judgement, found = judge_constants(
        baseline, candidate, rounds=rounds, floor=floor, higher_is_better=higher, levels=at(0.99)
    )
    return judgement.verdict, None if found is None else round(found.ratio, 4)


@pytest.mark.parametrize(
    ("baseline", "candidate", "options", "expected"),
    [
        (7.0, 7.0, {}, (Verdict.SAME, 1.0)),
        (0.0, 0.0, {}, (Verdict.SAME, 1.0)),
        (100.0, 110.0, {}, (Verdict.SLOWER, 0.9091)),
        (100.0, 110.0, {"higher": True}, (Verdict.FASTER, 1.1)),
        (100.0, 101.0, {}, (Verdict.SAME, 0.9901)),
        (100.0, 101.0, {"floor": 0.0}, (Verdict.SLOWER, 0.9901)),
        (1.0, 0.0, {"higher": True}, (Verdict.SLOWER, None)),
        (0.0, 1.0, {"higher": True}, (Verdict.FASTER, None)),
        (0.0, 4096.0, {}, (Verdict.SLOWER, None)),
        (-100.0, -101.0, {}, (Verdict.SAME, None)),
        (-100.0, -120.0, {}, (Verdict.FASTER, None)),
        (1e-300, 1e300, {}, (Verdict.SLOWER, None)),
        (1.0, 0.0, {"higher": True, "rounds": 1}, (Verdict.UNDECIDED, None)),
        (7.0, 7.0, {"rounds": 1}, (Verdict.UNDECIDED, 1.0)),
    ],
)
def test_values_that_never_vary(baseline, candidate, options, expected):
    assert judged(baseline, candidate, **options) == expected


def test_a_lost_behaviour_is_named():
    judgement, _ = judge_constants(1.0, 0.0, rounds=3, floor=0.03, higher_is_better=True, levels=at(0.99))
    assert judgement.reason == "holds in the baseline (1), no longer in the candidate (0)"


def test_exact_values_leave_nothing_unseen():
    found = exact_comparison(0.5, rounds=4, levels=at(0.99))
    assert (found.low, found.high, found.rounds, found.detectable) == (0.5, 0.5, 4, 1.0)


def test_constants_and_flips():
    assert constant_of([[1.0, 1.0], [1.0]]) == 1.0
    assert constant_of([[1.0, 1.0], [0.0]]) is None
    assert is_binary([[1.0], [0.0]])
    assert not is_binary([[1.0], [0.5]])
    judgement = judge_flips([[1.0], [1.0]], [[1.0], [0.0]])
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.reason == "holds in 2 of 2 processes of the baseline and 1 of 2 processes of the candidate"
