"""Domain reduction, the attack that sparse codes invite: few columns are kept, and the rows that lie within them.

Rows are int32[n, d], the entries that each row of the code names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from smc.ot.lpn import LOCALITY, Parameters

Rows = NDArray[np.int32]
COUNT = 1 << 19  # rows made at once


def entries(key: bytes, first: int, count: int, log_secret: int) -> Rows:
    """What rows `first` .. of the code name: bits 1 .. log2 k of the fields of 21 bits of the words 4 i .. 4 i + 3.

    Made from the definition alone, with OpenSSL's AES in counter mode (little-endian counters).
    """
    counters = np.zeros((2 * count, 2), dtype="<u8")
    counters[:, 0] = np.arange(2 * first, 2 * (first + count))
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    words = np.frombuffer(cipher.update(counters.tobytes()), dtype="<u8").reshape(count, 4)
    mask = np.uint64((1 << log_secret) - 1)
    fields = [words >> np.uint64(21 * field + 1) & mask for field in range(3)]
    return np.concatenate(fields, axis=1)[:, :LOCALITY].astype(np.int32)


def all_entries(key: bytes, here: Parameters) -> Iterator[tuple[int, Rows]]:
    """All rows of a code in parts, with the number of the first."""
    for first in range(0, here.outputs, COUNT):
        yield first, entries(key, first, min(COUNT, here.outputs - first), here.log_secret)


def degrees(rows: Rows, secret: int) -> NDArray[np.int64]:
    """How often each column is named."""
    return np.bincount(rows.reshape(-1), minlength=secret)


class Reduction:
    """Columns of low degree are left out, few at a time, as long as there are as many rows as columns.

    `parts()` gives the rows from the beginning, with the number of the first of each part. In the end: `columns`
    bool[k], the `numbers` of the rows within them and the `rows`; `steps` are the sizes (columns, rows) on the way.
    """

    def __init__(self, parts: Callable[[], Iterator[tuple[int, Rows]]], secret: int) -> None:
        degree = sum((degrees(rows, secret) for _, rows in parts()), np.zeros(secret, dtype=np.int64))
        self.columns = np.ones(secret, dtype=bool)
        self.columns[np.argsort(degree)[: secret * 6 // 100]] = False
        kept = [
            (number + np.flatnonzero(inside), rows[inside]) for number, rows in parts() for inside in [self._in(rows)]
        ]
        self.numbers = np.concatenate([numbers for numbers, _ in kept])
        self.rows = np.concatenate([rows for _, rows in kept])
        self.steps: list[tuple[int, int]] = []
        fewest = max(1, secret >> 12)
        count = max(fewest, secret // 100)
        while True:
            self.steps.append((int(np.count_nonzero(self.columns)), len(self.rows)))
            degree = np.where(self.columns, degrees(self.rows, secret), np.iinfo(np.int64).max)
            before = self.columns.copy()
            self.columns[np.argpartition(degree, count)[:count]] = False
            inside = self._in(self.rows)
            if np.count_nonzero(inside) >= np.count_nonzero(self.columns):
                self.numbers, self.rows = self.numbers[inside], self.rows[inside]
                continue
            self.columns = before
            if count == fewest:
                return
            count = max(fewest, count // 2)

    def _in(self, rows: Rows) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = self.columns[rows].all(axis=1)
        return inside


def shares(numbers: NDArray[np.int64], here: Parameters) -> NDArray[np.float64]:
    """Which part of each bin these rows are."""
    return np.bincount(numbers >> here.depth, minlength=here.trees) / here.leaves


def luck(parts: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Bits of the chance that 0, 1, ... `most` of the rows are noisy; there is one noisy position a bin."""
    chances = np.zeros(most + 1)
    chances[0] = 1
    for part in parts:
        chances[1:] = chances[1:] * (1 - part) + chances[:-1] * part
        chances[0] *= 1 - part
    with np.errstate(divide="ignore"):  # all rows of a bin: one of them is noisy
        return -np.log2(chances)


def searching(count: int, noisy: int) -> float:
    """Bit operations of finding `noisy` of `count` rows by 64 checks: two halves of them meet in the middle."""
    if noisy == 0:
        return 0.0
    near, far = _choose(count // 2, noisy // 2), _choose(count - count // 2, noisy - noisy // 2)
    return math.log2(2 * 64) + max(near, far) + _choose(count, noisy) - near - far


def searched(count: int, parts: NDArray[np.float64], most: int = 8) -> float:
    """Domain reduction to `count` columns and rows, in bits: the best number of noisy rows to look for."""
    costs = [
        bits + np.logaddexp2(sparse_solver(count), searching(count, w)) for w, bits in enumerate(luck(parts, most))
    ]
    return float(min(costs))


def sparse_solver(count: int) -> float:
    """Bit operations of block Wiedemann: products with the matrix, about 3 N of them."""
    return math.log2(3 * LOCALITY * count * count)


def random_columns(here: Parameters) -> int:
    """N so that N of the k columns, picked at random, have N rows within them."""
    return int(here.secret * (here.secret / here.outputs) ** (1 / (LOCALITY - 1)))


def best_columns(here: Parameters) -> int:
    """The least N for which N columns with N rows among them are expected, 2^-40 times a code: the first moment."""
    n, k = here.outputs, here.secret

    def expected(count: int) -> float:
        return _choose(k, count) + _choose(n, count) + count * LOCALITY * math.log2(count / k)

    low, high = 1 << 8, k
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if expected(middle) >= -40 else (middle, high)
    return high


def _choose(n: int, m: int) -> float:
    return (math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)) / math.log(2)
