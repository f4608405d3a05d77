"""Models judged on both parties' rows, beside scikit-learn on the union: figures, intervals, decisions, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

from parties.jobs.kinds.evaluate.auc import Auc, AucSettings
from parties.jobs.kinds.evaluate.better import Better, BetterSettings
from parties.jobs.kinds.evaluate.drift import Drift, DriftSettings
from parties.jobs.kinds.evaluate.report import Report, ReportSettings
from parties.jobs.release.evaluate import models
from parties.jobs.release.evaluate.figures import Figures, stability
from parties.jobs.release.noise import laplace
from parties.jobs.release.postprocessing import consistent
from parties.jobs.result_files import picture as svg_of
from parties.models.load import columns_of, numbers_of
from parties.tables.schema import Schema
from parties.tables.types import Domain, FlagType, IntegerType, RealType
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import counts, state_of

EDGES = tuple(round(0.1 * i, 1) for i in range(1, 10))
SCHEMA = Schema(
    {
        "score": Domain(RealType(low=0, high=1, edges=EDGES, missing=True)),
        "old": Domain(RealType(low=0, high=1, edges=(0.5,))),
        "age": Domain(IntegerType(low=0, high=9, edges=(5,))),
        "sex": ("m", "f"),
        "sick": Domain(FlagType(missing=True)),
        "year": ("2024", "2025"),
        "logit": Domain(RealType(low=-3, high=8, edges=(0,))),
        "stage": ("1", "2", "3"),
    }
)
LINEAR = {
    "target": "sick",
    "classes": ["no", "yes"],
    "intercept": -1.0,
    "columns": {
        "age": {"weight": 0.5, "middle": 4.0, "least": 0.0, "greatest": 9.0},
        "sex": {"weights": {"m": 0.5, "f": -0.5}},
    },
}
BAYES = {"target": "sick", "classes": {"yes": 9, "no": 5}, "columns": {"sex": {"m": [7, 1], "f": [2, 4]}}}
TREE = {
    "schema_digest": "0" * 64,
    "target": "sick",
    "tolerance": 0.001,
    "tree": {"attribute": "sex", "branches": {"m": {"class": "yes"}, "f": {"class": "no"}}},
}
SPLITS = [
    {"column": "age", "below": 5.0, "then": {"leaf": -0.7}, "otherwise": {"leaf": 1.1}},
    {"column": "sex", "is": "m", "then": {"leaf": 0.4}, "otherwise": {"leaf": -0.4}},
]
ASKED = {"age": {"edges": [3.0, 5.0]}, "sex": {"values": ["m", "f"], "ordered": False}}
BOOSTED = {
    "target": "sick",
    "classes": ["no", "yes"],
    "objective": "logistic",
    "base": 0.25,
    "columns": ASKED,
    "trees": [[tree] for tree in SPLITS],
}
SOFTMAX = {**BOOSTED, "objective": "softmax", "trees": [SPLITS]}
COLUMN = {"target": "sick", "scores": "score", "max_rows": 1000}


def of(kind: Any, settings: Any, schema: Schema = SCHEMA, **fields: Any) -> Any:
    return kind.canonical(settings.model_validate(fields), schema)


def report(schema: Schema = SCHEMA, **more: Any) -> Report:
    fields = {**({} if "classifier" in more else COLUMN), "epsilon": 1.0, "max_rows": 1000, **more}
    if fields.get("exact"):
        del fields["epsilon"]
    return of(Report, ReportSettings, schema, **fields)


def rows_of(number: int, seed: int = 0, schema: Schema = SCHEMA) -> list[dict[str, str]]:
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        row = {name: values[int(random.integers(len(values)))] for name, values in schema.attributes.items()}
        place = int(random.beta(3, 2) * 10) if row["sick"] == "yes" else int(random.beta(2, 3) * 10)
        if row["score"] != "?":
            row["score"] = schema.attributes["score"][place]
        rows.append(row)
    return rows


def known(rows: list[dict[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    meant = [row for row in rows if "?" not in (row["sick"], row["score"])]
    places = [SCHEMA.attributes["score"].index(row["score"]) for row in meant]
    return np.array([row["sick"] == "yes" for row in meant]), np.array(places)


def test_exact_figures_are_scikit_learns() -> None:
    rows = rows_of(300)
    task = report(exact=True, by="year")
    document = task.document(state_of(task, [rows[::2], rows[1::2]], "clear"))
    labels, places = known(rows)
    assert document["auc"]["value"] == pytest.approx(roc_auc_score(labels, places), abs=1e-5)
    assert document["ks"]["value"] == pytest.approx(ks_2samp(places[labels], places[~labels]).statistic, abs=1e-5)
    confusion = document["confusion"]
    assert confusion["from"] == 0.5
    assert confusion["true_positives"]["value"] == int((labels & (places >= 5)).sum())
    assert confusion["accuracy"]["value"] == pytest.approx((labels == (places >= 5)).mean(), abs=1e-5)
    for place, line in enumerate(document["calibration"]):
        assert line["value"] == pytest.approx(labels[places == place].mean(), abs=1e-5)
    for line in document["lift"]:
        there = places >= round(line["from"] * 10)
        assert line["value"] == pytest.approx(labels[there].mean() / labels.mean(), abs=1e-5)
    assert [line["group"] for line in document["stability"]] == ["2025"]
    text = task.text(document, 0)
    assert "area under the ROC curve" in text
    assert svg_of(Report.files(), document).startswith("<?xml")
    assert Report.table(document).count("\n") == 11
    json.dumps(document)


def test_a_report_at_epsilon_1_is_near_and_its_intervals_cover() -> None:
    """10,000 rows, 20 bins, 400 runs: the area of unbinned scores is near, and that of their law in the interval."""
    random, bins = np.random.default_rng(3), 20
    noise = laplace(1, 1, "add-remove").variance  # type: ignore[arg-type]
    chance = 1 - np.exp(-1.0)

    def drawn(rows: int) -> tuple[np.ndarray, np.ndarray]:
        labels = random.random(rows) < 0.3
        return labels, np.where(labels, random.beta(3, 2, rows), random.beta(2, 3, rows))

    def table(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
        cells = np.zeros((2, bins), dtype=np.int64)
        np.add.at(cells, (labels.astype(int), (scores * bins).astype(int)), 1)
        return cells

    truth = Figures(table(*drawn(2_000_000)).astype(float), 0).area()["value"]
    covered, errors = 0, []
    for _ in range(400):
        labels, scores = drawn(10_000)
        cells = table(labels, scores)
        noisy = cells + random.geometric(chance, cells.shape) - random.geometric(chance, cells.shape)
        area = Figures(consistent(noisy, 10**6).astype(float), noise).area()
        errors.append(abs(area["value"] - roc_auc_score(labels, scores)))
        covered += area["low"] <= truth <= area["high"]
    assert max(errors) <= 0.01
    assert covered >= 0.92 * 400  # of 0.95, less three standard deviations


def test_intervals_are_those_of_numerical_derivatives() -> None:
    counts_ = np.random.default_rng(4).integers(3, 30, (2, 5)).astype(float)
    edges = np.linspace(0, 1, 6)
    figures = Figures(counts_, 2.0)

    def spread(value: Any) -> float:
        step, variance = 0.1, 0.0
        for cell in np.ndindex(2, 5):
            more, less = counts_.copy(), counts_.copy()
            more[cell] += step
            less[cell] -= step
            slope = (value(Figures(more, 2.0)) - value(Figures(less, 2.0))) / (2 * step)
            variance += (counts_[cell] + 2.0) * slope**2
        return 1.96 * float(np.sqrt(variance))

    for value in (
        lambda f: f.area(), lambda f: f.distance()[0], lambda f: f.lift(edges)[2], lambda f: f.calibration(edges)[1],
        lambda f: f.confusion(2)["precision"], lambda f: f.roc(edges)[3],
    ):  # fmt: skip
        line = value(figures)
        assert line["high"] - line["value"] == pytest.approx(spread(lambda f, v=value: v(f)["value"]), rel=0.03)


def test_groups_alike_are_stable() -> None:
    random = np.random.default_rng(1)
    low = [
        stability(*(np.bincount((random.beta(2, 3, 2000) * 10).astype(int), minlength=10) for _ in range(2)), 1.84)
        for _ in range(50)
    ]
    assert np.mean([line["low"] for line in low]) < 0.001
    assert stability(np.array([90.0, 10.0]), np.array([10.0, 90.0]), 1.84)["low"] > 0.5


@pytest.mark.parametrize("fields", [LINEAR, BAYES, TREE, BOOSTED, SOFTMAX])
def test_a_models_scores_are_counted(fields: dict[str, Any]) -> None:
    """Of each row as the model alone says it."""
    task = report(classifier=json.dumps(fields), exact=True, bins=4)
    schema = task.schema
    rows = [row for row in rows_of(80, schema=SCHEMA) if row["sick"] != "?"]
    for row in rows:
        row["age"] = (
            schema.attributes["age"][3 if row["age"] == "under 5" else 8] if "age" in schema.attributes else "3"
        )
    state = np.array(state_of(task, [rows[:30], rows[30:]], "clear")).reshape(2, 4)
    expected = np.zeros((2, 4), dtype=int)
    for row in rows:
        expected[int(row["sick"] == "yes"), min(3, int(alone(fields, row) * 4))] += 1
    assert state.tolist() == expected.tolist()
    assert task.agreed(task.specification()).specification() == task.specification()


def alone(fields: dict[str, Any], row: dict[str, str]) -> float:
    if fields is TREE:
        return float(row["sex"] == "m")
    if fields is BAYES:
        yes, no = {"m": (8 / 11 * 10, 2 / 7 * 6), "f": (3 / 11 * 10, 5 / 7 * 6)}[row["sex"]]
        return yes / (yes + no)
    if "trees" in fields:
        old, man = 1.1 if float(row["age"]) >= 5 else -0.7, 0.4 if row["sex"] == "m" else -0.4
        margin = man - old if fields is SOFTMAX else 0.25 + old + man
        return float(1 / (1 + np.exp(-margin)))
    score = -1.0 + 0.5 * (float(row["age"]) - 4.0) + {"m": 0.5, "f": -0.5}[row["sex"]]
    return float(1 / (1 + np.exp(-score)))


def test_decisions_are_scikit_learns() -> None:
    rows = rows_of(120, 5)
    labels, places = known(rows)
    area = roc_auc_score(labels, places)
    for least, answer in ((np.floor(area * 1000) / 1000, True), (np.ceil(area * 1000) / 1000, False)):
        task = of(Auc, AucSettings, **COLUMN, at_least=float(least))
        assert task.document(state_of(task, [rows[:50], rows[50:]], "clear"))["answer"] == answer
    better = of(Better, BetterSettings, **COLUMN, than="old")
    assert better.document(state_of(better, [rows, []], "clear"))["answer"]
    worse = of(Better, BetterSettings, **{**COLUMN, "scores": "old"}, than="score")
    assert not worse.document(state_of(worse, [[], rows], "clear"))["answer"]
    assert not of(Auc, AucSettings, **COLUMN, at_least=0.0).document([0])["answer"]
    assert task.disclosure.opened([1]) == {"decision": 1}
    assert not task.disclosure.spends


def test_drift_is_told_by_column() -> None:
    rows = rows_of(200, 6)
    men = [row for row in rows if row["sex"] == "m"]
    women = [row for row in rows if row["sex"] == "f"]
    task = of(Drift, DriftSettings, columns=("sex", "year"), level=0.001, max_rows=1000)
    document = task.document(state_of(task, [men, women], "clear"))
    assert document["differ"] == {"sex": True, "year": False}
    assert "differs" in task.text(document, 1)
    assert task.document(state_of(task, [rows, []], "clear"))["differ"] == {"sex": False, "year": False}
    assert task.disclosure.bits.of_step(None) == 2


def constant() -> list[dict[str, str]]:
    return [{**row, "sick": "no"} for row in rows_of(20)]


@pytest.mark.parametrize("rows", [[], constant()])
def test_a_target_that_does_not_vary_is_told_as_it_is(rows: list[dict[str, str]]) -> None:
    """There is no area: text and picture say so, and no area is large enough."""
    task = report(exact=True, by="year")
    document = task.document(state_of(task, [rows, []], "clear"))
    assert document["auc"] == {"value": None, "low": 0.0, "high": 1.0}
    assert "-" in task.text(document, 0)
    assert svg_of(Report.files(), document)
    enough = of(Auc, AucSettings, **COLUMN, at_least=0.0)
    assert not enough.document(state_of(enough, [rows, []], "clear"))["answer"]


def of_model(fields: dict[str, Any]) -> dict[str, Any]:
    return {"classifier": json.dumps(fields), "scores": None, "target": None}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scores": "logit"}, "scores: 'logit' goes from -3 to 8 in the schema, not from 0 to 1"),
        ({"scores": "sex"}, "scores: an order needs bounds"),
        ({"target": "stage"}, "target: 'stage' has 3 values"),
        ({"target": "sex"}, "target_value: name the value of 'sex' that means yes"),
        ({"target": None}, "target: is missing"),
        ({"scores": None}, "scores: name the column of scores, or give a model"),
        ({"scores": "sick"}, "name each column once"),
        ({"where": "sick = yes"}, "where: must not restrict the target"),
        ({"bins": 300}, "bins"),
        ({"classifier": "[]", "scores": None}, "model: not a tree, linear or naive Bayes model"),
        (of_model({**LINEAR, "target": "flu"}), "model: the model is for another schema: there is no column 'flu'"),
        (of_model({**BAYES, "columns": {"sex": {"m": [7, 1]}}}), "'sex': the model does not know 'f'"),
        (of_model({"target": "sick", "reason": "the noise is too great"}), "it has no coefficients: the noise is too"),
        (of_model({**BAYES, "columns": {"sex": {"m": [7, 1]}}}), "; learn the model on all values of 'sex', or"),
        (of_model({**BAYES, "columns": {"hair": {"m": [7, 1]}}}), "there is no column 'hair'"),
        (of_model({**TREE, "tree": {"attribute": "sex", "branches": {"m": {"class": "yes"}}}}), "no branch for 'f'"),
        (of_model({**BOOSTED, "classes": ["ill", "well"]}), "it has no class 'yes'"),
        (of_model({**BOOSTED, "classes": None, "least": 0, "greatest": 9}), "it predicts numbers; give a model"),
        (of_model({**BOOSTED, "columns": {**ASKED, "sex": {"values": ["m", "x"]}}}), "'sex': the model does not know"),
        (of_model({**BAYES, "classes": {"ill": 9, "well": 5}}), "it has no class 'yes'"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, ValueError)) as error:
        report(**{**COLUMN, **fields})
    assert message in str(error.value)
    if isinstance(error.value, InputError):
        assert "\n" not in str(error.value)


def test_too_many_bins_are_refused() -> None:
    fine = Schema({**SCHEMA.attributes, "score": Domain(RealType(low=0, high=1, step=0.001))})
    with pytest.raises(InputError, match="1001 bins, more than 256"):
        report(fine)


@pytest.mark.parametrize("engine", ["yao", "gmw"])
def test_costs_are_foreseen(engine: str) -> None:
    tasks = (
        of(Auc, AucSettings, **{**COLUMN, "scores": "old"}, at_least=0.5),
        of(Drift, DriftSettings, columns=("sex",), max_rows=50),
    )
    for task in tasks:

        def party(session: Any, task: Any = task) -> Any:
            rows = counts(task, rows_of(5 + 7 * session.party))
            task.run(engine_of(session, Profile(engine)), task.own_rows(rows), None, lambda step: None)
            return session.meter.total

        costs = run_local(party)
        expected = forecast(task.cost(None).program, Profile(engine)).costs
        assert [(c.bytes_sent, c.rounds) for c in costs] == [(c.bytes_sent, c.rounds) for c in expected]


def test_a_model_is_read_as_what_it_is() -> None:
    assert columns_of(models.read(json.dumps(TREE))) == ["sex"]
    assert numbers_of(models.read(json.dumps(LINEAR))) == ("age",)
