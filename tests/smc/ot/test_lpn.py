"""The parameters and the linear code of Ferret."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.ot.lpn import LARGE, LOCALITY, MOST_SECRET, SMALL, Parameters
from tests.support.domain_reduction import entries
from tests.support.linear_code import add_rows

KEY = bytes(range(16))


def reference(key: bytes, first: int, table: np.ndarray, target: np.ndarray) -> np.ndarray:
    named = entries(key, first, len(target), len(table).bit_length() - 1)
    return target ^ np.bitwise_xor.reduce(table[named], axis=1)


@settings(max_examples=40)
@given(st.integers(0, 12), st.integers(0, 1000), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_code_is_the_reference(log_secret: int, first: int, groups: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    table = random.integers(0, 2**64, (1 << log_secret, 2), dtype=np.uint64)
    target = random.integers(0, 2**64, (8 * groups, 2), dtype=np.uint64)
    expected = reference(KEY, 8 * first, table, target)
    add_rows(KEY, table, 8 * first, target)
    assert np.array_equal(target, expected)


def test_code_in_pieces_is_the_code() -> None:
    table = np.random.default_rng(1).integers(0, 2**64, (1 << 10, 2), dtype=np.uint64)
    whole, pieces = np.zeros((2, 4096, 2), dtype=np.uint64)
    add_rows(KEY, table, 8000, whole)
    for start, stop in ((0, 8), (8, 1024), (1024, 4096)):
        add_rows(KEY, table, 8000 + start, pieces[start:stop])
    assert np.array_equal(whole, pieces)


def test_keys_give_other_codes() -> None:
    table = np.random.default_rng(2).integers(0, 2**64, (1 << 10, 2), dtype=np.uint64)
    one, other = np.zeros((2, 1024, 2), dtype=np.uint64)
    add_rows(KEY, table, 0, one)
    add_rows(bytes(16), table, 0, other)
    assert not (one == other).all(axis=1).any()


def test_entries_are_named_equally_often() -> None:
    """Counts of 81,920 indices into 64 entries: chi-square with 63 degrees of freedom, below its 10^-6 quantile."""
    counts = np.zeros(64, dtype=np.int64)
    for entry in range(64):  # an odd number of mentions shows; two in a row cancel, at the same rate for all entries
        table = np.zeros((64, 2), dtype=np.uint64)
        table[entry] = 1
        target = np.zeros((8192, 2), dtype=np.uint64)
        add_rows(KEY, table, 0, target)
        counts[entry] = np.count_nonzero(target[:, 0])
    rate = (1 - (1 - 2 / 64) ** LOCALITY) / 2
    statistic = ((counts - 8192 * rate) ** 2 / (8192 * rate * (1 - rate))).sum()
    assert statistic < 131


@pytest.mark.parametrize(("here", "outputs", "base"), [(SMALL, 819_200, 80_000), (LARGE, 1_228_800, 143_136)])
def test_sizes(here: Parameters, outputs: int, base: int) -> None:
    assert (here.outputs, here.base) == (outputs, base)
    assert here.outputs == here.trees * here.leaves
    assert here.message_bytes == 16 * (base - here.secret - 64)
    assert here.outputs - here.leaves > LARGE.base  # every iteration can start the next one


def test_shallow_trees_and_long_secrets_are_refused() -> None:
    with pytest.raises(ValueError, match="8 rows"):
        Parameters(trees=10, depth=2, log_secret=4)
    with pytest.raises(ValueError, match="at most"):
        Parameters(trees=10, depth=4, log_secret=MOST_SECRET + 1)


def test_the_longest_secret_is_named_to_its_end() -> None:
    table = np.random.default_rng(3).integers(0, 2**64, (1 << MOST_SECRET, 2), dtype=np.uint64)
    target = np.zeros((4096, 2), dtype=np.uint64)
    add_rows(KEY, table, 64, target)
    assert np.array_equal(target, reference(KEY, 64, table, np.zeros_like(target)))


def test_rows_have_an_odd_number_of_entries() -> None:
    """With an even one the columns of the code would sum to zero."""
    table = np.zeros((1 << 10, 2), dtype=np.uint64)
    table[:, 0] = 1
    target = np.zeros((4096, 2), dtype=np.uint64)
    add_rows(KEY, table, 0, target)
    assert (target[:, 0] == 1).all()
