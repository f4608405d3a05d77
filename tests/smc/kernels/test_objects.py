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
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
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


def test_llvm_is_loaded_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, engines = hash_keys(bytes(16)), list(native._engines)
    monkeypatch.setattr(native, "_loaded", {})
    monkeypatch.setattr(native.objects, "load", lambda *_: None)
    words = np.zeros((4, 2), dtype=np.uint64)
    fresh()(keys, 0, np.zeros((4, 2), dtype=np.uint64), words)
    assert words.any()
    assert len(native._engines) == len(engines) + 1
