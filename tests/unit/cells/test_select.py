"""Choosing cells by glob and by axis."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cells.cell import parse_cell_id
from harness.cells.select import AXES, Condition, Selector, pattern_fault, select
from harness.errors import UsageError

CELLS = [
    parse_cell_id(text)
    for text in (
        "torch1.12.1-py3.10-default",
        "torch1.12.1-py3.10-default-centos7+OMP_NUM_THREADS=1",
        "torch2.0.1-py3.11-default+slim+numpy==1.26.4",
        "torch2.13.0-py3.11-cpu",
        "torch2.13.0-py3.13t-cpu+flag.mkldnn=off",
        "torch2.16.0.dev20260701-py3.13-cu126+build.DEBUG=1",
    )
]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("*", [0, 1, 2, 3, 4, 5]),
        ("torch2.*-py3.11-*", [2, 3]),
        ("torch2.13.0-py3.11-cpu", [3]),
        ("*+OMP_NUM_THREADS=1", [1]),
        ("*+slim*", [2]),
        ("torch2.13.0-py3.1[13]*", [3, 4]),
        ("python=3.11", [2, 3]),
        ("python=3.1[01]", [0, 1, 2, 3]),
        ("python>=3.13", [4, 5]),
        ("python=3.13t", [4]),
        ("torch=2.13.0", [3, 4]),
        ("torch=2.*", [2, 3, 4, 5]),
        ("torch<2", [0, 1]),
        ("torch>=2.0,<2.14", [2, 3, 4]),
        ("torch>=2.14", [5]),
        ("release==2.0.1", [2]),
        ("release!=2.13.0", [0, 1, 2, 5]),
        ("backend=default", [0, 1, 2]),
        ("image=host", [0, 2, 3, 4, 5]),
        ("slim=true", [2]),
        ("numpy=1.26.*", [2]),
        ("numpy<2", [2]),
        ("env.OMP_NUM_THREADS=1", [1]),
        ("flag.mkldnn=off", [4]),
        ("build.DEBUG=*", [5]),
    ],
)
def test_what_selectors_choose(text: str, chosen: list[int]) -> None:
    assert select(CELLS, [text]) == tuple(CELLS[number] for number in chosen)
    assert [Selector.parse(text).matches(cell) for cell in CELLS] == [number in chosen for number in range(6)]


def test_several_selectors_add_up_in_the_order_of_the_cells() -> None:
    assert select(CELLS, ["backend=cpu", "torch<2"]) == (CELLS[0], CELLS[1], CELLS[3], CELLS[4])
    assert select(CELLS, []) == tuple(CELLS)
    assert select([], []) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pyhton=3.11", "no cell has an axis 'pyhton'; perhaps you meant 'python'"),
        ("OMP_NUM_THREADS=1", "no cell has an axis 'OMP_NUM_THREADS'; perhaps you meant 'env.OMP_NUM_THREADS'"),
        ("scipy=1.0", "no cell has an axis 'scipy'"),
        ("torch>=two", "is not a range of versions"),
        ("python=3.8", "selects none of 6 cells"),
        ("env.MKL_NUM_THREADS=1", "selects none of 6 cells"),
        ("torch3*", "selects none of 6 cells"),
        ("", "an empty selector"),
    ],
)
def test_selectors_that_fail_say_why(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        select(CELLS, [text])


def test_parsing_alone_refuses_axes_only_when_told_which_exist() -> None:
    assert Selector.parse("scipy=1").condition == Condition(axis="scipy", patterns=("1",))
    with pytest.raises(UsageError):
        Selector.parse("scipy=1", axes=AXES)


@given(st.text(alphabet="a[]*?=%+ .\\", max_size=8), st.text(alphabet="a[]*?=", max_size=8))
def test_an_id_selects_its_own_cell_whatever_it_holds(value: str, other: str) -> None:
    for subject in ("torch", "lz4"):
        cell = parse_cell_id("torch2.0-py3.11-cpu").but(subject=subject, env=(("A", value),))
        assert Selector.parse(cell.id).matches(cell)
        assert Selector.parse(cell.id).matches(cell.but(env=(("A", other),))) is (value == other)


def test_a_condition_on_what_is_not_set_does_not_hold() -> None:
    assert not Condition(axis="env.A", patterns=("*",)).holds(CELLS[0])
    # `default` is no version, so no range has it.
    assert not Condition(axis="backend", patterns=(">=0",)).holds(CELLS[0])
    assert pattern_fault("<x")
    assert not pattern_fault("[x")
