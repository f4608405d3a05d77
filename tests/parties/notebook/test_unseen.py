"""Models judged on rows that they have not seen: by default, for every kind that holds rows out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as statsmodels
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error, r2_score, roc_auc_score

from parties.jobs import kinds
from parties.jobs.release.effects.kind import Effects
from parties.jobs.release.noise import Noise
from parties.models.load import load_model
from parties.notebook import JointEvaluation, JointID3Classifier, coded
from parties.notebook.questions import study
from parties.tables import categories
from parties.tables.categories import spell
from parties.tables.schema import Schema
from parties.tables.split import Part, Split
from parties.tables.types import Domain, IntegerType, RealType
from protocols.release.scoring import Scoring
from smc.errors import InputError
from tests.support.questions import Known

pandas = pytest.importorskip("pandas")

COLUMNS = ("first", "second", "third")
SCHEMA = Schema({**dict.fromkeys(COLUMNS, ("u", "v", "w")), "ill": ("no", "yes")}, "ill")
DRAW = np.random.default_rng(5)
FRAME = pandas.DataFrame(DRAW.choice(["u", "v", "w"], (400, 3)), columns=COLUMNS)
FRAME["ill"] = np.where((FRAME["first"] == "u") ^ (DRAW.random(400) < 0.2), "yes", "no")
OUT = Part(Split(0.3, ("first", "ill", "second", "third")), True).has(
    [FRAME[name].tolist() for name in ("first", "ill", "second", "third")]
)
TRAINERS = [name for name in kinds.names() if "held_out" in kinds.find(name).Settings.model_fields]
TRAINERS.remove("regress poisson")  # a model of numbers, below
SETTINGS: dict[str, dict[str, Any]] = {
    "id3": {"k": 1}, "forest": {"trees": 3}, "boost": {"exact": True, "rounds": 4, "min_child_weight": 1.0},
    "regress joint": {"steps": 3, "epsilon": 16.0, "columns": COLUMNS},
    "regress logistic": {"epsilon": 16.0, "columns": COLUMNS, "target": "ill", "max_rows": 400},
}  # fmt: skip
NAMES = {"regress poisson": ("sex", "age", "years"), "regress joint": ("sex", "age")}  # columns of models of numbers
DRAWN = ("forest", "regress joint", "regress logistic")  # models that are not the same twice


def columns_of(rows: Any, names: Any) -> list[categories.Column]:
    return categories.frame_columns(categories.select(categories.named_frame(rows), names), names, names)


def trained(name: str, rows: Any, **more: Any) -> dict[str, Any]:
    """The content of the file of a model of this kind."""
    kind: Any = kinds.find(name)
    settings = kind.Settings.model_validate({**SETTINGS.get(name, {"exact": True}), **more})
    task = kind.canonical(settings, SCHEMA)
    order = [name for name in task.columns if name != task.target]
    columns = columns_of(rows, (*order, task.target))
    state, _ = coded.learnt(task, coded.counted(task, columns), None)
    document: dict[str, Any] = task.document(state)
    return document


def judged(path: Path, document: dict[str, Any], **settings: Any) -> JointEvaluation:
    path.write_text(json.dumps(document))
    return JointEvaluation(SCHEMA, model=path, exact=True, **settings).fit(FRAME)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, and regressions whose errors count none."""
    monkeypatch.setattr(Noise, "law", lambda self, numbers: Known(0))
    monkeypatch.setattr(Effects, "scoring", property(lambda self: Scoring(self.likelihood, 3.0)))


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("name", TRAINERS)
def test_each_model_is_judged_on_rows_that_it_has_not_seen(tmp_path: Path, name: str) -> None:
    out = np.array(OUT)
    document = trained(name, FRAME, held_out=0.3)
    assert document.pop("split") == {"held_out": 0.3, "columns": ["first", "ill", "second", "third"]}
    without = trained(name, FRAME[~out])
    if name not in DRAWN:
        assert document == without
    known = judged(
        tmp_path / "m.json", {**document, "split": {"held_out": 0.3, "columns": ["first", "ill", "second", "third"]}}
    )
    rows = known.document_["rows"]
    assert rows == {"negative": (FRAME.ill[out] == "no").sum(), "positive": (FRAME.ill[out] == "yes").sum()}
    assert known.headline_ is not None
    assert known.headline_.startswith("judged on rows that the model has not seen: the 30% of rows")


