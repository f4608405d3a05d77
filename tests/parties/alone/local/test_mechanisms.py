"""Every way of answering against its textbook law: what is said how often, no bias, the deviation as stated.

Seeds are fixed. Bounds of six deviations on at most 2,000 figures: a right program fails with probability below 1e-5
for a new choice of seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parties.alone.local.categories import DirectResponse
from parties.alone.local.coins import Coins
from parties.alone.local.gauss import GaussMean
from parties.alone.local.hadamard import HadamardResponse
from parties.alone.local.hashing import all_places, digests
from parties.alone.local.laplace import LaplaceMean
from parties.alone.local.mechanism import Mechanism
from parties.alone.local.numbers import BitHistogram, OneBitMean
from parties.alone.local.packing import from_bytes, unpack
from parties.alone.local.piecewise import PiecewiseMean
from parties.alone.local.rappor import Rappor
from parties.alone.local.sketch import CountMeanSketch
from parties.alone.local.subset import SubsetSelection
from parties.alone.local.unary import UnaryEncoding
from parties.checking.statistics.losses import examine
from smc.primitives.prg import Prg

NAMES = tuple("abcde")
SHARES = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
CHROME = Rappor(bits=128, hashes=2, cohorts=8, f=0.5, p=0.5, q=0.75)  # the paper's


def coins(rows: int, seed: int, key: bytes | None = None) -> Coins:
    stream = Prg(seed.to_bytes(16, "little"))
    return Coins(np.arange(rows, dtype=np.uint64), "test", key, stream)


def bits(reports: Any, start: int, width: int) -> Any:
    return unpack(np.ascontiguousarray(reports[:, start:]), width)


def near(found: Any, expected: Any, rows: int) -> bool:
    deviation = np.sqrt(np.maximum(np.asarray(expected) * (1 - np.asarray(expected)), 1e-12) / rows)
    return bool((np.abs(np.asarray(found) - expected) <= 6 * deviation).all())


@pytest.mark.parametrize("epsilon", [0.1, math.log(3), 4.0])
@pytest.mark.parametrize("size", [2, 5, 300])
def test_the_truth_is_said_as_often_as_the_formula_says(epsilon: float, size: int) -> None:
    made = DirectResponse(tuple(map(str, range(size))), epsilon)
    rows = 200_000
    said = np.bincount(from_bytes(made.report(np.full(rows, 1), coins(rows, 1))), minlength=size) / rows
    expected = np.full(size, 1 / (math.exp(epsilon) + size - 1))
    expected[1] *= math.exp(epsilon)
    assert near(said, expected, rows)
    assert made.epsilon == pytest.approx(epsilon, abs=1e-5)
    assert made.epsilon <= epsilon


WHOLE: list[tuple[Mechanism, Any, Any]] = [  # and two values that are told apart well
    (DirectResponse(NAMES, 3.0), 0, 3),
    (UnaryEncoding(NAMES, 3.0), 0, 3),
    (UnaryEncoding(NAMES, 3.0, optimised=False), 0, 3),
    (HadamardResponse(NAMES, 3.0), 0, 3),
    (HadamardResponse(tuple("abcdefgh"), 1.6), 0, 2),  # two blocks, the same of both
    (SubsetSelection(tuple("abcdefghijkl"), 1.0), 0, 3),
    (PiecewiseMean(0.0, 8.0, 3.0, 8), -1000.0, 1000.0),
    (LaplaceMean(0.0, 8.0, 3.0, 8), -1000.0, 1000.0),
    (OneBitMean(0.0, 8.0, 3.0), -1000.0, 1000.0),  # moved to the bounds
    (OneBitMean(0.0, 8.0, 3.0, memoise=True), -1000.0, 1000.0),
    (BitHistogram(0.0, 4.0, 4, 1, 3.0), 0.5, 3.5),
    (BitHistogram(0.0, 2.0, 2, 2, 3.0), 0.5, 1.5),
    (CountMeanSketch(2, 4, 3.0), "a", "b"),
    (Rappor(bits=4, hashes=1, cohorts=2, f=0.2, p=0.2, q=0.8), "a", "b"),
]


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(("made", "one", "other"), WHOLE, ids=str)
def test_no_report_as_a_whole_tells_more_than_epsilon(made: Mechanism, one: Any, other: Any, keyed: bool) -> None:
    """All bits of a report at once: a promise that is kept is called broken with a probability of 10^-9."""
    rows, key = 1 << 14, bytes(16) if keyed else None
    reports = [
        made.report([value] * rows if isinstance(value, str) else np.full(rows, value), coins(rows, seed, key))
        for seed, value in ((20, one), (21, other))
    ]
    said = [report.astype(np.int64) @ (256 ** np.arange(made.width)) for report in reports]
    finding = examine(*said, made.epsilon)
    assert finding.holds
    assert finding.loss > 0.25 * made.epsilon  # so these two values would show a coin that is forgotten


def test_what_is_not_remembered_is_tossed_anew() -> None:
    made, values = OneBitMean(0.0, 8.0, 1.0), np.full(1000, 4.0)
    reports = [made.report(values, coins(1000, seed, bytes(16))) for seed in (22, 23)]
    assert 300 < (reports[0] != reports[1]).sum() < 700  # half of them: 12 deviations


@pytest.mark.parametrize(
    "made", [CountMeanSketch(16, 64, 2.0), Rappor(bits=64, hashes=1, cohorts=16, f=0.5, p=0.0, q=1.0)], ids=str
)
def test_another_text_keeps_its_row_and_has_other_coins(made: Mechanism) -> None:
    """A row that went with the text would tell that it is another one; so would coins that did not, by what is left."""
    one, other = (made.report([text] * 1000, coins(1000, seed, bytes(16))) for seed, text in ((25, "a"), (26, "b")))
    assert (one[:, :2] == other[:, :2]).all()
    assert (bits(one, 2, 64) != bits(other, 2, 64)).mean() > 0.3  # 2 p (1 - p), for coins of 0.25 or 0.27


def test_which_buckets_are_told_says_nothing_of_the_coins() -> None:
    made, rows = BitHistogram(0.0, 4.0, 4, 1, 1.0), 100_000
    reports = made.report(np.full(rows, 0.5), coins(rows, 24, bytes(16)))
    flipped = bits(reports, 2, 1)[:, 0] != (from_bytes(np.ascontiguousarray(reports[:, :2])) == 0)
    assert near(flipped.mean(), 1 / (math.e + 1), rows)


def test_two_coins_of_the_classic_question() -> None:
    """Tails: the truth; heads: yes or no by another coin. So the truth three times in four: epsilon = ln 3."""
    made = DirectResponse(("no", "yes"), math.log(3))
    said = from_bytes(made.report(np.ones(1_000_000, dtype=np.int64), coins(1_000_000, 2)))
    assert near(said.mean(), 0.75, 1_000_000)


def test_randomised_response_of_a_million() -> None:
    made = DirectResponse(("no", "yes"), math.log(3))
    truth = (np.arange(1_000_000) % 10 < 3).astype(np.int64)
    found = made.estimate(made.tally(made.report(truth, coins(1_000_000, 3))))
    deviation = math.sqrt(0.4 * 0.6 / 1_000_000) / 0.5  # yes is said with probability 0.25 + 0.5 * 0.3
    assert found.deviations[1] == pytest.approx(deviation, rel=0.01)
    assert abs(found.values[1] - 0.3) < 4 * deviation


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("optimised", [True, False])
def test_bits_of_unary_encoding(epsilon: float, optimised: bool) -> None:
    made = UnaryEncoding(NAMES, epsilon, optimised)
    rows = 100_000
    found = bits(made.report(np.full(rows, 2), coins(rows, 4)), 0, 5).mean(axis=0)
    half = math.exp(epsilon / 2)
    one, zero = (0.5, 1 / (math.exp(epsilon) + 1)) if optimised else (half / (half + 1), 1 / (half + 1))
    expected = np.full(5, zero)
    expected[2] = one
    assert near(found, expected, rows)
    assert math.log(one * (1 - zero) / (zero * (1 - one))) == pytest.approx(epsilon)
    assert epsilon - 1e-5 < made.epsilon <= epsilon


HADAMARD = [  # categories, epsilon, blocks, order
    (2, 1.0, 1, 4),
    (7, 1.0, 1, 8),
    (8, 1.0, 1, 16),
    (12, 2.0, 3, 8),
    (13, 2.0, 3, 8),
    (3, 4.0, 3, 2),
]


def hadamard_law(size: int, epsilon: float, blocks: int, order: int) -> Any:
    """The chance of each report (columns) of each category (rows), from the definition: float64[size, blocks order]."""
    matrix = np.ones((1, 1), dtype=np.int64)
    while len(matrix) < order:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    law = np.ones((size, blocks, order))
    for value in range(size):
        law[value, value % blocks, matrix[value // blocks + 1] == 1] = math.exp(epsilon)
    return (law / law.sum(axis=(1, 2), keepdims=True)).reshape(size, -1)


@pytest.mark.parametrize(("size", "epsilon", "blocks", "order"), HADAMARD)
def test_hadamard_response_prefers_its_half(size: int, epsilon: float, blocks: int, order: int) -> None:
    made = HadamardResponse(tuple(map(str, range(size))), epsilon)
    assert (made.blocks, made.order) == (blocks, order)
    assert epsilon - 1e-5 < made.epsilon <= epsilon
    rows, law = 100_000, hadamard_law(size, epsilon, blocks, order)
    for value in range(size):
        reports = from_bytes(made.report(np.full(rows, value), coins(rows, 5)))
        assert near(np.bincount(reports, minlength=made.outcomes) / rows, law[value], rows)


@pytest.mark.parametrize(("size", "epsilon", "blocks", "order"), HADAMARD)
def test_hadamard_estimates_have_no_bias_and_the_variance_of_their_law(
    size: int, epsilon: float, blocks: int, order: int
) -> None:
    """The law itself in place of reports: estimates are linear in the tally, so a category gives 1 for itself alone."""
    made, law = HadamardResponse(tuple(map(str, range(size))), epsilon), hadamard_law(size, epsilon, blocks, order)
    many = 10**12
    weights = np.array([made.estimate(answer).values for answer in np.eye(made.outcomes, dtype=np.int64)])
    for value in range(size):
        found = made.estimate(np.round(law[value] * many).astype(np.int64))
        assert found.values == pytest.approx(np.eye(size)[value], abs=1e-6)
        variance = law[value] @ weights**2 - (law[value] @ weights) ** 2
        assert found.deviations**2 * many == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0, 5.0])
def test_hadamard_response_is_near_the_best_at_every_epsilon(epsilon: float) -> None:
    """Of equal shares, by the formula; at most twice the least there is, 4 e^eps / (e^eps - 1)^2 (Ye, Barg 2018)."""
    grown, many = math.exp(epsilon), 10**12
    blocks = max(1, round((grown - 1) / 2))
    size = 60 * blocks
    made = HadamardResponse(tuple(map(str, range(size))), epsilon)
    tally = np.round(hadamard_law(size, epsilon, blocks, 64).mean(axis=0) * many).astype(np.int64)
    variance = float(np.mean(made.estimate(tally).deviations ** 2)) * many
    assert variance == pytest.approx((grown + 2 * blocks - 1) ** 2 / (blocks * (grown - 1) ** 2) - size**-2, rel=1e-5)
    assert variance < 2 * 4 * grown / (grown - 1) ** 2


@pytest.mark.parametrize(("size", "epsilon", "wanted"), [(12, 1.0, 3), (100, 1.0, 27), (5, 3.0, 1), (64, 3.0, 3)])
def test_sets_of_categories_have_the_law_of_the_paper(size: int, epsilon: float, wanted: int) -> None:
    """The true category with p, each other one with q; and the error of Ye and Barg's formula."""
    made, rows = SubsetSelection(tuple(map(str, range(size))), epsilon), 20_000
    assert made.size == wanted
    said = bits(made.report(np.full(rows, 1), coins(rows, 4)), 0, size)
    assert (said.sum(axis=1) == wanted).all()
    odds = wanted * math.exp(epsilon) / (size - wanted)
    truth = odds / (odds + 1)
    expected = np.full(size, (truth * (wanted - 1) + (1 - truth) * wanted) / (size - 1))
    other = expected[0]
    expected[1] = truth
    assert near(said.mean(axis=0), expected, rows)
    assert epsilon - 1e-5 < made.epsilon <= epsilon
    tally = np.append(np.round(expected * 10**9), 10**9).astype(np.int64)
    variance = made.estimate(tally).deviations[0] ** 2 * 10**9
    assert variance == pytest.approx(other * (1 - other) / (truth - other) ** 2, rel=1e-6)


