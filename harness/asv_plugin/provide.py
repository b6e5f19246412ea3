"""How a cell becomes an environment when ASV itself asks for it.

`asv run` starts in ASV's own program, so the way from a cell to an environment cannot be handed over as an argument:
it is looked up here, and tests put a stand-in.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.cells.cell import Cell
from harness.environments.environment import Environment
from harness.errors import InstallError

__all__ = ["Provider", "provide", "use_provider"]

#: From a cell to its environment; raises ResolveError or InstallError where it cannot be had.
Provider = Callable[[Cell], Environment]

_provider: Provider | None = None


def use_provider(provider: Provider | None) -> None:
    """Makes `provide` use another function; None brings back the project's own store."""
    global _provider  # noqa: PLW0603  # one per program: ASV makes the callers
    _provider = provider


def provide(cell: Cell) -> Environment:
    """The environment of a cell, built where it is not in the store yet.

    Raises:
        ResolveError: No set of files satisfies the cell.
        InstallError: They cannot be downloaded or installed.
    """
    if _provider is None:
        what = f"{cell.id}: no way to install it is set up"
        raise InstallError(what)
    return _provider(cell)