def test_rows_of_the_training_are_admitted_in_the_headline(tmp_path: Path) -> None:
    out, path = np.array(OUT), tmp_path / "m.json"
    document = trained("id3", FRAME, held_out=0.3, plain=True, k=None)
    seen = judged(path, document, judged_on="training")
    assert seen.headline_ == "judged on its own training rows: too good"
    assert sum(seen.document_["rows"].values()) == (~out).sum()
    unseen = judged(path, document)
    labels = {}
    for which, part in (("seen", ~out), ("unseen", out)):
        guesses = JointID3Classifier(SCHEMA, plain=True, held_out=0.3).fit(FRAME).predict(FRAME[part])
        labels[which] = roc_auc_score(FRAME.ill[part] == "yes", guesses == "yes")
    assert (seen.auc_["value"], unseen.auc_["value"]) == pytest.approx((labels["seen"], labels["unseen"]), abs=1e-6)
    assert sum(judged(path, document, judged_on="new").document_["rows"].values()) == 400
    del document["split"]
    assert "may have trained it" in (judged(path, document).headline_ or "")


@pytest.mark.parametrize(
    ("split", "judged_on", "why"),
    [
        (None, "held-out", "judged_on: the model names no rows that were held out"),
        ({"held_out": 0.3}, None, "judged_on: people were held out of training"),
        ({"held_out": 2}, None, "split.held_out: must be a multiple of 0.05 up to 0.5"),
        ({"held_out": 1e-8, "fold": 7, "columns": ["first"]}, None, "so that it names no single row"),
        ({"held_out": 0.95, "columns": ["first"]}, "training", "so that it names no single row"),
        ({"held_out": 0.3, "columns": ["age"]}, None, "'age'"),
    ],
)
def test_what_cannot_be_judged_is_said(tmp_path: Path, split: Any, judged_on: str | None, why: str) -> None:
    document = trained("id3", FRAME) | ({} if split is None else {"split": split})
    with pytest.raises(InputError, match=why):
        judged(tmp_path / "m.json", document, judged_on=judged_on)


def test_noise_is_for_a_row_that_changes_no_other() -> None:
    """Rows that are equal in `first` are numbered; one more of them exchanges others of both values of `second`."""
    seconds = ["a", "b"] * 500
    less, more = (
        Counter(np.array(rows)[Part(Split(0.5, ("first",)), True).has([["x"] * len(rows)])].tolist())
        for rows in (seconds, ["a", *seconds])
    )
    assert sum(abs(less[value] - more[value]) for value in "ab") > 1
    kind: Any = kinds.find("evaluate report")
    model = json.dumps(trained("id3", FRAME, columns=("first",), held_out=0.3))
    with pytest.raises(InputError, match=r"held out by .*, without 'second': noise would not hide a row"):
        kind.canonical(kind.Settings(classifier=model, by="second", epsilon=1.0), SCHEMA)
    for more in (
        {"epsilon": 1.0},
        {"by": "second", "exact": True},
        {"by": "second", "epsilon": 1.0, "judged_on": "new"},
    ):
        kind.canonical(kind.Settings(classifier=model, **more), SCHEMA)


@pytest.mark.parametrize("share", [0.01, 0.31, 0.55])
def test_shares_differ_by_many_rows(share: float) -> None:
    with pytest.raises(ValueError, match="held_out"):
        trained("id3", FRAME, held_out=share)


