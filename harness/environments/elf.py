"""Writes a small ELF shared library, byte by byte, so that no compiler is needed.

The library holds functions that do nothing but return a number or the address of a text, and zeroed objects. That is
all that a program needs which links against a library and never calls it. The format is that of the System V ABI, with
the symbol versions that the GNU tools added (`Elf64_Verdef`), little-endian and 64 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from harness.environments.elf_layout import Access, Layout, Strings
from harness.environments.elf_layout import SectionType as T

__all__ = ["Kind", "Machine", "StubSymbol", "shared_library"]


class Machine(StrEnum):
    """Processors for which code can be written, as `platform.machine()` names them."""

    X86_64 = "x86_64"
    AARCH64 = "aarch64"


class Kind(StrEnum):
    """What a symbol is."""

    #: A function that returns the library's status.
    STATUS = "status"
    #: A function that returns the address of the library's message.
    MESSAGE = "message"
    #: Zeroed memory.
    OBJECT = "object"


@dataclass(frozen=True, slots=True, order=True)
class StubSymbol:
    """One symbol of a library; an empty version leaves it without."""

    name: str
    version: str = ""
    kind: Kind = Kind.STATUS


# Sizes and numbers of the ABI.
_SYM = 24
_MACHINE_NUMBER = {Machine.X86_64: 62, Machine.AARCH64: 183}
# The largest page that a kernel for the processor uses.
_PAGE = {Machine.X86_64: 0x1000, Machine.AARCH64: 0x10000}
_DT = {
    "hash": 4, "strtab": 5, "symtab": 6, "strsz": 10, "syment": 11, "soname": 14,
    "versym": 0x6FFFFFF0, "verdef": 0x6FFFFFFC, "verdefnum": 0x6FFFFFFD,
}  # fmt: skip
_FUNC, _OBJECT = 2, 1
#: Bytes of each object: what is declared elsewhere is not known here, and nobody looks.
_OBJECT_SIZE = 256


def shared_library(
    soname: str,
    symbols: Sequence[StubSymbol],
    *,
    machine: Machine,
    status: int = 1,
    message: str = "",
    versions: Sequence[str] = (),
    comment: str = "",
) -> bytes:
    """The bytes of a shared library.

    Args:
        soname: Its name, as others need it.
        symbols: What it defines; each name once.
        machine: The processor.
        status: What its functions return, 0 to 65535.
        message: The text to which functions of kind MESSAGE point.
        versions: Versions to define beside those of the symbols.
        comment: Goes into the section `.comment`, where tools look for a file's origin.
    """
    symbols = sorted(symbols)
    names = sorted({s.version for s in symbols if s.version} | set(versions))
    strings = Strings()
    code, entry = _code(machine, status, message)
    layout = Layout(_PAGE[machine])

    # Addresses are known only after the tables are sized, so symbols are written once for size, once for good.
    dynsym = layout.add(
        ".dynsym", _symbol_table(symbols, strings, {}, 0, 0), kind=T.DYNSYM, link=".dynstr", info=1, entry=_SYM
    )
    versym = layout.add(".gnu.version", _version_table(symbols, names), kind=T.GNU_VERSYM, link=".dynsym", entry=2)
    definitions = _version_definitions(soname, names, strings)
    count = len(names) + 1
    verdef = layout.add(".gnu.version_d", definitions, kind=T.GNU_VERDEF, link=".dynstr", info=count)
    hashes = layout.add(".hash", _hash_table(symbols), kind=T.HASH, link=".dynsym", entry=4)
    soname_at = strings.add(soname)
    dynstr = layout.add(".dynstr", strings.data(), kind=T.STRTAB)
    text = layout.add(".text", code, access=Access.EXECUTE, align=16)
    values = [
        ("soname", soname_at), ("hash", hashes.address), ("strtab", dynstr.address), ("symtab", dynsym.address),
        ("strsz", len(dynstr.data)), ("syment", _SYM), ("versym", versym.address), ("verdef", verdef.address),
        ("verdefnum", count),
    ]  # fmt: skip
    entries = b"".join(struct.pack("<qQ", _DT[name], value) for name, value in values) + bytes(16)
    write = Access.WRITE
    dynamic = layout.add(".dynamic", entries, kind=T.DYNAMIC, access=write, link=".dynstr", align=16, entry=16)
    zeroed = sum(s.kind is Kind.OBJECT for s in symbols) * _OBJECT_SIZE
    bss = layout.add(".bss", b"", kind=T.NOBITS, access=write, align=64, memory=zeroed)
    layout.add(".comment", comment.encode() + b"\0", align=1, loaded=False)

    places = {kind: text.address + offset for kind, offset in entry.items()} | {Kind.OBJECT: bss.address}
    dynsym.data = _symbol_table(symbols, strings, places, text.index, bss.index)
    return layout.file(_MACHINE_NUMBER[machine], dynamic)


def _code(machine: Machine, status: int, message: str) -> tuple[bytes, dict[Kind, int]]:
    # One body serves every function of a kind: nobody compares their addresses. Bodies start 16 bytes apart.
    match machine:
        case Machine.X86_64:
            number = b"\xb8" + struct.pack("<I", status) + b"\xc3"  # mov $status, %eax; ret
            # lea text(%rip), %rax; ret. The distance counts from the end of the lea, 7 bytes long.
            pointer = b"\x48\x8d\x05" + struct.pack("<i", 16 - 7) + b"\xc3"
        case Machine.AARCH64:
            number = struct.pack("<II", 0x52800000 | status << 5, 0xD65F03C0)  # mov w0, #status; ret
            pointer = struct.pack("<II", 0x10000000 | 16 >> 2 << 5, 0xD65F03C0)  # adr x0, text; ret
        case other:
            assert_never(other)
    code = number.ljust(16, b"\0") + pointer.ljust(16, b"\0") + message.encode() + b"\0"
    return code, {Kind.STATUS: 0, Kind.MESSAGE: 16}


def _symbol_table(
    symbols: Sequence[StubSymbol], strings: Strings, places: dict[Kind, int], text: int, bss: int
) -> bytes:
    table = bytearray(_SYM)
    objects = 0
    for symbol in symbols:
        address, section, size, kind = places.get(symbol.kind, 0), text, 0, _FUNC
        if symbol.kind is Kind.OBJECT:
            address, section, size, kind = address + objects * _OBJECT_SIZE, bss, _OBJECT_SIZE, _OBJECT
            objects += 1
        table += struct.pack("<IBBHQQ", strings.add(symbol.name), 1 << 4 | kind, 0, section, address, size)
    return bytes(table)


def _version_table(symbols: Sequence[StubSymbol], names: Sequence[str]) -> bytes:
    # 0 is local, 1 global without version; the definitions count from 1, the library's own name being the first.
    numbers = [0, *(names.index(s.version) + 2 if s.version else 1 for s in symbols)]
    return struct.pack(f"<{len(numbers)}H", *numbers)


def _version_definitions(soname: str, names: Sequence[str], strings: Strings) -> bytes:
    table = bytearray()
    for number, name in enumerate((soname, *names), start=1):
        base = number == 1
        following = 0 if number == len(names) + 1 else 28
        table += struct.pack("<HHHHIII", 1, int(base), number, 1, sysv_hash(name), 20, following)
        table += struct.pack("<II", strings.add(name), 0)
    return bytes(table)


def _hash_table(symbols: Sequence[StubSymbol]) -> bytes:
    count = len(symbols) + 1
    buckets = [0] * max(1, len(symbols) // 2)
    chains = [0] * count
    for number, symbol in enumerate(symbols, start=1):
        place = sysv_hash(symbol.name) % len(buckets)
        chains[number], buckets[place] = buckets[place], number
    return struct.pack(f"<{2 + len(buckets) + count}I", len(buckets), count, *buckets, *chains)


def sysv_hash(name: str) -> int:
    """The hash of the System V ABI, which symbol tables and version names use."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value
