"""Places the sections of an ELF shared library and writes its headers; what is in the sections is `elf`'s."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag

__all__ = ["Access", "Layout", "Section", "SectionType", "Strings"]

# Sizes of the ABI's structures, and the kinds of segments.
_EHDR, _PHDR, _SHDR = 64, 56, 64
_SEGMENTS, _SHARED = 4, 3
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK = 1, 2, 0x6474E551
_SHF_WRITE, _SHF_ALLOC, _SHF_EXECUTE = 1, 2, 4


class Access(IntFlag):
    """What a section's memory allows beside reading, with the numbers of segments."""

    NOTHING_ELSE = 0
    EXECUTE = 1
    WRITE = 2
    READ = 4


class SectionType:
    """The numbers of section types."""

    PROGBITS, STRTAB, HASH, DYNAMIC, NOBITS, DYNSYM = 1, 3, 5, 6, 8, 11
    GNU_VERDEF, GNU_VERSYM = 0x6FFFFFFD, 0x6FFFFFFF


class Strings:
    """A string table: each text once, the empty one first."""

    def __init__(self) -> None:
        self._places = {"": 0}
        self._data = bytearray(b"\0")

    def add(self, text: str) -> int:
        """The place of a text in the table, which gets it if it has not."""
        if text not in self._places:
            self._places[text] = len(self._data)
            self._data += text.encode() + b"\0"
        return self._places[text]

    def data(self) -> bytes:
        """The table so far."""
        return bytes(self._data)


@dataclass(slots=True, kw_only=True)
class Section:
    """One section and its place.

    Attributes:
        name: `.dynsym`, ...
        kind: A number of `SectionType`.
        access: What its memory allows beside reading.
        data: What stands in the file.
        memory: Bytes in memory; more than in the file for zeroed memory.
        link: The name of the section that it refers to.
        info: What that means depends on the kind.
        align: Bytes.
        entry: Bytes of one entry, for tables.
        index: Its number.
        offset: Its place in the file.
        address: Its place in memory.
    """

    name: str
    kind: int
    access: Access
    data: bytes
    memory: int
    link: str
    info: int
    align: int
    entry: int
    index: int
    offset: int
    address: int

    def header(self, name_at: int, link: int) -> bytes:
        """Its entry in the table of sections."""
        flags = 0
        if self.address:
            flags = _SHF_ALLOC
            flags |= _SHF_WRITE if self.access & Access.WRITE else 0
            flags |= _SHF_EXECUTE if self.access & Access.EXECUTE else 0
        return struct.pack(
            "<IIQQQQIIQQ", name_at, self.kind, flags, self.address, self.offset, self.memory, link, self.info,
            self.align, self.entry,
        )  # fmt: skip


class Layout:
    """Places sections one after the other: first what is read and executed, then what is written.

    The file has no holes: the writable part follows at once, and its address is one page further than its offset, which
    keeps the two parts in different pages of memory.
    """

    def __init__(self, page: int) -> None:
        self._page = page
        self._sections: list[Section] = []
        self._end = _EHDR + _SEGMENTS * _PHDR

    def add(
        self,
        name: str,
        data: bytes,
        *,
        kind: int = SectionType.PROGBITS,
        access: Access = Access.NOTHING_ELSE,
        link: str = "",
        info: int = 0,
        align: int = 8,
        entry: int = 0,
        memory: int = 0,
        loaded: bool = True,
    ) -> Section:
        """Places a section behind those that are there; writable ones come last."""
        offset = -(-self._end // align) * align
        address = (offset + (self._page if access & Access.WRITE else 0)) if loaded else 0
        section = Section(
            name=name, kind=kind, access=access, data=data, memory=memory or len(data), link=link, info=info,
            align=align, entry=entry, index=len(self._sections) + 1, offset=offset, address=address,
        )  # fmt: skip
        self._sections.append(section)
        self._end = offset + len(data)
        return section

    def file(self, machine: int, dynamic: Section) -> bytes:
        """The whole file.

        Args:
            machine: The processor's number.
            dynamic: The section that the loader starts from; all that comes behind it is writable.
        """
        segments = self._segments(dynamic)
        names = Strings()
        for section in self._sections:
            names.add(section.name)
        names.add(".shstrtab")
        table = self.add(".shstrtab", names.data(), kind=SectionType.STRTAB, align=1, loaded=False)
        headers_at = -(-self._end // 8) * 8
        count = len(self._sections) + 1
        data = bytearray(b"\x7fELF\x02\x01\x01".ljust(16, b"\0"))
        data += struct.pack(
            "<HHIQQQIHHHHHH", _SHARED, machine, 1, 0, _EHDR, headers_at, 0, _EHDR, _PHDR, _SEGMENTS, _SHDR, count,
            table.index,
        )  # fmt: skip
        data += segments
        for section in self._sections:
            data = data.ljust(section.offset, b"\0") + section.data
        numbers = {section.name: section.index for section in self._sections}
        headers = b"".join(s.header(names.add(s.name), numbers.get(s.link, 0)) for s in self._sections)
        return bytes(data.ljust(headers_at, b"\0") + bytes(_SHDR) + headers)

    def _segments(self, dynamic: Section) -> bytes:
        at, writable = dynamic.offset, [s for s in self._sections if s.address and s.access & Access.WRITE]
        in_file = writable[-1].offset + len(writable[-1].data) - at
        in_memory = writable[-1].address + writable[-1].memory - dynamic.address
        code, data = Access.READ | Access.EXECUTE, Access.READ | Access.WRITE
        segments = (
            (_PT_LOAD, code, 0, 0, 0, at, at, self._page),
            (_PT_LOAD, data, at, dynamic.address, dynamic.address, in_file, in_memory, self._page),
            (_PT_DYNAMIC, data, at, dynamic.address, dynamic.address, len(dynamic.data), len(dynamic.data), 8),
            # Without this header the loader would ask for an executable stack.
            (_PT_GNU_STACK, data, 0, 0, 0, 0, 0, 16),
        )
        return b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments)
