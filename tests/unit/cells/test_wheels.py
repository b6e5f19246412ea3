"""Which wheel an installer would take, against packaging's own rules."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import cpython_tags

from harness.cells.wheels import OfferedFile, Target, best_wheel, glibc_needed, host_glibc, python_allowed


def offered(filename: str, **changes: object) -> OfferedFile:
    version = filename.split("-")[1].removesuffix(".tar.gz")
    facts: dict[str, object] = {"filename": filename, "version": version, "source": "default", "url": "", **changes}
    return OfferedFile(**facts)  # type: ignore[arg-type]


def target(python: str = "3.11", glibc: tuple[int, int] = (2, 36), machine: str = "x86_64") -> Target:
    major, minor = python.rstrip("t").split(".")
    return Target(python=(int(major), int(minor)), glibc=glibc, machine=machine, free_threaded=python.endswith("t"))


@pytest.mark.parametrize(
    ("tags", "where", "fits"),
    [
        ("cp311-cp311-manylinux1_x86_64", target(), True),
        ("cp311-cp311-manylinux1_x86_64", target(glibc=(2, 5)), True),
        ("cp311-cp311-manylinux2010_x86_64", target(glibc=(2, 11)), False),
        ("cp311-cp311-manylinux2010_x86_64", target(glibc=(2, 12)), True),
        ("cp311-cp311-manylinux2014_x86_64", target(glibc=(2, 17)), True),
        ("cp311-cp311-manylinux2014_x86_64", target(glibc=(2, 16)), False),
        ("cp311-cp311-manylinux2014_aarch64", target(), False),
        ("cp311-cp311-manylinux2014_aarch64", target(machine="aarch64"), True),
        ("cp311-cp311-manylinux_2_28_x86_64", target(glibc=(2, 17)), False),
        ("cp311-cp311-manylinux_2_28_x86_64", target(glibc=(2, 28)), True),
        ("cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", target(glibc=(2, 17)), True),
        ("cp311-cp311-linux_x86_64", target(glibc=(2, 17)), True),
        ("cp311-cp311-linux_x86_64", target(glibc=(0, 0)), True),
        ("cp311-cp311-manylinux1_x86_64", target(glibc=(0, 0)), False),
        ("cp311-cp311-musllinux_1_2_x86_64", target(), False),
        ("cp311-cp311-win_amd64", target(), False),
        ("cp311-none-macosx_11_0_arm64", target(machine="arm64"), False),
        ("cp37-cp37m-manylinux1_x86_64", target("3.7"), True),
        ("cp36-cp36m-manylinux1_x86_64", target("3.6"), True),
        ("cp36-cp36-manylinux1_x86_64", target("3.6"), False),
        ("cp38-cp38-manylinux1_x86_64", target("3.8"), True),
        ("cp38-cp38m-manylinux1_x86_64", target("3.8"), False),
        ("cp311-cp311-manylinux1_x86_64", target("3.12"), False),
        ("cp37-abi3-manylinux2014_x86_64", target("3.11"), True),
        ("cp312-abi3-manylinux2014_x86_64", target("3.11"), False),
        ("cp37-abi3-manylinux2014_x86_64", target("3.13t"), False),
        ("cp313-cp313t-manylinux_2_28_x86_64", target("3.13t"), True),
        ("cp313-cp313-manylinux_2_28_x86_64", target("3.13t"), False),
        ("cp313-cp313t-manylinux_2_28_x86_64", target("3.13"), False),
        ("cp311-cp311d-manylinux_2_28_x86_64", target(), False),
        ("py3-none-any", target("3.13t"), True),
        ("py3-none-any", target("3.6"), True),
        ("py2.py3-none-any", target(), True),
        ("py2-none-any", target(), False),
        ("py3-none-manylinux2014_x86_64", target(), True),
        ("cp311-none-any", target(), True),
    ],
)
def test_which_tags_fit(tags: str, where: Target, fits: bool) -> None:
    file = offered(f"torch-2.0.0-{tags}.whl")
    assert (best_wheel([file], where) is file) is fits


PYTHONS = st.sampled_from(["3.6", "3.7", "3.8", "3.11", "3.13", "3.13t"])
GLIBCS = st.sampled_from([(2, 5), (2, 12), (2, 17), (2, 28), (2, 36)])
TAGS = [
    f"{interpreter}-{platform}"
    for interpreter, platform in itertools.product(
        [
            "cp36-cp36m",
            "cp37-cp37m",
            "cp38-cp38",
            "cp311-cp311",
            "cp313-cp313",
            "cp313-cp313t",
            "cp37-abi3",
            "py3-none",
        ],
        ["manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64", "manylinux2014_aarch64", "any"],
    )
]


@given(PYTHONS, GLIBCS, st.lists(st.sampled_from(TAGS), min_size=1, max_size=6, unique=True))
def test_the_best_wheel_has_the_first_tag_in_packagings_order(
    python: str, glibc: tuple[int, int], tags: list[str]
) -> None:
    where = target(python, glibc)
    files = [offered(f"torch-2.0.0-{tag}.whl") for tag in tags]
    found = best_wheel(files, where)
    first = next((file for tag in where.tags() for file in files if tag in file.tags), None)
    assert found == first


@pytest.mark.parametrize("python", ["3.7", "3.8", "3.11", "3.13t"])
def test_interpreter_and_abi_tags_are_those_of_packaging(python: str) -> None:
    digits = "cp" + python.replace(".", "").rstrip("t")
    abi = digits + ("m" if python == "3.7" else "t" if python.endswith("t") else "")
    where = target(python, (2, 17))
    expected = list(cpython_tags(where.python, [abi], list(where.platforms())))
    assert where.tags()[: len(expected)] == expected


def test_platforms_are_in_the_order_of_glibc_with_the_old_names_beside_their_own() -> None:
    found = list(target(glibc=(2, 18)).platforms())
    assert found[:3] == ["manylinux_2_18_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"]
    assert found[-3:] == ["manylinux_2_5_x86_64", "manylinux1_x86_64", "linux_x86_64"]
    assert found.index("manylinux2010_x86_64") == found.index("manylinux_2_12_x86_64") + 1


def test_yanked_files_are_the_last_resort() -> None:
    yanked = offered("torch-2.0.0-cp311-cp311-manylinux_2_28_x86_64.whl", yanked="broken")
    plain = offered("torch-2.0.0-py3-none-any.whl")
    assert best_wheel([yanked, plain], target()) is plain
    assert best_wheel([yanked], target()) is yanked
    assert best_wheel([offered("torch-2.0.0-py3-none-any.whl", yanked=""), plain], target()) is plain


def test_a_newer_build_of_one_wheel_wins_and_equal_files_do_not_clash() -> None:
    names = ["torch-2.0.0-py3-none-any.whl", "torch-2.0.0-2-py3-none-any.whl", "torch-2.0.0-10-py3-none-any.whl"]
    files = [offered(name) for name in names]
    assert best_wheel(files, target()) is files[2]
    twice = [offered(names[0], source="default"), offered(names[0], source="find-links")]
    assert best_wheel(twice, target()) is twice[0]


def test_requires_python_is_honoured_and_a_malformed_one_is_not() -> None:
    name = "torch-2.0.0-py3-none-any.whl"
    assert best_wheel([offered(name, requires_python=">=3.12")], target()) is None
    assert best_wheel([offered(name, requires_python=">=3.8.0")], target()) is not None
    assert best_wheel([offered(name, requires_python=">=3.8.*")], target()) is not None
    assert python_allowed("", (3, 8))
    assert not python_allowed("<3.8", (3, 8))


@pytest.mark.parametrize(
    "name", ["torch.whl", "torch-2.0.0.tar.gz", "torch-2.0.0-py3.whl", "-.whl", "torch-2.0.0-x-y-z-w-v-u.whl"]
)
def test_what_is_no_wheel_has_no_tags(name: str) -> None:
    file = OfferedFile(filename=name, version="2.0.0", source="default", url="")
    assert file.tags == frozenset()
    assert best_wheel([file], target()) is None
    assert glibc_needed(file) is None


@pytest.mark.parametrize(
    ("tags", "needs"),
    [
        ("cp311-cp311-manylinux1_x86_64", (2, 5)),
        ("cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", (2, 17)),
        ("cp311-cp311-manylinux_2_28_aarch64", (2, 28)),
        ("cp311-cp311-manylinux_2_28_x86_64.manylinux_2_27_x86_64", (2, 27)),
        ("cp311-cp311-linux_x86_64", None),
        ("py3-none-any", None),
    ],
)
def test_the_glibc_that_a_wheel_needs(tags: str, needs: tuple[int, int] | None) -> None:
    assert glibc_needed(offered(f"torch-2.0.0-{tags}.whl")) == needs


def test_public_and_local_parts() -> None:
    file = offered("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl")
    assert (file.public, file.local) == ("2.13.0", "cpu")
    assert host_glibc() >= (0, 0)
