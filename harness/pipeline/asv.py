"""The second of ASV's plugins here: lets a plain `asv run` make environments as the harness does."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from harness.asv_plugin.provide import use_provider
from harness.cells.cell import Cell
from harness.cells.spec import load_spec
from harness.environments.environment import Environment
from harness.paths import cache_dir, find_project
from harness.pipeline.build import build_cell
from harness.pipeline.place import Place, look_around

__all__ = ["setup"]


def setup() -> None:
    """ASV calls this when it loads the plugin, in the folder of `asv.conf.json`."""
    use_provider(_provide)


def _provide(cell: Cell) -> Environment:
    project = find_project(Path.cwd())
    spec = load_spec(project.matrix)
    return build_cell(project, spec, _place(project.matrix, cell.backend), cell)


@cache
def _place(matrix: Path, backend: str) -> Place:
    return look_around(load_spec(matrix), [backend], cache=cache_dir())
