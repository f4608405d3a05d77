"""Tweaks inside a piece: every AND of it has its own, in the order of the program."""

from __future__ import annotations

import numpy as np
import pytest

from smc.hashing import GATES_PER_KEY, hash_keys
from smc.primitives.prg import Prg
from smc.recipes import Garbling
from smc.yao.schemes import SCHEMES, Scheme
from smc.yao.walk import Piece

# Kind, out, left, right. Gates 0, 2 and 5 multiply the same two wires, 4 the result of one with itself.
PROGRAM = np.array([[1, 4, 2, 3], [0, 5, 4, 2], [1, 6, 2, 3], [1, 7, 5, 3], [1, 8, 4, 4], [1, 9, 2, 3]], dtype=np.int32)
SLOTS, FIRST = 10, 1000
SAME = (4, 6, 9)  # where the three products of the same wires go


def state_of(instances: int) -> np.ndarray:
    state = np.random.default_rng(instances).integers(0, 1 << 64, (SLOTS, 2 * instances), dtype=np.uint64)
    state[4:] = 0
    return state


def delta() -> np.ndarray:
    return np.random.default_rng(99).integers(0, 1 << 64, 2, dtype=np.uint64) | np.array([1, 0], dtype=np.uint64)


def whole(instances: int, program: np.ndarray = PROGRAM) -> list[Piece]:
    return [Piece(program, 0, len(program), int(program[:, 0].sum()), instances)]


def single_gates(instances: int, program: np.ndarray = PROGRAM) -> list[Piece]:
    return [Piece(program, g, g + 1, int(program[g, 0]), instances) for g in range(len(program))]


def garbled(
    scheme: Scheme, pieces: list[Piece], instances: int, first: int = FIRST
) -> tuple[np.ndarray, list[np.ndarray]]:
    """All zero labels, and each piece's tables; a piece's tweaks follow those of the one before."""
    state, tweak, prg, made = state_of(instances), first, Prg(bytes(16)), []
    for piece in pieces:
        tables = np.zeros(scheme.row_bytes * piece.rows, dtype=np.uint8)
        scheme.garble(state, piece, hash_keys(bytes(16)), tweak, delta(), prg, tables)
        made.append(tables)
        tweak += piece.numbers
    return state, made


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("instances", [1, 3, 4, 7, 70, 256])
def test_gates_of_a_piece_are_garbled_as_if_each_came_alone(name: Garbling, instances: int) -> None:
    together, _ = garbled(SCHEMES[name], whole(instances), instances)
    alone, _ = garbled(SCHEMES[name], single_gates(instances), instances)
    assert np.array_equal(together, alone)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("instances", [1, 3, 4, 7, 70, 256])
def test_gates_of_a_piece_are_evaluated_as_if_each_came_alone(name: Garbling, instances: int) -> None:
    scheme = SCHEMES[name]
    zero, tables = garbled(scheme, single_gates(instances), instances)
    state, tweak = state_of(instances), FIRST  # all inputs 0: active labels are zero labels
    for piece, received in zip(single_gates(instances), tables, strict=True):
        scheme.evaluate(state, piece, hash_keys(bytes(16)), tweak, received)
        tweak += piece.numbers
    assert np.array_equal(state, zero)
    state = state_of(instances)
    (received,) = garbled(scheme, whole(instances), instances)[1]
    scheme.evaluate(state, whole(instances)[0], hash_keys(bytes(16)), FIRST, received)
    assert np.array_equal(state, zero)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("seed", range(4))
def test_gates_done_together_are_those_done_in_turn(name: Garbling, seed: int) -> None:
    """Random programs of a single instance: slots written anew and read at once, beginning anywhere under a key."""
    rng = np.random.default_rng(seed)
    scheme, first = SCHEMES[name], 8 * seed
    program = rng.integers(2, SLOTS, (300, 4), dtype=np.int32)
    program[:, 0] = rng.random(300) < 0.9
    alone, _ = garbled(scheme, single_gates(1, program), 1, first)
    together, (tables,) = garbled(scheme, whole(1, program), 1, first)
    assert np.array_equal(together, alone)
    state = state_of(1)
    scheme.evaluate(state, whole(1, program)[0], hash_keys(bytes(16)), first, tables)
    assert np.array_equal(state, alone)  # all inputs 0: active labels are zero labels


@pytest.mark.parametrize("name", SCHEMES)
def test_equal_gates_and_equal_instances_share_no_label(name: Garbling) -> None:
    """One tweak used twice on the same labels would give the same output labels, and reveal that inputs agree."""
    instances = 9
    state = state_of(instances)
    state[2:4] = np.tile(state[2:4, :2], instances)  # every instance has the labels of the first
    tables = np.zeros(SCHEMES[name].row_bytes * whole(instances)[0].rows, dtype=np.uint8)
    SCHEMES[name].garble(state, whole(instances)[0], hash_keys(bytes(16)), 0, delta(), Prg(bytes(16)), tables)
    labels = state[list(SAME)].reshape(-1, 2)
    canonical = labels ^ (np.uint64(0) - (labels[:, :1] & np.uint64(1)) & delta())  # the one of colour 0
    assert len(np.unique(canonical, axis=0)) == len(SAME) * instances


def test_numbers_of_gates_do_not_meet() -> None:
    """A vector of four instances lies under one key: its number is a multiple of four."""
    assert GATES_PER_KEY % 8 == 0
    for instances in range(1, 20):
        piece = Piece(PROGRAM, 0, len(PROGRAM), 5, instances)
        assert piece.stride >= instances
        assert piece.stride % 4 == 0 or instances < 4
        assert piece.numbers == 5 * piece.stride
        assert piece.rows == 5 * instances


def test_a_key_serves_few_gates() -> None:
    assert 1 << 6 <= GATES_PER_KEY <= 1 << 8  # log2 of it is what the hash loses of 128 bits