@pytest.mark.parametrize(("steps", "epsilon"), [(2, 1.0), (7, 0.3), (16, 4.0), (1024, 2.0)])
def test_places_on_a_grid_have_the_law_that_is_said(steps: int, epsilon: float) -> None:
    """All words in turn would be 2^32 reports: the edges of each place's words are tried, and the law is their gaps."""
    made = PiecewiseMean(-1.0, 1.0, epsilon, steps)
    window, inside, outside = made.window, made._inside, made._outside
    law = np.full((steps + 1, made.outcomes), outside, dtype=np.int64)
    for point in range(steps + 1):
        law[point, point : point + window] = inside
    assert (law.sum(axis=1) == 1 << 32).all()
    assert made.epsilon == pytest.approx(math.log((law.max(axis=0) / law.min(axis=0)).max()), rel=1e-12)
    assert epsilon - 1e-5 < made.epsilon <= epsilon
    means = (law * np.arange(made.outcomes)).sum(axis=1) / (1 << 32)
    assert np.diff(means) == pytest.approx((inside.sum() - window * outside) / (1 << 32), rel=1e-9)
    for point in (0, steps // 2, steps):
        found = made.estimate(law[point])
        assert found.values[0] == pytest.approx(2 * point / steps - 1, abs=1e-9)
        rows = 200_000
        reports = made.report(np.full(rows, 2 * point / steps - 1), coins(rows, point))
        said = np.bincount(from_bytes(reports), minlength=made.outcomes) / rows
        assert near(said, law[point] / (1 << 32), rows)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 5.0])
