from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.replicates import Pairing, Timed, log_ratio, oriented_log_ratio

positive = st.floats(1e-9, 1e9)


def alternating(values, first=0.0):
    return [Timed(value, first + index) for index, value in enumerate(values)]


def test_neighbours_share_a_slow_phase():
    """The machine halves its speed for most of one side's samples: neighbours do not notice, medians would."""
    phase = [1, 1, 2, 2, 2, 2, 1]
    baseline = alternating([0.010 * slow for slow in phase])
    candidate = alternating([0.011 * slow for slow in phase], first=0.4)
    value, pairing = log_ratio(baseline, candidate)
    assert (value, pairing) == (pytest.approx(math.log(1.1)), Pairing.NEIGHBOURS)


def test_the_order_within_a_pair_may_swap():
    baseline = [Timed(1.0, 0.0), Timed(1.0, 1.5), Timed(1.0, 2.0)]
    candidate = [Timed(2.0, 0.5), Timed(2.0, 1.0), Timed(2.0, 2.5)]
    assert log_ratio(baseline, candidate)[1] is Pairing.NEIGHBOURS


def test_one_after_the_other_is_compared_by_medians():
    baseline, candidate = alternating([1.0, 2.0, 9.0]), alternating([4.0, 4.0, 1.0], first=10)
    value, pairing = log_ratio(baseline, candidate)
    assert (value, pairing) == (pytest.approx(math.log(2)), Pairing.MEDIANS)


def test_unequal_numbers_are_compared_by_medians():
    value, pairing = log_ratio(alternating([1.0, 1.0]), alternating([3.0]))
    assert (value, pairing) == (pytest.approx(math.log(3)), Pairing.MEDIANS)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=20))
def test_swapping_the_sides_turns_the_sign(pairs):
    baseline, candidate = (alternating(side) for side in zip(*pairs, strict=True))
    assert log_ratio(baseline, candidate)[0] == pytest.approx(-log_ratio(candidate, baseline)[0], abs=1e-9)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=20), st.floats(0.01, 100))
def test_the_unit_does_not_matter(pairs, scale):
    sides = [alternating(side) for side in zip(*pairs, strict=True)]
    scaled = [[Timed(sample.value * scale, sample.at) for sample in side] for side in sides]
    assert log_ratio(*sides)[0] == pytest.approx(log_ratio(*scaled)[0], abs=1e-9)


def test_above_zero_is_better_in_either_direction():
    baseline, candidate = alternating([1.0]), alternating([2.0])
    assert oriented_log_ratio(baseline, candidate, higher_is_better=True).log_ratio == pytest.approx(math.log(2))
    assert oriented_log_ratio(baseline, candidate, higher_is_better=False).log_ratio == pytest.approx(-math.log(2))
    zero = oriented_log_ratio(baseline, baseline, higher_is_better=False).log_ratio
    assert math.copysign(1, zero) == 1


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_no_ratio_without_positive_values(value):
    assert log_ratio(alternating([value]), alternating([1.0])) is None
    assert oriented_log_ratio(alternating([1.0]), alternating([value]), higher_is_better=True) is None


def test_a_side_without_samples_is_a_mistake():
    with pytest.raises(ValueError, match="samples of both"):
        log_ratio([], alternating([1.0]))
