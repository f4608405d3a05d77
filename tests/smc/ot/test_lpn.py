"""The parameters and the linear code of Ferret."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.ot.lpn import LARGE, SMALL, LinearCode, Parameters

KEY = bytes(range(16))


def reference(key: bytes, first: int, table: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Row i names ten entries by words 10 i, ... of AES in counter mode (little-endian counters): bits 1 .. log2 k."""
    counters = np.zeros((first // 8 * 20 + len(target) * 10 // 4, 2), dtype="<u8")
    counters[:, 0] = np.arange(len(counters))
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    words = np.frombuffer(cipher.update(counters.tobytes()), dtype="<u4")[first * 10 :]
    indices = (words >> 1 & len(table) - 1).reshape(len(target), 10)
    return target ^ np.bitwise_xor.reduce(table[indices], axis=1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 12), st.integers(0, 1000), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_code_is_the_reference(log_secret: int, first: int, groups: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    table = random.integers(0, 2**64, (1 << log_secret, 2), dtype=np.uint64)
    target = random.integers(0, 2**64, (8 * groups, 2), dtype=np.uint64)
    expected = reference(KEY, 8 * first, table, target)
    LinearCode(KEY, table).add(8 * first, target)
    assert np.array_equal(target, expected)


def test_code_in_pieces_is_the_code() -> None:
    table = np.random.default_rng(1).integers(0, 2**64, (1 << 10, 2), dtype=np.uint64)
    code = LinearCode(KEY, table)
    whole, pieces = np.zeros((2, 4096, 2), dtype=np.uint64)
    code.add(8000, whole)
    for start, stop in ((0, 8), (8, 1024), (1024, 4096)):
        code.add(8000 + start, pieces[start:stop])
    assert np.array_equal(whole, pieces)


def test_keys_give_other_codes() -> None:
    table = np.random.default_rng(2).integers(0, 2**64, (1 << 10, 2), dtype=np.uint64)
    one, other = np.zeros((2, 1024, 2), dtype=np.uint64)
    LinearCode(KEY, table).add(0, one)
    LinearCode(bytes(16), table).add(0, other)
    assert not (one == other).all(axis=1).any()


def test_entries_are_named_equally_often() -> None:
    """Counts of 81,920 indices into 64 entries: chi-square with 63 degrees of freedom, below its 10^-6 quantile."""
    counts = np.zeros(64, dtype=np.int64)
    for entry in range(64):  # an odd number of mentions shows; two in a row cancel, at the same rate for all entries
        table = np.zeros((64, 2), dtype=np.uint64)
        table[entry] = 1
        target = np.zeros((8192, 2), dtype=np.uint64)
        LinearCode(KEY, table).add(0, target)
        counts[entry] = np.count_nonzero(target[:, 0])
    rate = (1 - (1 - 2 / 64) ** 10) / 2
    statistic = ((counts - 8192 * rate) ** 2 / (8192 * rate * (1 - rate))).sum()
    assert statistic < 131


@pytest.mark.parametrize(("here", "outputs", "base"), [(SMALL, 870_400, 74_036), (LARGE, 6_225_920, 280_384)])
def test_sizes(here: Parameters, outputs: int, base: int) -> None:
    assert (here.outputs, here.base) == (outputs, base)
    assert here.outputs == here.trees * here.leaves
    assert here.message_bytes == 16 * (base - here.secret)
    assert here.outputs - here.leaves > LARGE.base  # every iteration can start the next one


def test_shallow_trees_are_refused() -> None:
    with pytest.raises(ValueError, match="8 rows"):
        Parameters(trees=10, depth=2, log_secret=4)


# The estimates of the module's docstring, from the formulas of the papers it names.


def choose(n: int, m: int) -> float:
    """log2 of a binomial coefficient."""
    i = np.arange(m)
    return float(np.log2((n - i) / (m - i)).sum())


def pooled_gauss(n: int, k: int, t: int) -> float:
    return 2.8 * math.log2(k) + choose(n, t) - choose(n - k, t)


def statistical(n: int, k: int, t: int) -> float:
    """Statistical decoding 2.0: part of the secret is guessed."""
    k -= int(pooled_gauss(n, k, t))
    return math.log2(k + 1) + 2 * t * math.log2((n - t + 1) / (n - k - t))


def dumer(n: int, k: int, t: int) -> float:
    costs = []
    for p in range(0, 10, 2):
        for window in range(k % 2, 60, 2):
            lists = choose((k + window) // 2, p // 2)
            matches = 2 * lists - window
            gauss = (n - k - window) * n / math.log2(n - k - window)
            work = math.log2(n) + math.log2(gauss + 2 * 2**lists + 2 * 2**matches)
            success = choose(n - k - window, t - p) - choose(n, t) + 2 * lists
            costs.append(work - min(success, 0))
    return min(costs)


def algebraic(n: int, k: int, t: int) -> float:
    """Degree 2, with `guesses` noise-free positions in `blocks` of the bins; degrees 3 and 4 cost more here."""
    size = n // t
    blocks, guesses = np.arange(t)[:, None], np.arange(256)[None]
    linear = (size - guesses - 1.0) * blocks + (size - 1.0) * (t - blocks)
    products = (linear**2 - (size - guesses - 1.0) ** 2 * blocks - (size - 1.0) ** 2 * (t - blocks)) / 2
    checks = n - k - 1.0
    solvable = linear + products - checks * linear - checks + checks * (checks + 1) / 2 < 1
    left = k + 1 - blocks * guesses
    possible = solvable & (left > 0)
    cost = 2 * np.log2(linear + products) + np.log2(3.0 * np.maximum(left, 1)) - blocks * np.log2(1 - guesses / size)
    return float(cost[possible].min())


@pytest.mark.parametrize(("here", "figures"), [(SMALL, (139, 131, 205, 145)), (LARGE, (144, 138, 205, 143))])
def test_documented_estimates(here: Parameters, figures: tuple[int, ...]) -> None:
    n, k, t = here.outputs, here.secret, here.trees
    regular = (n - t, k - t, t)
    estimates = (pooled_gauss(*regular), dumer(*regular), statistical(*regular), algebraic(n, k, t))
    assert tuple(int(estimate) for estimate in estimates) == figures


def test_algebraic_attack_on_the_set_of_2020() -> None:
    assert int(algebraic(10_180_608, 124_000, 4_971)) <= 110