def test_on_a_fine_grid_the_variance_is_the_papers(epsilon: float) -> None:
    """t^2 / (e^(eps/2) - 1) + (e^(eps/2) + 3) / (3 (e^(eps/2) - 1)^2) for t in [-1, 1]; below Laplace's 8 / eps^2."""
    made, half = PiecewiseMean(-1.0, 1.0, epsilon, 1 << 12), math.exp(epsilon / 2)
    for t, point in ((0, 1 << 11), (1, 1 << 12)):
        law = np.full(made.outcomes, made._outside, dtype=np.int64)
        law[point : point + made.window] = made._inside
        variance = float(made.estimate(law).deviations[0]) ** 2 * (1 << 32)
        assert variance == pytest.approx(t * t / (half - 1) + (half + 3) / (3 * (half - 1) ** 2), rel=2e-3)
        assert variance < 8 / epsilon**2


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 6.0])
def test_noise_of_a_number_never_has_the_least_variance(epsilon: float) -> None:
    """The greatest of numbers on [-1, 1]; Laplace's law also on up to 199 steps."""
    bounds = (-1.0, 1.0, epsilon)
    best = min(OneBitMean(*bounds).variance, PiecewiseMean(*bounds).variance)
    assert best < LaplaceMean(*bounds).variance < GaussMean(*bounds, requested_delta=1e-4).variance
    for steps in range(1, 200):  # rounded to the grid without bias, a quarter of a squared step at most; then noise
        ratio, step = math.exp(-epsilon / steps), 2 / steps
        assert best < step**2 * (2 * ratio / (1 - ratio) ** 2 + 1 / 4)