NUMBERS = Schema(
    {
        "sex": ("f", "m"),
        "years": Domain(RealType(low=0.5, high=2, step=0.5)),
        "age": Domain(IntegerType(low=20, high=80)),
        "visits": Domain(IntegerType(low=0, high=6)),
    }
)
COUNTED = pandas.DataFrame({"sex": DRAW.choice(["f", "m"], 2000), "years": DRAW.integers(1, 5, 2000) / 2})
COUNTED["age"] = DRAW.integers(20, 81, 2000)
COUNTED["visits"] = np.minimum(DRAW.poisson(0.4 * COUNTED.years * np.exp(0.02 * (COUNTED.age - 50))), 6)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("regress poisson", {"columns": ("sex", "age"), "exposure": "years"}),
        ("regress joint", {"method": "ridge", "columns": ("sex", "age"), "numeric": ("age",)}),
    ],
)
def test_a_model_of_numbers_is_judged_on_rows_that_it_has_not_seen(
    tmp_path: Path, name: str, settings: dict[str, Any]
) -> None:
    """The coefficients and errors are those of statsmodels and scikit-learn on the rows of either part."""
    folds = []
    for fold in (1, 4):
        more = {**settings, "target": "visits", "epsilon": 16.0, "max_rows": 2000, "held_out": 0.25, "fold": fold}
        fitted = study(name)(NUMBERS, **more).fit(COUNTED)
        columns = fitted.document_["split"]["columns"]
        out = np.array(Part(Split(0.25, tuple(columns), fold), True).has([[*map(spell, COUNTED[c])] for c in columns]))
        folds.append(out)
        design = np.column_stack([np.ones(2000), COUNTED.sex == "m", COUNTED.age]).astype(float)
        visits, log = COUNTED.visits.to_numpy(), np.log(COUNTED.years)
        if name == "regress poisson":
            family = statsmodels.families.Poisson()
            known = statsmodels.GLM(visits[~out], design[~out], family=family, offset=log[~out]).fit()
            expected = known.predict(design, offset=log)
        else:
            expected = Ridge(0.001).fit(design[~out], visits[~out]).predict(design)
        expected = np.clip(expected, 0, 6)
        (tmp_path / "m.json").write_text(json.dumps(fitted.document_))
        predicted = load_model(tmp_path / "m.json").predict(coded.spelled(columns_of(COUNTED, NAMES[name]), 2000))
        assert np.array(predicted, dtype=float) == pytest.approx(expected, abs=0.01)
        judge = study("evaluate error")(NUMBERS, model=tmp_path / "m.json", exact=True).fit(COUNTED).document_
        assert judge["headline"].startswith("judged on rows that the model has not seen: the 25% of rows")
        assert judge["rows"] == out.sum()
        assert judge["rmse"]["value"] == pytest.approx(mean_squared_error(visits[out], expected[out]) ** 0.5, abs=0.01)
        assert judge["r2"]["value"] == pytest.approx(r2_score(visits[out], expected[out]), abs=0.01)
    assert not (folds[0] & folds[1]).any()


def test_the_noise_of_an_error_is_in_its_interval(tmp_path: Path) -> None:
    """For a model that predicts the mean of the bounds; the exact figures lie within 95 % of the intervals at least."""
    model = {"target": "visits", "least": 0.0, "greatest": 6.0, "intercept": 3.0, "columns": {}}
    (tmp_path / "m.json").write_text(json.dumps(model))
    judged = study("evaluate error")(NUMBERS, model=tmp_path / "m.json", exact=True).fit(COUNTED).document_
    assert judged["rmse"]["value"] == pytest.approx(((COUNTED.visits - 3) ** 2).mean() ** 0.5, rel=1e-9)
    assert judged["r2"]["value"] == pytest.approx(r2_score(COUNTED.visits, np.full(2000, 3)), rel=1e-9)
    inside = []
    for _ in range(20):
        found = study("evaluate error")(NUMBERS, model=tmp_path / "m.json", epsilon=1.0, max_rows=2000).fit(COUNTED)
        for key in ("rmse", "r2"):
            inside.append(found.document_[key]["low"] <= judged[key]["value"] <= found.document_[key]["high"])
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"fold": 2}, "fold needs held_out"),
        ({"held_out": 0.3, "fold": 4}, "fold is at most 3 for this held_out"),
    ],
)
def test_a_fold_is_one_of_those_that_there_are(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        JointID3Classifier(SCHEMA, plain=True, **settings).fit(FRAME)
