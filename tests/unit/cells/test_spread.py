"""Releases that stand for a line."""

from __future__ import annotations

import pytest

from harness.cells.spread import spread
from harness.errors import ResolveError

LINE = ["1.8.0", "1.8.1", "1.9.0", "1.9.1", "1.10.0", "1.10.2", "2.0.0", "2.0.1", "2.1.0"]


def test_the_last_of_each_minor_and_both_ends() -> None:
    assert spread(LINE, "1.8.1", "2.0.0", limit=10) == ["1.8.1", "1.9.1", "1.10.2", "2.0.0"]


def test_an_older_beginning_stands_beside_its_minor() -> None:
    assert spread(LINE, "1.8.0", "1.9.1", limit=10) == ["1.8.0", "1.8.1", "1.9.1"]


def test_every() -> None:
    assert spread(LINE, "1.9.0", "1.10.2", limit=None) == ["1.9.0", "1.9.1", "1.10.0", "1.10.2"]


@pytest.mark.parametrize("limit", range(2, 12))
def test_a_long_line_is_thinned_out_evenly(limit: int) -> None:
    line = [f"1.{minor}.0" for minor in range(30)]
    found = spread(line, "1.2.0", "1.28.0", limit=limit)
    assert (len(found), found[0], found[-1]) == (limit, "1.2.0", "1.28.0")
    assert found == sorted(set(found), key=line.index)


def test_one_release() -> None:
    assert spread(LINE, "2.0.1", "2.0.1", limit=10) == ["2.0.1"]


def test_the_wrong_way_round_is_told() -> None:
    with pytest.raises(ResolveError, match=r"2\.0\.1 is newer than 1\.9\.0"):
        spread(LINE, "2.0.1", "1.9.0", limit=10)


def test_no_release_of_the_line() -> None:
    with pytest.raises(ResolveError, match=r"3\.0 is not a stable release"):
        spread(LINE, "1.8.1", "3.0", limit=10)