def papers_variance(made: Mechanism, epsilon: float) -> float:
    """Of the share of a value that nobody holds, from one report, as the papers write it."""
    grown, half, size = math.exp(epsilon), math.exp(epsilon / 2), 64
    match made:
        case DirectResponse():  # Wang, Blocki, Li, Jha 2017, equation 6
            return (size - 2 + grown) / (grown - 1) ** 2
        case UnaryEncoding(optimised=True):  # equation 10
            return 4 * grown / (grown - 1) ** 2
        case UnaryEncoding():  # equation 8
            return half / (half - 1) ** 2
        case HadamardResponse():  # Acharya, Sun, Zhang 2019, of B blocks
            return (grown + 2 * made.blocks - 1) ** 2 / (made.blocks * (grown - 1) ** 2)
        case SubsetSelection():  # Wang and others 2016: p = d e^eps / (d e^eps + k - d), q as many others of the set
            d = made.size
            p = d * grown / (d * grown + size - d)
            q = p * (d - 1) / (size - 1) + (1 - p) * d / (size - 1)
            return q * (1 - q) / (p - q) ** 2
        case BitHistogram():  # Ding, Kulkarni, Yekhanin 2017: a flip keeps its bit with e^(eps/2), d of k buckets
            return made.buckets / made.per_report * half / (half - 1) ** 2
        case CountMeanSketch():  # Apple 2017: (m / (m - 1))^2 of the flips' and of a collision with chance 1 / m
            m = made.bits
            return (m / (m - 1)) ** 2 * (half / (half - 1) ** 2 + (1 / m) * (1 - 1 / m))
        case Rappor(f=f, p=p, q=q, hashes=h):  # Erlingsson, Pihur, Korolova 2014, section 4, of h bits
            zero, one = f / 2 * (p + q) + (1 - f) * p, f / 2 * (p + q) + (1 - f) * q
            return zero * (1 - zero) / (one - zero) ** 2 / h
    raise AssertionError(made)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_variances_are_the_papers_closed_forms(epsilon: float) -> None:
    names = tuple(map(str, range(64)))
    made: list[Mechanism] = [
        *(kind(names, epsilon) for kind in (DirectResponse, UnaryEncoding, HadamardResponse, SubsetSelection)),
        UnaryEncoding(names, epsilon, optimised=False),
        BitHistogram(0.0, 1.0, 32, 4, epsilon),
        CountMeanSketch(16, 64, epsilon),
        CHROME,
    ]
    for one in made:
        assert one.variance == pytest.approx(papers_variance(one, epsilon), rel=1e-5), one.name


