"""Machine code of a wheel: for which processors it is, and that it computes what is compiled here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from smc.kernels import native, processor, ready
from tests.support.waiting import PATIENCE

V4, V3 = processor.LEVELS
GARBLE = """
import hashlib, sys, numpy as np
from smc.circuit import Builder
from smc.hashing import hash_keys
from smc.primitives.prg import Prg
from smc.yao.schemes import SCHEMES
from smc.yao.walk import pieces

builder = Builder()
x, y = builder.input(8), builder.input(8)
builder.output(x * y)
netlist = builder.build()
state = Prg(bytes(16)).words(netlist.slots, 2 * 21)
delta = state[0, :2].copy()
scheme = SCHEMES[sys.argv[1]]
(piece,) = pieces(netlist, 21)
tables = np.zeros(piece.rows * scheme.row_bytes, dtype=np.uint8)
scheme.garble(state, piece, hash_keys(bytes(16)), 0, delta, Prg(bytes(16)), tables)
print(hashlib.sha256(tables.tobytes() + state.tobytes()).hexdigest())
"""


# numba and LLVM cannot be imported, and no file that was compiled here is found
FROM_A_WHEEL = """
import sys
from pathlib import Path
sys.modules["numba"] = sys.modules["llvmlite"] = None
from smc.kernels import native, processor
native.READY, processor.level = Path(sys.argv[2]), lambda: processor.LEVELS[1]
"""


@pytest.mark.parametrize("scheme", ["half", pytest.param("three-halves", marks=pytest.mark.campaign)])
def test_a_processor_without_wide_registers_computes_the_same(tmp_path: Path, scheme: str) -> None:
    """The hash is one and the same code for both schemes."""

    def run(program: str) -> str:
        command = [sys.executable, "-c", program, scheme, str(tmp_path / "ready")]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout

    ready.build(tmp_path / "ready", [V3], ["labels", {"half": "halfgates", "three-halves": "threehalves"}[scheme]])
    here, there = run(GARBLE), run(FROM_A_WHEEL + GARBLE)
    assert here == there
    assert len(here.split()) == 1


@pytest.mark.parametrize(
    ("without", "level"),
    [("", V4), ("vaes", V3), ("avx512vl", V3), ("avx2", None), ("aes", None)],
    ids=["all", "no VAES", "no AVX-512VL", "no AVX2", "no AES"],
)
def test_the_highest_level_of_a_processor(
    monkeypatch: pytest.MonkeyPatch, without: str, level: processor.Level | None
) -> None:
    flags = " ".join(sorted(V4.flags - {without}))
    monkeypatch.setattr(processor, "described", lambda: {"flags": f"{flags} fpu"})
    assert processor.level.__wrapped__() == level


def test_an_unknown_processor_has_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "described", dict)
    assert processor.level.__wrapped__() is None


def test_code_of_other_sources_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "READY", tmp_path)
    monkeypatch.setattr(processor, "level", lambda: V3)
    monkeypatch.setattr(native, "cache_directories", list)
    tmp_path.chmod(0o700)
    name = native.ready_file("labels", V3)
    (tmp_path / name).write_bytes(native.sealed(b"code"))
    assert native.is_compiled("labels")
    monkeypatch.setattr(native, "source", lambda part: b"changed")
    assert native.ready_file("labels", V3) != name
    monkeypatch.setattr(native, "_loaded", {})
    assert not native.is_compiled("labels")
