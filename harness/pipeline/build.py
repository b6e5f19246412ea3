"""From planned cells to environments: a lock for each, made real by the store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from harness.cells.cell import Cell
from harness.cells.matrix import Spec
from harness.environments.environment import Environment
from harness.environments.store import Store
from harness.errors import InstallError, ResolveError
from harness.paths import Project
from harness.pipeline.place import Place
from harness.pipeline.plan import request_for
from harness.releases.locks import lock_for

__all__ = ["Building", "Built", "build_all", "build_cell"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Building:
    """A cell is about to be built, for progress.

    Attributes:
        cell: Which.
        download: Bytes at most.
        ready: Whether it stands in the store already.
    """

    cell: Cell
    download: int
    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What became of the cells.

    Attributes:
        environments: By cell; those that could be built.
        failures: By cell; why the others could not.
    """

    environments: Mapping[Cell, Environment]
    failures: Mapping[Cell, ResolveError | InstallError]


def build_cell(
    project: Project, spec: Spec, place: Place, cell: Cell, *, on_building: Callable[[Building], None] = lambda _: None
) -> Environment:
    """The environment of a cell, locked and built where it is not there yet.

    Raises:
        ResolveError: It cannot be locked.
        InstallError: It cannot be built.
        ConfigurationError: Its committed lock is damaged.
    """
    store = Store.default()
    uv = place.uv_for(cell)
    lock = lock_for(request_for(spec, place, cell), uv, locks=project.locks)
    ready = store.lookup(cell, lock, examined=True)
    on_building(Building(cell, lock.size, ready is not None))
    return ready or store.ensure(cell, lock, sources=uv.sources)


def build_all(
    project: Project,
    spec: Spec,
    place: Place,
    cells: Iterable[Cell],
    *,
    on_building: Callable[[Building], None] = lambda _: None,
) -> Built:
    """Builds cells one after the other, and goes on where one cannot be built."""
    environments: dict[Cell, Environment] = {}
    failures: dict[Cell, ResolveError | InstallError] = {}
    for cell in dict.fromkeys(cells):
        try:
            environments[cell] = build_cell(project, spec, place, cell, on_building=on_building)
        except (ResolveError, InstallError) as error:
            log.info("%s: %s", cell, error)
            failures[cell] = error
    return Built(environments=environments, failures=failures)
