"""Comparisons of two groups: statsmodels' numbers without noise, intervals that cover with noise, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_effectsize
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from parties.jobs.release.comparison import Comparison
from parties.jobs.result_files import picture as svg_of
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType, RealType
from smc.errors import InputError
from tests.support.questions import asked, state_of

SCHEMA = Schema(
    {
        "arm": ("placebo", "drug", "?"),
        "age": ("young", "old", "?"),
        "sex": ("f", "m"),
        "died": ("no", "yes", "?"),
        "visits": Domain(IntegerType(low=0, high=4, missing=True)),
        "years": Domain(RealType(low=0, high=3, step=0.5)),
        "pressure": Domain(RealType(low=90, high=180, step=0.5)),
    }
)
ASKED: dict[str, dict[str, Any]] = {
    "risks": {"target": "died", "by": "arm", "strata": ("age", "sex")},
    "rates": {"target": "visits", "exposure": "years", "by": "arm", "strata": ("age", "sex")},
    "difference": {"column": "pressure", "by": "arm"},
}
EPSILON = 0.3  # of 3,000 rows: then noise is a part of each error


def drawn(rows: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Rows in which all groups and strata differ."""
    rng = np.random.default_rng(seed)
    arm, age, sex = (rng.integers(0, 2, rows) for _ in range(3))
    died = rng.random(rows) < 1 / (1 + np.exp(1 - 0.7 * arm - 0.5 * age))
    years = rng.integers(1, 7, rows) / 2
    visits = np.minimum(rng.poisson(0.3 * years * np.exp(0.5 * arm + 0.3 * age)), 4)
    pressure = np.clip(np.round(2 * (130 + 5 * arm + (8 + 4 * arm) * rng.standard_normal(rows))) / 2, 90, 180)
    return {
        "arm": arm, "age": age, "sex": sex, "died": died.astype(int), "visits": visits, "years": years,
        "pressure": pressure,
    }  # fmt: skip


def texts(columns: dict[str, np.ndarray]) -> list[dict[str, str]]:
    coded = {name: SCHEMA.attributes[name] for name in ("arm", "age", "sex", "died")}
    lines = []
    for row in zip(*columns.values(), strict=True):
        cells = dict(zip(columns, row, strict=True))
        lines.append({name: coded[name][cell] if name in coded else f"{cell:g}" for name, cell in cells.items()})
    return lines


