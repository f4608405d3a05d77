"""Noisy medians and first places: by their definition without noise, and by their exact privacy loss with it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release import median
from protocols.release.exact import exact_sums
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laws import Law
from protocols.release.median import change, extreme, margin, median_netlist, noisy_median, weighed
from protocols.release.top import count_top, noisy_top, top_law, top_netlist
from smc.circuit.netlist import evaluate
from smc.counting import forecast
from smc.engines import Bits, Engine, Profile, engine_of, make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.meter import Meter
from smc.primitives import bits as bitpack
from smc.session import Session
from tests.support.exact_laws import ranked

COUNTS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=2, max_size=2)
)


def sides(counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """How many values are less than each candidate, and how many greater."""
    table = np.array(counts)
    return (np.cumsum(table) - table)[:, None], (np.cumsum(table[::-1])[::-1] - table)[:, None]


@settings(max_examples=40)
@given(COUNTS, st.sampled_from(["yao", "gmw", "clear"]))
def test_without_noise_it_is_a_median(counts: list[list[int]], engine: str) -> None:
    found, other = run_local(
        lambda s: noisy_median(make_engine(s, engine), *sides(counts[s.party]), 5, None)  # type: ignore[arg-type]
    )
    assert found.tolist() == other.tolist()
    values = sorted(v for own in counts for v, count in enumerate(own) for _ in range(count))
    n = len(values)
    assert (
        not n or found[0] in (values[(n - 1) // 2], values[n // 2]) or values[(n - 1) // 2] < found[0] < values[n // 2]
    )


@settings(max_examples=40)
@given(COUNTS, st.integers(1, 6), st.sampled_from(["yao", "gmw", "clear"]))
def test_without_noise_the_first_are_the_most_frequent(counts: list[list[int]], most: int, engine: str) -> None:
    both = np.array(counts).sum(axis=0)
    if most > len(both):
        with pytest.raises(InputError, match="candidates cannot be opened; give from 1 to"):
            run_local(lambda s: noisy_top(make_engine(s, engine), both[:, None], most, 5, None))  # type: ignore[arg-type]
        return
    found, other = run_local(
        lambda s: noisy_top(make_engine(s, engine), np.array(counts[s.party])[:, None], most, 5, None)  # type: ignore[arg-type]
    )
    assert found.tolist() == other.tolist()
    assert found[:, 0].tolist() == sorted(range(len(both)), key=lambda i: -both[i])[:most]


REACH = 5  # bits of noise: P(g >= 32) at a scale of 1 is next to nothing


def outcomes(rule: Callable[[list[np.ndarray]], list[np.ndarray]], count: int) -> dict[tuple[int, ...], float]:
    """The probability of each answer over all geometric noise of the scale 1, by running the circuit on all of it."""
    noise = np.array(list(product(range(1 << REACH), repeat=count)))
    drawn = [bitpack.from_integers(line.tolist(), REACH) for line in noise.T]
    answers = zip(*(bitpack.to_integers(bits) for bits in rule(drawn)), strict=True)
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for answer, mass in zip(answers, np.exp(-noise.sum(axis=1)).tolist(), strict=True):
        found[answer] += mass
    return found


def loss(one: dict[tuple[int, ...], float], other: dict[tuple[int, ...], float]) -> float:
    """The privacy loss: the logarithm of the greatest factor between the probabilities of an answer."""
    return max(abs(math.log(one[answer] / other[answer])) for answer in one.keys() | other.keys())


CASES = [((2, 2, 1), 0), ((0, 0, 0), 1), ((3, 1, 2), 2), ((1, 0, 0), 2), ((2, 0, 2), 1), ((0, 1, 3), 2)]


def top_of(counts: Sequence[int], most: int) -> dict[tuple[int, ...], float]:
    netlist = top_netlist(len(counts), most, 3, REACH)
    return outcomes(
        lambda noise: evaluate(netlist, [*own(counts, noise), *own([0] * len(counts), noise), *noise]), len(counts)
    )


def test_the_circuit_ranks_every_count_with_every_noise() -> None:
    """Of three candidates, one bit from each party and two of noise: the greatest first, the lower among equals."""
    rows = np.indices((2,) * 6 + (4,) * 3).reshape(9, -1)
    scores = rows[:3] + rows[3:6] + rows[6:]
    inputs = [bitpack.from_integers(row.tolist(), 1 if i < 6 else 2) for i, row in enumerate(rows)]
    found = [bitpack.to_integers(place) for place in evaluate(top_netlist(3, 3, 1, 2), inputs)]
    assert np.array_equal(found, np.argsort(-scores, axis=0, kind="stable"))


def test_a_counted_run_is_the_one_that_is_run() -> None:
    meters: dict[int, Meter] = {}

    def both(session: Session) -> Any:
        meters[session.party] = session.meter
        return noisy_top(
            engine_of(session, Profile("gmw")), np.arange(8).reshape(4, 2), 3, 3, OneSidedGeometric(Fraction(1), 8)
        )

    run_local(both)
    counted = forecast(lambda engine: count_top(engine, 4, 2, 3, 3, OneSidedGeometric(Fraction(1), 8)), Profile("gmw"))
    for party in (0, 1):
        found, said = meters[party].total.as_dict(), counted.meters[party].total.as_dict()
        assert {**found, "seconds": 0} == {**said, "seconds": 0}


def middle_of(counts: Sequence[int]) -> dict[tuple[int, ...], float]:
    netlist = median_netlist(len(counts), 3, REACH)
    numbers = [int(x) for part in sides(counts) for x in part[:, 0]]
    none = [0] * len(numbers)
    return outcomes(lambda noise: evaluate(netlist, [*own(numbers, noise), *own(none, noise), *noise]), len(counts))


def own(numbers: Sequence[int], noise: list[np.ndarray]) -> list[np.ndarray]:
    return [bitpack.from_integers([number] * noise[0].shape[1], 3) for number in numbers]


@pytest.mark.parametrize("most", [1, 2])
def test_one_row_more_changes_first_places_by_no_more_than_epsilon(most: int) -> None:
    """Noise of the scale 1, so a loss of 1 for each place, over all answers; and no less would be the truth."""
    losses = []
    for counts, added in CASES:
        more = [count + (i == added) for i, count in enumerate(counts)]
        losses.append(loss(top_of(counts, most), top_of(more, most)))
    assert max(losses) <= most + 1e-6
    assert max(losses) > most - 1 + 0.05


@pytest.mark.parametrize("engine", ["clear", "gmw"])
@pytest.mark.parametrize("batch", [1, 6])
def test_every_candidate_of_every_group_has_noise_of_its_own(
    monkeypatch: pytest.MonkeyPatch, batch: int, engine: Any
) -> None:
    """With samples that are known, each taken once, the answers are those of the definition."""
    random, most = np.random.default_rng(batch), 3
    counts = random.integers(0, 4, (2, 5, batch))
    noise = random.permutation(8 * 5 * batch)[: 5 * batch] % 8
    taken: list[int] = []

    def sample(engine: Engine, law: Law, many: int) -> Bits:
        if engine.party == 0:
            taken.append(many)
        return engine.constant(bitpack.from_integers(noise[:many].tolist(), law.width))

    monkeypatch.setattr(median, "sample", sample)
    law = OneSidedGeometric(Fraction(1), 10)
    lesser, greater = np.cumsum(counts, axis=1) - counts, np.cumsum(counts[:, ::-1], axis=1)[:, ::-1] - counts

    def answers(session: Session) -> tuple[list[int], list[list[int]]]:
        made, own = make_engine(session, engine), session.party
        zeros = lambda width, batch: made.constant(np.zeros((width, batch), dtype=np.uint8))  # noqa: E731
        monkeypatch.setattr(made, "random", zeros)  # bits between equals: so the first of them wins
        middle = noisy_median(made, lesser[own], greater[own], 5, law)
        return middle.tolist(), noisy_top(made, counts[own], most, 5, law).tolist()

    (middles, tops), _ = run_local(answers)
    assert taken == [5 * batch] * 2
    added = noise.reshape(5, batch)
    sides = np.maximum(lesser.sum(axis=0), greater.sum(axis=0))
    assert middles == (added - sides).argmax(axis=0).tolist()
    assert tops == (-(counts.sum(axis=0) + added)).argsort(axis=0, kind="stable")[:most].tolist()


@pytest.mark.parametrize("counts", [(2, 2, 1), (0, 1, 3)])
def test_the_circuit_has_the_law_that_the_proof_is_about(counts: tuple[int, ...]) -> None:
    law = ranked(counts, Fraction(math.exp(-1)), 2)
    masses = top_of(counts, 2)
    assert {answer: mass * (1 - math.exp(-1)) ** 3 for answer, mass in masses.items()} == pytest.approx(
        {answer: float(share) for answer, share in law.items()}
    )


def factors(candidates: int, most: int, rows: int, alpha: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """The greatest factor of any answer's probability on all such tables: of a row added, removed, replaced."""
    laws = {counts: ranked(counts, alpha, most) for counts in product(range(rows + 1), repeat=candidates)}
    moved: dict[tuple[int, int], list[Fraction]] = defaultdict(list)
    for (one, law), (other, neighbour) in product(laws.items(), repeat=2):
        changes = [b - a for a, b in zip(one, other, strict=True)]
        kind = changes.count(1), changes.count(-1)
        if kind in ((1, 0), (0, 1), (1, 1)) and changes.count(0) == candidates - sum(kind):
            moved[kind].append(max(law[answer] / neighbour[answer] for answer in law))
    return max(moved[1, 0]), max(moved[0, 1]), max(moved[1, 1])


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(5, 6)], ids=str)
@pytest.mark.parametrize(("candidates", "most", "rows"), [(2, 1, 3), (3, 1, 3), (3, 2, 3), (3, 3, 2), (4, 3, 1)])
def test_what_a_row_costs_first_places_on_all_small_tables(
    candidates: int, most: int, rows: int, alpha: Fraction
) -> None:
    """In fractions, with ideal noise: alpha^-k for a row more, alpha^-1 for a row less, alpha^-(k + 1) for another."""
    added, removed, replaced = factors(candidates, most, rows, alpha)
    places = min(most, candidates - 1)
    assert added <= alpha**-places
    assert removed <= 1 / alpha
    assert replaced <= alpha ** -(places + 1)
    assert replaced > alpha**-places  # a scale of k would break the promise
    if candidates == places + 1:
        assert (added, removed, replaced) == (alpha**-places, 1 / alpha, alpha ** -(places + 1))


