"""Keys in bins: as many as fit, and a number of bins that fails rarely enough at every size."""

from __future__ import annotations

from functools import lru_cache
from math import comb, log2

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.special import gammaln

from protocols.alignment.cuckoo import EMPTY, HASHES, choices, part_size, placed
from smc import kernels
from smc.errors import ProtocolError

EXACT = 12  # bins of a contradiction up to which the probability is computed exactly


def words(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 64, (count, HASHES), dtype=np.uint64)


@pytest.mark.parametrize("count", [0, 1, 4, 700, 20_000])
def test_each_key_is_in_one_of_its_bins(count: int) -> None:
    part = part_size(count)
    own = choices(words(count), part)
    assert ((own // part) == np.arange(HASHES)).all()  # three parts, so three bins
    bins = placed(own, part)
    held = bins[bins != EMPTY]
    assert sorted(held.tolist()) == list(range(count))
    assert (own[held] == np.flatnonzero(bins != EMPTY)[:, None]).any(axis=1).all()


def test_no_other_placement_holds_more_keys() -> None:
    failures = 0
    for seed in range(300):
        own, part = choices(words(24, seed), 9), 9
        pairs = csr_array((np.ones(own.size), (np.repeat(np.arange(24), HASHES), own.reshape(-1))), shape=(24, 27))
        most = int((maximum_bipartite_matching(pairs, "column") >= 0).sum())
        bins, came_from = np.full(27, EMPTY), np.full((27, 2), EMPTY)
        failed = np.zeros(1, dtype=np.int64)
        kernels.cuckoo_place(own, bins, came_from, np.empty(27, dtype=np.int64), failed)
        assert failed[0] == 24 - most
        assert (bins != EMPTY).sum() == most
        failures += most < 24
        if most < 24:
            with pytest.raises(ProtocolError, match="no bins fit these keys, by rare chance; propose the job anew"):
                placed(own, part)
    assert 5 < failures < 295


@lru_cache(None)
def maps(keys: int, bins: int) -> int:
    """Number of maps of keys to bins that hit each bin at least twice."""
    if not bins:
        return int(not keys)
    return sum(comb(keys, here) * maps(keys - here, bins - 1) for here in range(2, keys + 1))


def failure_bits(count: int, part: int) -> float:
    """Log2 of the bound on the probability that keys do not fit, as the docstring of `cuckoo` has it."""
    total = 0.0
    for k in range(3, min(count, EXACT)):
        ways = sum(
            comb(part, a)
            * maps(k + 1, a)
            * comb(part, b)
            * maps(k + 1, b)
            * comb(part, k - a - b)
            * maps(k + 1, k - a - b)
            for a in range(1, k - 1)
            for b in range(1, k - a)
        )
        total += ways * comb(count, k + 1) / part ** (3 * (k + 1))
    if count > EXACT:
        bins = np.arange(EXACT, count, dtype=float)
        x, keys = 2.15, bins + 1
        logs = gammaln(3 * part + 1) - gammaln(bins + 1) - gammaln(3 * part - bins + 1)
        logs += gammaln(count + 1) - gammaln(keys + 1) - gammaln(count - keys + 1)
        logs += 3 * gammaln(keys + 1) + bins * np.log(np.expm1(x) - x) - 3 * keys * np.log(x * part)
        total += float(np.exp(logs).sum())
    return log2(total)


@pytest.mark.parametrize("count", [4, 5, 20, 100, 400, 640, 660, 700, 1000, 2000, 50_000, 1 << 20])
def test_the_bins_fail_less_often_than_2_40(count: int) -> None:
    assert failure_bits(count, part_size(count)) < -40.5


def test_counted_failures_follow_the_bound() -> None:
    """10 keys in 15 bins; the count is within four standard deviations of half and of the whole bound."""
    runs, failures = 20_000, 0
    bound = runs * 2 ** failure_bits(10, 5)
    for own in choices(words(10 * runs), 5).reshape(runs, 10, HASHES):
        failed = np.zeros(1, dtype=np.int64)
        kernels.cuckoo_place(own, np.full(15, EMPTY), np.full((15, 2), EMPTY), np.empty(15, dtype=np.int64), failed)
        failures += int(failed[0] > 0)
    assert bound / 2 - 4 * (bound / 2) ** 0.5 < failures < bound + 4 * bound**0.5


def test_the_sizes_are_exact() -> None:
    assert [part_size(count) for count in (0, 4, 100, 1000, 50_000)] == [16, 24, 128, 450, 21_683]
    for count in (4, 9, 33, 200, 600):
        part = part_size(count)
        assert part**9 >= comb(count, 4) << 41 > (part - 1) ** 9