def found(name: str, **more: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The exact document of both parties' rows, some of which lack a value, and the whole rows."""
    columns = drawn(1500)
    lines = texts(columns)
    lacking = [{**lines[0], **lack} for lack in ({"arm": "?"}, {"died": "?", "visits": "?"}) if name != "difference"]
    lacking += [{**lines[0], "arm": "?"}]
    task = asked(name, SCHEMA, **{**ASKED[name], "exact": True, "max_rows": 2000, **more})
    return task.document(state_of(task, [[*lacking, *lines[::3]], lines[1::3] + lines[2::3]])), columns


def numbers(document: dict[str, Any], of: str) -> list[float]:
    (line,) = [line for line in document["numbers"] if line["of"] == of]
    return [line["value"], line["low"], line["high"]]


def test_risks_are_those_of_statsmodels() -> None:
    document, rows = found("risks")
    tables = [
        [[np.sum((rows["arm"] == a) & (rows["died"] == d) & mine) for d in (1, 0)] for a in (1, 0)]
        for mine in ((rows["age"] == i) & (rows["sex"] == j) for i in (0, 1) for j in (0, 1))
    ]
    crude = Table2x2(np.sum(tables, axis=0))
    (a, b), (c, d) = crude.table
    expected = {
        "risk ratio": [crude.riskratio, *crude.riskratio_confint()],
        "odds ratio": [crude.oddsratio, *crude.oddsratio_confint()],
        "risk difference": [
            a / (a + b) - c / (c + d),
            *confint_proportions_2indep(a, a + b, c, c + d, compare="diff", method="wald"),
        ],
    }
    strata = StratifiedTable([np.array(table, dtype=float) for table in tables])
    expected["common odds ratio"] = [strata.oddsratio_pooled, *strata.oddsratio_pooled_confint()]
    for of, values in expected.items():
        assert numbers(document, of) == pytest.approx(values, abs=1e-6), of
    assert numbers(document, "Cohen's h")[0] == pytest.approx(proportion_effectsize(a / (a + b), c / (c + d)))
    null = strata.test_null_odds(correction=False)
    assert document["test"] == pytest.approx({"chi_square": null.statistic, "p": null.pvalue}, rel=1e-6)
    pairs = {line["of"]: line.get("p") for line in document["numbers"]}
    assert pairs["odds ratio"] == pytest.approx(crude.log_oddsratio_pvalue(), rel=1e-6)
    assert pairs["risk ratio"] == pytest.approx(crude.log_riskratio_pvalue(), rel=1e-6)


def test_rates_are_those_of_a_poisson_regression() -> None:
    document, rows = found("rates")
    design = np.column_stack([np.ones(1500), rows["arm"]])
    fit = sm.GLM(rows["visits"], design, family=sm.families.Poisson(), exposure=rows["years"]).fit(tol=1e-13)
    for of, at in (("rate ratio", 1), ("rate in placebo", 0)):
        expected = np.exp([fit.params[at], *fit.conf_int()[at]])
        assert numbers(document, of) == pytest.approx(expected, abs=1e-6)
    (a, t), (c, u) = ([rows[k][rows["arm"] == g].sum() for k in ("visits", "years")] for g in (1, 0))
    error = (a / t**2 + c / u**2) ** 0.5
    middle, low, high = numbers(document, "rate difference")
    assert [middle, (high - low) / 2 / 1.959963984540054] == pytest.approx([a / t - c / u, error], abs=1e-9)
    strata = np.eye(4)[2 * rows["age"] + rows["sex"]]
    adjusted = sm.GLM(
        rows["visits"], np.column_stack([strata, rows["arm"]]), family=sm.families.Poisson(), exposure=rows["years"]
    ).fit()
    common = numbers(document, "common rate ratio")
    assert common == pytest.approx(np.exp([adjusted.params[4], *adjusted.conf_int()[4]]), rel=0.005)


def test_a_common_rate_ratio_is_the_published_one() -> None:
    """Deaths and person-years of users of clozapine (Rothman, Epidemiology, 2012, ch. 10): the ratio is 0.47."""
    cells = [("now", "young", 196, 62119), ("past", "young", 111, 15763), ("now", "old", 167, 6085),
             ("past", "old", 157, 2780)]  # fmt: skip
    names = ("by", "age", "n", "years")
    values = [tuple(dict.fromkeys(map(str, column))) for column in zip(*reversed(cells), strict=True)]
    schema = Schema(dict(zip(names, values, strict=True)))
    rows = [{"by": by, "age": age, "n": str(n), "years": str(years)} for by, age, n, years in cells]
    task = asked("rates", schema, target="n", exposure="years", by="by", strata=("age",), exact=True)
    document = task.document(state_of(task, [rows[:2], rows[2:]]))
    value, low, high = numbers(document, "common rate ratio")
    r = 196 * 15763 / 77882 + 167 * 2780 / 8865
    s = 111 * 62119 / 77882 + 157 * 6085 / 8865
    variance = (307 * 62119 * 15763 / 77882**2 + 324 * 6085 * 2780 / 8865**2) / (r * s)
    assert value == pytest.approx(r / s, rel=1e-8)
    assert round(value, 2) == 0.47
    assert np.log([low, high]) == pytest.approx(
        np.log(r / s) + np.array([-1, 1]) * 1.959963984540054 * variance**0.5, abs=1e-8
    )


def test_means_are_those_of_statsmodels() -> None:
    document, rows = found("difference")
    x, y = (DescrStatsW(rows["pressure"][rows["arm"] == g]) for g in (1, 0))
    means = CompareMeans(x, y)
    assert numbers(document, "difference") == pytest.approx([x.mean - y.mean, *means.zconfint_diff(usevar="unequal")])
    (line,) = [line for line in document["numbers"] if line["of"] == "difference"]
    assert line["p"] == pytest.approx(means.ztest_ind(usevar="unequal")[1], rel=1e-5)
    size, variance = effectsize_smd(x.mean, x.std_ddof(1), x.nobs, y.mean, y.std_ddof(1), y.nobs)
    spread = 1.959963984540054 * variance**0.5
    assert numbers(document, "Hedges' g") == pytest.approx([size, size - spread, size + spread], abs=1e-6)
    assert numbers(document, "mean in drug")[0] == pytest.approx(x.mean, rel=1e-9)


def truth(name: str) -> dict[str, float]:
    """Estimates of a large table."""
    return {line["of"]: line["value"] for line in covering(name, 1_000_000, 99, exact=True)["numbers"]}


def covering(name: str, rows: int, seed: int, **more: Any) -> dict[str, Any]:
    """The document of drawn rows, with samples of the noise's law in the sums."""
    task = asked(name, SCHEMA, **{**ASKED[name], "max_rows": rows, **more})
    assert isinstance(task, Comparison)
    columns, rng = drawn(rows, seed), np.random.default_rng(seed)
    if name == "risks":
        measures = np.array([1 - columns["died"], columns["died"]])
    elif name == "rates":
        measures = np.array([columns["visits"], 2 * columns["years"]])
    else:
        above = (columns["pressure"] - 90) * 2
        measures = np.array([(180 - above) ** 2, 2 * above * (180 - above), above**2])
    cell = columns["arm"] if name == "difference" else 4 * columns["age"] + 2 * columns["sex"] + columns["arm"]
    totals = np.array([np.bincount(cell, measure) for measure in measures]).ravel()
    noise: list[Any] = []
    for part in task.query.parts:
        if part.noise is None:
            noise.append(np.zeros(part.numbers))
            continue
        share = 1 - np.exp(-1 / float(part.noise.scale))
        noise.append(rng.geometric(share, part.numbers) - rng.geometric(share, part.numbers))
    return task.document(np.rint(totals + np.concatenate(noise)).astype(np.int64).tolist())


@pytest.mark.parametrize("name", sorted(ASKED))
def test_intervals_cover_with_noise(name: str) -> None:
    """60 tables of 3,000 rows, with half of the noise of the sample; 400 such tables cover 94.2 to 96.8 %."""
    known, inside = truth(name), dict.fromkeys(truth(name), 0)
    runs = 60
    for seed in range(runs):
        for line in covering(name, 3000, seed, epsilon=EPSILON)["numbers"]:
            inside[line["of"]] += line["low"] <= known[line["of"]] <= line["high"]
    assert {of: share for of, share in inside.items() if 100 * share / runs < 87} == {}


def test_a_stratum_with_too_few_rows_is_left_out_and_named() -> None:
    task = asked("risks", SCHEMA, **ASKED["risks"], epsilon=1.0)
    rows = [200, 100, 200, 150] * 3 + [3, 1, 2, 0]
    state = np.array(rows).reshape(4, 2, 2).transpose(1, 0, 2).ravel().tolist()
    document = task.document(state)
    assert document["left_out"] == [{"age": "old", "sex": "m"}]
    text = type(task).text(document, 0)
    assert "strata with too few rows for the noise are left out: age = old, sex = m" in text
    assert "intervals count the sample and the noise" in text
    few = task.document([1] * 16)
    assert {line["value"] for line in few["numbers"]} == {None}
    assert few["test"] is None
    assert "an estimate without value has too few rows" in type(task).text(few, 0)


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("risks", {"by": "pressure"}, "by: two groups are compared, not 181"),
        ("risks", {"strata": ("died",)}, "by: the groups, strata and numbers are different columns; name 'died' once"),
        ("risks", {"strata": ("height",)}, "strata: 'height' is not an attribute"),
        ("risks", {"strata": ("pressure", "years")}, "strata: they are 1,267, at most 500"),
        ("risks", {"target": "years"}, "target: 'years' has 7 values"),
        ("rates", {"target": "years", "exposure": "visits"}, "target: numbers of events are 0, 1, 2"),
        ("rates", {"target": "sex", "strata": None}, "target: a rate needs bounds"),
        ("difference", {"column": "sex"}, "column: a mean needs bounds"),
        ("difference", {"by": None}, "--by is missing"),
    ],
)
def test_refusals(name: str, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        asked(name, SCHEMA, **{**ASKED[name], **settings})


@pytest.mark.parametrize("name", sorted(ASKED))
@pytest.mark.parametrize("exact", [True, False])
def test_figures_are_drawn_and_written(name: str, exact: bool) -> None:
    """Each with its interval; one without a value is an empty cell, and no bar."""
    lines = texts(drawn(300))
    task = asked(name, SCHEMA, **{**ASKED[name], "max_rows": 400, **({"exact": True} if exact else {"epsilon": 0.1})})
    document = task.document(state_of(task, [lines[::2], lines[1::2]]))
    picture, table = svg_of(type(task).files(), document), task.table(document).splitlines()
    assert picture is not None
    assert "arm = drug beside placebo" in picture
    assert table[0].startswith("of,value,error,low,high")
    assert len(table) == 1 + len(document["numbers"])
    for line, cells in zip(document["numbers"], table[1:], strict=True):
        assert cells.startswith(f"{line['of']},{'' if line['value'] is None else line['value']},")
        assert (f">{line['of']}<" in picture) == (line["value"] is not None)
    assert any(line["value"] is None for line in document["numbers"]) != exact or name == "difference"
