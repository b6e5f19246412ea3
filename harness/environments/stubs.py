"""Slim environments: stand-ins for the CUDA libraries that a CUDA wheel of torch is linked against.

Such a wheel computes on the CPU without any CUDA package, if only the loader finds each library that the wheel names. A
stand-in has the name, the symbols and the symbol versions that the wheel asks for; its functions return an error, so
that torch sees a machine without a GPU. What the wheel asks for is read from the wheel itself. More in
docs/explanation/slim.md.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.environments.elf import Machine, StubSymbol, shared_library
from harness.environments.needs import Needs, read_needs
from harness.errors import InstallError

__all__ = ["GENERATOR", "StubLibrary", "StubReport", "write_stubs"]

log = logging.getLogger(__name__)

#: Counts the changes of what is generated; part of an environment's key.
GENERATOR = 1

_MARK = "torch-harness stand-in"
_MESSAGE = "this is a slim environment: its CUDA libraries are stand-ins that always fail"
# NVIDIA's toolkit, but not its driver (libcuda, libnvidia-ml): torch loads that by itself, and copes when it is absent.
_TOOLKIT = re.compile(r"lib(cu(?!da\.)|nccl|nv(?!idia-))\w*\.so")
# Symbols without a version are recognised by the prefix that all functions of a library share. It is mostly the
# library's own name; these are the others. In lower case.
_PREFIXES = {
    "cudart": ("cuda", "__cuda"),
    "nccl": ("nccl", "pnccl"),
    "nvtoolsext": ("nvtx",),
    "nvshmem_host": ("nvshmem",),
}
# cudaErrorNoDevice: torch takes it for a machine without a GPU and asks no further. Elsewhere any number but 0 will do.
_STATUS = {"cudart": 100}


@dataclass(frozen=True, slots=True, kw_only=True)
class StubLibrary:
    """One stand-in.

    Attributes:
        soname: Its file name.
        symbols: How many it defines.
        size: Bytes.
    """

    soname: str
    symbols: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StubReport:
    """What was written.

    Attributes:
        folder: Where.
        libraries: By name; empty when the wheel misses nothing.
    """

    folder: Path
    libraries: tuple[StubLibrary, ...]

    @property
    def symbols(self) -> int:
        """Symbols of all stand-ins."""
        return sum(library.symbols for library in self.libraries)

    @property
    def size(self) -> int:
        """Bytes of all stand-ins."""
        return sum(library.size for library in self.libraries)


def write_stubs(site_packages: Path) -> StubReport:
    """Writes a stand-in for each CUDA library that is needed in a site-packages folder and missing there.

    Writing twice gives the same files.

    Raises:
        InstallError: There is no torch, a library of it is damaged, or no code is known for the processor.
    """
    folder = site_packages / "torch" / "lib"
    if not folder.is_dir():
        what = f"no torch in {site_packages}"
        raise InstallError(what, why="slim environments are made for wheels of torch")
    present = {path.name: path for path in _shared_objects(site_packages)}
    # CUDA packages need one another too; what they miss is not torch's.
    cuda_packages = site_packages / "nvidia"
    asking = [needs for path in present.values() if cuda_packages not in path.parents if (needs := read_needs(path))]
    wanted = {name for needs in asking for name in needs.libraries if _TOOLKIT.match(name)}
    missing = sorted(wanted - present.keys())
    if not missing:
        return StubReport(folder=folder, libraries=())
    defined = frozenset().union(*(needs.defined for needs in asking))
    asking = [needs for needs in asking if needs.libraries & set(missing)]
    machine = _machine({needs.machine for needs in asking})
    written = []
    for name, symbols in _assign(missing, asking, defined).items():
        data = shared_library(
            name,
            symbols,
            machine=machine,
            status=_STATUS.get(_base(name), 1),
            message=_MESSAGE,
            versions=sorted({version for needs in asking for version in needs.versions.get(name, ())}),
            comment=f"{_MARK} {GENERATOR}",
        )
        _replace(folder / name, data)
        written.append(StubLibrary(soname=name, symbols=len(symbols), size=len(data)))
        log.debug("stand-in %s: %d symbols", name, len(symbols))
    return StubReport(folder=folder, libraries=tuple(written))


def _shared_objects(site_packages: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(site_packages):
        for name in sorted(files):
            path = Path(folder, name)
            if ".so" in name and path.is_file() and not path.is_symlink() and not _is_stub(path):
                yield path


def _is_stub(path: Path) -> bool:
    return (
        _TOOLKIT.match(path.name) is not None and path.stat().st_size < 1 << 20 and _MARK.encode() in path.read_bytes()
    )


def _assign(missing: Sequence[str], asking: Sequence[Needs], defined: frozenset[str]) -> dict[str, list[StubSymbol]]:
    """Which stand-in defines which symbol: the version of a symbol names its library, else its prefix does."""
    symbols: dict[str, set[StubSymbol]] = {name: set() for name in missing}
    for needs in asking:
        for name in missing:
            symbols[name] |= needs.versioned.get(name, frozenset())
    versioned = {symbol.name for group in symbols.values() for symbol in group}
    for symbol in frozenset().union(*(needs.unversioned for needs in asking)):
        if symbol.name not in defined and symbol.name not in versioned and (owner := _owner(symbol.name, missing)):
            symbols[owner].add(symbol)
    return {library: _each_once(group) for library, group in symbols.items()}


def _owner(symbol: str, libraries: Sequence[str]) -> str | None:
    # The longest prefix decides: cusparseLtInit belongs to cusparseLt, not to cusparse.
    lowered = symbol.lower()
    fits = [
        (len(prefix), library)
        for library in libraries
        for prefix in _PREFIXES.get(_base(library), (_base(library),))
        if lowered.startswith(prefix)
    ]
    return max(fits)[1] if fits else None


def _each_once(symbols: set[StubSymbol]) -> list[StubSymbol]:
    # Two libraries may see one symbol as of different kinds: the first in sorted order is kept.
    return list({(s.name, s.version): s for s in sorted(symbols, reverse=True)}.values())


def _base(soname: str) -> str:
    return soname.removeprefix("lib").split(".so")[0].lower()


def _machine(found: set[str]) -> Machine:
    match sorted(found):
        case ["EM_X86_64"]:
            return Machine.X86_64
        case ["EM_AARCH64"]:
            return Machine.AARCH64
        case other:
            what = f"no stand-ins can be written for {', '.join(other)} ({platform.machine()})"
            raise InstallError(what, next_step="measure the full environment: leave slim out of the cell")


def _replace(path: Path, data: bytes) -> None:
    # Never written in place: a process may have the old file mapped, or the file may be a hard link into a cache.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(data)
    temporary = Path(file.name)
    temporary.chmod(0o755)
    temporary.replace(path)
