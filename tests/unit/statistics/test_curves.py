from __future__ import annotations

import dataclasses
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measurement.records import State
from harness.statistics.curves import compare_curves, curve_of, curve_rows, ulp_distance
from tests.unit.statistics.builders import metric, record

NAME = "bench_reproducible.Repeats.track_in_process"
METRICS = [metric(name="training_repeats", benchmark=NAME)]
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
ANY = st.floats(width=32)
CURVES = st.lists(ANY, max_size=8)


def following(value):
    """The next float32 above a positive one."""
    return struct.unpack("<f", struct.pack("<i", struct.unpack("<i", struct.pack("<f", value))[0] + 1))[0]


def with_curve(side, number, curve, **changes):
    hexadecimal = [value.hex() for value in curve]
    return dataclasses.replace(
        record(side, number, [1.0], name=NAME, params=("'cnn'",)), details={"curve": hexadecimal}, **changes
    )


def test_equal_curves():
    found = compare_curves([2.0, 1.0, math.nan], [2.0, 1.0, math.nan])
    assert found.equal
    assert (found.steps, found.first, found.ulp, found.relative, found.largest) == (3, 0, None, None, 0.0)


def test_the_first_difference_and_the_largest():
    found = compare_curves([2.0, 1.0, 1.0], [2.0, following(following(1.0)), 1.5])
    assert (found.first, found.ulp) == (2, 2)
    assert found.relative == pytest.approx(2 * 2**-23)
    assert found.largest == pytest.approx(1 / 3)
    assert (found.baseline, found.candidate) == (1.0, following(following(1.0)))


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_has_no_distance(odd):
    found = compare_curves([1.0, 1.0], [1.0, odd])
    assert (found.first, found.ulp, found.relative, found.largest) == (2, None, None, None)
    assert not found.equal


def test_a_curve_that_ends_early_differs_at_its_end():
    found = compare_curves([1.0, 2.0, 3.0], [1.0, 2.0])
    assert (found.steps, found.lengths, found.first, found.baseline, found.candidate) == (2, (3, 2), 3, 3.0, None)
    assert found.ulp is None
    assert compare_curves([], []).equal


def test_minus_zero_has_other_bits_at_no_distance():
    found = compare_curves([0.0], [-0.0])
    assert (found.first, found.ulp, found.relative) == (1, 0, 0.0)


def test_ulps_of_known_numbers():
    assert ulp_distance(1.0, 1.0 + 2**-23) == 1
    assert ulp_distance(-(2.0**-149), 2.0**-149) == 2
    assert ulp_distance(1.0, 2.0) == 2**23
    assert ulp_distance(1.0, 1.0 + 2**-40) == 0, "nearer than float32 can tell"
    assert ulp_distance(1e300, 1.0) is None


@given(FINITE, FINITE, FINITE)
def test_ulps_are_a_distance(a, b, c):
    assert ulp_distance(a, b) == ulp_distance(b, a)
    assert (ulp_distance(a, b) == 0) == (a == b)
    assert ulp_distance(a, c) <= ulp_distance(a, b) + ulp_distance(b, c)


@given(CURVES, CURVES)
def test_sides_can_be_exchanged(a, b):
    one, other = compare_curves(a, b), compare_curves(b, a)
    assert (one.first, one.ulp, one.relative, one.largest) == (other.first, other.ulp, other.relative, other.largest)
    assert one.equal == ([x.hex() for x in a] == [x.hex() for x in b])
    assert one.largest is None or 0 <= one.largest <= 2
    assert compare_curves(a, a).equal


@given(st.lists(ANY, min_size=1))
def test_a_stored_curve_comes_back_bit_for_bit(curve):
    assert compare_curves(curve, curve_of({"curve": [value.hex() for value in curve]})).equal


@pytest.mark.parametrize("stored", [None, [], "0x1p+0", ["one"], [None], [[1.0]], {"a": 1}])
def test_what_is_no_curve_is_left_aside(stored):
    assert curve_of({"curve": stored}) is None
    assert curve_of({}) is None


def test_plain_numbers_are_a_curve_too():
    assert curve_of({"curve": [1, 0.5]}) == (1.0, 0.5)


def test_rows_pair_the_curves_of_a_round_and_show_the_farthest():
    same, near, far = (2.0, 1.0), (2.0, following(1.0)), (2.0, math.nan)
    records = [
        *(with_curve(0, number, same) for number in range(3)),
        *(with_curve(1, number, curve) for number, curve in enumerate([same, near, far])),
        with_curve(0, 3, same),  # alone in its round
        with_curve(2, 0, far),  # another side
        record(0, 0, [1.0]),  # another benchmark
    ]
    (row,) = curve_rows(records, METRICS)
    assert (row.metric, row.rounds, row.variants) == ("training_repeats", 3, (1, 3))
    assert row.benchmark.params == ("'cnn'",)
    assert math.isnan(row.farthest.candidate)
    (swapped,) = curve_rows(records, METRICS, baseline=1, candidate=0)
    assert (swapped.variants, swapped.farthest.candidate) == ((3, 1), 1.0)


def test_only_rounds_that_went_well_count_and_the_last_of_each():
    ok = [with_curve(side, 0, (1.0, 2.0)) for side in (0, 1)]
    crashed = with_curve(1, 0, (9.0,), state=State.CRASHED)
    assert curve_rows([*ok, crashed], METRICS) == ()
    (row,) = curve_rows([crashed, *ok], METRICS)
    assert row.farthest.equal
    assert curve_rows(ok[:1], METRICS) == ()
