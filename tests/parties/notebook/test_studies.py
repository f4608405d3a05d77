"""Survival and judging as estimators: figures against statsmodels and scikit-learn; alone, with a peer, by a node."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.metrics import mutual_info_score, roc_auc_score
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

from parties.notebook import JointEvaluation, JointLogRank, JointQuantile, JointRanking, JointSurvival, JointTest
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType, RealType
from smc.errors import InputError

pandas = pytest.importorskip("pandas")

MONTHS = tuple(str(month) for month in range(12))
SCHEMA = Schema(
    {
        "months": Domain(IntegerType(low=0, high=11)),
        "died": ("no", "yes"),
        "arm": ("a", "b"),
        "score": Domain(RealType(low=0, high=0.99, step=0.01)),
        "ill": ("no", "yes"),
    }
)
DRAW = np.random.default_rng(8)
LATE = DRAW.choice(["a", "b"], 300)
FRAME = pandas.DataFrame(
    {
        "months": np.minimum(11, DRAW.geometric(np.where(LATE == "a", 0.3, 0.12))),
        "died": DRAW.choice(["no", "yes"], 300, p=[0.3, 0.7]),
        "arm": LATE,
        "score": np.round(DRAW.integers(0, 100, 300) / 100, 2),
        "other": "x",
    }
)
FRAME["ill"] = np.where(DRAW.random(300) < FRAME.score, "yes", "no")


def test_a_curve_is_kaplan_meiers(tmp_path: Path) -> None:
    """Every month is a bin, and at the bin's end stands what statsmodels has after its events."""
    found = clone(JointSurvival(SCHEMA, "months", "died", "arm", exact=True)).fit(FRAME)
    for arm, points in found.curves_.items():
        rows = FRAME[FRAME.arm == arm]
        known = SurvfuncRight(rows.months, rows.died == "yes")
        at = dict(zip(known.surv_times.tolist(), known.surv_prob.tolist(), strict=True))
        last = 1.0
        for month, point in enumerate(points):
            last = at.get(month, last)
            assert point["survival"] == pytest.approx(last, abs=1e-5)
    square, _ = survdiff(FRAME.months, FRAME.died == "yes", FRAME.arm)
    assert found.log_rank_["chi_square"] == pytest.approx(square, rel=1e-4)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 (of our own)
    assert again.medians_ == found.medians_
    axes = again.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(found.curves_["a"][-1]["survival"])
    assert (found._repr_svg_() or "").startswith("<?xml")
    noisy = JointSurvival(SCHEMA, "months", "died", "arm", epsilon=1.0).fit(FRAME)
    assert noisy.document_["epsilon"] == 1.0
    assert noisy.curves_ != found.curves_


@pytest.mark.parametrize("level", [0.4, 1e-6])
def test_arms_differ_as_in_statsmodels(level: float) -> None:
    few = FRAME[:120]
    _, p = survdiff(few.months, few.died == "yes", few.arm)
    found = JointLogRank(SCHEMA, "months", "died", "arm", level=level).fit(few)
    assert 1e-6 < p < 0.4
    assert found.differ_ == (p < level)
    assert found._repr_svg_() is None


def test_areas_are_scikit_learns(tmp_path: Path) -> None:
    found = JointEvaluation(SCHEMA, "score", target="ill", exact=True).fit(FRAME)
    assert found.auc_["value"] == pytest.approx(roc_auc_score(FRAME.ill == "yes", FRAME.score), abs=1e-6)
    assert found.roc_
    assert (found._repr_svg_() or "").startswith("<?xml")
    signs = Schema({"arm": ("a", "b"), "ill": ("no", "yes")}, "ill")
    tree = {
        "schema_digest": signs.digest(), "target": "ill", "tolerance": 0.1,
        "tree": {"attribute": "arm", "branches": {"a": {"class": "yes"}, "b": {"class": "no"}}},
    }  # fmt: skip
    (tmp_path / "tree.json").write_text(json.dumps(tree))
    judged = JointEvaluation(signs, model=tmp_path / "tree.json", exact=True).fit(FRAME)
    assert judged.auc_["value"] == pytest.approx(roc_auc_score(FRAME.ill == "yes", FRAME.arm == "a"), abs=1e-6)


def test_verdicts_quantiles_and_orders_are_scipys() -> None:
    table = pandas.crosstab(FRAME.arm, FRAME.ill)
    p = stats.chi2_contingency(table, correction=False).pvalue
    for level in (min(0.5, p * 1.2), p / 1.2):
        found = JointTest(SCHEMA, "chi2", columns=["arm", "ill"], level=level).fit(FRAME)
        assert found.differ_ == (p < level)
    assert JointTest(SCHEMA, "welch", column="months", by="arm").fit(FRAME).differ_
    (median,) = {JointQuantile(SCHEMA, "months", 0.5, exact=True).fit(FRAME).document_["value"]}
    assert median == np.quantile(FRAME.months, 0.5, method="inverted_cdf")
    signs = Schema({"arm": ("a", "b"), "score": SCHEMA.attributes["score"], "ill": ("no", "yes")}, "ill")
    told = clone(JointRanking(signs, "ill", measure="mi", first=1)).fit(FRAME)
    informed = {name: mutual_info_score(FRAME[name].astype(str), FRAME.ill) for name in ("arm", "score")}
    assert told.order_ == [max(informed, key=lambda name: informed[name])]
    assert list(told.transform(FRAME).columns) == told.order_


class Node:
    """A node that answers with a report at once."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.asked: list[dict[str, Any]] = []

    def submit(self, job: dict[str, Any]) -> Any:
        self.asked.append(job)
        return SimpleNamespace(id="7", state="done")

    def result(self, job: str) -> Any:
        return SimpleNamespace(document=self.document)


def test_a_node_is_asked_with_what_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    document = JointLogRank(SCHEMA, "months", "died", "arm").fit(FRAME).document_
    node = Node(document)
    monkeypatch.setattr("parties.notebook.coded.at_node", lambda node, job, deadline: (job, node.result(job.id)))
    found = JointLogRank(None, "months", "died", "arm", level=0.01, peer=node).fit(table="patients", purpose="study")
    assert node.asked == [
        {"protocol": "survive compare", "table": "patients", "purpose": "study", "time": "months", "event": "died",
         "arm": "arm", "level": 0.01}
    ]  # fmt: skip
    assert (found.job_, found.differ_, found.cost_) == ("7", document["differ"], None)
    assert pickle.loads(pickle.dumps(found)).peer is None  # noqa: S301 (of our own)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (JointSurvival(SCHEMA, "months", "died"), "epsilon"),
        (JointSurvival(SCHEMA, "months", "gone", epsilon=1), "'gone'"),
        (JointLogRank(SCHEMA, "months", "died", "arm", level=2.0), "level"),
        (JointEvaluation(SCHEMA, target="ill", epsilon=1), "name the column of scores, or give a model"),
        (JointEvaluation(SCHEMA, model="none.json", target="ill", epsilon=1), "none.json"),
        (JointTest(SCHEMA, "t"), "test: is one of chi2, welch, proportions, trend, not 't'"),
        (JointSurvival(None, "months", "died", epsilon=1), "X and schema are needed"),
    ],
)
def test_what_is_wrong_is_said(made: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        made.fit(FRAME)
