"""What a shared library asks of others, read from its dynamic tables."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.environments.elf import Kind, StubSymbol
from harness.errors import InstallError

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

__all__ = ["Needs", "read_needs"]

# Functions that return a text; torch prints it, so a number in its place would crash.
_RETURNS_TEXT = re.compile(r"(?:Error|Status)(?:String|Name)$|^ncclGetLastError$")
_GLOBAL, _OBJECT, _VERSION_MASK = 1, 1, 0x7FFF
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What one shared library asks of others, and what it offers them.

    Attributes:
        machine: The processor, as ELF names it (`EM_X86_64`).
        libraries: Names of the libraries that the loader must find.
        versions: Version names that must be defined, by library.
        versioned: Undefined symbols with a version, by the library that must define it.
        unversioned: Undefined symbols without a version; any library may define them.
        defined: Names of the symbols that it defines.
    """

    machine: str
    libraries: frozenset[str]
    versions: Mapping[str, frozenset[str]]
    versioned: Mapping[str, frozenset[StubSymbol]]
    unversioned: frozenset[StubSymbol]
    defined: frozenset[str]


def read_needs(path: Path) -> Needs | None:
    """Reads a library's dynamic tables, and nothing else of it: torch has libraries of 600 MB.

    Returns:
        None for a file that is not a shared library.

    Raises:
        InstallError: It is a damaged one.
    """
    from elftools.common.exceptions import ELFError  # noqa: PLC0415  # not on the way of `harness --help`
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415

    try:
        with path.open("rb") as file:
            if file.read(5) != b"\x7fELF\x02":
                return None
            return _needs(ELFFile(file))
    except (ELFError, struct.error, ValueError) as error:
        what = f"{path} is a damaged shared library"
        raise InstallError(what, why=str(error), next_step="harness env check --deep") from error


def _needs(elf: ELFFile) -> Needs | None:
    from elftools.elf.dynamic import DynamicSection  # noqa: PLC0415
    from elftools.elf.sections import SymbolTableSection  # noqa: PLC0415

    dynamic, table = elf.get_section_by_name(".dynamic"), elf.get_section_by_name(".dynsym")
    if not isinstance(dynamic, DynamicSection) or not isinstance(table, SymbolTableSection):
        return None
    origins = _version_origins(elf)
    versions: dict[str, set[str]] = {}
    for library, version in origins.values():
        versions.setdefault(library, set()).add(version)
    versioned: dict[str, set[StubSymbol]] = {}
    unversioned, defined = set(), set()
    for name, is_defined, kind, number in _symbols(elf, table):
        if is_defined:
            defined.add(name)
        elif origin := origins.get(number):
            versioned.setdefault(origin[0], set()).add(StubSymbol(name, origin[1], kind))
        else:
            unversioned.add(StubSymbol(name, "", kind))
    # Tags of this kind, and only they, have the name as an attribute.
    libraries = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]  # type: ignore[attr-defined]
    return Needs(
        machine=elf.header["e_machine"],
        libraries=frozenset(libraries),
        versions={library: frozenset(names) for library, names in versions.items()},
        versioned={library: frozenset(symbols) for library, symbols in versioned.items()},
        unversioned=frozenset(unversioned),
        defined=frozenset(defined),
    )


def _symbols(elf: ELFFile, table: SymbolTableSection) -> Iterator[tuple[str, bool, Kind, int]]:
    """Name, whether it is defined, kind and version number of each symbol that counts."""
    # Unpacked by hand: libtorch_cpu has 80,000 symbols, and pyelftools makes several objects of each.
    entries, strings = table.data(), elf.get_section(table["sh_link"]).data()
    numbers = elf.get_section_by_name(".gnu.version")
    count = len(entries) // _SYMBOL.size
    versions = struct.unpack(f"<{count}H", numbers.data()) if numbers is not None else (1,) * count
    for (name_at, info, _, section, _, _), version in zip(_SYMBOL.iter_unpack(entries), versions, strict=True):
        # Weak symbols may stay undefined: that is how a program asks whether a function is there.
        if name_at and (section or info >> 4 == _GLOBAL):
            name = strings[name_at : strings.index(b"\0", name_at)].decode()
            yield name, section != 0, _kind(name, info), version & _VERSION_MASK


def _kind(name: str, info: int) -> Kind:
    if info & 15 == _OBJECT:
        return Kind.OBJECT
    return Kind.MESSAGE if _RETURNS_TEXT.search(name) else Kind.STATUS


def _version_origins(elf: ELFFile) -> dict[int, tuple[str, str]]:
    # The table of needed versions tells, for each number, which library must define the version.
    from elftools.elf.gnuversions import GNUVerNeedSection  # noqa: PLC0415

    section = elf.get_section_by_name(".gnu.version_r")
    if not isinstance(section, GNUVerNeedSection):
        return {}
    return {
        version["vna_other"] & _VERSION_MASK: (str(library.name), str(version.name))
        for library, versions in section.iter_versions()
        for version in versions
    }
