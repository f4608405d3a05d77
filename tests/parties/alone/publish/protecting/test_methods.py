"""The methods of disclosure control against their definitions: by brute force, in exact expectation, as properties."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.alone.publish.protecting import record_swapping
from parties.alone.publish.protecting.coding import LevelOfDetail, TopBottomCoding, too_small
from parties.alone.publish.protecting.local_suppression import suppressed
from parties.alone.publish.protecting.microaggregation import Microaggregation, mdav, means, univariate
from parties.alone.publish.protecting.perturbing import Noise, RankSwapping, added, partners
from parties.alone.publish.protecting.pram import Pram, draw, first_stage, made_invariant
from parties.alone.publish.protecting.protecting import of_numbers
from parties.alone.publish.protecting.record_swapping import ConfidentialityEdit, RecordSwapping
from parties.alone.publish.protecting.risk import class_risks, individual_risks, number_risks
from parties.alone.publish.protecting.rows import Rows
from parties.alone.publish.protecting.sampling import Sampling
from smc.errors import InputError


def rows_of(quasi: tuple[str, ...] = (), **columns: list[Any]) -> Rows:
    number = len(next(iter(columns.values())))
    texts = {name: np.array([str(x) for x in column], dtype=object) for name, column in columns.items()}
    return Rows(texts, quasi, np.ones(number), np.arange(number), "rows.csv")


def coins(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


SIZES = st.tuples(st.integers(2, 5), st.integers(0, 40), st.integers(1, 3), st.integers(0, 99))


@given(SIZES)
@settings(max_examples=40, deadline=None)
def test_groups_have_k_to_2k_rows_and_keep_sums(sizes: tuple[int, int, int, int]) -> None:
    k, more, columns, seed = sizes
    values = np.round(coins(seed).standard_normal((k + more, columns)), 1)
    for groups in (mdav(values, k), univariate(values[:, 0], k)):
        counts = np.bincount(groups)
        assert counts.min() >= k
        assert counts.max() <= 2 * k - 1
        assert means(values[:, 0], groups).sum() == pytest.approx(values[:, 0].sum())


def test_mdav_follows_its_definition() -> None:
    """Six points, k = 2: 100 is farthest from the mean, with 90; 0 is farthest from it, with 1; the others are left."""
    groups = mdav(np.array([[0.0], [1.0], [40.0], [44.0], [90.0], [100.0]]), 2)
    assert groups.tolist() == [1, 1, 2, 2, 0, 0]


@pytest.mark.parametrize("seed", range(6))
def test_univariate_groups_are_the_best_partition(seed: int) -> None:
    values = coins(seed).integers(0, 30, 9).astype(float)

    def partitions(left: tuple[int, ...]) -> Any:
        if not left:
            yield []
            return
        for chosen in product([0, 1], repeat=len(left) - 1):
            block = [left[0], *(x for x, taken in zip(left[1:], chosen, strict=True) if taken)]
            if len(block) >= 3:
                rest = tuple(x for x in left if x not in block)
                yield from ([block, *others] for others in partitions(rest))

    best = min(sum(((values[b] - values[b].mean()) ** 2).sum() for b in blocks) for blocks in partitions((*range(9),)))
    assert ((values - means(values, univariate(values, 3))) ** 2).sum() == pytest.approx(best)


def test_microaggregated_rows_are_alike_in_threes() -> None:
    source = rows_of(a=[1, 2, 3, 40, 50, 60, 7], b=[5, 4, 6, 1, 1, 2, 5])
    result, figures = Microaggregation(columns=("a", "b"), aggr=3).run(source, coins())
    assert result.class_sizes(["a", "b"]).min() >= 3
    assert figures["groups"] == 2
    assert result.numbers("a").sum() == pytest.approx(163)


@given(st.integers(2, 6), st.floats(0, 1), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_invariant_matrix_keeps_expected_frequencies(number: int, keep: float, seed: int) -> None:
    shares = coins(seed).dirichlet(np.ones(number))
    matrix = made_invariant(first_stage(number, keep), shares)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(number))
    assert shares @ matrix == pytest.approx(shares)
    assert (matrix >= 0).all()


def test_pram_draws_by_its_matrix() -> None:
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]])
    drawn = draw(matrix, np.repeat(np.arange(3), 40_000), coins())
    for value in range(3):
        shares = np.bincount(drawn[value * 40_000 : (value + 1) * 40_000], minlength=3) / 40_000
        assert shares == pytest.approx(matrix[value], abs=0.0125)  # five standard deviations
        assert (shares[matrix[value] == 0] == 0).all()


def test_pram_of_a_given_matrix_leaves_missing_values() -> None:
    method = Pram(columns=("a",), matrix={"x": {"y": 1.0}, "y": {"x": 0.0, "z": 1.0}})
    result, figures = method.run(rows_of(a=["x", "y", "?", "x"]), coins())
    assert result.columns["a"].tolist() == ["y", "z", "?", "y"]
    assert figures["a"]["stay"] == 0
    with pytest.raises(InputError, match="matrix has no line for 'w'"):
        method.run(rows_of(a=["w"]), coins())


@given(st.integers(0, 60), st.integers(0, 20), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_ranks_swap_no_farther_than_the_window(number: int, window: int, seed: int) -> None:
    partner = partners(number, window, coins(seed))
    assert (partner[partner] == np.arange(number)).all()
    assert np.abs(partner - np.arange(number)).max(initial=0) <= window


def test_rank_swapping_keeps_each_column() -> None:
    ages = [*range(20, 60), "?"]
    result, figures = RankSwapping(columns=("age",), p=10).run(rows_of(age=ages), coins())
    after = result.columns["age"].tolist()
    assert sorted(after) == sorted(map(str, ages))
    assert after[-1] == "?"
    assert max(abs(int(x) - int(y)) for x, y in zip(after[:-1], ages[:-1], strict=True)) <= 4
    assert figures["not_swapped"]["age"] <= 4


PEOPLE = rows_of(
    ("town", "age"),
    town=["N"] * 20 + ["S"] * 20 + ["E"] * 4,
    sex=["f", "m"] * 22,
    age=[*range(3)] * 14 + [77, 78],
    income=list(range(44)),
)


@pytest.mark.parametrize(
    "method", [RecordSwapping(column="town", similar=("sex",)), ConfidentialityEdit(column="town", similar=("sex",))]
)
def test_swapped_records_keep_margins(method: RecordSwapping | ConfidentialityEdit) -> None:
    for seed in range(5):
        result, figures = method.run(PEOPLE, coins(seed))
        for names in (["town", "sex"], ["sex", "age", "income"]):
            before, after = (Counter(zip(*(r.columns[n] for n in names), strict=True)) for r in (PEOPLE, result))
            assert before == after
        moved = result.columns["town"] != PEOPLE.columns["town"]
        assert moved.sum() == figures["swapped"]
        if isinstance(method, RecordSwapping):
            at_risk = PEOPLE.class_sizes(["town", "age"]) < 3
            assert figures["without_partner"] == 0
            assert moved[at_risk].all()


def test_nobody_swaps_twice() -> None:
    areas, everybody = np.arange(40) % 3, np.arange(40)
    partner = record_swapping.partners(areas, areas * 0, everybody, 40, 40, coins())
    assert (partner[partner] == everybody).all()
    assert (areas[partner] != areas)[partner != everybody].all()


def test_no_partner_is_alike() -> None:
    partner = record_swapping.partners(np.array([0, 1]), np.array([0, 1]), np.array([0, 1]), 2, 2, coins())
    assert partner.tolist() == [0, 1]
    with pytest.raises(InputError, match="all rows have one value to swap"):
        RecordSwapping(column="a").run(rows_of(a=["x", "x"]), coins())


def test_the_edit_takes_more_of_small_areas() -> None:
    source = rows_of(town=["N"] * 900 + ["S"] * 60 + ["E"] * 40)
    moved = np.zeros(1000)
    for seed in range(40):
        moved += (
            ConfidentialityEdit(column="town", rate=0.03).run(source, coins(seed))[0].columns["town"]
            != (source.columns["town"])
        )
    assert moved[900:].mean() > 3 * moved[:900].mean()


def test_coding_by_bounds_shares_and_means() -> None:
    source = rows_of(income=[1, 5, 10, 20, 30, 100, 200, 300, "?", "7"])

    def coded(**fields: Any) -> list[str]:
        return TopBottomCoding(columns=("income",), **fields).run(source, coins())[0].columns["income"].tolist()

    assert coded(top=100.0, bottom=5.5) == ["5.5", "5.5", "10", "20", "30", "100", "100", "100", "?", "7"]
    assert coded(top=90.0, replacement="mean") == ["1", "5", "10", "20", "30", "200", "200", "200", "?", "7"]
    assert coded(share=0.25) == ["7", "7", "10", "20", "30", "100", "100", "100", "?", "7"]  # 2 of 9 either side
    with pytest.raises(InputError, match=r"2 value\(s\) lie beyond the top"):
        coded(top=150.0, replacement="mean")


def test_noise_has_the_covariance_it_says() -> None:
    """Kim (1986): (1 + d) S for correlated noise, S for the transformed, the diagonal alone for the independent."""
    random = coins()
    values = random.multivariate_normal([10, -5], [[4, 3], [3, 9]], 200_000)
    covariance = np.cov(values, rowvar=False)
    correlated = np.cov(added(values, 0.5, True, False, random), rowvar=False)
    assert correlated == pytest.approx(1.5 * covariance, rel=0.02)
    transformed = added(values, 0.5, True, True, random)
    assert np.cov(transformed, rowvar=False) == pytest.approx(covariance, rel=0.02)
    assert transformed.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=0.03)
    independent = np.cov(added(values, 0.5, False, False, random), rowvar=False)
    assert independent == pytest.approx(covariance + 0.5 * np.diag(np.diag(covariance)), rel=0.02)


def test_noise_has_the_decimals_of_its_column() -> None:
    result, _ = Noise(columns=("a", "b")).run(rows_of(a=[1, 2, 3], b=["1.5", "2.25", "9"]), coins())
    assert all("." not in text for text in result.columns["a"])
    assert all(len(text.partition(".")[2]) <= 2 for text in result.columns["b"])


def test_a_sample_weighs_as_much_as_its_stratum() -> None:
    source = rows_of(town=["N"] * 40 + ["S"] * 10 + ["E"], x=list(range(51)))
    sample, figures = Sampling(share=0.2, strata=("town",)).run(source, coins())
    assert Counter(sample.columns["town"]) == {"N": 8, "S": 2, "E": 1}
    assert sample.numbers("weight").sum() == 51
    assert (source.columns["x"][sample.origins] == sample.columns["x"]).all()
    assert figures == {"sampled": 11, "of": 51}
    chosen: Counter[int] = Counter()
    for seed in range(400):
        chosen.update(Sampling(share=0.2).run(source, coins(seed))[0].origins.tolist())
    assert min(chosen.values()) > 40  # 78 expected, standard deviation 8
    assert max(chosen.values()) < 120


@pytest.mark.parametrize(("f", "population"), [(1, 2), (1, 50), (2, 3), (2, 200), (5, 5), (7, 60), (65, 900), (3, 3e4)])
def test_individual_risk_is_the_mean_of_the_reciprocal(f: int, population: float) -> None:
    """1 / F under F = f, f + 1, ... negative binomial with pi = f / population (Benedetti, Franconi 1998), summed."""
    pi = f / population
    probability, total = pi**f, 0.0
    for size in range(f, int(population * 60) + 60):
        total += probability / size
        probability *= (1 - pi) * size / (size - f + 1)
    assert individual_risks(np.array([f, 9]), np.array([population, 20.0]))[0] == pytest.approx(total, rel=1e-6)


def test_risk_of_one_and_two_rows_is_the_closed_form() -> None:
    pi = 0.05
    expected = [pi / (1 - pi) * np.log(1 / pi), pi / (1 - pi) - (pi / (1 - pi)) ** 2 * np.log(1 / pi)]
    assert individual_risks(np.array([1, 2]), np.array([1, 2]) / pi) == pytest.approx(expected)


def test_risks_of_classes_and_numbers() -> None:
    rows = rows_of(("a",), a=["x", "x", "y", "z", "z", "z"])
    risks = class_risks(rows)
    assert (risks["rows_alone"], risks["rows_below_3"], risks["rows_below_5"]) == (1, 3, 6)
    assert risks["individual_risk_highest"] == 1
    assert risks["expected_reidentifications"] == pytest.approx(3)
    values = np.arange(20.0)[:, None]
    assert number_risks(values, values, coins()) == {"linked_by_distance": 1.0, "interval_disclosure": 1.0}
    assert number_risks(values, np.full((20, 1), 9.5), coins())["linked_by_distance"] == pytest.approx(0.05)
    figures = of_numbers(np.array([0.0, 2.0]), np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    assert figures["il1s"] == pytest.approx(1 / 2)  # |x - x'| = 1, s = sqrt(2)


def is_safe(codes: np.ndarray, hidden: np.ndarray, k: int) -> bool:
    return min(Counter(map(tuple, np.where(hidden, -1, codes).tolist())).values()) >= k


TABLES = st.integers(2, 3).flatmap(
    lambda k: st.tuples(
        st.just(k), st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=max(k, 3), max_size=5 if k == 2 else 4)
    )
)


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_local_suppression_is_minimal(table: tuple[int, list[tuple[int, int]]]) -> None:
    k, lines = table
    codes = np.array(lines)
    hidden = suppressed(codes, k, [1, 1])
    assert is_safe(codes, hidden, k)
    for cell in np.argwhere(hidden).tolist():
        shown = hidden.copy()
        shown[tuple(cell)] = False
        assert not is_safe(codes, shown, k)
    fewest = min(
        sum(c) for c in product([0, 1], repeat=codes.size) if is_safe(codes, np.array(c).reshape(-1, 2) > 0, k)
    )
    assert fewest <= hidden.sum() <= 2 * fewest + 1  # at least none if none is needed


def test_local_suppression_keeps_what_matters() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # either column of all rows
    assert suppressed(codes, 2, [1, 5]).tolist() == [[True, False]] * 4
    assert suppressed(codes, 2, [5, 1]).tolist() == [[False, True]] * 4


def test_level_of_detail() -> None:
    assert too_small(np.array([50, 3, 20, 4, 9]), 10).tolist() == [False, True, False, True, True]
    assert too_small(np.array([50, 3, 20]), 10).tolist() == [False, True, True]  # 3 alone are too few
    assert not too_small(np.array([50, 20]), 10).any()
    source = rows_of(town=["A", "B", "C", "?"])
    population = {"A": 120_000, "B": 60_000, "C": 70_000}
    result, figures = LevelOfDetail(columns=("town",), least=100_000, population=population).run(source, coins())
    assert result.columns["town"].tolist() == ["A", "other", "other", "?"]
    assert figures == {"town": {"categories": 3, "joined": 2}}
