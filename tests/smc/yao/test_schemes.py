"""Garbled tables against the papers' formulas, computed here in plain Python with OpenSSL's AES."""

from __future__ import annotations

import numpy as np
import pytest

from smc.circuit import Builder
from smc.hashing import hash_keys
from smc.primitives.prg import Prg
from smc.yao.schemes import SCHEMES
from smc.yao.walk import Piece, chunks, pieces
from tests.support.gate_hash import gate_hash

KEY = bytes(range(16))
MASK = (1 << 64) - 1
INSTANCES = [1, 3, 4, 5, 8, 11, 300]  # the last one under six keys


def netlist():  # type: ignore[no-untyped-def]
    builder = Builder()
    a, b = builder.input(1), builder.input(1)
    builder.output([a[0] & b[0]])
    return builder.build()


def hashed(label: int, number: int, which: int = 0) -> int:
    return gate_hash(KEY, label, number, which)


def run(scheme: str, instances: int, seed: int):  # type: ignore[no-untyped-def]
    """False labels and delta, tables, the garbler's output labels, and what `evaluate` makes of active labels."""
    rng = np.random.default_rng(seed)
    circuit = netlist()
    (piece,) = pieces(circuit, instances)
    delta = rng.integers(0, 1 << 64, 2, dtype=np.uint64) | np.array([1, 0], dtype=np.uint64)
    state = rng.integers(0, 1 << 64, (circuit.slots, 2 * instances), dtype=np.uint64)
    inputs = state[2:4].reshape(2, instances, 2).copy()
    tables = np.zeros(SCHEMES[scheme].row_bytes * piece.rows, dtype=np.uint8)  # type: ignore[index]
    SCHEMES[scheme].garble(state, piece, hash_keys(KEY), 1000, delta, Prg(bytes([seed] * 16)), tables)  # type: ignore[index]
    return circuit, piece, inputs, delta, tables, state[circuit.outputs[0]].reshape(instances, 2)


def integer(block: np.ndarray) -> int:
    return int(block[0]) | int(block[1]) << 64


@pytest.mark.parametrize("instances", INSTANCES)
def test_half_gates_tables_are_the_papers(instances: int) -> None:
    _, _, inputs, delta_, tables, outputs = run("half", instances, 7)
    rows = tables.view(np.uint64).reshape(2, instances, 2)
    delta = integer(delta_)
    for j in range(instances):
        a, b = integer(inputs[0, j]), integer(inputs[1, j])
        ha, ha1 = hashed(a, 1000 + j), hashed(a ^ delta, 1000 + j)
        hb, hb1 = hashed(b, 1000 + j, 1), hashed(b ^ delta, 1000 + j, 1)
        generator = ha ^ ha1 ^ (delta if b & 1 else 0)
        evaluator = hb ^ hb1 ^ a
        assert integer(rows[0, j]) == generator
        assert integer(rows[1, j]) == evaluator
        expected = ha ^ (generator if a & 1 else 0) ^ hb ^ (evaluator ^ a if b & 1 else 0)
        assert integer(outputs[j]) == expected


def three_halves(a: int, b: int, row: tuple[int, int, int, int], tweak: int) -> tuple[int, tuple[int, int]]:
    """The evaluator's formula of the paper: output label and the two control bits it sees."""
    g0, g1, g2, z = row
    i, j = a & 1, b & 1
    ha, hb, hab = (hashed(x, tweak, k) for k, x in enumerate((a, b, a ^ b)))
    bit = [(h >> 64) & 1 for h in (ha, hb, hab)]
    z0, z1, z2, z3, z4 = (z >> k & 1 for k in range(5))
    r1 = bit[0] ^ bit[2] ^ z0 ^ i * z2 ^ (i ^ j) * z4
    r2 = bit[1] ^ bit[2] ^ z1 ^ j * z3 ^ (i ^ j) * z4
    a_l, a_r, b_l, b_r = a & MASK, a >> 64, b & MASK, b >> 64
    left = (ha ^ hab) & MASK ^ i * g0 ^ (i ^ j) * g2
    right = (hb ^ hab) & MASK ^ j * g1 ^ (i ^ j) * g2
    left ^= r1 * (a_l ^ a_r ^ b_l) ^ r2 * (a_l ^ b_r) ^ (1 - i) * b_l
    right ^= r1 * (a_l ^ b_r) ^ r2 * (a_r ^ b_l ^ b_r) ^ (1 - j) * a_r
    return left | right << 64, (r1, r2)


