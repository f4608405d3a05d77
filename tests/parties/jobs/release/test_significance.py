"""Tests of significance against SciPy and statsmodels: verdicts in circuits, and p-values that count noise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from parties.jobs import kinds
from parties.jobs.release.noise import Noise
from parties.tables.schema import Schema
from protocols.quantiles import chi2_quantile, t_quantile
from protocols.significance import chi2_exceeds
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import counts, known_noise

pytestmark = pytest.mark.slow

SCHEMA = Schema(
    {
        "arm": ("a", "b"),
        "dose": ("0", "1", "2.5", "5"),
        "grade": ("low", "mid", "high"),
        "visits": tuple(map(str, range(12))),
        "outcome": ("good", "bad"),
    },
    "outcome",
)
Rows = NDArray[np.int64]  # category numbers, in the schema's order


@cache
def task_of(name: str, **said: Any) -> Any:
    kind = kinds.find(f"test {name}")
    return kind.canonical(kind.Settings.model_validate({"max_rows": 500, **said}), SCHEMA)  # type: ignore[attr-defined]


def document(task: Any, sides: Sequence[Rows], profile: str = "clear") -> Any:
    names = list(SCHEMA.attributes)

    def party(session: Any) -> Any:
        rows = [
            {name: SCHEMA.attributes[name][value] for name, value in zip(names, row, strict=True)}
            for row in sides[session.party].tolist()
        ]
        return task.run(
            engine_of(session, Profile(profile)), task.own_rows(counts(task, rows)), None, lambda step: None
        )

    one, other = run_local(party)
    assert one == other
    return task.document(one)


def drawn(seed: int, number: int, effect: float) -> Rows:
    """Rows of which dose, visits and outcome depend on the arm by so much."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 2, number)
    dose = rng.integers(0, 4, number)
    visits = np.clip(rng.normal(5 + 3 * effect * arm, 1 + arm).round(), 0, 11).astype(np.int64)
    outcome = (rng.random(number) < 0.3 + effect * (arm + dose / 2) / 4).astype(np.int64)
    grade = np.where(rng.random(number) < effect, outcome + 1, rng.integers(0, 3, number))
    return np.stack([arm, dose, grade, visits, outcome], axis=1)


def table(rows: Rows, first: int, second: int, shape: tuple[int, int]) -> Rows:
    return np.bincount(rows[:, first] * shape[1] + rows[:, second], minlength=shape[0] * shape[1]).reshape(shape)


def p_trend(rows: Rows) -> float:
    """As the linear-by-linear association of R's `prop.trend.test`: N times the squared correlation."""
    scores = np.array([0, 1, 2.5, 5])[rows[:, 1]]
    return float(stats.chi2.sf(len(rows) * np.corrcoef(scores, rows[:, 4])[0, 1] ** 2, 1))


def p_welch(rows: Rows) -> float:
    groups = [rows[rows[:, 0] == arm, 3] for arm in (1, 0)]
    return float(stats.ttest_ind(*groups, equal_var=False).pvalue)


def p_chi2(rows: Rows) -> float:
    return float(stats.chi2_contingency(table(rows, 2, 4, (3, 2)), correction=False).pvalue)


def p_proportions(rows: Rows) -> float:
    from statsmodels.stats.proportion import proportions_ztest

    counted = table(rows, 0, 4, (2, 2))
    return float(proportions_ztest(counted[:, 1], counted.sum(axis=1))[1])


CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "chi2": ({"columns": ("grade", "outcome")}, p_chi2),
    "trend": ({"target": "outcome", "by": "dose"}, p_trend),
    "proportions": ({"target": "outcome", "by": "arm"}, p_proportions),
    "welch": ({"column": "visits", "by": "arm"}, p_welch),
}


