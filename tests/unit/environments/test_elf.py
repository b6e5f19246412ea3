from __future__ import annotations

import ctypes
import io
import platform
import struct
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection
from hypothesis import given
from hypothesis import strategies as st

from harness.environments.elf import Kind, Machine, StubSymbol, shared_library, sysv_hash

HERE = Machine(platform.machine())
SYMBOLS = [
    StubSymbol("plain"),
    StubSymbol("versioned", "V_1"),
    StubSymbol("text", "V_2", Kind.MESSAGE),
    StubSymbol("data", "V_2", Kind.OBJECT),
    StubSymbol("more_data", "", Kind.OBJECT),
]


def load(tmp_path: Path, data: bytes) -> ctypes.CDLL:
    path = tmp_path / "libmade.so.1"
    path.write_bytes(data)
    return ctypes.CDLL(str(path))


def test_the_loader_takes_it_and_its_functions_run(tmp_path: Path):
    library = load(tmp_path, shared_library("libmade.so.1", SYMBOLS, machine=HERE, status=100, message="no such thing"))
    assert library.plain() == 100
    assert library.versioned() == 100
    library.text.restype = ctypes.c_char_p
    assert library.text() == b"no such thing"
    first, second = ((ctypes.c_char * 256).in_dll(library, name) for name in ("data", "more_data"))
    assert first.raw == second.raw == bytes(256)
    first[:] = b"x" * 256  # it is memory that can be written, and nobody else's
    assert second.raw == bytes(256)


def test_versions_are_told_apart(tmp_path: Path):
    library = load(tmp_path, shared_library("libmade.so.1", SYMBOLS, machine=HERE, versions=["V_EMPTY"]))
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.restype, dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    assert dlvsym(library._handle, b"versioned", b"V_1")
    assert not dlvsym(library._handle, b"versioned", b"V_2")
    assert not dlvsym(library._handle, b"plain", b"V_1")


@pytest.mark.parametrize("machine", list(Machine))
def test_tools_can_read_it(machine: Machine):
    elf = ELFFile(io.BytesIO(shared_library("liba.so.3", SYMBOLS, machine=machine, versions=["V_3"], comment="made")))
    assert elf.get_machine_arch() == {"x86_64": "x64", "aarch64": "AArch64"}[machine]
    dynamic = elf.get_section_by_name(".dynamic")
    assert isinstance(dynamic, DynamicSection)
    assert [tag.soname for tag in dynamic.iter_tags("DT_SONAME")] == ["liba.so.3"]
    assert elf.get_section_by_name(".comment").data() == b"made\0"
    table = elf.get_section_by_name(".dynsym")
    assert {symbol.name for symbol in table.iter_symbols()} == {"", *(symbol.name for symbol in SYMBOLS)}
    definitions = elf.get_section_by_name(".gnu.version_d")
    assert isinstance(definitions, GNUVerDefSection)
    names = [next(aux).name for _, aux in definitions.iter_versions()]
    assert names == ["liba.so.3", "V_1", "V_2", "V_3"]
    loaded = [segment for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD"]
    assert not [s for s in loaded if s["p_flags"] & 3 == 3], "memory that is written must not be executed"
    assert all((s["p_vaddr"] - s["p_offset"]) % s["p_align"] == 0 for s in loaded)
    [stack] = [segment for segment in elf.iter_segments() if segment["p_type"] == "PT_GNU_STACK"]
    assert not stack["p_flags"] & 1


def test_code_for_the_other_processor():
    elf = ELFFile(io.BytesIO(shared_library("liba.so", [], machine=Machine.AARCH64, status=100, message="text")))
    code = elf.get_section_by_name(".text").data()
    # From the reference manual: MOVZ W0, #100; RET; and ADR X0, #16; RET.
    assert struct.unpack("<II", code[:8]) == (0x52800C80, 0xD65F03C0)
    assert struct.unpack("<II", code[16:24]) == (0x10000080, 0xD65F03C0)
    assert code[32:] == b"text\0"


def test_hash_of_the_abi():
    # The generic ABI gives no examples; these are what binutils writes for well-known names.
    assert sysv_hash("") == 0
    assert sysv_hash("printf") == 0x077905A6
    assert sysv_hash("GLIBC_2.2.5") == 0x09691A75


@given(st.lists(st.from_regex(r"[a-z_][a-zA-Z0-9_]{0,30}", fullmatch=True), unique=True, max_size=40))
def test_every_symbol_is_found_again(tmp_path_factory: pytest.TempPathFactory, names: list[str]):
    path = tmp_path_factory.mktemp("made") / "libmade.so"
    path.write_bytes(shared_library("libmade.so", [StubSymbol(name) for name in names], machine=HERE, status=7))
    library = ctypes.CDLL(str(path))
    # By index: as attributes, names that begin and end in two underscores belong to Python.
    assert [library[name]() for name in names] == [7] * len(names)


def test_same_input_same_bytes():
    one, two = (shared_library("liba.so", order, machine=HERE) for order in (SYMBOLS, SYMBOLS[::-1]))
    assert one == two
