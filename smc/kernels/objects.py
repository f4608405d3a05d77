"""Loader of machine code from an object file without LLVM, whose loading takes longer than a whole small protocol.

LLVM's code for x86-64 has one kind of relocation: the absolute address of a section, a symbol or a C function
(R_X86_64_64 of the System V ABI's x86-64 supplement), because the code may be placed anywhere. So this loader copies
the sections one after the other and fills in the addresses. LLVM loads files of any other form (`smc.kernels.native`).
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

HEADER = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
RELOCATABLE, X86_64 = 1, 62
SYMBOLS, RELOCATIONS, NO_BITS = 2, 4, 8  # types of sections
ALLOCATED = 2  # flag of sections that are loaded
ABSOLUTE = 1  # R_X86_64_64
UNDEFINED, RESERVED = 0, 0xFF00  # reserved section numbers
FRAMES = b".eh_frame"  # for exceptions, which kernels do not raise

_held: list[object] = []  # memory of the code, held until the process ends


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class _OtherFormError(Exception):
    """Error for an object file of a form that this loader does not read."""


def load(code: bytes, names: Sequence[str], functions: Mapping[str, int], other: int) -> dict[str, int] | None:
    """Load functions from an object file.

    Args:
        code: The content of the file.
        names: Symbols of the functions.
        functions: Addresses of C functions that the code may call, by name.
        other: Address for all other functions; a kernel calls them only after a failure.

    Returns:
        Addresses by symbol; None if this loader does not read the file's form.
    """
    try:
        return _load(code, names, functions, other)
    except (_OtherFormError, struct.error, LookupError, ValueError, OverflowError, OSError):
        return None


def _load(code: bytes, names: Sequence[str], functions: Mapping[str, int], other: int) -> dict[str, int]:
    if code[: len(HEADER)] != HEADER or struct.unpack_from("<HH", code, 16) != (RELOCATABLE, X86_64):
        raise _OtherFormError
    (table,), (count, texts) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 60)
    sections = [_Section._make(struct.unpack_from("<IIQQQQIIQQ", code, table + 64 * i)) for i in range(count)]
    places, size = {}, 0
    for i, section in enumerate(sections):
        if section.flags & ALLOCATED and not _text(code, sections[texts], section.name).startswith(FRAMES):
            size = -(-size // max(section.alignment, 1)) * max(section.alignment, 1)
            places[i], size = size, size + section.size
    memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(hold := ctypes.c_char.from_buffer(memory))
    for i, place in places.items():
        if sections[i].kind != NO_BITS:  # sections without bits are zeros
            memory[place : place + sections[i].size] = code[sections[i].offset :][: sections[i].size]
    (symbols,) = (section for section in sections if section.kind == SYMBOLS)
    addresses: list[int | None] = []
    known: dict[str, int] = {}
    for i in range(symbols.size // 24):
        name, _, _, where, value, _ = struct.unpack_from("<IBBHQQ", code, symbols.offset + 24 * i)
        text = _text(code, sections[symbols.link], name).decode()
        if where == UNDEFINED:
            addresses.append(functions.get(text, other))
        else:
            addresses.append(base + places[where] + value if where in places else None)
            if where in places:
                known[text] = base + places[where] + value
    for section in sections:
        if section.kind == RELOCATIONS and section.info in places:
            for i in range(section.size // 24):
                offset, kind, symbol, addend = struct.unpack_from("<QIIq", code, section.offset + 24 * i)
                if kind != ABSOLUTE or (address := addresses[symbol]) is None:
                    raise _OtherFormError
                struct.pack_into("<Q", memory, places[section.info] + offset, (address + addend) % 2**64)
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(base), ctypes.c_size_t(len(memory)), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError
    _held.extend((memory, hold))
    return {name: known[name] for name in names}


def _text(code: bytes, table: _Section, start: int) -> bytes:
    begin = table.offset + start
    return code[begin : code.index(b"\0", begin)]