@pytest.mark.parametrize(
    "made",
    [
        DirectResponse(NAMES, 1.0),
        UnaryEncoding(NAMES, 1.0),
        UnaryEncoding(NAMES, 1.0, optimised=False),
        SubsetSelection(NAMES, 0.5),
        BitHistogram(0.0, 50.0, 5, 2, 2.0),
        HadamardResponse(tuple(f"v{i}" for i in range(64)), 3.0),
        CountMeanSketch(16, 64, 2.0),
        Rappor(64, 2, 4, 0.5, 0.1, 0.9),
        OneBitMean(0.0, 50.0, 1.0),
        PiecewiseMean(0.0, 50.0, 2.0),
        LaplaceMean(0.0, 50.0, 1.0),
        GaussMean(0.0, 50.0, 1.0, requested_delta=1e-6),
    ],
    ids=lambda made: made.name,
)
def test_errors_have_the_variance_that_is_stated(made: Mechanism) -> None:
    """400 times 1,000 people, the mean squared error of a value that nobody holds, or of a mean at its worst.

    A chi-square of 400 degrees is within 36% of its mean but for a chance of 10^-6 (Wilson, Hilferty).
    """
    times, rows = 400, 1000
    values: Any = {"categories": np.arange(rows) % (len(getattr(made, "names", "12")) - 1), "texts": ["x"] * rows}
    if isinstance(made, CountMeanSketch):
        values["texts"] = list(map(str, range(rows)))  # none of them frequent
    inputs = values.get(made.about, np.full(rows, 25.0 if isinstance(made, OneBitMean) else 0.0))
    spread = []
    for i in range(times):
        tally = made.tally(made.report(inputs, coins(rows, 500 + i)))
        if isinstance(made, Rappor):  # which candidates it reports is another question: the bits as they are
            shares = made.shares(tally)[0]
            marked = all_places([f"y{i}"], 4, 2, 64)[0]
            clash = (marked[:, :, None] == all_places(["x"], 4, 2, 64)[0][:, None, :]).any(axis=2)
            spread.append(np.nan if clash.any() else np.take_along_axis(shares, marked, axis=1).mean())
        else:
            found = made.estimate(tally, [f"y{i}"])
            spread.append(found.values[-1] - (inputs[0] if made.unit == "mean" else 0))
    variance = float(np.nanmean(np.square(spread))) * rows
    assert 0.64 < variance / made.variance < 1.36