@pytest.mark.parametrize(("most", "scale", "replaced"), [(1, 1, 2), (2, 2, 3), (3, 3, 4), (4, 3, 4)])
def test_the_scale_of_first_places(most: int, scale: int, replaced: int) -> None:
    """Of four candidates: the last place follows from the first three."""
    assert top_law(Fraction(1, 2), most, 4).scale == 2 * scale
    assert top_law(Fraction(1, 2), most, 4, replaced=True).scale == 2 * replaced
    assert 4 * 1000 * top_law(Fraction(1, 2), most, 4, batch=1000).distance <= Fraction(1, 1 << 40)


def test_one_value_more_changes_a_median_by_no_more_than_epsilon() -> None:
    losses = []
    for counts, added in CASES:
        more = [count + (i == added) for i, count in enumerate(counts)]
        losses.append(loss(middle_of(counts), middle_of(more)))
    assert 0.5 < max(losses) <= 1 + 1e-6


@pytest.mark.parametrize("share", ["1/2", "9/10", "1/4", "2/3", "0", "1"])
def test_a_quantiles_noise_is_exact_on_all_small_tables(share: str) -> None:
    """In fractions, with ideal noise: factors of a row more, less, or other are e^epsilon at most; less noise would be
    too little."""
    units, alpha = Fraction(share), Fraction(9, 10)
    laws = {}
    for counts in product(range(5), repeat=3):
        rows = np.array(counts)[:, None]
        numbers = weighed(rows, units) if 0 < units < 1 else extreme(rows, units == 1, 4, 12)
        laws[counts] = ranked((-np.maximum(*numbers)[:, 0]).tolist(), alpha, 1)
    moved: dict[bool, list[Fraction]] = defaultdict(list)
    for (one, law), (other, neighbour) in product(laws.items(), repeat=2):
        changes = sorted(b - a for a, b in zip(one, other, strict=True))
        if changes in ([0, 0, 1], [-1, 0, 0], [-1, 0, 1]):
            moved[changes == [-1, 0, 1]] += [law[answer] / neighbour[answer] for answer in law]
    for replaced, factors_ in moved.items():
        most = change(units, replaced)
        assert max(factors_) <= alpha**-most
        assert max(factors_) > alpha ** -(most - 1)


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
    st.fractions(Fraction(1, 12), Fraction(11, 12), max_denominator=12),
)
def test_a_quantiles_greater_number_is_small_for_quantiles_only(counts: list[int], share: Fraction) -> None:
    below, above = sides(counts)
    n, worst = sum(counts), np.maximum(*weighed(np.array(counts)[:, None], share))[:, 0]
    fits = ((below <= share * n) & (above <= (1 - share) * n))[:, 0]
    assert fits.any()
    assert worst[fits].max() < worst[~fits].min(initial=1 << 20)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.booleans(), st.sampled_from([2, 4]))
