"""One side of a comparison: a cell, and how its measured processes are started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from harness.cells.cell import Cell
from harness.environments.environment import Environment

__all__ = ["Side"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison.

    Attributes:
        cell: What is measured.
        command: What starts its interpreter: the path of it, or a command that enters a container and ends with it.
        environment: The key of its environment in the store.
        lock: The digest of its lock.
        variables: The whole environment of its processes.
    """

    cell: Cell
    command: tuple[str, ...]
    environment: str
    lock: str
    variables: Mapping[str, str] = field(hash=False)

    @classmethod
    def of(cls, cell: Cell, environment: Environment, variables: Mapping[str, str]) -> Self:
        """The side of a cell whose environment lies on this machine."""
        return cls(
            cell=cell,
            command=(str(environment.python),),
            environment=environment.key,
            lock=environment.lock.digest,
            variables=variables,
        )
