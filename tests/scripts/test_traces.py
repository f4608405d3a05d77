"""The tracer of kernels follows the real ones, and finds a branch and an index that follow a secret."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smc.kernels.native import Kernel

pytest.importorskip("iced_x86")
if sys.platform != "linux":
    pytest.skip("follows processes with ptrace(2) of Linux", allow_module_level=True)

from scripts import traces

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "traces.md"
TABLE = np.arange(4096, dtype=np.uint64)


def compiled(source: Callable[..., None]) -> Any:
    """Compile a function of a table, secrets and results, each an address and a length, as kernels are."""
    from numba import carray, cfunc, njit, types

    inner = njit(source)
    words, length = types.CPointer(types.uint64), types.int64
    signature = types.void(*[words, length] * 3)

    @cfunc(signature)
    def outer(table, tables, secret, secrets, result, results):  # type: ignore[no-untyped-def]
        inner(carray(table, tables), carray(secret, secrets), carray(result, results))

    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 6)(outer.address)
    function.keeps = outer  # its code
    return function


def branching(table: Any, secret: Any, result: Any) -> None:
    for place in range(len(secret)):
        if secret[place] & np.uint64(1):
            result[place] = table[place % 7] // (result[place] + np.uint64(3))


def indexing(table: Any, secret: Any, result: Any) -> None:
    for place in range(len(secret)):
        result[place] = table[secret[place]]


def masking(table: Any, secret: Any, result: Any) -> None:
    for place in range(len(secret)):
        result[place] = table[place] & (np.uint64(0) - (secret[place] & np.uint64(1)))


def traced(source: Callable[..., None], one: int, other: int) -> int:
    left, right = ((TABLE, np.full(8, secret, dtype=np.uint64), np.zeros(8, np.uint64)) for secret in (one, other))
    return traces.compare(compiled(source), left, right, limit=2000)


def test_a_mask_leaves_no_trace() -> None:
    assert traced(masking, 0, 1) > 20


def test_a_branch_is_found() -> None:
    with pytest.raises(traces.DivergedError):
        traced(branching, 0, 1)


def test_an_index_is_found_though_all_instructions_are_the_same() -> None:
    assert traced(indexing, 7, 7) > 20
    with pytest.raises(traces.DivergedError):
        traced(indexing, 7, 7 + 512)


def test_kernels_of_a_program_take_the_same_way_for_both_secrets() -> None:
    rows = list(traces.rows([traces.Profile("gmw", "softspoken4")], "", limit=400, calls=1))
    followed = {name: verdict for name, calls, _, verdict in rows if calls}
    assert {"gmw.step", "ot.double", "ot.extend_sender", "lpn.encode", "band.blind"} <= followed.keys()
    assert set(followed.values()) == {"the same"}


def test_the_page_has_every_kernel() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for kernels in Kernel.registry.values():
        for kernel in kernels:
            assert f"| `{kernel.module}.{kernel.name}` |" in page
