"""Machine code that is loaded without LLVM is what LLVM loads, and what is not understood is left to it."""

from __future__ import annotations

import ctypes
import platform
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from smc import kernels
from smc.hashing import hash_keys, round_keys
from smc.kernels import native, objects
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="elsewhere LLVM loads everything"
)
NAMES = [kernel.symbol for kernel in native.Kernel.registry["labels"]]
FAILED = 0x1234_5678_9ABC_DEF0  # stands for what is reached only where a kernel has failed


@pytest.fixture(scope="module")
def code() -> bytes:
    """The object file of a module of kernels."""
    return native._machine_code("labels")


def loaded(code: bytes, names: list[str] = NAMES) -> dict[str, int] | None:
    return objects.load(code, names, {name: native._address(name) for name in native.C_FUNCTIONS}, FAILED)


def fresh() -> native.Kernel:
    """The kernel that hashes, with nothing loaded."""
    kernel = native.Kernel("labels", "hash_blocks", *kernels.hash_blocks.types)
    native.Kernel.registry["labels"].remove(kernel)
    return kernel


def test_both_compute_the_same(code: bytes) -> None:
    source = np.random.default_rng(1).integers(0, 1 << 64, (21, 2), dtype=np.uint64)
    words, hashed, called = hash_keys(bytes(16)), [], []
    ours = loaded(code)
    assert ours is not None
    for addresses in (ours, native._by_llvm(code, NAMES)):
        kernel = fresh()
        called.append(addresses[kernel.symbol])
        vars(kernel)["function"] = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 10)(called[-1])
        hashed.append(np.zeros_like(source))
        kernel(words, 5, source, hashed[-1])
    assert hashed[0].any()
    assert called[0] != called[1]
    np.testing.assert_array_equal(*hashed)


def test_a_program_that_finds_its_kernels_compiled_loads_no_compiler() -> None:
    round_keys(bytes(16))  # compiled now at the latest
    program = "import sys; from smc.hashing import round_keys; round_keys(bytes(16)); print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert "smc.kernels.native" in found.stdout.split()
    assert not {"numba", "llvmlite.binding"} & set(found.stdout.split())


def test_code_can_be_run_and_read_but_not_written(code: bytes) -> None:
    addresses = loaded(code)
    assert addresses is not None
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights = line.split()[:2]
        first, last = (int(end, 16) for end in place.split("-"))
        if first <= addresses[NAMES[0]] < last:
            assert rights == "r-xp"
            assert struct.pack("<Q", FAILED) in ctypes.string_at(first, last - first)
            return
    pytest.fail("it is nowhere")


def test_other_forms_are_left_to_llvm(code: bytes) -> None:
    assert loaded(code) is not None
    assert loaded(code, ["smc_labels_nothing"]) is None
    assert loaded(b"") is None
    for place, octet in ((0, 0), (4, 1), (5, 2), (16, 3), (18, 183)):  # no ELF, 32 bits, big-endian, a program, ARM
        assert loaded(code[:place] + bytes([octet]) + code[place + 1 :]) is None
    assert all(loaded(code[:length]) is None for length in range(0, len(code), 997))
    (table,) = struct.unpack_from("<Q", code, 40)
    for section in range(struct.unpack_from("<H", code, 60)[0]):
        _, kind, _, _, offset, _, _, of_section = struct.unpack_from("<IIQQQQII", code, table + 64 * section)
        if kind == objects.RELOCATIONS and struct.unpack_from("<Q", code, table + 64 * of_section + 32)[0] > 0:
            relative = code[: offset + 8] + struct.pack("<I", 2) + code[offset + 12 :]  # R_X86_64_PC32
            is_of_frames = struct.unpack_from("<I", code, offset + 8)[0] == 24  # R_X86_64_PC64: not loaded
            assert (loaded(relative) is None) != is_of_frames


