"""What all indexes together offer for a subject, sorted by release once, and asked many times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from packaging.version import InvalidVersion, Version

from harness.cells.wheels import OfferedFile, Target, best_wheel

__all__ = ["Offers", "serves"]


def serves(file: OfferedFile, backend: str) -> bool:
    """Whether a file is the build for a backend.

    The default index serves `default`, and so does a folder with builds that name no backend. A backend's own index
    also lists neighbours (`+cpu.cxx11.abi`), which are others; its builds for ARM often have no local part.
    """
    if backend == "default":
        return file.source == "default" or (file.source == "find-links" and not file.local)
    if file.source == "find-links":
        return file.local == backend
    return file.source == backend and file.local in ("", backend)


class Offers:
    """The files of a subject by release. Immutable once made."""

    def __init__(self, files: Iterable[OfferedFile]) -> None:
        self._releases: dict[str, list[OfferedFile]] = {}
        # The search for the nearest cell asks the same for many cells.
        self._best: dict[tuple[str, str, Target], OfferedFile | None] = {}
        for file in files:
            try:
                self._releases.setdefault(file.public, []).append(file)
            except InvalidVersion:
                # Indexes still carry names from before PEP 440; no cell can ask for them.
                continue
        self.releases: tuple[str, ...] = tuple(sorted(self._releases, key=Version))

    @classmethod
    def of(cls, files: Offers | Sequence[OfferedFile]) -> Offers:
        """The same offers, or those of a list of files."""
        return files if isinstance(files, Offers) else cls(files)

    def files(self, release: str, backend: str | None = None) -> list[OfferedFile]:
        """The files of a release, of one backend or of all."""
        return [file for file in self._of(release) if backend is None or serves(file, backend)]

    def backends(self, release: str) -> list[str]:
        """The backends that a release is offered for."""
        found = {
            file.local or (file.source if file.source != "find-links" else "default") for file in self._of(release)
        }
        return sorted(found, key=lambda backend: (backend != "default", backend))

    def best(self, release: str, backend: str, target: Target) -> OfferedFile | None:
        """The wheel that would be installed, or None."""
        key = (release, backend, target)
        if key not in self._best:
            self._best[key] = best_wheel(self.files(release, backend), target)
        return self._best[key]

    @cached_property
    def pythons(self) -> tuple[tuple[int, int], ...]:
        """Every CPython that some wheel names, newest first."""
        tags = {tag.interpreter for files in self._releases.values() for file in files for tag in file.tags}
        versions = {(int(tag[2]), int(tag[3:])) for tag in tags if tag.startswith("cp3") and tag[3:].isdigit()}
        return tuple(sorted(versions, reverse=True))

    def _of(self, release: str) -> list[OfferedFile]:
        if release in self._releases:
            return self._releases[release]
        return next((self._releases[name] for name in self.releases if Version(name) == Version(release)), [])