def test_an_extremes_greater_number_is_its_distance_from_the_rows_beyond(
    counts: list[int], greatest: bool, beyond: int
) -> None:
    numbers = extreme(np.array(counts)[:, None], greatest, beyond, 30)
    for at, (one, other) in enumerate(zip(*(number[:, 0].tolist() for number in numbers), strict=True)):
        outer, reached = (counts[at + 1 :], counts[at:]) if greatest else (counts[:at], counts[: at + 1])
        assert 0 <= min(one, other) <= max(one, other) <= 60
        assert max(one, other) - 30 == max(sum(outer) - beyond // 2, beyond // 2 - sum(reached))


def test_an_extreme_is_beyond_all_rows_as_rarely_as_said() -> None:
    """100 candidates, no row at the outer half; half as many rows beyond would be too few."""
    counts, random, answers = np.array([10] * 50 + [0] * 50), np.random.default_rng(1), 20_000
    above = counts.sum() - counts.cumsum()

    def missed(beyond: int) -> float:
        both = (extreme(own[:, None], True, beyond, 1000) for own in (counts, 0 * counts))
        scores = -np.maximum(*(one + other for one, other in zip(*both, strict=True)))[:, 0]
        noise = random.geometric(1 - math.exp(-1 / 2), (answers, len(counts)))
        chosen = np.argmax(noise + scores, axis=1)
        return float(np.mean((chosen >= 50) | (above[chosen] > 2 * beyond)))

    beyond = margin(Fraction(2), len(counts))
    assert beyond == 16
    assert missed(beyond) <= 1 / 20
    assert missed(beyond // 4 * 2) > 1 / 20


def test_a_median_needs_noise() -> None:
    """The note's median of (0, 0, 1) and (0, 1, 1): one value replaced, and it has moved across the whole range."""
    found = [
        run_local(lambda s, own=own: noisy_median(make_engine(s, "clear"), *sides(own if s.party else (0, 0)), 5, None))
        for own in ((2, 1), (1, 2))
    ]
    assert [pair[0].tolist() for pair in found] == [[0], [1]]


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(-8, 7), st.integers(-8, 7)), min_size=1, max_size=5),
    st.sampled_from(["yao", "gmw", "clear"]),
)
def test_exact_sums(pairs: list[tuple[int, int]], engine: str) -> None:
    own = np.array(pairs).T
    found = run_local(lambda s: exact_sums(make_engine(s, engine), own[s.party], 4, signed=True))  # type: ignore[arg-type]
    assert found[0].tolist() == found[1].tolist() == own.sum(axis=0).tolist()


def test_a_number_too_large_for_an_exact_sum() -> None:
    with pytest.raises(InputError, match="does not fit 4 bits"):
        run_local(lambda s: exact_sums(make_engine(s, "clear"), np.array([16]), 4))
