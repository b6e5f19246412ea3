"""Cells in ASV's words and back: requirements, variables, environment names and result files.

ASV knows a Python, "requirements" and environment variables; their names and values make the name of a results file and
the identity of a series on the dashboard. The release is not among them: it is the commit. Axes at their default value
(host, not slim) are left out, so that a new axis never renames old results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.cells.cell import HOST, Cell, pairs
from harness.errors import UsageError

__all__ = ["asv_name", "asv_requirements", "asv_variables", "cell_of", "result_file"]

#: The name of the environment class, first part of every environment name.
TOOL = "cell"

_AXES = ("backend", "image", "slim", "as_of")
# ASV keeps requirements and the facts about the machine in one flat table.
_TAKEN = frozenset({*_AXES, "python", "branch", "summary", "machine", "os", "arch", "cpu", "num_cpu", "ram"})


def asv_requirements(cell: Cell) -> dict[str, str]:
    """The axes of a cell, other than its release, Python and run-time variables, as ASV requirements.

    Raises:
        UsageError: A package has the name of an axis or of a fact about the machine.
    """
    for name, _ in cell.packages:
        if name in _TAKEN:
            what = f"{cell.id}: results of a cell with the package {name!r} cannot be stored"
            raise UsageError(what, why="ASV's results use that name for something else")
    found = {"backend": cell.backend}
    if cell.image != HOST:
        found["image"] = cell.image
    if cell.slim:
        found["slim"] = "true"
    if cell.as_of:
        found["as_of"] = cell.as_of
    found |= dict(cell.packages)
    found |= {f"build.{name}": value for name, value in cell.build}
    found |= {f"flag.{name}": value for name, value in cell.flags}
    return found


def asv_variables(cell: Cell) -> dict[tuple[str, str], str]:
    """The run-time variables of a cell, tagged as ASV tags those that need no other build."""
    return {("nobuild", name): value for name, value in cell.env}


def asv_name(cell: Cell) -> str:
    """The name that ASV gives the environment of a cell: `cell-py3.10-backenddefault-OMP_NUM_THREADS1`."""
    from asv.environment import get_env_name  # noqa: PLC0415  # heavy

    return str(get_env_name(TOOL, cell.python, asv_requirements(cell), asv_variables(cell)))


def result_file(machine: str, commit: str, cell: Cell) -> str:
    """Where ASV keeps the results of a cell, relative to the results folder."""
    from asv.results import get_filename  # noqa: PLC0415  # heavy

    return str(get_filename(machine, commit, asv_name(cell)))


def cell_of(
    python: str,
    requirements: Mapping[str, Any],
    variables: Mapping[tuple[str, str], Any],
    *,
    subject: str,
    release: str,
) -> Cell:
    """The cell that an ASV environment is at a release; the inverse of `asv_requirements` and `asv_variables`.

    Args:
        python: ASV's Python.
        requirements: ASV's requirements: axes, `build.NAME`, `flag.NAME`, and packages.
        variables: ASV's variables, keyed by `build` or `nobuild` and name.
        subject: The package of the release line.
        release: Its version.

    Raises:
        UsageError: The combination is not a cell; says how to write it in `asv.conf.json`.
    """
    for text in (*requirements.values(), *variables.values()):
        if not isinstance(text, str):  # JSON has numbers, and ASV does not check
            what = f"asv.conf.json: write {text!r} as a string"
            raise UsageError(what)
    for tag, name in variables:
        if tag == "build":
            what = f"asv.conf.json: the matrix sets {name} for building and measuring at once"
            raise UsageError(what, next_step=f'name it "build.{name}" under "req", or {name} under "env_nobuild"')
    other = {key: value for key, value in requirements.items() if key not in _AXES}
    cell = Cell(
        subject=subject,
        release=release,
        python=python,
        backend=requirements.get("backend", "default"),
        image=requirements.get("image", HOST),
        slim=requirements.get("slim") == "true",
        as_of=requirements.get("as_of", ""),
        packages=pairs({k: v for k, v in other.items() if not k.startswith(("build.", "flag."))}),
        build=pairs({k.removeprefix("build."): v for k, v in other.items() if k.startswith("build.")}),
        flags=pairs({k.removeprefix("flag."): v for k, v in other.items() if k.startswith("flag.")}),
        env=pairs({name: value for (_, name), value in variables.items()}),
    )
    # A second spelling of one cell would be a second series of its results.
    canonical = asv_requirements(cell)
    for key in canonical.keys() | requirements.keys():
        wanted, written = canonical.get(key), requirements.get(key)
        if wanted != written:
            what = f"asv.conf.json: the matrix has {key} = {json.dumps(written)}, which is not how the axis is written"
            raise UsageError(
                what, next_step=f'write "{key}": {json.dumps(wanted)}; null is the default value of an axis'
            )
    return cell
