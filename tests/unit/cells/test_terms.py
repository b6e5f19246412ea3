"""The words of the release axis."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from harness.cells.terms import Term, nearest_releases, releases_of, term_fault
from harness.errors import ResolveError, UsageError

LINE = ["1.8.0", "1.8.1", "1.11.0", "1.12.0", "1.12.1", "2.0.0", "2.0.1", "2.14.0", "2.14.1", "2.15.0"]
NIGHTLY = "2.16.0.dev20260701"


@pytest.mark.parametrize(
    ("text", "releases"),
    [
        ("1.12.1", ["1.12.1"]),
        ("1.12", ["1.12.0"]),
        ("v1.12", ["1.12.0"]),
        ("2.15.0+cpu", ["2.15.0"]),
        (NIGHTLY, [NIGHTLY]),
        ("newest", ["2.15.0"]),
        ("previous", ["2.14.1"]),
        ("newest<2", ["1.12.1"]),
        ("previous <= 2.0.1", ["2.0.0"]),
        ("minors", ["1.8.1", "1.11.0", "1.12.1", "2.0.1", "2.14.1", "2.15.0"]),
        ("minors>=2,<2.14.1", ["2.0.1", "2.14.0"]),
        (">=1.12,<2", ["1.12.0", "1.12.1"]),
        ("==1.8.*", ["1.8.0", "1.8.1"]),
        ("~=2.14.0", ["2.14.0", "2.14.1"]),
        ("!=2.15.0,>2.0.1", ["2.14.0", "2.14.1"]),
    ],
)
def test_what_terms_name(text: str, releases: list[str]) -> None:
    assert term_fault(text) == ""
    assert releases_of(text, LINE, [NIGHTLY], subject="torch") == releases


@pytest.mark.parametrize(
    "text", ["", "  ", "newst", "latest", "1.2.x", ">=", "newest 2.0", "1.0 1.1", "minors>>1", "٢"]
)
def test_what_is_no_term(text: str) -> None:
    assert term_fault(text)
    with pytest.raises(UsageError):
        releases_of(text, LINE, subject="torch")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1.12.3", "torch 1.12.3 is not offered\nLikely cause: perhaps you meant 1.12.1 or 2.0.0"),
        ("9", "torch 9 is not offered\nLikely cause: perhaps you meant 2.15.0"),
        (
            "newest<1",
            "no stable release of torch is named by 'newest<1'\nLikely cause: the releases known are 1.8.0 to",
        ),
        ("previous<=1.8.0", "no stable release of torch is named by 'previous<=1.8.0'"),
        (">=3", "no stable release of torch is named by '>=3'"),
    ],
)
def test_releases_that_are_not_there(text: str, says: str) -> None:
    with pytest.raises(ResolveError) as caught:
        releases_of(text, LINE, subject="torch")
    assert str(caught.value).startswith(says)


def test_an_empty_line_is_an_error_and_not_an_index_error() -> None:
    for text in ("newest", "1.0", ">=1"):
        with pytest.raises(ResolveError):
            releases_of(text, [], subject="torch")


def test_words_never_name_a_nightly() -> None:
    assert releases_of("newest", LINE, [NIGHTLY], subject="torch") == ["2.15.0"]


@pytest.mark.parametrize(
    ("text", "single"),
    [("newest", True), ("previous<2", True), ("1.0", True), ("minors", False), (">=1", False), ("==1.0", False)],
)
def test_terms_that_always_name_one(text: str, single: bool) -> None:
    assert Term.parse(text).single is single


@given(st.sampled_from(LINE), st.integers(0, 20))
def test_the_neighbours_of_a_mistyped_release_are_named(base: str, patch: int) -> None:
    wanted = f"{base}.{patch}"
    near = nearest_releases(wanted, LINE)
    below = [r for r in LINE if Version(r) < Version(wanted)]
    assert not below or below[-1] in near
    assert len(near) <= 3
    assert set(near) <= set(LINE)
