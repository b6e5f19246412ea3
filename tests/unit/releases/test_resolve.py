from __future__ import annotations

import tomllib
from datetime import date, datetime
from pathlib import Path

import pytest

from harness.cells.cell import parse_cell_id
from harness.cells.wheels import OfferedFile, Target
from harness.errors import ConfigurationError, ResolveError
from harness.releases import resolve as subject
from harness.releases.lock import Lock
from harness.releases.resolve import (
    Request,
    as_of_date,
    is_cuda_package,
    requirements_of,
    subject_file,
    target_of,
    uv_platform,
)

TARGET = Target(python=(3, 11), glibc=(2, 36), machine="x86_64")
ROOT = Path(__file__).parents[3]
TODAY = date(2026, 11, 29)


def offered(version: str, tags: str = "cp311-cp311-manylinux_2_28_x86_64", source: str = "default", day: str = ""):
    return OfferedFile(
        filename=f"torch-{version}-{tags}.whl",
        version=version,
        source=source,
        url="",
        uploaded=datetime.fromisoformat(f"{day}T12:00:00+00:00") if day else None,
    )


def request(cell: str, *offers: OfferedFile, requirements=(), target: Target = TARGET) -> Request:
    return Request(cell=parse_cell_id(cell), target=target, offers=offers, requirements=requirements)


class TestPlatform:
    @pytest.mark.parametrize(
        ("glibc", "name"),
        [((2, 17), "2_17"), ((2, 27), "2_17"), ((2, 30), "2_28"), ((2, 36), "2_36"), ((2, 99), "2_40")],
    )
    def test_the_newest_that_runs(self, glibc: tuple[int, int], name: str):
        assert uv_platform(Target(python=(3, 11), glibc=glibc, machine="aarch64")) == f"aarch64-manylinux_{name}"

    @pytest.mark.parametrize(("glibc", "machine"), [((2, 12), "x86_64"), ((0, 0), "x86_64"), ((2, 36), "s390x")])
    def test_what_uv_does_not_know(self, glibc: tuple[int, int], machine: str):
        with pytest.raises(ResolveError, match="uv cannot resolve for"):
            uv_platform(Target(python=(3, 11), glibc=glibc, machine=machine))

    def test_a_lock_gives_its_target_back(self):
        lock = Lock(python="3.13", platform="x86_64-manylinux_2_17", index="cpu", as_of="", slim=False, files=())
        target = target_of(lock, parse_cell_id("torch2.9.0-py3.13t-cpu"))
        assert target == Target(python=(3, 13), glibc=(2, 17), machine="x86_64", free_threaded=True)
        assert uv_platform(target) == lock.platform

    def test_a_foreign_platform_in_a_lock_is_refused(self):
        lock = Lock(python="3.13", platform="windows", index="cpu", as_of="", slim=False, files=())
        with pytest.raises(ConfigurationError, match="'windows'"):
            target_of(lock, parse_cell_id("torch2.9.0-py3.13-cpu"))


class TestRequirements:
    def test_the_runner_is_in_every_lock_at_the_version_that_the_project_pins(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert subject.RUNNER in project["dependencies"]
        assert requirements_of(request("torch2.9.0-py3.11-cpu")) == (subject.RUNNER,)

    def test_the_cells_packages_win_over_the_rules(self):
        found = requirements_of(
            request("torch2.9.0-py3.11-cpu+numpy==1.26.4+pandas==", requirements=["NumPy", "setuptools <70"])
        )
        assert found == (subject.RUNNER, "numpy==1.26.4", "pandas", "setuptools<70")

    def test_a_malformed_rule_is_named(self):
        with pytest.raises(ConfigurationError, match="'numpy=1' is not a requirement"):
            requirements_of(request("torch2.9.0-py3.11-cpu", requirements=["numpy=1"]))


class TestDate:
    def test_thirty_days_after_the_release(self):
        asked = request(
            "torch1.12.1-py3.10-default", offered("1.12.1", day="2022-08-06"), offered("1.12.1", day="2022-08-05")
        )
        assert as_of_date(asked, TODAY) == "2022-09-04"

    def test_not_in_the_future(self):
        asked = request("torch2.15.0-py3.11-default", offered("2.15.0", day="2026-11-20"))
        assert as_of_date(asked, TODAY) == "2026-11-29"

    def test_the_cells_own_date_wins(self):
        asked = request("torch2.15.0-py3.11-default+@2030-01-01", offered("2.15.0", day="2026-11-20"))
        assert as_of_date(asked, TODAY) == "2030-01-01"

    def test_a_build_without_a_date_borrows_that_of_its_release(self):
        asked = request(
            "torch2.13.0-py3.11-cpu", offered("2.13.0+cpu", source="find-links"), offered("2.13.0", day="2026-07-08")
        )
        assert as_of_date(asked, TODAY) == "2026-08-07"

    def test_nobody_dates_it(self):
        assert as_of_date(request("torch2.13.0-py3.11-cpu", offered("2.13.0+cpu")), TODAY) == ""


class TestSubject:
    def test_the_wheel_of_the_backend(self):
        default, cpu = offered("2.13.0"), offered("2.13.0+cpu", source="find-links")
        assert subject_file(request("torch2.13.0-py3.11-cpu", default, cpu)) is cpu
        assert subject_file(request("torch2.13.0-py3.11-default", default, cpu)) is default

    def test_a_source_archive_when_no_wheel_fits(self):
        archive = OfferedFile(filename="torch-2.13.0.tar.gz", version="2.13.0", source="default", url="")
        wheel = offered("2.13.0", "cp312-cp312-win_amd64")
        assert subject_file(request("torch2.13.0-py3.11-default", wheel, archive)) is archive

    def test_another_backend_is_named(self):
        with pytest.raises(ResolveError, match="not offered for backend cu126") as caught:
            subject_file(request("torch2.13.0-py3.11-cu126", offered("2.13.0"), offered("2.13.0+cpu", source="cpu")))
        assert caught.value.why == "it is offered for cpu, default"

    def test_no_such_release(self):
        with pytest.raises(ResolveError) as caught:
            subject_file(request("torch9.9.9-py3.11-default", offered("2.13.0")))
        assert "has this release" in caught.value.why

    def test_no_wheel_for_the_python(self):
        with pytest.raises(ResolveError, match=r"no file of torch 2\.13\.0 fits Python 3\.8") as caught:
            subject_file(
                request("torch2.13.0-py3.8-default", offered("2.13.0"), target=Target(python=(3, 8), glibc=(2, 36)))
            )
        assert "harness plan" in caught.value.next_step


@pytest.mark.parametrize(
    ("name", "cuda"),
    [
        ("nvidia-cublas-cu12", True),
        ("cuda-bindings", True),
        ("triton", True),
        ("pytorch-triton", True),
        ("pytorch-triton-rocm", True),
        ("numpy", False),
        ("tritonclient", False),
    ],
)
def test_cuda_packages(name: str, cuda: bool):
    assert is_cuda_package(name) is cuda
