"""Tables of random bands: every key has its value, and elimination fails as rarely as computed."""

from __future__ import annotations

import numpy as np
import pytest

from protocols.alignment.band import DIGEST, Keys, cells, decoded, encoded
from smc import kernels
from smc.errors import ProtocolError
from smc.primitives.prg import Prg


def digests(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, DIGEST), dtype=np.uint8)


def number(block: np.ndarray) -> int:
    return int.from_bytes(block.tobytes(), "little")


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 30000])
def test_each_key_has_its_value(count: int) -> None:
    keys = Keys.of(digests(count), cells(count))
    table = encoded(keys, cells(count))
    assert table.shape == (cells(count), 2)
    assert np.array_equal(decoded(keys, table), keys.values)
    for place in range(min(count, 50)):  # as sums of cells, without the kernel
        start, band = int(keys.starts[place]), number(keys.bands[place])
        total = 0
        for bit in range(128):
            total ^= number(table[start + bit]) * (band >> bit & 1)
        assert total == number(keys.values[place])
    assert sorted(keys.order.tolist()) == list(range(count))


@pytest.mark.parametrize("words", [2, 6])
def test_a_table_with_random_free_cells_has_wider_values(words: int) -> None:
    keys, table = Keys.of(digests(700), cells(700)), cells(700)
    values = np.random.default_rng(2).integers(0, 1 << 64, (700, words), dtype=np.uint64)
    found = [encoded(keys, table, values.copy(), Prg(bytes(15) + bytes([seed]))) for seed in (1, 2)]
    for one in found:
        assert np.array_equal(decoded(keys, one), values)
    assert not (found[0] == found[1]).all(axis=1).any()
    plain = encoded(keys, table, values.copy())
    assert (plain == 0).all(axis=1).sum() == table - 700  # a cell is free, or a key's


def test_other_keys_have_no_value() -> None:
    table = encoded(Keys.of(digests(500), cells(500)), cells(500))
    others = Keys.of(digests(500, 2), cells(500))
    assert not (decoded(others, table) == others.values).all(axis=1).any()


def test_keys_that_contradict_each_other_are_a_line() -> None:
    some = digests(100)
    some[1] = some[0]
    some[1, 16] ^= 1  # another value
    with pytest.raises(ProtocolError, match="no table fits these keys, by rare chance; propose the job anew"):
        encoded(Keys.of(some, cells(100)), cells(100))


def test_failures_fall_by_half_a_bit_a_cell() -> None:
    """Bands cut to a few cells fail at the computed rate: 2^(-0.51 w) of the keys, at most twice that."""
    random, count = np.random.default_rng(3), 1 << 18
    for width in (8, 12, 16):
        table = count + count // 5 + width
        starts = np.sort(random.integers(0, table - width + 1, count))
        bands = random.integers(0, 1 << width, (count, 2), dtype=np.uint64) * np.array([1, 0], dtype=np.uint64)
        failed = np.zeros(1, dtype=np.int64)
        pivots, filled = (np.zeros((table + more, 2), dtype=np.uint64) for more in (0, 128))
        kernels.band_solve(
            starts, bands, random.integers(1, 1 << 60, (count, 2), dtype=np.uint64), pivots, filled, failed
        )
        assert 0.5 < failed[0] / count * 2 ** (0.51 * width) < 2, width
