"""What attacks on Ferret's parameters cost: the tables in smc.ot.lpn, from formulas and from the code's own rows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from smc.ot.lpn import LARGE, SMALL, Parameters
from tests.support.domain_reduction import (
    Reduction,
    Rows,
    all_entries,
    best_columns,
    entries,
    luck,
    random_columns,
    searched,
    shares,
    sparse_solver,
)
from tests.support.linear_code import add_rows
from tests.support.lpn_attacks import (
    ELIMINATION,
    algebraic,
    algebraic_in_two_steps,
    dumer,
    hybrid,
    pooled_gauss,
    statistical,
)
from tests.support.places import ROOT

KEY = bytes(range(16))
PAGE = (ROOT / "docs" / "math" / "lpn.md").read_text()


def documented(line: str) -> tuple[int, int]:
    """The two figures of a line of docs/math/lpn.md."""
    (found,) = [text for text in PAGE.splitlines() if text.startswith(f"    {line}")]
    small, large = found.split()[-2:]
    return int(small), int(large)


# Attacks on uniform codes.


@pytest.mark.parametrize("which", [0, 1])
def test_documented_estimates_for_uniform_codes(which: int) -> None:
    here = (SMALL, LARGE)[which]
    n, k, t = here.outputs, here.secret, here.trees
    regular = (n - t, k - t, t)
    estimates = {
        "pooled Gauss": pooled_gauss(*regular),
        "information set decoding": dumer(*regular),
        "statistical decoding": statistical(*regular),
        "algebraic with guessing": algebraic(n, k, t),
        "algebraic in two steps": algebraic_in_two_steps(n, k, t),
        "hybrid": hybrid(n, k - t, t),
    }
    assert {line: documented(line)[which] for line in estimates} == {
        line: int(bits) for line, bits in estimates.items()
    }
    assert min(estimates.values()) >= 200


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("attack", [algebraic, algebraic_in_two_steps])
def test_documented_costs_by_degree(which: int, attack: Callable[..., float]) -> None:
    here = (SMALL, LARGE)[which]
    costs = [int(attack(here.outputs, here.secret, here.trees, (degree,))) for degree in (2, 3, 4)]
    told = [list(map(int, one)) for one in re.findall(r"(\d+), (\d+) and (\d+)", " ".join(PAGE.split()))]
    first = told.index([221, 215, 215])
    assert told[first + 2 * (attack is algebraic_in_two_steps) + which] == costs


@pytest.mark.parametrize(
    ("sizes", "once", "twice"),
    [((1024, 652, 57), 101.48, 96.85), ((4096, 1589, 98), 101.59, 97.44), ((1024, 652, 106), 144.94, 138.34)],
)
def test_algebraic_attacks_are_those_of_the_estimator(sizes: tuple[int, int, int], once: float, twice: float) -> None:
    """What the program of the authors of AGB 2.0 says of sets from its own table."""
    assert (round(algebraic(*sizes), 2), round(algebraic_in_two_steps(*sizes), 2)) == (once, twice)


def test_algebraic_attack_on_the_set_of_2020() -> None:
    assert int(algebraic(10_180_608, 124_000, 4_971)) <= 110


@pytest.mark.parametrize(
    ("sizes", "bits"),
    [((3956, 1449, 172), 132.60), ((16224, 3322, 338), 133.15)],  # of the paper's tables 6 and 5
)
def test_hybrid_attack_is_the_paper_s(sizes: tuple[int, int, int], bits: float) -> None:
    assert round(hybrid(*sizes), 2) == bits


def test_the_hybrid_attack_was_what_bound_emp_s_sets() -> None:
    """They were chosen for 128 bits by it: our formula agrees."""
    assert [round(hybrid(t << d, 1 << k, t)) for t, d, k in ((850, 10, 16), (1520, 12, 18))] == [131, 128]


# Attacks on this code.


def rows_of_the_code(here: Parameters) -> Iterator[tuple[int, Rows]]:
    """All rows of the real code: what they add to random blocks shows that they are those of the definition."""
    table = np.random.default_rng(1).integers(0, 2**64, (here.secret, 2), dtype=np.uint64)
    for first, rows in all_entries(KEY, here):
        some = slice(0, 1 << 13)
        target = np.zeros((len(rows[some]), 2), dtype=np.uint64)
        add_rows(KEY, table, first, target)
        assert np.array_equal(target, np.bitwise_xor.reduce(table[rows[some]], axis=1))
        yield first, rows


def of_size_alone(here: Parameters) -> dict[str, float]:
    """Estimates that the sizes of a set decide, without its rows."""
    noise = -math.log2(1 - 1 / here.leaves)  # a row
    random, best = random_columns(here), best_columns(here)
    return {
        "random columns, elimination": random * noise + ELIMINATION * math.log2(random),
        "random columns, sparse": random * noise + sparse_solver(random),
        "the best columns": searched(best, np.full(here.trees, best / here.outputs)),
    }


@pytest.mark.parametrize("which", [0, 1])
def test_documented_estimates_from_sizes_alone(which: int) -> None:
    estimates = of_size_alone((SMALL, LARGE)[which])
    assert {line: documented(line)[which] for line in estimates} == {
        line: int(bits) for line, bits in estimates.items()
    }


@pytest.mark.parametrize("which", [0, 1])
def test_documented_estimates_for_sparse_rows(which: int) -> None:
    here = (SMALL, LARGE)[which]
    reduced = Reduction(lambda: rows_of_the_code(here), here.secret)
    count, rows = reduced.steps[-1]
    assert rows >= count
    parts = shares(reduced.numbers, here)
    greedy = float(luck(parts, 0)[0])
    estimates = of_size_alone(here) | {
        "greedy columns, elimination": greedy + ELIMINATION * math.log2(count),
        "greedy columns, sparse": greedy + sparse_solver(count),
        "and a few noisy rows": searched(count, parts),
    }
    assert {line: documented(line)[which] for line in estimates} == {
        line: int(bits) for line, bits in estimates.items()
    }
    assert estimates["greedy columns, sparse"] >= 164
    assert min(estimates.values()) >= 128
    for columns, kept in reduced.steps[:: len(reduced.steps) // 4]:  # other attacks on larger parts of the system
        chances = luck(np.full(here.trees, kept / here.outputs), 40)
        decoding = min(chances[w] + max(dumer(kept, columns, w), sparse_solver(columns)) for w in (10, 20, 40))
        assert decoding > estimates["and a few noisy rows"]
        assert hybrid(kept, columns, here.trees, here.leaves, most=2) > estimates["and a few noisy rows"]


def test_domain_reduction_prices_an_attack_that_works() -> None:
    """On a scaled-down instance: 256 secrets, one system of equations, and as many secrets found as the price says."""
    here, instances = Parameters(trees=96, depth=7, log_secret=9), 256
    random = np.random.default_rng(5)
    secrets = random.integers(0, 2, (here.secret, instances), dtype=np.uint8)
    samples = encoded(here, secrets)
    for tree in range(here.trees):
        samples[(tree << here.depth) + random.integers(0, here.leaves, instances), np.arange(instances)] ^= 1

    rows = entries(KEY, 0, here.outputs, here.log_secret)
    reduced = Reduction(lambda: iter([(0, rows)]), here.secret)
    inside = np.flatnonzero(reduced.columns)
    matrix = np.zeros((len(reduced.rows), len(inside)), dtype=np.uint8)
    for entry in np.searchsorted(inside, reduced.rows).T:  # a column named twice cancels
        matrix[np.arange(len(matrix)), entry] ^= 1
    known, values = solved(matrix, samples[reduced.numbers])
    found = np.zeros((here.secret, instances), dtype=np.uint8)
    found[inside[known]] = values
    extended(rows, samples, found, inside[known])
    weight = np.count_nonzero(encoded(here, found) ^ samples, axis=0)
    recognised = weight == here.trees  # by the noise that is left
    assert np.array_equal(recognised, (found == secrets).all(axis=0))

    expected = instances * 2 ** -luck(shares(reduced.numbers, here), 0)[0]
    assert abs(np.count_nonzero(recognised) - expected) < 4 * expected**0.5
    whole = instances * (1 - 1 / here.leaves) ** here.secret  # what guessing as many rows as columns would have found
    assert np.count_nonzero(recognised) > 2 * whole


def encoded(here: Parameters, secrets: np.ndarray) -> np.ndarray:
    """The real code on secrets uint8[k, instances]: the bits of blocks are 128 instances."""
    parts = []
    for start in range(0, secrets.shape[1], 128):
        table = np.packbits(secrets[:, start : start + 128], axis=1, bitorder="little").view(np.uint64)
        target = np.zeros((here.outputs, 2), dtype=np.uint64)
        add_rows(KEY, table, 0, target)
        parts.append(np.unpackbits(target.view(np.uint8), axis=1, bitorder="little"))
    return np.concatenate(parts, axis=1)


def solved(matrix: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss and Jordan, modulo 2: the unknowns that are determined, and their values for all right-hand sides."""
    work = np.concatenate([matrix, right], axis=1)
    unknowns = matrix.shape[1]
    pivots: list[int] = []
    for column in range(unknowns):
        rank = len(pivots)
        below = np.flatnonzero(work[rank:, column])
        if len(below) == 0:
            continue
        work[[rank, rank + below[0]]] = work[[rank + below[0], rank]]
        others = np.flatnonzero(work[:, column])
        work[others[others != rank]] ^= work[rank]
        pivots.append(column)
    alone = np.flatnonzero(work[: len(pivots), :unknowns].sum(axis=1) == 1)
    return np.array(pivots)[alone], work[alone, unknowns:]


def extended(rows: Rows, samples: np.ndarray, found: np.ndarray, known: np.ndarray) -> None:
    """The other columns, one by one, by the majority of the rows in which nothing else is unknown."""
    is_known = np.zeros(len(found), dtype=bool)
    is_known[known] = True
    while not is_known.all():
        missing = np.count_nonzero(~is_known[rows], axis=1)
        nearly = np.flatnonzero(missing == 1)
        at = rows[nearly, np.argmin(is_known[rows[nearly]], axis=1)]
        column = int(np.bincount(at, minlength=len(found)).argmax())
        voters = nearly[at == column]
        assert len(voters) > 0
        votes = samples[voters] ^ np.bitwise_xor.reduce(found[rows[voters]], axis=1)
        found[column] = votes.mean(axis=0) > 0.5
        is_known[column] = True