def made(to: int, kind: int = objects.ABSOLUTE) -> bytes:
    """An object file of one function, three slots, zeros and frames; the last slot is filled so with symbol `to`.

    By the layout of the System V ABI, chapter 4: headers of 64 bytes, symbols and relocations of 24.
    """
    texts = b"\0first\0slots\0zeros\0known\0other\0fixed\0.eh_frame\0"
    names = [texts.index(name) for name in (b"first", b"slots", b"zeros", b"known", b"other", b"fixed")]
    places = [(1, 1), (2, 0), (3, 8), (0, 0), (0, 0), (0xFFF1, 5)]  # section and value; 0xFFF1: a number
    symbols = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", name, 0x12, 0, *place, 0) for name, place in zip(names, places, strict=True)
    )
    slots = struct.pack("<QIIq", 0, 1, 1, 7) + struct.pack("<QIIq", 8, 1, 4, 0) + struct.pack("<QIIq", 16, kind, to, -2)
    frames = texts.index(b".eh_frame")
    sections = [  # name, type, flags, size, link, info, alignment, bytes
        (0, 0, 0, 0, 0, 0, 0, b""),
        (0, 1, 6, 3, 0, 0, 16, b"\xc3\x90\x90"),
        (0, 1, 3, 24, 0, 0, 32, bytes([255]) * 24),
        (0, 8, 3, 40, 0, 0, 8, b""),
        (frames, 1, 2, 8, 0, 0, 8, bytes(8)),
        (0, 2, 0, len(symbols), 6, 0, 8, symbols),
        (0, 3, 0, len(texts), 0, 0, 1, texts),
        (0, 4, 0, 72, 5, 2, 8, slots),
        (0, 4, 0, 24, 5, 4, 8, struct.pack("<QIIq", 0, 24, 1, 0)),
    ]
    contents, headers = b"", b""
    for name, form, flags, size, link, info, alignment, data in sections:
        headers += struct.pack("<IIQQQQIIQQ", name, form, flags, 0, 64 + len(contents), size, link, info, alignment, 24)
        contents += data
    numbers = (1, 62, 1, 0, 0, 64 + len(contents), 0, 64, 0, 0, 64, len(sections), 6)
    return objects.HEADER.ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", *numbers) + contents + headers


def test_sections_lie_where_they_must_and_places_are_filled_in() -> None:
    names = ["first", "slots", "zeros"]
    found = objects.load(made(to=5), names, {"known": 0x1111}, 1)
    assert found is not None
    first, slots, zeros = (found[name] for name in names)
    assert ctypes.string_at(first - 1, 3) == b"\xc3\x90\x90"
    assert (first % 16, slots % 32, zeros % 8) == (1, 0, 0)
    assert slots == first - 1 + 32, "the next place that is aligned"
    assert zeros == slots + 24 + 8
    assert struct.unpack("<3Q", ctypes.string_at(slots, 24)) == (first + 7, 0x1111, 2**64 - 1)
    assert ctypes.string_at(zeros - 8, 40) == bytes(40)
    again = objects.load(made(to=3), names, {}, 5)
    assert again is not None
    assert struct.unpack("<2Q", ctypes.string_at(again["slots"] + 8, 16)) == (5, again["zeros"] - 2)
    for other in (made(to=6), made(to=5, kind=2), made(to=7)):  # a number, a distance, no symbol
        assert objects.load(other, names, {}, 1) is None
    assert objects.load(made(to=5), ["fixed"], {}, 1) is None, "it lies nowhere"


def test_llvm_is_loaded_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, engines = hash_keys(bytes(16)), list(native._engines)
    monkeypatch.setattr(native, "_loaded", {})
    monkeypatch.setattr(native.objects, "load", lambda *_: None)
    words = np.zeros((4, 2), dtype=np.uint64)
    fresh()(keys, 0, np.zeros((4, 2), dtype=np.uint64), words)
    assert words.any()
    assert len(native._engines) == len(engines) + 1
