"""What an index offers for a subject, and which of it fits a target: pure facts about files, before any download."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from operator import itemgetter

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

__all__ = ["OfferedFile", "Target", "best_wheel", "glibc_needed", "host_glibc", "python_allowed"]

_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_(\w+)")
# PEP 600: the older names stand for a glibc.
_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedFile:
    """One file that an index or a folder offers.

    Attributes:
        filename: A wheel or a source archive.
        version: With its local part (`2.13.0+cpu`).
        source: Where it is offered: `default`, a backend (`cpu`, `cu126`), or `find-links`.
        size: Bytes, where the index says.
        uploaded: When, where the index says.
        sha256: Hexadecimal, where the index says.
        requires_python: The specifier, or empty.
        yanked: The reason, or None; empty when yanked without one.
        url: Where to get it; never written to a committed file.
    """

    filename: str
    version: str
    source: str
    url: str
    size: int | None = None
    uploaded: datetime | None = None
    sha256: str | None = None
    requires_python: str = ""
    yanked: str | None = None

    @property
    def is_wheel(self) -> bool:
        """Whether it installs without being built."""
        return self.filename.endswith(".whl")

    @property
    def tags(self) -> frozenset[Tag]:
        """The tags of a wheel; none for a source archive or a name that is not one."""
        return _parts(self.filename)[0] if self.is_wheel else frozenset()

    @property
    def public(self) -> str:
        """The version without its local part, as cells name it."""
        return _version(self.version).public

    @property
    def local(self) -> str:
        """The local part of the version (`cpu`, `cu126`), or empty."""
        return _version(self.version).local or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a cell's place can run.

    Attributes:
        python: `(3, 11)`.
        glibc: `(2, 36)`.
        machine: `x86_64`, `aarch64`.
        free_threaded: Whether the interpreter is a free-threaded build.
    """

    python: tuple[int, int]
    glibc: tuple[int, int]
    machine: str = platform.machine()
    free_threaded: bool = False

    def platforms(self) -> Iterator[str]:
        """Platform tags, newest first."""
        major, newest = self.glibc
        for minor in range(newest, 4, -1):
            yield f"manylinux_{major}_{minor}_{self.machine}"
            for name, glibc in _LEGACY.items():
                if glibc == (major, minor):
                    yield f"{name}_{self.machine}"
        yield f"linux_{self.machine}"

    def tags(self) -> list[Tag]:
        """Every wheel tag that fits, best first."""
        platforms = list(self.platforms())
        digits = f"{self.python[0]}{self.python[1]}"
        # Named here, for packaging would else look at the interpreter that runs the harness (debug, free-threaded).
        abis = [f"cp{digits}{'t' if self.free_threaded else 'm' if self.python < (3, 8) else ''}"]
        return [
            *cpython_tags(self.python, abis, platforms),
            *compatible_tags(self.python, f"cp{digits}", platforms),
        ]


def best_wheel(files: Sequence[OfferedFile], target: Target) -> OfferedFile | None:
    """The wheel among files of one version that an installer would take, or None.

    One that was not yanked goes first, then the tag that says most, then the newest build, then the first offered.
    """
    ranks = _ranks(target)
    fitting: list[tuple[tuple[bool, int, tuple[int, str]], OfferedFile]] = []
    for file in files:
        tags, build = _parts(file.filename)
        rank = min((ranks[tag] for tag in tags if tag in ranks), default=None)
        if rank is not None and python_allowed(file.requires_python, target.python):
            fitting.append(((file.yanked is None, -rank, build), file))
    # max gives the first of equals.
    return max(fitting, key=itemgetter(0))[1] if fitting else None


@lru_cache(maxsize=256)
def _ranks(target: Target) -> Mapping[Tag, int]:
    return {tag: rank for rank, tag in enumerate(target.tags())}


@lru_cache(maxsize=16384)
def _version(text: str) -> Version:
    return Version(text)


@lru_cache(maxsize=16384)
def _parts(filename: str) -> tuple[frozenset[Tag], tuple[int, str]]:
    # A plan asks for the same few thousand names again and again. A build is (number, suffix); (-1, "") without one.
    try:
        _, _, build, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return frozenset(), (-1, "")
    return tags, build or (-1, "")


@lru_cache(maxsize=1024)
def python_allowed(specifier: str, python: tuple[int, int]) -> bool:
    """Whether Requires-Python admits a Python; a malformed one admits all, as installers do."""
    try:
        return not specifier or f"{python[0]}.{python[1]}.99" in SpecifierSet(specifier)
    except InvalidSpecifier:
        return True


def glibc_needed(file: OfferedFile) -> tuple[int, int] | None:
    """The oldest glibc on which a wheel runs; None when its tags do not say."""
    needs: list[tuple[int, int]] = []
    for tag in file.tags:
        if match := _MANYLINUX.fullmatch(tag.platform):
            needs.append((int(match[1]), int(match[2])))
        else:
            needs += [glibc for name, glibc in _LEGACY.items() if tag.platform.startswith(f"{name}_")]
    return min(needs) if needs else None


def host_glibc() -> tuple[int, int]:
    """The glibc of this machine; (0, 0) where there is none."""
    name, version = platform.libc_ver()
    if name != "glibc":
        return (0, 0)
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
