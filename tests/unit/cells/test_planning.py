"""What becomes of a cell: the exact wheel, or the one best reason and the nearest cell that can exist."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cells.cell import Cell, parse_cell_id
from harness.cells.images import Capability, Image, target_for
from harness.cells.offers import Offers, serves
from harness.cells.planning import Cause, PlannedCell, Standing, excluded_cell, plan_cell
from harness.cells.pythons import python_chooser, ranges
from harness.cells.wheels import OfferedFile, Target, best_wheel

CENTOS = Image(
    name="centos7",
    reference="centos:7",
    digest="",
    glibc=(2, 17),
    machines=("x86_64",),
    python="2.7.5",
    needs=frozenset({Capability.CONTAINERS}),
    description="",
)
ROCM = replace(CENTOS, name="rocm", glibc=(2, 35), needs=frozenset({Capability.CONTAINERS, Capability.KFD}))
HOST = Target(python=(3, 11), glibc=(2, 36), machine="x86_64")


def target_of(cell: Cell, glibc: tuple[int, int] = (2, 36), machine: str = "x86_64") -> Target:
    return target_for(cell, None, glibc=glibc, machine=machine)


def plan(text: str, offers: Offers | list[OfferedFile], **how: object) -> PlannedCell:
    cell = parse_cell_id(text)
    image = {"centos7": CENTOS, "rocm": ROCM}.get(cell.image)
    glibc = image.glibc if image else (2, 36)
    where = how.pop("target", None) or target_of(cell, glibc, str(how.pop("machine", "x86_64")))
    assert isinstance(where, Target)
    return plan_cell(cell, offers, where, image=image, **how)  # type: ignore[arg-type]


def file_of(filename: str, **changes: object) -> OfferedFile:
    version = filename.split("-")[1].removesuffix(".tar.gz")
    facts: dict[str, object] = {"filename": filename, "version": version, "source": "default", "url": "", **changes}
    return OfferedFile(**facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "wheel"),
    [
        ("torch1.12.1-py3.10-default", "torch-1.12.1-cp310-cp310-manylinux1_x86_64.whl"),
        ("torch1.12.1-py3.10.4-default", "torch-1.12.1-cp310-cp310-manylinux1_x86_64.whl"),
        ("torch2.15.0-py3.11-default+slim", "torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl"),
        ("torch2.15.0-py3.13t-default", "torch-2.15.0-cp313-cp313t-manylinux_2_28_x86_64.whl"),
        ("torch2.15.0-py3.10-cpu", "torch-2.15.0+cpu-cp310-cp310-manylinux_2_28_x86_64.whl"),
        ("torch2.6.0-py3.11-default-centos7", "torch-2.6.0-cp311-cp311-manylinux1_x86_64.whl"),
    ],
)
def test_cells_that_exist_name_their_wheel(offers: Offers, text: str, wheel: str) -> None:
    planned = plan(text, offers)
    assert planned.file is not None
    assert planned.file.filename == wheel
    assert (planned.exists, planned.runs, planned.reason, planned.nearest) == (True, True, "", None)


@pytest.mark.parametrize(
    ("text", "cause", "reason", "nearest"),
    [
        (
            "torch1.12.1-py3.11-default",
            Cause.PYTHON,
            "torch 1.12.1 has no wheel for Python 3.11; it has for 3.8 to 3.10 (default)",
            "torch1.12.1-py3.10-default",
        ),
        (
            "torch2.15.0-py3.8-default+slim+A=1",
            Cause.PYTHON,
            "torch 2.15.0 has no wheel for Python 3.8; it has for 3.11 to 3.13 (default)",
            "torch2.15.0-py3.11-default+slim+A=1",
        ),
        (
            "torch2.6.0-py3.13t-default",
            Cause.PYTHON,
            "torch 2.6.0 has no wheel for Python 3.13t; it has for 3.9 to 3.13 (default)",
            "torch2.6.0-py3.13-default",
        ),
        (
            "torch2.15.0-py3.11-default-centos7",
            Cause.GLIBC,
            "the wheel of torch 2.15.0 for Python 3.11 needs glibc 2.28; centos7 has 2.17",
            "torch2.6.0-py3.11-default-centos7",
        ),
        (
            "torch2.16.0-py3.11-default",
            Cause.RELEASE,
            "torch 2.16.0 is not offered; near it are 2.15.0 and 2.6.0",
            "torch2.15.0-py3.11-default",
        ),
        (
            "torch1.2.0-py3.8-default",
            Cause.RELEASE,
            "torch 1.2.0 is not offered; near it are 1.4.0 and 1.12.1",
            "torch1.4.0-py3.8-default",
        ),
        (
            "torch2.15.0-py3.11-cu126",
            Cause.BACKEND,
            "torch 2.15.0 is not offered for cu126; it is for default, cpu",
            "torch2.15.0-py3.11-default",
        ),
        (
            "torch1.12.1-py3.10-cpu",
            Cause.BACKEND,
            "torch 1.12.1 is not offered for cpu; it is for default",
            "torch1.12.1-py3.10-default",
        ),
        (
            "torch2.15.0-py3.10-cu126+slim",
            Cause.BACKEND,
            "torch 2.15.0 is not offered for cu126; it is for default, cpu",
            "torch2.15.0-py3.10-cpu",
        ),
        (
            "torch1.12.1-py3.13-cpu",
            Cause.BACKEND,
            "torch 1.12.1 is not offered for cpu; it is for default",
            "torch1.12.1-py3.10-default",
        ),
        (
            "torch1.12.1-py3.10-default+build.DEBUG=1",
            Cause.SOURCE,
            "build variables need a source to build, and torch 1.12.1 is offered as wheels only",
            "torch1.12.1-py3.10-default",
        ),
        (
            "torch1.8.1-py3.7-default",
            Cause.PYTHON,
            "the benchmarks run on Python 3.8 and newer, not on 3.7",
            "torch1.8.1-py3.8-default",
        ),
    ],
)
def test_cells_that_cannot_exist_say_why_and_name_the_nearest(
    offers: Offers, text: str, cause: Cause, reason: str, nearest: str
) -> None:
    planned = plan(text, offers)
    assert (planned.standing, planned.exists, planned.file) == (Standing.CANNOT_EXIST, False, None)
    assert (planned.cause, planned.reason, planned.nearest) == (cause, reason, nearest)


def test_other_machines(offers: Offers) -> None:
    assert plan("torch2.15.0-py3.11-default", offers, machine="aarch64").file is not None
    planned = plan("torch2.14.1-py3.11-default", offers, machine="aarch64")
    assert planned.cause is Cause.MACHINE
    assert planned.reason == "torch 2.14.1 has Linux wheels for x86_64, not for aarch64"
    assert planned.nearest == "torch2.15.0-py3.11-default"
    windows = plan("torch1.0-py3.11-default", [file_of("torch-1.0-cp311-cp311-win_amd64.whl")])
    assert (windows.cause, windows.nearest) == (Cause.MACHINE, None)
    assert windows.reason == "torch 1.0 has no wheel for Linux, only for win_amd64"


def test_a_host_without_glibc(offers: Offers) -> None:
    cell = parse_cell_id("torch2.15.0-py3.11-default")
    planned = plan_cell(cell, offers, target_of(cell, (0, 0)))
    assert planned.cause is Cause.GLIBC
    assert planned.reason.endswith("needs glibc 2.28; this machine has no glibc")


def test_source_archives_are_built_only_when_asked() -> None:
    archive = file_of("torch-1.0.tar.gz")
    planned = plan("torch1.0-py3.11-default", [archive])
    assert (planned.cause, planned.exists) == (Cause.SDIST, False)
    built = plan("torch1.0-py3.11-default+build.DEBUG=1", [archive])
    assert (built.file, built.runs) == (archive, True)


def test_yanked_releases_exist_with_a_warning_unless_named() -> None:
    files = [file_of("torch-1.0-py3-none-any.whl", yanked="broken"), file_of("torch-1.1-py3-none-any.whl", yanked="")]
    assert plan("torch1.0-py3.11-default", files).warning == "torch 1.0 was yanked: broken"
    assert plan("torch1.1-py3.11-default", files).warning == "torch 1.1 was yanked"
    assert plan("torch1.0-py3.11-default", files).runs
    assert plan("torch1.0-py3.11-default", files, pinned=True).warning == ""


def test_what_this_machine_lacks_is_no_reason_against_the_cell(offers: Offers) -> None:
    text = "torch2.15.0-py3.11-default-rocm"
    planned = plan(text, offers, capabilities=set())
    assert (planned.standing, planned.exists, planned.runs) == (Standing.NOT_HERE, True, False)
    assert planned.reason == "planned, cannot run here: rocm needs a container engine and /dev/kfd"
    assert planned.file is not None
    half = plan(text, offers, capabilities={Capability.CONTAINERS})
    assert half.reason == "planned, cannot run here: rocm needs /dev/kfd"
    assert plan(text, offers, capabilities={Capability.CONTAINERS, Capability.KFD}).runs
    assert plan(text, offers, capabilities=None).runs
    # What cannot exist cannot exist anywhere: that reason goes first.
    assert plan("torch2.15.0-py3.11-default-centos7", offers, capabilities=set()).cause is Cause.GLIBC


def test_an_image_that_does_not_exist_for_the_machine(offers: Offers) -> None:
    planned = plan("torch2.15.0-py3.11-default-rocm", offers, machine="aarch64")
    assert (planned.cause, planned.exists) == (Cause.IMAGE, True)
    assert planned.reason == "planned, cannot run here: rocm exists for x86_64, and this machine is aarch64"


def test_an_index_that_was_not_read_is_not_an_index_without_wheels(offers: Offers) -> None:
    planned = plan("torch2.15.0-py3.11-cu126", offers, unreached={"cu126"})
    assert planned.reason == "the index for cu126 could not be read"
    assert planned.nearest == "torch2.15.0-py3.11-default"


def test_a_file_in_a_folder_serves_where_the_index_was_not_read() -> None:
    wheel = "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"
    planned = plan("torch2.13.0-py3.11-cpu", [file_of(wheel, source="find-links")], unreached={"cpu"})
    assert planned.runs
    assert planned.file is not None
    assert planned.file.filename == wheel


def test_nothing_offered_at_all() -> None:
    planned = plan("torch1.0-py3.11-default", [])
    assert (planned.cause, planned.reason, planned.nearest) == (Cause.RELEASE, "torch 1.0 is not offered", None)


def test_excluded_cells_carry_their_reason() -> None:
    planned = excluded_cell(parse_cell_id("torch1.0-py3.11-cpu"), "too old")
    assert (planned.standing, planned.exists, planned.reason) == (Standing.EXCLUDED, False, "excluded: too old")


@given(
    st.sampled_from(["1.4.0", "1.12.1", "2.0.1", "2.6.0", "2.15.0", "2.9", "7.0"]),
    st.sampled_from(["3.8", "3.10", "3.11", "3.13", "3.13t", "3.14"]),
    st.sampled_from(["default", "cpu", "cu126"]),
    st.sampled_from(["host", "centos7"]),
)
def test_the_nearest_cell_always_exists(offers: Offers, release: str, python: str, backend: str, image: str) -> None:
    cell = Cell(subject="torch", release=release, python=python, backend=backend, image=image)
    planned = plan(cell.id, offers)
    assert planned.exists is (planned.file is not None) is (planned.reason == "")
    if planned.nearest is not None:
        assert plan(planned.nearest, offers).runs
        assert planned.nearest != cell.id


def test_which_files_serve_a_backend() -> None:
    name = "torch-2.0+cpu-py3-none-any.whl"
    assert serves(file_of(name, source="cpu"), "cpu")
    assert serves(file_of(name, source="find-links"), "cpu")
    assert not serves(file_of(name, source="find-links"), "default")
    assert serves(file_of("torch-2.0-py3-none-any.whl", source="find-links"), "default")
    assert serves(file_of("torch-2.0-py3-none-any.whl", source="cpu"), "cpu")
    assert not serves(file_of("torch-2.0-py3-none-any.whl", source="cpu"), "default")
    assert not serves(file_of("torch-2.0-py3-none-any.whl"), "cpu")
    assert not serves(file_of("torch-2.0+cpu.cxx11.abi-py3-none-any.whl", source="cpu"), "cpu")


def test_offers_pass_over_names_that_are_no_versions_and_sort_by_version() -> None:
    files = [file_of(f"torch-{version}-py3-none-any.whl", version=version) for version in ("1.10", "2004d", "1.9")]
    assert Offers(files).releases == ("1.9", "1.10")
    assert Offers(files).files("1.10.0") == [files[0]]
    assert Offers(files).files("3") == []


def test_the_target_of_a_cell_is_that_of_its_place() -> None:
    cell = parse_cell_id("torch2.15.0-py3.13.1t-default-centos7")
    found = target_for(cell, CENTOS, glibc=(2, 36), machine="aarch64")
    assert found == Target(python=(3, 13), glibc=(2, 17), machine="aarch64", free_threaded=True)
    assert target_for(cell.but(python="3.8"), None, glibc=(2, 36), machine="x86_64") == Target(
        python=(3, 8), glibc=(2, 36), machine="x86_64"
    )


class TestPythonChoice:
    """Which Python `auto` comes to."""

    @pytest.mark.parametrize(
        ("releases", "installed", "python"),
        [
            (["2.14.1", "2.15.0"], {"3.8", "3.11", "3.12"}, "3.12"),
            (["2.14.1", "2.15.0"], {"3.8"}, "3.13"),
            (["2.14.1", "2.15.0"], {"3.13t", "3.14"}, "3.13"),
            (["1.11.0", "1.12.1"], {"3.8", "3.9", "3.11"}, "3.9"),
            (["1.4.0", "1.12.1"], {"3.6", "3.11"}, "3.8"),
            (["2.15.0", "2.15.0"], {"3.11"}, "3.11"),
        ],
    )
    def test_every_release_has_a_wheel(
        self, offers: Offers, releases: list[str], installed: set[str], python: str
    ) -> None:
        choice = python_chooser(offers, lambda _: HOST, installed, subject="torch")(releases, "default", "host")
        assert (choice.python, choice.complete) == (python, True)
        assert f"Python {python}" in choice.why
        assert ("none that is installed will do" in choice.why) is (python not in installed)

    def test_where_none_will_do_the_reason_says_what_each_release_has(self, offers: Offers) -> None:
        choose = python_chooser(offers, lambda _: HOST, {"3.11"}, subject="torch")
        choice = choose(["1.12.1", "2.15.0"], "default", "host")
        assert (choice.python, choice.complete) == ("3.11", False)
        assert choice.why == (
            "no Python has a wheel of every release (default): "
            "torch 1.12.1 for 3.8 to 3.10; torch 2.15.0 for 3.11 to 3.13"
        )

    def test_the_image_counts(self, offers: Offers) -> None:
        choose = python_chooser(offers, lambda _: replace(HOST, glibc=(2, 17)), {"3.11"}, subject="torch")
        assert not choose(["2.15.0"], "default", "centos7").complete
        assert choose(["2.6.0"], "default", "centos7").complete

    def test_nothing_offered(self) -> None:
        choose = python_chooser([], lambda _: HOST, set(), subject="torch")
        assert not choose(["1.0"], "default", "host").complete

    def test_a_wheel_for_any_python_takes_the_newest_installed(self) -> None:
        choose = python_chooser([file_of("torch-1.0-py3-none-any.whl")], lambda _: HOST, {"3.9", "3.12"}, subject="x")
        assert choose(["1.0"], "default", "host").python == "3.12"


def test_ranges_of_pythons() -> None:
    assert ranges(["3.8"]) == "3.8"
    assert ranges(["3.8", "3.9", "3.10"]) == "3.8 to 3.10"
    assert ranges(["3.8", "3.10", "3.11", "3.13"]) == "3.8, 3.10 to 3.11 and 3.13"
    assert ranges([]) == ""


def test_best_agrees_with_best_wheel(offers: Offers) -> None:
    assert offers.best("2.15.0", "cpu", HOST) == best_wheel(offers.files("2.15.0", "cpu"), HOST)