def test_one_bit_is_a_sum_and_not_a_product() -> None:
    """P(1) = 1/(e^eps + 1) + (x/m)(e^eps - 1)/(e^eps + 1). With a product in place of the sum the mean is missed."""
    made, rows = OneBitMean(0.0, 8.0, 1.0), 200_000
    for x in (0.0, 2.0, 8.0):
        ones = made.report(np.full(rows, x), coins(rows, 6)).mean()
        least = 1 / (math.e + 1)
        assert near(ones, least + x / 8 * (math.e - 1) / (math.e + 1), rows)
        found = made.estimate(made.tally(made.report(np.full(rows, x), coins(rows, 6))))
        assert abs(found.values[0] - x) < 6 * found.deviations[0]
        product = np.zeros((rows, 1), dtype=np.uint8)
        product[: round(rows * least * x / 8 * (math.e - 1) / (math.e + 1))] = 1
        wrong = made.estimate(made.tally(product))
        assert abs(wrong.values[0] - x) > 6 * wrong.deviations[0]


def test_memoised_numbers_are_rounded_once_and_stay() -> None:
    made, rows = OneBitMean(0.0, 1.0, 2.0, memoise=True), 100_000
    values = np.full(rows, 0.25)
    first, second = (made.report(values, coins(rows, seed, key=bytes(32))) for seed in (1, 2))
    assert (first == second).all()
    moved = made.report(values + 0.01, coins(rows, 3, key=bytes(32)))
    assert 0 < (first != moved).mean() < 0.02  # only those whose own point lies between
    assert near(first.mean(), 1 / (math.e**2 + 1) + 0.25 * (math.e**2 - 1) / (math.e**2 + 1), rows)


@pytest.mark.parametrize("told", [1, 3, 10])
def test_a_histogram_of_some_bits(told: int) -> None:
    made, rows = BitHistogram(0.0, 100.0, 10, told, 1.0), 100_000
    assert 1 - 1e-5 < made.epsilon <= 1
    reports = made.report(np.full(rows, 35.0), coins(rows, 7))
    chosen = from_bytes(np.ascontiguousarray(reports[:, : 2 * told]).reshape(-1, 2)).reshape(rows, told)
    assert (np.diff(np.sort(chosen, axis=1), axis=1) > 0).all()
    assert near(np.bincount(chosen.reshape(-1), minlength=10) / rows, told / 10, rows)
    said, flip = bits(reports, 2 * told, told), 1 / (math.exp(1 if told == 1 else 0.5) + 1)
    assert near(said[chosen == 3].mean(), 1 - flip, (chosen == 3).sum())
    assert near(said[chosen != 3].mean() if told else 0, flip, (chosen != 3).sum())


def test_what_lies_outside_counts_as_the_bound() -> None:
    made = BitHistogram(0.0, 10.0, 5, 5, 9.0)
    assert made.buckets_of(np.array([-3.0, 0.0, 9.99, 10.0, 99.0])).tolist() == [0, 0, 4, 4, 4]


