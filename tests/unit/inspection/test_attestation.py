from __future__ import annotations

import copy
from typing import Any

import pytest

from harness.cells.cell import Cell, parse_cell_id
from harness.inspection.attestation import differences

FACTS: dict[str, Any] = {
    "python": {"version": "3.11.7", "free_threaded": False},
    "torch": {"version": "2.13.0+cpu", "cuda": None, "hip": None},
    "import_error": "",
    "distributions": {"torch": "2.13.0+cpu", "numpy": "1.26.4"},
    "environment": {"OMP_NUM_THREADS": "1", "HF_TOKEN": "(withheld)"},
    "flags": {"mkldnn": True, "num_threads": 1, "tf32": None, "matmul_precision": "highest"},
}


def facts(torch: str | None = "2.13.0+cpu", cuda: str | None = None, hip: str | None = None) -> dict[str, Any]:
    changed = copy.deepcopy(FACTS)
    changed["torch"] = {"version": torch, "cuda": cuda, "hip": hip} if torch else None
    return changed


@pytest.mark.parametrize(
    "cell",
    [
        "torch2.13.0-py3.11-cpu",
        "torch2.13.0-py3.11.7-cpu",
        "torch2.13.0-py3.11-default",
        "torch2.13.0-py3.11-cpu+numpy==1.26.4+OMP_NUM_THREADS=1",
        "torch2.13.0-py3.11-cpu+flag.mkldnn=on+flag.num_threads=1+flag.matmul_precision=highest",
        # What this release cannot tell is no difference.
        "torch2.13.0-py3.11-cpu+flag.tf32=on+flag.nothing=1+UNRELATED=1+HF_TOKEN=x",
        "numpy1.26.4-py3.11-default",
    ],
)
def test_as_asked(cell: str) -> None:
    assert differences(parse_cell_id(cell), FACTS) == ()


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("torch2.13.0-py3.10-cpu", "runs Python 3.11.7, not 3.10"),
        ("torch2.13.0-py3.1-cpu", "runs Python 3.11.7, not 3.1"),
        ("torch2.13.0-py3.11t-cpu", "its Python is not a free-threaded build"),
        ("torch2.13.1-py3.11-cpu", "has torch 2.13.0+cpu, not 2.13.1"),
        ("torch2.13.0-py3.11-cu126", "its torch 2.13.0+cpu is built for cpu, not for cu126"),
        ("torch2.13.0-py3.11-cpu+numpy==2.0.0", "has numpy 1.26.4, not 2.0.0"),
        ("torch2.13.0-py3.11-cpu+scipy==1.0", "has no scipy"),
        ("torch2.13.0-py3.11-cpu+OMP_NUM_THREADS=2", "its variable OMP_NUM_THREADS is '1', not '2'"),
        ("torch2.13.0-py3.11-cpu+flag.mkldnn=off", "its flag mkldnn is True, not off"),
        ("torch2.13.0-py3.11-cpu+flag.num_threads=2", "its flag num_threads is 1, not 2"),
        ("scipy1.0-py3.11-default", "has no scipy"),
    ],
)
def test_named(cell: str, said: str) -> None:
    assert differences(parse_cell_id(cell), FACTS) == (said,)


@pytest.mark.parametrize(
    ("backend", "given", "fits"),
    [
        ("cu126", facts("2.13.0+cu126", cuda="12.6"), True),
        ("cu126", facts("2.13.0", cuda="12.6"), True),
        ("cu126", facts("2.13.0+cu130", cuda="13.0"), False),
        ("cpu", facts("2.13.0+cu130", cuda="13.0"), False),
        ("cpu", facts("2.13.0", cuda="13.0"), False),
        ("cpu", facts("2.13.0"), True),
        ("rocm6.4", facts("2.13.0+rocm6.4", hip="6.4.43482"), True),
        ("rocm6.4", facts("2.13.0", hip="6.4.43482"), True),
        ("rocm6.4", facts("2.13.0", hip="6.3.1"), False),
        ("default", facts("2.13.0+cu130", cuda="13.0"), True),
    ],
)
def test_backends(backend: str, given: dict[str, Any], fits: bool) -> None:
    cell = Cell(subject="torch", release="2.13.0", python="3.11", backend=backend)
    assert (differences(cell, given) == ()) is fits


def test_torch_that_is_absent() -> None:
    absent = facts(None)
    del absent["distributions"]["torch"]
    assert differences(parse_cell_id("torch2.13.0-py3.11-cpu"), absent) == ("has no torch",)


def test_nightly() -> None:
    cell = parse_cell_id("torch2.14.0.dev20260701-py3.11-cpu")
    assert differences(cell, facts("2.14.0.dev20260701+cpu")) == ()
    assert differences(cell, facts("2.14.0.dev20260702+cpu")) != ()
    # A build from source need not follow PEP 440.
    assert differences(cell, facts("2.14.0a0+gitabc-dirty")) != ()
