from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.intervals import detectable_difference, least_deviation, student_quantile, trimmed_mean

finite = st.floats(-10, 10)
levels = st.floats(0.5, 0.99999)


@given(st.lists(finite, min_size=2, max_size=10), levels)
def test_few_values_give_students_interval(values, level):
    ours = trimmed_mean(values)
    error = stats.sem(values)
    assert ours.centre == pytest.approx(np.mean(values), abs=1e-9)
    assert ours.half_width(level) == pytest.approx(
        stats.t.ppf((1 + level) / 2, len(values) - 1) * error, rel=1e-6, abs=1e-9
    )
    assert ours.trimmed == 0


@given(st.lists(finite, min_size=11, max_size=40), levels)
def test_many_values_give_the_trimmed_interval_of_scipy(values, level):
    ours = trimmed_mean(values)
    trim = len(values) // 11
    theirs = stats.mstats.trimmed_mean_ci(values, limits=(trim / len(values),) * 2, alpha=1 - level)
    assert ours.trimmed == trim
    assert ours.centre == pytest.approx(stats.trim_mean(values, trim / len(values)), abs=1e-9)
    # scipy divides by another count in its error (Wilcox divides by (1 - 2 g) sqrt n): the same to first order.
    assert ours.half_width(level) == pytest.approx((theirs[1] - theirs[0]) / 2, rel=0.35, abs=1e-9)


@given(st.lists(finite, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert trimmed_mean(values) == trimmed_mean(shuffled)


@given(st.lists(finite, min_size=2, max_size=30), finite)
def test_a_shift_of_all_values_shifts_the_centre(values, shift):
    before, after = trimmed_mean(values), trimmed_mean([value + shift for value in values])
    assert after.centre == pytest.approx(before.centre + shift, abs=1e-9)
    assert after.standard_error == pytest.approx(before.standard_error, rel=1e-3, abs=1e-5)


@given(st.lists(finite, min_size=2, max_size=30))
def test_more_confidence_is_wider(values):
    estimate = trimmed_mean(values)
    assert estimate.half_width(0.9) <= estimate.half_width(0.99)


@given(finite, st.integers(2, 30))
def test_equal_values_have_an_interval_of_no_width(value, count):
    estimate = trimmed_mean([value] * count)
    assert (estimate.centre, estimate.half_width(0.999)) == (value, 0)


@given(st.lists(finite, min_size=2, max_size=30), st.floats(0, 5))
def test_no_row_is_quieter_than_it_is_told(values, least):
    told, alone = trimmed_mean(values, least_deviation=least), trimmed_mean(values)
    assert told.standard_error == max(alone.standard_error, least / math.sqrt(len(values)))
    assert told.centre == alone.centre


def test_one_wild_value_of_twelve_moves_little():
    calm = [0.001 * step for step in range(-6, 6)]
    wild = [*calm[:-1], 5.0]
    assert abs(trimmed_mean(wild).centre - trimmed_mean(calm).centre) < 0.001
    assert trimmed_mean(wild).half_width(0.99) < 1.5 * trimmed_mean(calm).half_width(0.99)


def test_a_single_value_has_no_interval():
    estimate = trimmed_mean([0.5])
    assert estimate.half_width(0.9) == math.inf
    assert detectable_difference(estimate, 0.9) == math.inf


@pytest.mark.parametrize(
    ("values", "level"), [([], 0.9), ([math.nan], 0.9), ([math.inf, 1.0], 0.9), ([1.0], 0.0), ([1.0], 1.0)]
)
def test_what_has_no_interval_is_refused(values, level):
    with pytest.raises(ValueError, match=r"interval needs|confidence level"):
        trimmed_mean(values).half_width(level)


def test_quantiles_of_student():
    assert student_quantile(0.975, 5) == pytest.approx(2.5706, abs=1e-4)
    assert student_quantile(0.9997, 11) == pytest.approx(stats.t.ppf(0.9997, 11))


@pytest.mark.parametrize("count", [6, 9, 12, 20])
@pytest.mark.parametrize("level", [0.95, 0.9994])
def test_the_interval_covers_what_it_says(count, level):
    """Normal and long-tailed noise: misses stay near their share, 1.6 times at the most where values are trimmed."""
    rng = np.random.default_rng(20261)
    rounds = 4000 if level < 0.99 else 20000
    for draw in (rng.standard_normal, lambda size: rng.standard_t(3, size)):
        misses = sum(
            abs(e.centre) > e.half_width(level) for e in (trimmed_mean(row) for row in _rows(draw, rounds, count))
        )
        allowed = (1 - level) * (1.0 if count < 11 else 1.6)
        assert misses <= rounds * allowed + 3 * math.sqrt(rounds * allowed)


@pytest.mark.parametrize(("count", "level"), [(6, 0.9994), (9, 0.999), (20, 0.95)])
def test_what_is_called_detectable_is_detected_in_eight_of_ten(count, level):
    rng = np.random.default_rng(7)
    estimates = [trimmed_mean(row) for row in _rows(rng.standard_normal, 3000, count)]
    effect = float(np.median([detectable_difference(estimate, level) for estimate in estimates]))
    found = sum(estimate.centre + effect > estimate.half_width(level) for estimate in estimates) / len(estimates)
    assert 0.7 < found < 0.9


@pytest.mark.parametrize("count", [3, 6, 12])
def test_a_deviation_is_rarely_below_its_lower_bound(count):
    rng = np.random.default_rng(3)
    bounds = [least_deviation(float(np.std(row, ddof=1)), count) for row in _rows(rng.standard_normal, 4000, count)]
    below = sum(bound > 1 for bound in bounds) / len(bounds)
    assert 0.035 < below < 0.065
    assert least_deviation(0.5, 1) == 0


def _rows(draw, rows, count):
    return draw((rows, count)).tolist()