def test_rappor_has_the_privacy_of_the_paper() -> None:
    assert CHROME.lasting == pytest.approx(4 * math.log(3))
    assert CHROME.lasting == pytest.approx(4.394, abs=5e-4)
    zero, one = 0.5625, 0.6875
    assert CHROME.epsilon == pytest.approx(2 * math.log(one * (1 - zero) / (zero * (1 - one))))
    assert CHROME.epsilon == pytest.approx(1.074, abs=5e-4)
    assert math.isinf(Rappor(8, 1, 1, 0.0, 0.25, 0.75).lasting)
    assert math.isinf(Rappor(8, 1, 1, 0.5, 0.0, 1.0).lasting) is False
    # Sent as they are, permanent bits are all that is known: h ln of their ratio, twice, is what lasts.
    assert Rappor(8, 1, 1, 0.5, 0.0, 1.0).epsilon == pytest.approx(Rappor(8, 1, 1, 0.5, 0.0, 1.0).lasting)


def test_rappor_draws_twice() -> None:
    rows = 50_000
    reports = CHROME.report(["home"] * rows, coins(rows, 8, key=bytes(32)))
    again = CHROME.report(["home"] * rows, coins(rows, 9, key=bytes(32)))
    cohort = from_bytes(reports[:, :2])
    assert (reports[:, :2] == again[:, :2]).all()
    assert near(np.bincount(cohort, minlength=8) / rows, 1 / 8, rows)
    first, second = bits(reports, 2, 128), bits(again, 2, 128)
    bloom = np.zeros((8, 128), dtype=bool)
    np.put_along_axis(bloom, all_places(["home"], 8, 2, 128)[0], True, axis=1)
    own = bloom[cohort]
    assert near(first[own].mean(), 0.6875, own.sum())
    assert near(first[~own].mean(), 0.5625, (~own).sum())
    # Both bits of one place are 1: of a permanent 1 (chance 0.75 if the bit is set) with q^2, of a 0 with p^2.
    assert near((first & second)[own].mean(), 0.75 * 0.75**2 + 0.25 * 0.5**2, own.sum())
    assert near((first & second)[~own].mean(), 0.25 * 0.75**2 + 0.75 * 0.5**2, (~own).sum())


def test_many_reports_show_no_more_than_the_permanent_response() -> None:
    """The instantaneous noise averages out, the permanent one does not: one device, 3,000 reports."""
    device = Coins(np.zeros(1, dtype=np.uint64), "test", bytes(32), Prg(bytes(16)))
    seen = np.mean([bits(CHROME.report(["home"], device), 2, 128)[0] for _ in range(3000)], axis=0)
    permanent = Rappor(128, 2, 8, 0.5, 0.0, 1.0).report(["home"], device)
    assert ((seen > 0.625) == bits(permanent, 2, 128)[0]).all()
    truth = all_places(["home"], 8, 2, 128)[0, from_bytes(permanent[:, :2])[0]]
    assert set(np.flatnonzero(seen > 0.625)) != set(truth)
    restored = Coins(np.zeros(1, dtype=np.uint64), "test", bytes(32))
    assert (Rappor(128, 2, 8, 0.5, 0.0, 1.0).report(["home"], restored) == permanent).all()


def test_a_sketch_marks_one_place() -> None:
    made, rows = CountMeanSketch(4, 32, 2.0), 50_000
    reports = made.report(["x"] * rows, coins(rows, 10))
    row, said = from_bytes(reports[:, :2]), bits(reports, 2, 32)
    marked = all_places(["x"], 4, 1, 32)[0, :, 0][row]
    flip = 1 / (math.e + 1)
    own = said[np.arange(rows), marked]
    assert near(own.mean(), 1 - flip, rows)
    assert near((said.sum() - own.sum()) / (31 * rows), flip, 31 * rows)
    assert made.epsilon == pytest.approx(2.0, abs=1e-5)


def test_places_are_even_and_differ_between_rows_and_texts() -> None:
    texts = [f"t{i}" for i in range(2000)]
    assert len(set(digests(texts).tolist())) == 2000
    found = all_places(texts, 3, 5, 16)
    counts = np.bincount(found.reshape(-1), minlength=16)
    assert near(counts / found.size, 1 / 16, found.size)
    for other in (found[:, 1, 0], found[:, 0, 1]):
        assert near((found[:, 0, 0] == other).mean(), 1 / 16, 2000)


