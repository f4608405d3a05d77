"""Cross-validation: the folds' scores are scikit-learn's, the epsilons add up, and two parties see equal frames."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error, roc_auc_score

from parties.jobs.release.noise import Noise
from parties.link.identity import Identity
from parties.link.settings import LinkSettings
from parties.notebook import (
    JointForestClassifier,
    JointID3Classifier,
    JointNaiveBayes,
    JointRidge,
    joint_cross_validate,
)
from parties.notebook.questions import study
from parties.tables.categories import spell
from parties.tables.schema import Schema
from parties.tables.split import Part, Split
from parties.tables.types import Domain, IntegerType
from smc.errors import InputError
from tests.support.ports import free_port
from tests.support.questions import Known

pandas = pytest.importorskip("pandas")

SCHEMA = Schema({"arm": ("a", "b"), "stage": ("1", "2", "3"), "ill": ("no", "yes")}, "ill")
DRAW = np.random.default_rng(7)
FRAME = pandas.DataFrame({"arm": DRAW.choice(["a", "b"], 600), "stage": DRAW.choice(["1", "2", "3"], 600)})
FRAME["ill"] = np.where(DRAW.random(600) < 0.2 * FRAME.stage.astype(int) + 0.2 * (FRAME.arm == "a"), "yes", "no")
NUMBERS = Schema({"age": Domain(IntegerType(low=0, high=80)), "kg": Domain(IntegerType(low=0, high=99))}, "kg")
WEIGHED = pandas.DataFrame({"age": DRAW.integers(0, 81, 400)})
WEIGHED["kg"] = np.clip(WEIGHED.age + DRAW.integers(-9, 10, 400), 0, 99)


def out_of(fold: int, share: float, frame: Any) -> np.ndarray:
    names = tuple(sorted(frame))
    return np.array(Part(Split(share, names, fold), True).has([[*map(spell, frame[name])] for name in names]))


def test_each_fold_is_judged_on_rows_that_it_has_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noise, "law", lambda self, numbers: Known(0))
    scores = joint_cross_validate(JointNaiveBayes(SCHEMA, max_rows=600), FRAME, epsilon=2, folds=5)
    assert scores.fold.tolist() == [1, 2, 3, 4, 5]
    assert scores.epsilon.tolist() == [1.25] * 5  # four trainings of 0.25 and one judgement of 1 make 2
    parts = [out_of(fold, 0.2, FRAME) for fold in scores.fold]
    assert (np.sum(parts, axis=0) == 1).all()
    for out, auc in zip(parts, scores.auc, strict=True):
        model = JointNaiveBayes(SCHEMA, exact=True).fit(FRAME[~out])
        bins = np.floor(20 * model.predict_proba(FRAME[out])[:, 1])
        assert auc == pytest.approx(roc_auc_score(FRAME.ill[out] == "yes", bins), abs=1e-6)
    ridge = JointRidge(NUMBERS, numeric="age", max_rows=400)
    errors = joint_cross_validate(ridge, WEIGHED, epsilon=2, folds=2, judging=0.25)
    assert errors.epsilon.tolist() == [2.0, 2.0]
    for fold in (1, 2):
        out = out_of(fold, 0.5, WEIGHED)
        line = np.polyfit(WEIGHED.age[~out], WEIGHED.kg[~out], 1)
        expected = mean_squared_error(WEIGHED.kg[out], np.polyval(line, WEIGHED.age[out])) ** 0.5
        assert errors.rmse[fold - 1] == pytest.approx(expected, abs=0.02)


def test_two_parties_see_equal_scores(identities: dict[str, Identity]) -> None:
    address, (a, b) = f"127.0.0.1:{free_port()}", (identities["alice"], identities["bob"])
    ends = [
        LinkSettings(identity=x.key_path, certificate=x.certificate_path, peer=y.certificate_path, timeout=60.0, **way)
        for x, y, way in ((a, b, {"listen": address}), (b, a, {"connect": address}))
    ]

    def party(end: LinkSettings, rows: Any) -> Any:
        tree = JointID3Classifier(SCHEMA, max_depth=1, max_rows=300, peer=end)
        return joint_cross_validate(tree, rows, epsilon=8, folds=2)

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(party, ends, (FRAME[:300], FRAME[300:]))
    assert one.equals(other)
    assert (one.auc_low <= one.auc).all()
    assert (one.auc > 0.5).all()


def test_a_fold_that_drowns_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noise, "law", lambda self, numbers: Known(0))
    logistic = study("regress logistic")(SCHEMA, target="ill", columns=["arm"], max_rows=600, steps=4)
    scores = joint_cross_validate(logistic, FRAME, epsilon=0.1, folds=2)
    assert scores.reason.str.startswith("the noise is too great").all()
    assert scores.delta.tolist() == [1e-7, 1e-7]


@pytest.mark.parametrize(
    ("estimator", "settings", "why"),
    [
        (JointForestClassifier(SCHEMA), {}, "JointForestClassifier has no epsilon; give"),
        (JointNaiveBayes(SCHEMA), {"folds": 3}, "folds: is one of 2, 4, 5, 10, 20, not 3"),
        (JointNaiveBayes(SCHEMA), {"judging": 1.0}, "judging: is a share between 0 and 1"),
    ],
)
def test_refusals(estimator: Any, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        joint_cross_validate(estimator, FRAME, epsilon=1, **settings)