@pytest.mark.parametrize("instances", INSTANCES)
def test_three_halves_evaluates_by_the_papers_formula(instances: int) -> None:
    """All four input pairs open the right output label: so all eight half-equations hold."""
    _, _, inputs, delta_, tables, outputs = run("three-halves", instances, 3)
    wide = tables[: 16 * instances].view(np.uint64).reshape(instances, 2)
    narrow = tables[16 * instances : 24 * instances].view(np.uint64)
    delta = integer(delta_)
    for j in range(instances):
        row = (int(wide[j, 0]), int(wide[j, 1]), int(narrow[j]), int(tables[24 * instances + j]))
        assert row[3] < 32
        for x in (0, 1):
            for y in (0, 1):
                a, b = integer(inputs[0, j]) ^ x * delta, integer(inputs[1, j]) ^ y * delta
                found, _ = three_halves(a, b, row, 1000 + j)
                assert found == integer(outputs[j]) ^ (x & y) * delta


def test_the_control_bits_an_evaluator_sees_are_uniform_whatever_the_inputs() -> None:
    """For each colour pair and each place of the one, the four values of (r1, r2) come up equally often."""
    seen: dict[tuple[int, int, int, int], list[int]] = {}
    for seed in range(60):
        _, _, inputs, delta_, tables, _ = run("three-halves", 8, seed)
        delta = integer(delta_)
        wide, narrow = tables[:128].view(np.uint64).reshape(8, 2), tables[128:192].view(np.uint64)
        for j in range(8):
            row = (int(wide[j, 0]), int(wide[j, 1]), int(narrow[j]), int(tables[192 + j]))
            a, b = integer(inputs[0, j]), integer(inputs[1, j])
            for x in (0, 1):
                for y in (0, 1):
                    a_, b_ = a ^ x * delta, b ^ y * delta
                    _, (r1, r2) = three_halves(a_, b_, row, 1000 + j)
                    seen.setdefault((a_ & 1, b_ & 1, a & 1, b & 1), []).append(r1 + 2 * r2)
    assert len(seen) == 16
    for values in seen.values():
        counts = np.bincount(values, minlength=4)
        expected = len(values) / 4
        assert ((counts - expected) ** 2 / expected).sum() < 28  # chi-square, 3 degrees: 4e-6, sixteen times


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("instances", INSTANCES)
def test_evaluation_undoes_garbling(scheme: str, instances: int) -> None:
    circuit, piece, inputs, delta, tables, outputs = run(scheme, instances, 11)
    rng = np.random.default_rng(instances)
    bits = rng.integers(0, 2, (2, instances), dtype=np.uint64)
    state = np.zeros((circuit.slots, 2 * instances), dtype=np.uint64)
    state[2:4] = (inputs ^ bits[..., None] * delta).reshape(2, -1)
    tables.flags.writeable = False  # as received
    SCHEMES[scheme].evaluate(state, piece, hash_keys(KEY), 1000, tables)  # type: ignore[index]
    active = state[circuit.outputs[0]].reshape(instances, 2)
    assert np.array_equal(active, outputs ^ (bits[0] & bits[1])[:, None] * delta)


def test_pieces_cover_the_program_once_and_fit_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder()
    x, y = builder.input(20), builder.input(20)
    builder.output(x * y)
    circuit = builder.build()
    monkeypatch.setattr("smc.yao.walk.ROWS", 100)
    for instances in (1, 7, 100):
        found: list[Piece] = list(pieces(circuit, instances))
        assert [piece.start for piece in found] == [0, *(piece.stop for piece in found)][:-1]
        assert found[-1].stop == circuit.gate_count
        assert sum(piece.rows for piece in found) == circuit.and_count * instances
        assert max(piece.rows for piece in found) <= 100
    assert [part.stop for part in chunks(circuit, 1000)][-1] == 1000
