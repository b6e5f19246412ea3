from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.looks import DEFAULT_LOOKS, ROW_ALPHA, Looks


@given(st.integers(1, 30), st.integers(0, 60), st.integers(1, 6))
def test_looks_between_two_numbers_of_rounds(first, more, count):
    looks = Looks.between(first, first + more, count)
    assert looks.rounds[-1] == looks.budget == first + more
    assert len(looks.rounds) <= count
    if count > 1:
        assert looks.rounds[0] == first


@given(st.integers(1, 300), st.floats(0.001, 0.05))
def test_all_looks_at_all_rows_spend_no_more_than_alpha(rows, alpha):
    levels = [DEFAULT_LOOKS.levels(rows=rows, rounds=look, alpha=alpha) for look in DEFAULT_LOOKS.rounds]
    assert sum(rows * (1 - level.table) for level in levels) == pytest.approx(alpha)
    assert sum(1 - level.row for level in levels) == pytest.approx(ROW_ALPHA)
    assert all(level.table >= level.row for level in levels)


def test_rounds_past_the_plan_are_paid_for_one_by_one():
    assert [DEFAULT_LOOKS.charged(rounds) for rounds in (5, 7, 20, 21, 23)] == [4, 4, 4, 5, 7]


def test_the_next_look():
    assert [DEFAULT_LOOKS.following(rounds) for rounds in (0, 5, 7, 19, 20)] == [5, 10, 10, 20, None]


@pytest.mark.parametrize(
    ("arguments", "rounds"),
    [((6, 12, 3), (6, 9, 12)), ((6, 10, 3), (6, 9, 10)), ((6, 6, 2), (6,)), ((4, 9, 9), (4, 9))],
)
def test_a_look_after_every_batch(arguments, rounds):
    assert Looks.every(*arguments).rounds == rounds


@pytest.mark.parametrize("arguments", [(0, 3, 1), (6, 5, 1), (3, 6, 0)])
def test_no_batches(arguments):
    with pytest.raises(ValueError, match="no looks"):
        Looks.every(*arguments)


@pytest.mark.parametrize("rounds", [(), (0, 3), (6, 6), (9, 6)])
def test_a_schedule_ascends(rounds):
    with pytest.raises(ValueError, match="ascending"):
        Looks(rounds)


@pytest.mark.parametrize(("first", "last", "count"), [(0, 3, 2), (6, 5, 2), (3, 6, 0)])
def test_no_schedule_between(first, last, count):
    with pytest.raises(ValueError, match="looks from"):
        Looks.between(first, last, count)


@pytest.mark.parametrize("alpha", [0, 0.06, -0.1, 5])
def test_alpha_is_a_small_probability(alpha):
    with pytest.raises(ValueError, match="alpha lies"):
        DEFAULT_LOOKS.levels(rows=3, rounds=6, alpha=alpha)
