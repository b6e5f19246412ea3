from __future__ import annotations

from pathlib import Path

import pytest

from harness.cells.cell import parse_cell_id
from harness.environments.environment import Environment
from harness.environments.variables import ALLOCATOR, clean_variables
from harness.releases.lock import Lock

LOCK = Lock(python="3.11", platform="any", index="default", as_of="", slim=False, files=())
ENVIRONMENT = Environment(key="k", path=Path("/store/k"), lock=LOCK, python_version="3.11.7")
CELL = parse_cell_id("torch2.13.0-py3.11-cpu")


def test_nothing_of_a_shell_comes_through(monkeypatch: pytest.MonkeyPatch):
    for name in (
        "OMP_NUM_THREADS",
        "MKL_CBWR",
        "PYTHONPATH",
        "LD_PRELOAD",
        "KMP_AFFINITY",
        "MALLOC_PERTURB_",
        "TZ",
        "FOO",
    ):
        monkeypatch.setenv(name, "1")
    assert sorted(clean_variables(CELL, ENVIRONMENT)) == sorted(
        {"PATH", "HOME", "LANG", "LC_ALL", "PYTHONNOUSERSITE", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", *ALLOCATOR}
    )


def test_the_environment_comes_first_on_path():
    assert clean_variables(CELL, ENVIRONMENT)["PATH"].split(":")[0] == "/store/k/bin"


def test_places_and_lent_devices_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", "/scratch")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    variables = clean_variables(CELL, ENVIRONMENT)
    assert (variables["TMPDIR"], variables["CUDA_VISIBLE_DEVICES"]) == ("/scratch", "3")


def test_the_cell_wins_over_everything():
    env = (("MALLOC_TOP_PAD_", "0"), ("OMP_NUM_THREADS", "1"), ("PYTHONHASHSEED", "7"))
    variables = clean_variables(CELL.but(env=env), ENVIRONMENT)
    assert dict(env).items() <= variables.items()


def test_plain_leaves_the_allocator_alone():
    cell = CELL.but(env=(("MALLOC_MMAP_THRESHOLD_", "4096"),))
    variables = clean_variables(cell, ENVIRONMENT, plain=True)
    assert {name: value for name, value in variables.items() if name.startswith("MALLOC")} == dict(cell.env)


def test_mmap_threshold_is_one_that_glibc_takes():
    # Above 32 MiB on 64 bits glibc ignores it without a word.
    assert int(ALLOCATOR["MALLOC_MMAP_THRESHOLD_"]) <= 32 << 20
