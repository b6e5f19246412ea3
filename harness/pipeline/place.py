"""What is known of the machine before anything is downloaded: its indexes, its glibc, its Pythons, its devices."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from harness.cells.cell import Cell
from harness.cells.images import Capability, target_for
from harness.cells.matrix import Index, Spec
from harness.cells.offers import Offers
from harness.cells.pythons import OLDEST_PYTHON
from harness.cells.wheels import Target, host_glibc
from harness.releases.backend import AUTO, BackendChoice, choose_backend, has_nvidia_driver
from harness.releases.catalog import MAX_AGE, Catalog, load_catalog
from harness.releases.sources import DEFAULT, FIND_LINKS, Source, sources_for
from harness.releases.uv import Uv

__all__ = ["Place", "capabilities", "look_around"]

_NO_AGE = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A machine and what it can reach.

    Attributes:
        auto: What the backend `auto` stands for here, and why.
        slim: Whether slim `auto` means slim: only the default index can be reached, and there is no GPU.
        catalog: What is offered for the subject.
        offers: The same by release.
        uv: How uv is run, with every source that some cell needs.
        capabilities: What container and device cells may need.
    """

    auto: BackendChoice
    slim: bool
    catalog: Catalog
    offers: Offers
    uv: Uv
    capabilities: frozenset[Capability]

    def target_of(self, spec: Spec, cell: Cell) -> Target:
        """What a cell's place can run."""
        return target_for(cell, spec.image(cell.image), glibc=host_glibc(), machine=platform.machine())

    def uv_for(self, cell: Cell) -> Uv:
        """How uv is run for a cell: an index of another backend, or one that offers nothing, must not fail it."""
        offering = {file.source for file in self.catalog.files}
        wanted = {DEFAULT, FIND_LINKS, *({cell.backend} & offering)}
        return replace(self.uv, sources=tuple(source for source in self.uv.sources if source.label in wanted))

    def image_target(self, spec: Spec, image: str) -> Target:
        """What the host or an image can run; its Python is of no account."""
        found = spec.image(image)
        return Target(python=OLDEST_PYTHON, glibc=found.glibc if found else host_glibc(), machine=platform.machine())


def look_around(
    spec: Spec, backends: Iterable[str], *, cache: Path, offline: bool = False, refresh: bool = False
) -> Place:
    """Reads the catalogue of the subject from every index that some backends need.

    Args:
        spec: The matrix.
        backends: The backends wanted; `auto` among them is resolved.
        cache: The user's cache.
        offline: Whether only what was read earlier may be used.
        refresh: Whether indexes are asked even when they were asked lately.

    Raises:
        ResolveError: Nothing is known of the subject.
    """
    cpu = spec.index_of("cpu")
    auto = choose_backend(AUTO, index_base=cpu.base if cpu else "", cache=cache, offline=offline)
    gpu = has_nvidia_driver() if auto.gpu is None else auto.gpu
    wanted = {auto.backend if backend == AUTO else backend for backend in backends} - {DEFAULT}
    sources = _sources(spec, wanted)
    max_age = _NO_AGE if refresh else MAX_AGE
    catalog = load_catalog(spec.subject, sources, cache=cache, offline=offline, max_age=max_age)
    return Place(
        auto=auto,
        slim=auto.backend == DEFAULT and not gpu,
        catalog=catalog,
        offers=Offers(catalog.files),
        uv=Uv(sources=sources, cache=cache, environ=dict(os.environ), offline=offline),
        capabilities=capabilities(),
    )


def _sources(spec: Spec, backends: Collection[str]) -> tuple[Source, ...]:
    by_index: dict[Index, list[str]] = {}
    for backend in sorted(backends):
        if index := spec.index_of(backend):
            by_index.setdefault(index, []).append(backend)
    found: list[Source] = []
    for index, names in by_index.items():
        found += [source for source in sources_for(names, index_base=index.base, environ={}) if source.label in names]
    return (*found, *sources_for([], environ=os.environ))


def capabilities(root: Path = Path("/")) -> frozenset[Capability]:
    """What this machine has of what cells may need, by the files that it leaves.

    Args:
        root: The folder that holds `dev` and `run`.
    """
    signs = {
        Capability.CONTAINERS: root / "var/run/docker.sock",
        Capability.KFD: root / "dev/kfd",
        Capability.DXG: root / "dev/dxg",
    }
    found = {capability for capability, sign in signs.items() if sign.exists()}
    if os.environ.get("DOCKER_HOST"):
        found.add(Capability.CONTAINERS)
    if has_nvidia_driver():
        found.add(Capability.NVIDIA)
    return frozenset(found)
