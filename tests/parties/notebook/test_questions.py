"""Every kind of job is a function of `joint`: alone, and between two notebooks over a link."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks

from parties.jobs import kinds
from parties.jobs.tabular import BySchema
from parties.link.identity import Identity
from parties.link.settings import LinkSettings
from parties.notebook import (
    JointKMeans,
    JointLogisticRegression,
    JointNaiveBayes,
    JointRanking,
    JointRidge,
    JointRules,
    JointScorecard,
    JointSynthesizer,
    joint,
    release,
)
from parties.notebook.questions import study
from parties.tables.schema import Schema
from parties.tables.types import Domain, FlagType, IntegerType
from smc.errors import InputError
from tests.support.ports import free_port

pandas = pytest.importorskip("pandas")

SCHEMA = Schema(
    {
        "arm": ("a", "b"),
        "stage": Domain(IntegerType(low=0, high=3)),
        "age": Domain(IntegerType(low=0, high=15)),
        "score": Domain(IntegerType(low=0, high=1)),
        "ill": Domain(FlagType()),
    },
    "ill",
)
DRAW = np.random.default_rng(4)
FRAME = pandas.DataFrame(
    {
        "arm": DRAW.choice(["a", "b"], 60),
        "stage": DRAW.integers(0, 4, 60),
        "age": DRAW.integers(0, 16, 60),
        "score": DRAW.integers(0, 2, 60),
        "ill": DRAW.choice(["no", "yes"], 60),
    }
)
EXACT = {"exact": True}
MODEL = NamedTemporaryFile("w", suffix=".json")  # noqa: SIM115 - of the age by the arm, for all tests of this file
MODEL.write('{"target": "age", "least": 0, "greatest": 15, "intercept": 7, "columns": {"stage": {"weight": 1, ')
MODEL.write('"middle": 1, "least": 0, "greatest": 3}}}')
MODEL.flush()
ASKED: dict[str, dict[str, Any]] = {
    "align exact": {},
    "align hidden": {},
    "align lookup": {},
    "align fuzzy": {},
    "boost": {"exact": True, "rounds": 1, "depth": 1},
    "circuit": {},
    "classify": {},
    "cluster": {"columns": ["age"], "k": 2, "epsilon": 1.0, "method": "grid"},
    "equality": {},
    "evaluate auc": {"scores": "score", "target": "ill", "at_least": 0.5},
    "evaluate better": {"scores": "score", "than": "age", "target": "ill"},
    "evaluate drift": {"columns": ["arm"]},
    "evaluate report": {"scores": "score", "target": "ill", **EXACT},
    "evaluate error": {"model": MODEL.name, **EXACT},
    "forest": {"trees": 2, "max_depth": 1},
    "id3": {"max_depth": 1},
    "majority": {},
    "millionaires": {},
    "publish joint": {"recode": ["stage"], "k": 3},
    "publish joint-table": {"by": "arm", "epsilon": 1.0},
    "publish lattice": {"recode": ["arm"], "k": 3},
    "quantile": {"column": "age", "at": 0.5, **EXACT},
    "rank": {"columns": ["arm", "stage"]},
    "regress joint": {"columns": ["arm"], "epsilon": 1.0, "steps": 1},
    "regress logistic": {"columns": ["arm"], "target": "ill", "epsilon": 4.0, "steps": 4},
    "regress poisson": {"columns": ["arm"], "target": "stage", "epsilon": 4.0, "steps": 4},
    "release choose": {"column": "stage", "scores": "x: 0=1; y: 1=1", "epsilon": 1.0},
    "release correlation": {"numeric": ["age", "stage"], **EXACT},
    "release count": {"where": "arm = a", **EXACT},
    "release deviation": {"column": "age", **EXACT},
    "release edges": {"numeric": ["age"], "epsilon": 1.0},
    "release histogram": {"by": "stage", **EXACT},
    "release marginals": {"columns": ["arm", "ill"], **EXACT},
    "release mean": {"column": "age", "by": "arm", **EXACT},
    "release median": {"column": "age", "epsilon": 1.0},
    "release naive-bayes": {"columns": ["arm"], **EXACT},
    "release sum": {"column": "age", **EXACT},
    "release table": {"by": ["arm", "ill"], **EXACT},
    "release top": {"column": "stage", "epsilon": 1.0},
    "release risks": {"target": "ill", "by": "arm", "strata": ["stage"], **EXACT},
    "release rates": {"target": "stage", "exposure": "age", "by": "arm", **EXACT},
    "release difference": {"column": "age", "by": "arm", **EXACT},
    "release triangles": {"columns": ["arm", "stage"], **EXACT},
    "rules": {"support": 0.3, "max_length": 2},
    "scorecard": {"columns": ["arm"], **EXACT},
    "survive compare": {"time": "age", "event": "ill", "arm": "arm"},
    "survive cox": {"time": "age", "event": "ill", "columns": ["arm"], "epsilon": 4.0, "steps": 4},
    "survive curve": {"time": "age", "event": "ill", **EXACT},
    "synthesise": {"columns": ["arm", "ill"], "epsilon": 1.0, "delta": 1e-9},
    "test chi2": {"columns": ["arm", "ill"]},
    "test proportions": {"target": "ill", "by": "arm"},
    "test trend": {"target": "ill", "by": "stage"},
    "test welch": {"column": "age", "by": "arm"},
    "variance": {"column": "age", "above": 1.0},
}
OF_ROWS = [name for name in ASKED if issubclass(kinds.find(name), BySchema) and name != "classify"]  # of one schema


def function(name: str) -> Any:
    found = joint
    for word in name.replace("-", "_").split():
        found = getattr(found, word)
    return found


def test_every_kind_is_asked_here() -> None:
    """A new kind needs an example in this file; its function comes by itself."""
    assert set(ASKED) == set(kinds.names())
    assert {"mean", "naive_bayes"} <= set(dir(release))
    with pytest.raises(AttributeError, match="there is no question 'men'"):
        release.men  # noqa: B018


CHECKS = (
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params, estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr, estimator_checks.check_get_params_invariance,
    estimator_checks.check_no_attributes_set_in_init, estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_set_params, estimator_checks.check_mixin_order,
)  # fmt: skip
MODELS = (JointNaiveBayes, JointLogisticRegression, JointRidge, JointScorecard, JointKMeans, JointSynthesizer)


@pytest.mark.parametrize("estimator", [*map(study, OF_ROWS), *MODELS])
def test_scikit_learn_checks_of_parameters(estimator: Any) -> None:
    """The other checks make up data of their own, for which there is no public schema."""
    for check in CHECKS:
        check(estimator.__name__, estimator())


@pytest.mark.parametrize("model", [JointNaiveBayes, JointLogisticRegression, JointScorecard])
def test_classes_keep_the_type_of_y(model: Any) -> None:
    schema = Schema({"arm": ("a", "b"), "ill": ("0", "1")}, "ill")
    ill = np.where((FRAME.arm == "a") ^ (DRAW.random(60) < 0.05), 1, 0)
    whole = pandas.concat([FRAME[["arm"]].assign(ill=ill)] * 20)
    apart = model(schema, epsilon=16.0).fit(whole[["arm"]], whole.ill)
    within = pickle.loads(pickle.dumps(model(schema, epsilon=16.0).fit(whole)))  # noqa: S301 (of our own)
    for found in (apart, within):
        assert found.classes_.tolist() == [0, 1]
        assert found.score(whole, whole.ill) > 0.9
        assert found.predict_proba(whole).sum(axis=1) == pytest.approx(1.0)


def test_numbers_centres_and_rows() -> None:
    schema = Schema({"age": Domain(IntegerType(low=0, high=99)), "kg": Domain(IntegerType(low=0, high=99))}, "kg")
    people = pandas.DataFrame({"age": [1, 2, 90, 91] * 50, "kg": [3, 4, 80, 85] * 50})
    ridge = JointRidge(schema, numeric="age", epsilon=16.0).fit(people)
    assert ridge.score(people, people.kg) > 0.95
    means = JointKMeans(schema, ["age", "kg"], k=2, epsilon=16.0).fit(people)
    first = means.predict(people)
    assert (first[:4] == first[0]).tolist() == [True, True, False, False]
    rows = JointSynthesizer(SCHEMA, columns=["arm", "ill"], epsilon=1.0, delta=1e-9).fit(FRAME).sample_
    assert set(rows) == {"arm", "ill"}
    with pytest.raises(InputError, match="at_most: a frame does not name its people"):
        release.count(FRAME, epsilon=1.0, schema=SCHEMA, at_most=2)


def test_own_rows_give_a_schema_if_asked() -> None:
    """For a trial alone; with a peer it is refused, and never taken in silence."""
    people = pandas.DataFrame(
        {"age": [1.25, 2.5, None, 91.0] * 50, "kg": [3, 4, 80, 300] * 50, "ill": [0, 0, 1, 1] * 50}
    )
    apart = JointNaiveBayes("own rows", exact=True).fit(people[["age", "kg"]], people.ill)
    within = JointNaiveBayes("own rows", exact=True, target="ill").fit(people)
    assert apart.predict(people[["age", "kg"]]).tolist() == within.predict(people).tolist() == people.ill.tolist()
    assert apart.schema_.attributes["kg"][0] == "under 62"
    assert apart.schema_.attributes["age"][-1] == "?"
    with pytest.raises(InputError, match="X and schema are needed"):
        JointNaiveBayes(exact=True).fit(people)
    with pytest.raises(InputError, match="X and schema are needed"):
        JointNaiveBayes("own rows", exact=True, peer=LinkSettings()).fit(people)
    means = JointKMeans("own rows", columns=["kg"], k=2, exact=True)
    assert means.fit_predict(people).tolist() == means.predict(people).tolist()


def test_output_is_a_frame_if_set() -> None:
    ranking = JointRanking(SCHEMA, "ill", columns=["arm", "stage"]).set_output(transform="pandas").fit(FRAME)
    assert list(ranking.transform(FRAME).columns) == ranking.order_
    rules = (
        JointRules(SCHEMA, support=0.05, confidence=0.5, max_length=2, k=1).set_output(transform="pandas").fit(FRAME)
    )
    assert list(rules.transform(FRAME).columns) == rules.get_feature_names_out().tolist() != []


@pytest.fixture
def ends(identities: dict[str, Identity]) -> list[LinkSettings]:
    address, (a, b) = f"127.0.0.1:{free_port()}", (identities["alice"], identities["bob"])
    return [
        LinkSettings(identity=x.key_path, certificate=x.certificate_path, peer=y.certificate_path, timeout=60.0, **way)
        for x, y, way in ((a, b, {"listen": address}), (b, a, {"connect": address}))
    ]


def both(name: str, ends: list[LinkSettings], *values: dict[str, Any], rows: list[Any] | None = None) -> list[Any]:
    with ThreadPoolExecutor() as pool:
        given = [() if rows is None else (own,) for own in rows or (None, None)]
        asked = [
            pool.submit(function(name), *own, peer=end, **ASKED[name], **value)
            for end, own, value in zip(ends, given, values, strict=True)
        ]
        return [one.result() for one in asked]


@pytest.mark.parametrize("name", OF_ROWS)
def test_two_notebooks_ask_each_question(name: str, ends: list[LinkSettings]) -> None:
    more = {"schema": SCHEMA, "max_rows": 60}
    a, b = both(name, ends, more, more, rows=[FRAME[:30], FRAME[30:]])
    assert a.document_ == b.document_
    assert " both ways" in repr(a)
    assert a.text_.endswith("\n")
    again = pickle.loads(pickle.dumps(clone(a)))  # noqa: S301 (of our own)
    assert {**again.get_params(), "peer": None} == {**a.get_params(), "peer": None} or again.peer == a.peer
    assert type(again) is study(name)
    if a.document_.get("exact") and a.kind.runs_alone:
        assert function(name)(FRAME, **more, **ASKED[name]).document_ == a.document_


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("equality", [{"value": 7}, {"value": 7}], True),
        ("millionaires", [{"value": 7}, {"value": 9}], None),
        ("majority", [{"counts": "3,4", "classes": ["x", "y"]}, {"counts": "3,1", "classes": ["x", "y"]}], "x"),
    ],
)
def test_numbers_are_compared(name: str, values: list[Any], result: Any, ends: list[LinkSettings]) -> None:
    a, b = both(name, ends, *values)
    assert a == b
    assert result is None or a["result"] == result
    with pytest.raises(InputError, match="peer: is missing"):
        function(name)(peer=None, **values[0])
