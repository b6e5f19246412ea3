import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.asv_plugin.naming import asv_name, asv_requirements, asv_variables, cell_of, result_file
from harness.cells.cell import Cell, pairs
from harness.errors import UsageError

values = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
variables = st.dictionaries(st.from_regex(r"[A-Z_][A-Z_0-9]{0,8}", fullmatch=True), values, max_size=3).map(pairs)
cells = st.builds(
    Cell,
    subject=st.sampled_from(["torch", "tiny-package", "lz4"]),
    release=st.sampled_from(["1.12.1", "2.14.0.dev20260701", "2.0"]),
    python=st.sampled_from(["3.10", "3.11.7", "3.13t"]),
    backend=st.sampled_from(["default", "cpu", "cu126", "rocm6.4"]),
    image=st.sampled_from(["host", "centos7"]),
    slim=st.booleans(),
    as_of=st.sampled_from(["", "2026-11-01"]),
    packages=st.dictionaries(
        st.sampled_from(["numpy", "scipy", "triton"]), st.sampled_from(["", "1.26.4"]), max_size=2
    ).map(pairs),
    build=variables,
    env=variables,
    flags=st.dictionaries(st.sampled_from(["mkldnn", "tf32"]), st.sampled_from(["on", "off"]), max_size=2).map(pairs),
)


@given(cells)
def test_a_cell_comes_back(cell: Cell) -> None:
    requirements, env = asv_requirements(cell), asv_variables(cell)
    assert cell_of(cell.python, requirements, env, subject=cell.subject, release=cell.release) == cell


@given(cells)
def test_a_name_says_neither_release_nor_subject_and_fits_a_file(cell: Cell) -> None:
    name = asv_name(cell)
    assert name == asv_name(cell.but(release="0.1", subject="other"))
    assert name.startswith(f"cell-py{cell.python}-")
    assert "/" not in name


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "cell-py3.10-backenddefault"),
        ({"slim": True}, "cell-py3.10-backenddefault-slimtrue"),
        ({"image": "centos7", "backend": "cpu"}, "cell-py3.10-backendcpu-imagecentos7"),
        (
            {"packages": (("numpy", "1.26.4"),), "env": (("OMP_NUM_THREADS", "1"),)},
            "cell-py3.10-backenddefault-numpy1.26.4-OMP_NUM_THREADS1",
        ),
        (
            {"build": (("DEBUG", "1"),), "flags": (("mkldnn", "off"),)},
            "cell-py3.10-backenddefault-build.DEBUG1-flag.mkldnnoff",
        ),
    ],
)
def test_names_of_environments_never_change(changes: dict[str, object], name: str) -> None:
    # Results are found by these names: a change here orphans what people have stored.
    assert asv_name(Cell(subject="torch", release="1.12.1", python="3.10").but(**changes)) == name


def test_the_file_is_named_by_commit_and_environment() -> None:
    cell = Cell(subject="torch", release="1.12.1", python="3.10")
    assert result_file("box", "0123456789abcdef", cell) == "box/01234567-cell-py3.10-backenddefault.json"


@pytest.mark.parametrize(
    ("requirements", "env", "fault"),
    [
        ({"backend": "default", "slim": "yes"}, {}, "slim"),
        ({"slim": True}, {}, "string"),
        ({"backend": "default", "image": "host"}, {}, "null"),
        ({}, {}, "backend"),
        ({"backend": "default"}, {("build", "DEBUG"): "1"}, "build.DEBUG"),
        ({"backend": "default", "pip+numpy": "1"}, {}, "numpy"),
        ({"backend": "CPU"}, {}, "cell"),
    ],
)
def test_a_matrix_that_is_no_cell_is_refused(
    requirements: dict[str, str], env: dict[tuple[str, str], str], fault: str
) -> None:
    with pytest.raises(UsageError, match=fault):
        cell_of("3.10", requirements, env, subject="torch", release="1.12.1")


def test_a_package_with_the_name_of_an_axis_is_refused() -> None:
    with pytest.raises(UsageError, match="image"):
        asv_requirements(Cell(subject="torch", release="1.12.1", python="3.10", packages=(("image", "1"),)))
