"""What a cell will cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cells.estimate import Pace, estimate

MEGABYTE = 1_000_000


def test_estimates_come_near_what_was_measured() -> None:
    # Sizes of real environments: 1.12.1 takes 1.6 GB, 2.6.0 in full 5.2 GB, 2.13.0 for the CPU 0.8 GB.
    old = estimate(wheel_bytes=776 * MEGABYTE, cuda_packages=False, seconds=0, rounds=0)
    full = estimate(wheel_bytes=766 * MEGABYTE, cuda_packages=True, seconds=0, rounds=0)
    slim = estimate(wheel_bytes=766 * MEGABYTE, cuda_packages=True, slim=True, seconds=0, rounds=0)
    cpu = estimate(wheel_bytes=190 * MEGABYTE, cuda_packages=False, seconds=0, rounds=0)
    for found, gigabytes in ((old, 1.6), (full, 5.2), (slim, 1.7), (cpu, 0.8)):
        assert 0.75 < found.disk / 1e9 / gigabytes < 1.35
    assert slim.download < full.download / 3
    assert not full.exact


def test_a_lock_makes_the_download_exact() -> None:
    found = estimate(wheel_bytes=500, cuda_packages=False, locked_bytes=800, seconds=2, rounds=1)
    assert (found.download, found.exact) == (800, True)
    part = estimate(wheel_bytes=500, cuda_packages=False, locked_bytes=800, missing_bytes=300, seconds=2, rounds=1)
    assert part.download == 300


def test_what_stands_costs_only_the_rounds() -> None:
    pace = Pace(bytes_per_second=1e6, build_seconds=10, start_seconds=4)
    built = estimate(wheel_bytes=10**9, cuda_packages=True, built=True, seconds=10, rounds=6, pace=pace)
    assert (built.download, built.disk) == (0, 0)
    assert built.minutes == pytest.approx(6 * (4 + 5 * 2) / 60)
    cached = estimate(wheel_bytes=10**9, cuda_packages=True, missing_bytes=0, seconds=10, rounds=6, pace=pace)
    assert cached.download == 0
    assert cached.minutes == pytest.approx(built.minutes + 10 / 60)
    assert 0 < cached.disk < 200 * MEGABYTE


def test_an_unknown_size_is_no_error() -> None:
    found = estimate(wheel_bytes=None, cuda_packages=False, seconds=2, rounds=1)
    assert found.minutes > 0


@given(
    st.integers(0, 10**10) | st.none(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10**10) | st.none(),
    st.integers(0, 10**10) | st.none(),
    st.integers(0, 50),
    st.integers(0, 50),
)
def test_estimates_are_never_negative_and_slim_never_costs_more(
    wheel: int | None, cuda: bool, slim: bool, locked: int | None, missing: int | None, seconds: int, rounds: int
) -> None:
    def of(slim: bool) -> tuple[int, int, float]:
        found = estimate(
            wheel_bytes=wheel,
            cuda_packages=cuda,
            slim=slim,
            locked_bytes=locked,
            missing_bytes=missing,
            seconds=seconds,
            rounds=rounds,
        )
        return found.download, found.disk, found.minutes

    assert all(value >= 0 for value in of(slim))
    if locked is None and missing is None:
        assert of(True) <= of(False)