@pytest.mark.parametrize("name", CASES)
def test_verdicts_turn_where_the_p_value_stands(name: str) -> None:
    said, p_value = CASES[name]
    for seed in range(3):
        rows = drawn(seed, 160, 0.1 * seed)
        p = p_value(rows)
        # Student's degrees of freedom are rounded down to those of a table, which moves a p-value by some per cent.
        near = 1.08 if name == "welch" else 1.001
        for level, differ in ((p * near, True), (p / near, False)):
            if 1e-9 <= level <= 0.5:
                task = task_of(name, level=level, **said)
                assert document(task, (rows[:50], rows[50:]))["differ"] is differ


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ["yao", "gmw"])
def test_every_engine_says_the_same_and_costs_what_was_foreseen(name: str, engine: str) -> None:
    rows = drawn(3, 160, 0.3)
    task = task_of(name, engine=engine, **CASES[name][0])
    assert document(task, (rows[:50], rows[50:]), engine)["differ"] is (CASES[name][1](rows) < 0.05)
    assert task.disclosure.opened([1]) == {"decision": 1}
    assert forecast(task.cost(None).program, Profile(engine)).bytes < 10_000_000


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_values_that_no_row_has_change_nothing(data: st.DataObject) -> None:
    """The verdict on a table with empty rows and columns is SciPy's on the table without them."""
    shape = data.draw(st.tuples(st.integers(2, 5), st.integers(2, 6)))
    counted = np.array(
        data.draw(st.lists(st.integers(0, 9), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    )
    counted = counted.reshape(shape)
    counted[data.draw(st.integers(0, shape[0] - 1))] = 0
    counted[:, data.draw(st.integers(0, shape[1] - 1))] = 0
    mine = np.array([data.draw(st.integers(0, int(number))) for number in counted.ravel()]).reshape(shape)
    full = counted[counted.any(axis=1)][:, counted.any(axis=0)]
    p = stats.chi2_contingency(full, correction=False).pvalue if min(full.shape, default=0) > 1 else 1.0
    for level in (0.001, 0.05, 0.5):
        if abs(p / level - 1) > 0.01:
            verdicts = run_local(
                lambda session, level=level: chi2_exceeds(
                    engine_of(session, Profile("clear")), mine if session.party == 0 else counted - mine, level, 500
                )
            )
            assert verdicts == ((p < level),) * 2


def test_alternatives_have_a_direction() -> None:
    rows = drawn(2, 200, 0.9)
    for name in ("trend", "proportions", "welch"):
        verdicts = [
            document(task_of(name, alternative=which, **CASES[name][0]), (rows[:9], rows[9:]))["differ"]
            for which in ("greater", "less")
        ]
        assert verdicts == [True, False]


@settings(max_examples=20)
@given(st.lists(st.tuples(*(st.integers(0, len(v) - 1) for v in SCHEMA.attributes.values())), max_size=30), st.data())
def test_any_rows_have_a_verdict(lines: list[tuple[int, ...]], data: Any) -> None:
    rows = np.array(lines, dtype=np.int64).reshape(-1, 5)
    cut = data.draw(st.integers(0, len(rows)))
    task = task_of("chi2", columns=("grade", "outcome"))
    counted = table(rows, 2, 4, (3, 2)).astype(float)
    expected = np.outer(counted.sum(axis=1), counted.sum(axis=0)) / max(1, len(rows))
    statistic = ((counted - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()
    critical = stats.chi2.isf(0.05, 2)
    if abs(statistic - critical) > 2e-3:
        assert document(task, (rows[:cut], rows[cut:]))["differ"] is bool(statistic > critical)
    groups = [rows[rows[:, 0] == arm, 3] for arm in (1, 0)]
    welch = document(task_of("welch", column="visits", by="arm"), (rows[:cut], rows[cut:]))["differ"]
    if min(map(len, groups)) < 2:
        assert not welch
    elif np.ptp(groups[0]) or np.ptp(groups[1]):
        p = stats.ttest_ind(*groups, equal_var=False).pvalue
        assert welch is bool(p < 0.05) or 0.05 / 1.1 < p < 0.05


@pytest.mark.parametrize("name", CASES)
def test_without_noise_a_p_value_is_that_of_the_test(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noise, "law", known_noise(0))
    for seed, effect in enumerate((0, 0.08, 0.5)):
        rows = drawn(seed, 400, effect)
        answer = document(task_of(name, epsilon=10.0, **CASES[name][0]), (rows[:150], rows[150:]))
        p = CASES[name][1](rows)
        assert answer["p"] == pytest.approx(p, abs=0.02 + 0.08 * np.sqrt(p))
        assert answer["differ"] is (answer["p"] <= 0.05)


def test_p_values_count_the_noise() -> None:
    """Without any dependence a level of 10 % is reached in about 10 %, though the noise is as large as the counts."""
    task = task_of("chi2", columns=("grade", "outcome"), epsilon=0.1, level=0.1)
    rng = np.random.default_rng(5)
    differ = 0
    for _ in range(300):
        noise = rng.geometric(1 - np.exp(-0.1), 6) - rng.geometric(1 - np.exp(-0.1), 6)
        opened = rng.multinomial(300, np.outer([0.3, 0.3, 0.4], [0.6, 0.4]).ravel()) + noise
        differ += task.document(opened.tolist())["differ"] is True
    assert 10 <= differ <= 55  # of 30 expected: five standard deviations


@pytest.mark.one_of(3)
@pytest.mark.parametrize("rows", [300, 3000])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
@pytest.mark.parametrize(("name", "margins"), [("chi2", [0.9, 0.06, 0.04]), ("proportions", [0.95, 0.05])])
def test_null_rates_at_rare_values(name: str, margins: list[float], epsilon: float, rows: int) -> None:
    """Without any dependence "differ" is claimed at its level at most, also where rare values drown in noise."""
    by = {"columns": ("grade", "rarity")} if name == "chi2" else {"target": "outcome", "by": "arm"}
    schema = Schema(SCHEMA.attributes | {"rarity": ("x", "y", "z")}, "outcome")
    kind = kinds.find(f"test {name}")
    settings = kind.Settings.model_validate({"max_rows": 5000, "epsilon": epsilon, **by})  # type: ignore[attr-defined]
    task = kind.canonical(settings, schema)  # type: ignore[attr-defined]
    rng = np.random.default_rng(6)
    cells, times = len(margins) ** 2, 300
    claimed = 0
    for _ in range(times):
        noise = rng.geometric(1 - np.exp(-epsilon), cells) - rng.geometric(1 - np.exp(-epsilon), cells)
        opened = rng.multinomial(rows, np.outer(margins, margins).ravel()) + noise
        claimed += task.document(opened.tolist())["differ"] is True
    assert claimed <= stats.binom.isf(1e-3, times, 0.06)


def test_noise_that_hides_rare_values_cannot_tell() -> None:
    task = task_of("chi2", columns=("grade", "outcome"), epsilon=0.1)
    answer = task.document([180, 20, 90, 10, 3, 0])
    assert (answer["differ"], answer["p"]) == (None, None)
    assert type(task).text(answer, 0).startswith("cannot tell, at level 0.05\nthe noise is as large as")
    assert task.document([180, 120, 90, 70, 80, 60])["differ"] is False


@pytest.mark.parametrize("level", [0.5, 0.05, 0.01, 1e-6])
def test_quantiles_are_those_of_scipy(level: float) -> None:
    for degrees in (1, 2, 3, 4, 9, 30, 200, 1000):
        assert float(chi2_quantile(level, degrees)) == pytest.approx(stats.chi2.isf(level, degrees), rel=2e-5, abs=2e-5)
        assert float(t_quantile(level, degrees)) == pytest.approx(stats.t.isf(level / 2, degrees), rel=2e-5, abs=2e-5)


@pytest.mark.parametrize(
    ("name", "said", "why"),
    [
        ("chi2", {"columns": ("arm",)}, "columns: name two columns, not 1"),
        ("chi2", {"columns": ("arm", "outcome"), "where": "arm = a"}, "columns: each must have two values at least"),
        ("proportions", {"target": "outcome", "by": "dose"}, "by: two groups are compared, not 4"),
        ("trend", {"target": "grade", "by": "dose"}, "value: the outcome has 3 values"),
        ("trend", {"target": "grade", "value": "x", "by": "dose"}, "value: 'x' is not one of"),
        ("trend", {"target": "dose", "by": "dose"}, "by: name another column"),
        ("welch", {"column": "grade", "by": "arm"}, "column: a mean needs bounds"),
        ("welch", {"column": "visits", "by": "grade"}, "by: two groups are compared, not 3"),
        ("welch", {"column": "visits"}, "by is missing"),
    ],
)
def test_wrong_questions_are_refused_in_a_line(name: str, said: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError) as error:
        task_of(name, **said)
    assert why.split(":")[0] in str(error.value)
    assert "\n" not in str(error.value)


def test_scores_are_in_proportion_to_the_numbers() -> None:
    trend = task_of("trend", target="outcome", by="dose")
    assert trend._scores(("0", "0.5", "0.2")) == [0, 5, 2]
    assert trend._scores(("3", "1", "2")) == [2, 0, 1]
    assert trend._scores(("none", "1", "2")) == [0, 1, 2]


WITH_GAPS = Schema({"arm": ("a", "b", "?"), "dose": ("0", "1", "2", "?"), "outcome": ("alive", "dead", "?")}, "outcome")


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("name", ["chi2", "proportions", "trend"])
def test_missing_values_are_left_out_as_scipy_leaves_them_out(name: str, noisy: bool) -> None:
    """Gaps are of one arm only: as a value they make a difference, left out they make none."""
    rng = np.random.default_rng(7)
    known = np.stack([rng.integers(0, 2, 160), rng.integers(0, 3, 160), np.arange(160) % 2], axis=1)
    gaps = np.array([[1, 2, 2]] * 60 + [[2, 0, 0], [0, 3, 1]] * 20)
    rows = rng.permutation(np.concatenate([known, gaps]))
    columns = {"chi2": ("arm", "outcome"), "proportions": ("arm", "outcome"), "trend": ("dose", "outcome")}[name]
    first, second = (list(WITH_GAPS.attributes).index(column) for column in columns)
    complete = known[:, [first, second]]
    complete = np.concatenate([complete, [row for row in gaps[:, [first, second]] if "?" not in _words(row, columns)]])
    kind = kinds.find(f"test {name}")
    asked = {"columns": columns} if name == "chi2" else {"target": "outcome", "by": columns[0], "value": "dead"}
    verdicts = {}
    for missing in ("leave out", *(["value"] if name == "chi2" else [])):
        said = {"max_rows": 500, "missing": missing, **asked, **({"epsilon": 16} if noisy else {})}
        task: Any = kind.canonical(kind.Settings.model_validate(said), WITH_GAPS)  # type: ignore[attr-defined]
        done = "are left out" if missing == "leave out" else "count as a value"
        assert f"missing values of {columns[0]!r}, {columns[1]!r} {done}" in task.query.learnt

        def party(session: Any, task: Any = task) -> Any:
            own = [_row(row) for row in rows[session.party :: 2]]
            return task.run(
                engine_of(session, Profile("clear")), task.own_rows(counts(task, own)), None, lambda step: None
            )

        one, other = run_local(party)
        assert one == other
        verdicts[missing] = task.document(one)
        assert verdicts[missing]["missing"] == missing
        assert "missing values of" in task.text(verdicts[missing], 0)
    if name == "trend":
        scores, dead = complete[:, 0], complete[:, 1] == 1
        p = stats.chi2.sf(len(scores) * np.corrcoef(scores, dead)[0, 1] ** 2, 1)
    else:
        crossed = np.bincount(complete[:, 0] * 2 + complete[:, 1], minlength=4).reshape(2, 2)
        p = stats.chi2_contingency(crossed, correction=False).pvalue
    assert verdicts["leave out"]["differ"] == (p <= 0.05)
    if noisy:
        assert verdicts["leave out"]["p"] == pytest.approx(p, abs=0.1)
    if name == "chi2":
        assert verdicts["value"]["differ"]


def _words(row: Rows, columns: Sequence[str]) -> list[str]:
    return [WITH_GAPS.attributes[column][value] for column, value in zip(columns, row, strict=True)]


def _row(row: Rows) -> dict[str, str]:
    return dict(zip(WITH_GAPS.attributes, _words(row, list(WITH_GAPS.attributes)), strict=True))
