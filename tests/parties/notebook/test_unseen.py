"""Models judged on rows that they have not seen: by default, for every kind that holds rows out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from parties.jobs import kinds
from parties.notebook import JointEvaluation, JointID3Classifier, coded
from parties.tables import categories
from parties.tables.schema import Schema
from parties.tables.split import Part, Split
from smc.errors import InputError

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
SETTINGS = {"id3": {"k": 1}, "forest": {"trees": 3}, "boost": {"exact": True, "rounds": 4, "min_child_weight": 1.0}}


def trained(name: str, rows: Any, **more: Any) -> dict[str, Any]:
    """The content of the file of a model of this kind."""
    kind: Any = kinds.find(name)
    settings = kind.Settings.model_validate({**SETTINGS.get(name, {"exact": True}), **more})
    task = kind.canonical(settings, SCHEMA)
    order = [name for name in task.columns if name != task.target]
    columns = coded.columns_of(categories.named_frame(rows).to_native(), (*order, task.target))
    state = coded.alone(task, coded.counted(task, columns))
    document: dict[str, Any] = task.document(state)
    return document


def judged(path: Path, document: dict[str, Any], **settings: Any) -> JointEvaluation:
    path.write_text(json.dumps(document))
    return JointEvaluation(SCHEMA, model=path, exact=True, **settings).fit(FRAME)


@pytest.mark.parametrize("name", TRAINERS)
def test_each_model_is_judged_on_rows_that_it_has_not_seen(tmp_path: Path, name: str) -> None:
    out = np.array(OUT)
    document = trained(name, FRAME, held_out=0.3)
    assert document.pop("split") == {"held_out": 0.3, "columns": ["first", "ill", "second", "third"]}
    without = trained(name, FRAME[~out])
    if name != "forest":  # whose trees draw their rows anew
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
        ({"held_out": 2}, None, "split.held_out: must be a number between 0 and 1"),
        ({"held_out": 0.3, "columns": ["age"]}, None, "'age'"),
    ],
)
def test_what_cannot_be_judged_is_said(tmp_path: Path, split: Any, judged_on: str | None, why: str) -> None:
    document = trained("id3", FRAME) | ({} if split is None else {"split": split})
    with pytest.raises(InputError, match=why):
        judged(tmp_path / "m.json", document, judged_on=judged_on)


@pytest.mark.parametrize("share", [0.01, 0.31, 0.55])
def test_shares_differ_by_many_rows(share: float) -> None:
    with pytest.raises(ValueError, match="held_out"):
        trained("id3", FRAME, held_out=share)