def text_values(codes: Any, time: int) -> list[str]:
    return [f"{NAMES[code]}{time}" for code in codes]  # other texts, other collisions


def code_values(codes: Any, time: int) -> Any:
    del time
    return codes


def number_values(codes: Any, time: int) -> Any:
    del time
    return codes * 10.0 + 5


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (DirectResponse(NAMES, 1.0), code_values),
        (UnaryEncoding(NAMES, 1.0), code_values),
        (UnaryEncoding(NAMES, 1.0, optimised=False), code_values),
        (HadamardResponse(NAMES, 1.0), code_values),
        (BitHistogram(0.0, 50.0, 5, 2, 2.0), number_values),
        (SubsetSelection(NAMES, 0.5), code_values),
        (OneBitMean(0.0, 50.0, 1.0), number_values),
        (PiecewiseMean(0.0, 50.0, 1.0, 16), number_values),
        (LaplaceMean(0.0, 50.0, 1.0, 16), number_values),
        (GaussMean(0.0, 50.0, 1.0, 16, requested_delta=1e-6), number_values),
        (CountMeanSketch(16, 64, 4.0), text_values),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Mechanism) else "",
)
def test_estimates_have_no_bias_and_the_deviation_that_they_state(
    made: Mechanism, values: Callable[[Any, int], Any]
) -> None:
    """400 times 1,000 people, whose values are fixed: only coins differ."""
    codes, times = np.repeat(np.arange(5), (SHARES * 1000).astype(int)), 400
    truth = np.array([(codes * 10.0 + 5).mean()]) if made.unit == "mean" else SHARES
    found = [
        made.estimate(
            made.tally(made.report(values(codes, i), coins(len(codes), 100 + i))), [f"{name}{i}" for name in NAMES]
        )
        for i in range(times)
    ]
    estimates = np.array([one.values for one in found])
    stated = np.sqrt(np.mean([one.deviations**2 for one in found], axis=0))
    seen = estimates.std(axis=0, ddof=1)
    assert (np.abs(estimates.mean(axis=0) - truth) <= 5 * seen / math.sqrt(times)).all()
    assert (seen < 1.2 * stated).all()
    assert (seen > 0.7 * stated).all()  # what is stated holds for people drawn at random; here they are fixed


def test_a_rare_value_among_a_million_is_found() -> None:
    """0.1% of 14 million as the same signal over noise at one million: 0.1% sqrt(14).

    Noise that is drawn once a report hides it (1.3 deviations); the reports of a day, one each half hour, average that
    away and leave the permanent noise, above which it stands. Reports of a day are drawn from their exact law, given
    the permanent bits of a million devices.
    """
    rows = 1_000_000
    random = np.random.default_rng(11)
    held = [f"site{i}" for i in range(20)]
    rare = 0.001 * math.sqrt(14)
    shares = np.append(np.full(19, (1 - rare) / 19), rare)
    who = np.repeat(np.arange(20), np.diff(np.round(np.append(0, shares.cumsum()) * rows).astype(int)))
    candidates = held + [f"nobody{i}" for i in range(980)]
    permanent = Rappor(128, 2, 8, 0.5, 0.0, 1.0)
    table = np.zeros((8, 129), dtype=np.int64)
    for start in range(0, rows, 1 << 16):
        part = who[start : start + (1 << 16)]
        device = Coins(np.arange(start, start + len(part), dtype=np.uint64), "test", bytes(32))
        table += permanent.tally(permanent.report([held[i] for i in part], device)).reshape(8, 129)

    def found(reports: int) -> dict[str, float]:
        ones, asked = table[:, :-1], table[:, -1:]
        sent = random.binomial(reports * ones, CHROME.q) + random.binomial(reports * (asked - ones), CHROME.p)
        tally = np.concatenate([sent, reports * asked], axis=1).reshape(-1)
        estimates = CHROME.estimate(tally, candidates)
        return dict(zip(estimates.names, estimates.values, strict=True))

    day = found(48)
    assert set(day) == set(held)
    assert day["site19"] == pytest.approx(rare, abs=0.003)
    assert set(held) - set(found(1)) == {"site19"}
