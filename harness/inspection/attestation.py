"""Whether a measured process is what its cell asked for: a pure comparison of a cell with the facts of the process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import InvalidVersion, Version

from harness.cells.cell import Cell

__all__ = ["differences"]

Facts = Mapping[str, Any]
_ON = frozenset({"1", "on", "true", "yes"})
_OFF = frozenset({"0", "off", "false", "no"})


def differences(cell: Cell, facts: Facts) -> tuple[str, ...]:
    """What the process has otherwise than the cell asked for, one sentence each; empty when all is as asked.

    Args:
        cell: What was asked for.
        facts: What `harness.inspection.probe` read inside the process.
    """
    return (
        *_python(cell, facts["python"]),
        *_release(cell, facts),
        *_backend(cell, facts),
        *_packages(cell, facts),
        *_variables(cell, facts),
        *_flags(cell, facts),
    )


def _python(cell: Cell, python: Facts) -> Iterator[str]:
    wanted, free_threaded = cell.python.removesuffix("t"), cell.python.endswith("t")
    version = str(python["version"])
    if version != wanted and not version.startswith(f"{wanted}."):
        yield f"runs Python {version}, not {wanted}"
    if bool(python.get("free_threaded")) != free_threaded:
        yield f"its Python {'is not' if free_threaded else 'is'} a free-threaded build"


def _release(cell: Cell, facts: Facts) -> Iterator[str]:
    torch = facts.get("torch") if cell.subject == "torch" else None
    found = torch["version"] if torch else facts["distributions"].get(cell.subject)
    if found is None:
        yield f"has no {cell.subject}"
    elif _public(found) != _public(cell.release):
        yield f"has {cell.subject} {found}, not {cell.release}"


def _public(version: str) -> str:
    # A build from source may carry a version that is not PEP 440's; it is compared as it stands.
    try:
        return Version(version).public
    except InvalidVersion:
        return version.partition("+")[0]


def _backend(cell: Cell, facts: Facts) -> Iterator[str]:
    torch = facts.get("torch")
    if cell.subject != "torch" or torch is None or cell.backend == "default":
        return
    local = str(torch["version"]).partition("+")[2]
    cuda, hip = torch.get("cuda") or "", torch.get("hip") or ""
    if local == cell.backend or local.startswith(f"{cell.backend}."):
        return
    # Not every index writes a local tag: what the build says of itself counts then.
    built_for = f"cu{cuda.replace('.', '')}" if cuda else f"rocm{hip}" if hip else "cpu"
    if not local and (built_for == cell.backend or (hip and built_for.startswith(f"{cell.backend}."))):
        return
    yield f"its torch {torch['version']} is built for {built_for}, not for {cell.backend}"


def _packages(cell: Cell, facts: Facts) -> Iterator[str]:
    for name, version in cell.packages:
        found = facts["distributions"].get(name)
        if found is None:
            yield f"has no {name}"
        elif version and _public(found) != _public(version):
            yield f"has {name} {found}, not {version}"


def _variables(cell: Cell, facts: Facts) -> Iterator[str]:
    # The probe names only the variables that matter, and withholds some values.
    for name, value in cell.env:
        found = facts["environment"].get(name, value)
        if found not in (value, "(withheld)"):
            yield f"its variable {name} is {found!r}, not {value!r}"


def _flags(cell: Cell, facts: Facts) -> Iterator[str]:
    said = facts.get("flags") or {}
    for name, value in cell.flags:
        found = said.get(name)
        if found is None:  # this release cannot tell
            continue
        wanted: object = value
        if isinstance(found, bool) and value.lower() in _ON | _OFF:
            wanted = value.lower() in _ON
        elif isinstance(found, int) and value.isdigit():
            wanted = int(value)
        if found != wanted:
            yield f"its flag {name} is {found}, not {value}"
