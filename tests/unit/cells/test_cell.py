"""Cell ids: one readable name per cell, and back."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from harness.cells.cell import HOST, Cell, pairs, parse_cell_id
from harness.errors import UsageError

HOSTILE = st.one_of(
    st.text(alphabet="+=%@ .-_!~,;\\'\"$`#&|<>\n\t\r/0aZ", max_size=12),
    st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12),
)
WORDS = st.from_regex(r"[a-z0-9][a-z0-9._]{0,8}", fullmatch=True)
NUMBERS = st.integers(0, 120).map(str)
RELEASES = st.builds(
    lambda epoch, parts, pre, post, dev: epoch + ".".join(parts) + pre + post + dev,
    st.sampled_from(["", "1!"]),
    st.lists(NUMBERS, min_size=1, max_size=4),
    st.sampled_from(["", "a1", "b12", "rc3"]),
    st.sampled_from(["", ".post1"]),
    st.sampled_from(["", ".dev20260701"]),
)
VARIABLES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True) | st.sampled_from(["slim", "build", "flag"])
SUBJECTS = st.from_regex(r"[a-z0-9]{1,6}(-[a-z0-9]{1,4}){0,2}", fullmatch=True)


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    """Any cell that can be made."""
    return Cell(
        subject=draw(SUBJECTS),
        release=draw(RELEASES),
        python=draw(st.from_regex(r"3\.(0|[1-9][0-9]?)(\.(0|[1-9][0-9]?))?t?", fullmatch=True)),
        backend=draw(WORDS),
        image=draw(st.just(HOST) | st.from_regex(r"[a-z0-9][a-z0-9._]{0,5}(-[a-z0-9._]{1,4}){0,2}", fullmatch=True)),
        slim=draw(st.booleans()),
        as_of=draw(st.just("") | st.dates().map(lambda day: day.isoformat())),
        packages=pairs(
            draw(st.dictionaries(SUBJECTS, st.just("") | RELEASES.map(lambda r: r + "+cu12.6"), max_size=3))
        ),
        build=pairs(draw(st.dictionaries(VARIABLES, HOSTILE, max_size=3))),
        env=pairs(draw(st.dictionaries(VARIABLES, HOSTILE, max_size=3))),
        flags=pairs(draw(st.dictionaries(VARIABLES, HOSTILE, max_size=3))),
    )


@given(cells())
@example(Cell(subject="torch", release="12.0", python="3.11"))
@example(Cell(subject="torch", release="2a1", python="3.11"))
@example(Cell(subject="torch2a", release="1", python="3.11"))
@example(Cell(subject="py3-cpu", release="3.11", python="3.11", backend="py3.11"))
@example(Cell(subject="torch", release="2.0", python="3.11", env=(("numpy", "=1"), ("slim", ""))))
@example(Cell(subject="torch", release="2.0", python="3.11", packages=(("numpy", ""),), env=(("NUMPY", "%3D"),)))
def test_every_cell_comes_back_from_its_id(cell: Cell) -> None:
    assert parse_cell_id(cell.id) == cell
    assert cell.id.split() == [cell.id]
    assert cell.id.isascii()


@given(cells(), cells())
def test_two_cells_never_share_an_id(one: Cell, other: Cell) -> None:
    assert (one.id == other.id) == (one == other)


@given(st.text(alphabet="torch2.0-py3.11-cpu+@=%٣ \n", max_size=40) | st.text(max_size=20))
@example("torch٢.0-py3.11-cpu")
@example("torch2.0-py3.11-cpu\n")
@example("torch2.0-py3.11-cpu+")
@example("torch2.0-py3.11-cpu+@")
def test_any_text_is_a_cell_or_a_usage_error(text: str) -> None:
    try:
        cell = parse_cell_id(text)
    except UsageError:
        return
    assert parse_cell_id(cell.id) == cell


@pytest.mark.parametrize(
    "text",
    [
        "torch2.13.0-py3.11-cpu",
        "torch1.12.1-py3.10-default-centos7+OMP_NUM_THREADS=1",
        "torch2.15.0-py3.12-default+slim+numpy==1.26.4+build.DEBUG=1+flag.mkldnn=off+@2026-11-01",
        "torch2.14.0.dev20260701-py3.13t-rocm6.4-rocm-wsl",
        "lz4==4.0-py3.11-default",
        "torch2.0.0-py3.11-cpu+LD_PRELOAD=/usr/lib/libgomp.so.1+X=a%2Bb=c",
    ],
)
def test_documented_ids_are_canonical(text: str) -> None:
    assert parse_cell_id(text).id == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("torch", "not a cell id"),
        ("torch2.0-cpu", "not a cell id"),
        ("torch2.00-py3.11-cpu", "write the release as 2.0"),
        ("torch2.0-py3.11-cpu+", "'' is not understood"),
        ("torch2.0-py3.11-cpu+fast", "'fast' is not understood"),
        ("torch2.0-py3.11-cpu+slim+slim", "'slim' is not understood"),
        ("torch2.0-py3.11-cpu+A=1+A=2", "names A twice"),
        ("torch2.0-py3.11-cpu+@2026-02-30", "not a date"),
        ("torch2.0-py3.11-cpu+numpy==two", "'two' is not a version of numpy"),
        ("torch2.0-py3.11-cpu+Num_py==2.0", "not a name for packages"),
        ("torch2.0-py3.11-cpu+A B=2.0", "not a name for env"),
    ],
)
def test_what_is_not_an_id_says_why(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_cell_id(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "Torch"},
        {"subject": "torch_vision"},
        {"subject": ""},
        {"release": "1.02"},
        {"release": "2.0+cpu"},
        {"release": "٢.0"},
        {"python": "3.011"},
        {"python": "2.7"},
        {"backend": "cu-126"},
        {"image": "a+b"},
        {"image": ""},
        {"as_of": "2026-13-01"},
        {"env": (("B", "1"), ("A", "1"))},
        {"env": (("A", "1"), ("A", "2"))},
        {"env": (("A", "\0"),)},
        {"env": (("A", "\udc80"),)},
        {"env": (("1A", ""),)},
        {"flags": (("a.b", ""),)},
        {"packages": (("numpy", "<2"),)},
    ],
)
def test_a_cell_that_no_id_can_carry_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Cell(subject="torch", release="2.0", python="3.11").but(**changes)


def test_axes_name_everything_and_packages_hide_nothing() -> None:
    cell = Cell(
        subject="torch",
        release="2.0.1",
        python="3.11.7",
        packages=(("image", "1.0"), ("numpy", "1.26.4")),
        env=(("A", "1"),),
        build=(("A", "2"),),
        flags=(("A", "3"),),
        slim=True,
    )
    axes = cell.axes()
    assert (axes["torch"], axes["release"], axes["image"], axes["numpy"]) == ("2.0.1", "2.0.1", HOST, "1.26.4")
    assert (axes["env.A"], axes["build.A"], axes["flag.A"], axes["slim"]) == ("1", "2", "3", "true")
    assert cell.python_minor == (3, 11)
    assert str(cell) == cell.id


@given(cells(), cells())
def test_cells_hash_and_compare_as_values(one: Cell, other: Cell) -> None:
    assert hash(parse_cell_id(one.id)) == hash(one)
    assume(one != other)
    assert len({one, other}) == 2
