from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.reporting import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1, "1"),
        (38.6, "38.60"),
        (1234.5, "1,234"),
        (123456, "123,500"),
        (0.012344, "0.01234"),
        (-2.5, "-2.500"),
        (1.2e-7, "1.2e-07"),
        (9.8764e12, "9.876e+12"),
        (99.996, "100.0"),
        (math.inf, "inf"),
    ],
)
def test_numbers(value, text):
    assert units.number(value) == text


@given(st.floats(-1e300, 1e300))
def test_numbers_lose_less_than_a_thousandth(value):
    shown = float(units.number(value).replace(",", ""))
    assert shown == pytest.approx(value, rel=1e-3, abs=1e-300)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.001234, "s", "1.234 ms"),
        (0.001234, "seconds", "1.234 ms"),
        (3.2e-7, "s", "320 ns"),
        (75.0, "s", "75 s"),
        (0.99999, "s", "1.000 s"),
        (1_500_000, "bytes", "1.500 MB"),
        (12, "bytes", "12 B"),
        (2e9, "B/s", "2 GB/s"),
        (4.12e10, "FLOP/s", "41.20 GFLOP/s"),
        (41.2, "GFLOP/s", "41.20 GFLOP/s"),
        (38.6, "images/s", "38.60 images/s"),
        (7, "unit", "7"),
        (7, "", "7"),
        (0, "s", "0 s"),
    ],
)
def test_quantities(value, unit, text):
    assert units.quantity(value, unit) == text


def test_two_values_share_a_scale():
    assert units.quantities([0.000985, 0.00102], "s") == ["985 us", "1,020 us"]
    assert units.quantities([0.0, 0.002], "s") == ["0 ms", "2 ms"]
    assert units.quantities([], "s") == []


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (744_000_000, "744 MB"), (1_940_000_000, "1.94 GB"), (25e9, "25 GB")],
)
def test_sizes(count, text):
    assert units.size(int(count)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (3599.7, "1 h"),
        (3900, "1 h 5 min"),
        (7199, "2 h"),
    ],
)
def test_durations(seconds, text):
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.052, "+5.2 %"),
        (0.88, "-12.0 %"),
        (0.9999, "0.0 %"),
        (1.0, "0.0 %"),
        (2.0, "+100.0 %"),
        (0.31, "x 0.310"),
        (12.345, "x 12.3"),
        (123.4, "x 123"),
        (12345.6, "x 12,346"),
        (1e9, "x 1.0e+09"),
        (0.0, "x 0.00"),
    ],
)
def test_changes(ratio, text):
    assert units.change(ratio) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.909, 0.946, "-9.1 to -5.4 %"),
        (0.28, 0.33, "x 0.280 to x 0.330"),
        (0.9, 2.5, "x 0.900 to x 2.50"),
        (0.0, math.inf, "unknown"),
    ],
)
def test_intervals(low, high, text):
    assert units.interval(low, high) == text


def test_detectable_changes():
    found = [units.detectable(ratio) for ratio in (1.012, 3.0, 1.8e62, math.inf)]
    assert found == ["1.2 %", "x 3.00", "over x 100", "unknown"]


def test_shares():
    assert [units.share(value) for value in (0.03, 0.9994, 0.005)] == ["3 %", "99.94 %", "0.5 %"]
