"""Trees applied to rows, and how good the predictions are."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from parties.commands import alone
from parties.models.trees import prediction
from parties.models.trees.prediction import Predicted, calibration, predict, score
from parties.models.trees.tree import Leaf, TreeFile
from parties.sources.delimited import csv_columns as columns
from smc.errors import InputError
from tests.support.trees import TENNIS, domains, random_tree, rows_of, write


@pytest.mark.parametrize("piece", [1, prediction.PIECE])
def test_predictions_follow_the_branches(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "PIECE", piece)
    path = write(
        tmp_path,
        "id,wind,outlook,humidity,play\n1,weak,rain,,yes\n2,strong,rain,high,yes\n3,?,sunny,high,no\n"
        "4,,overcast,odd,?\n5,weak,sunny, normal ,yes\n",
        "rows.csv",
    )
    rows = columns(path)
    predicted = predict(TENNIS, rows)
    assert predicted == ["yes", "no", "no", "yes", "yes"]
    score = prediction.score(predicted, rows.values["play"])
    assert (score.rows, score.correct, score.accuracy) == (4, 3, 0.75)
    assert score.confusion == {"no": {"no": 1, "yes": 0}, "yes": {"no": 1, "yes": 2}}


@pytest.mark.parametrize("piece", [1, prediction.PIECE])
def test_predictions_name_what_is_wrong_with_a_row(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "PIECE", piece)
    path = write(tmp_path, "outlook,humidity,wind\nrain,high,weak\n\nsunny,hihg,weak\n", "rows.csv")
    with pytest.raises(InputError) as caught:
        predict(TENNIS, columns(path))
    assert str(caught.value) == (
        f"{path}, line 4, column 'humidity': the tree has no branch for 'hihg' (did you mean 'high'?); "
        "known: 'high', 'normal'"
    )
    TreeFile("0" * 64, "play", 0.1, TENNIS).dump(tmp_path / "tree.json")
    said = CliRunner().invoke(alone.predict, ["--tree", str(tmp_path / "tree.json"), "--data", str(path)]).exception
    assert str(said) == f"{caught.value}; if the rows are as raw as a table's, give its --config"
    with pytest.raises(InputError, match="the header lacks the column 'wind'"):
        predict(TENNIS, rows_of(outlook=[], humidity=[]))
    assert predict(TENNIS, rows_of(outlook=[], humidity=[], wind=[])) == []


def test_trees_vote_and_the_first_decides_between_equals() -> None:
    rows = rows_of(outlook=["sunny", "overcast"], humidity=["high", "high"], wind=["weak", "weak"])
    assert predict(TENNIS, rows) == ["no", "yes"]
    assert prediction.vote([TENNIS, Leaf("no"), Leaf("no")], rows) == ["no", "no"]
    assert prediction.vote([TENNIS, Leaf("no"), Leaf("yes")], rows) == ["no", "yes"]
    assert prediction.vote([Leaf("b"), Leaf("a")], rows) == ["b", "b"]
    assert prediction.vote([Leaf("b"), Leaf("a"), Leaf("a")], rows) == ["a", "a"]
    assert prediction.vote([TENNIS], rows_of(outlook=[], humidity=[], wind=[])) == []


def test_scores_at_the_edges() -> None:
    assert prediction.score([], []).accuracy is None
    assert prediction.score(["a"], ["?"]).accuracy is None
    unknown_is_a_class = prediction.score(["?", "a"], ["?", "?"])
    assert (unknown_is_a_class.rows, unknown_is_a_class.accuracy) == (2, 0.5)
    assert prediction.score(["b"], ["a"]).confusion == {"a": {"a": 0, "b": 1}, "b": {"a": 0, "b": 0}}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=30))
def test_confusion_counts_every_row_once(pairs: list[tuple[str, str]]) -> None:
    score = prediction.score([p for p, _ in pairs], [a for _, a in pairs])
    assert sum(sum(row.values()) for row in score.confusion.values()) == score.rows == len(pairs)
    assert sum(score.confusion[c][c] for c in score.confusion) == score.correct == sum(p == a for p, a in pairs)


def test_calibration_tells_how_often_each_prediction_is_right() -> None:
    groups = prediction.calibration(["a", "b", "a", "a", "b"], ["a", "a", "b", "?", "b"])
    assert [(group.label, group.rows, group.right) for group in groups] == [("a", 2, 1), ("b", 2, 1)]
    assert groups[0].fields() == {"predicted": "a", "rows": 2, "right": 1, "share": 0.5}
    assert prediction.calibration(["a"], ["?"]) == []


@given(st.lists(st.tuples(st.integers(-8, 8), st.booleans()), min_size=1, max_size=60))
def test_parts_by_score_hold_every_row_once_in_order(rows: list[tuple[int, bool]]) -> None:
    scores = [float(score) for score, _ in rows]
    predicted = ["yes" if score > 0 else "no" for score in scores]
    actual = ["yes" if is_yes else "no" for _, is_yes in rows]
    groups = prediction.calibration(predicted, actual, scores)
    for label in ("no", "yes"):
        parts = [group for group in groups if group.label == label]
        assert len(parts) <= prediction.PARTS
        reaches = [group.scores for group in parts if group.scores is not None]
        assert all(before[1] < after[0] for before, after in pairwise(reaches))
        for part, (least, greatest) in zip(parts, reaches, strict=True):
            known = zip(scores, predicted, actual, strict=True)
            inside = [true for score, said, true in known if said == label and least <= score <= greatest]
            assert (part.rows, part.right) == (len(inside), inside.count(label))
    assert sum(group.rows for group in groups) == len(rows)


def test_the_most_frequent_class_beside_the_accuracy() -> None:
    scored = prediction.score(["no", "no", "yes", "no"], ["no", "no", "yes", "yes"])
    assert (scored.accuracy, scored.majority) == (0.75, 0.5)
    assert prediction.score([], []).majority is None


@pytest.mark.parametrize("is_class", [False, True])
def test_accuracy_by_columns_is_that_of_pairs(is_class: bool) -> None:
    """Beside a count of pairs, and the ranks of scores, row by row; scores tie, and some classes are missing."""
    draw = np.random.default_rng(5)
    actual = draw.choice(["a", "b", "?", "never"], 500).tolist()
    predicted = draw.choice(["a", "b", "c", *(["?"] if is_class else [])], 500).tolist()
    scores = draw.integers(0, 9, 500).astype(float).tolist()
    kept = [row for row in range(500) if is_class or actual[row] != "?"]
    found = score(predicted, actual)
    assert found.rows == len(kept)
    for a, counts in found.confusion.items():
        for p, number in counts.items():
            assert number == sum((actual[row], predicted[row]) == (a, p) for row in kept)
    for known in (None, scores):
        groups = []
        for label in sorted({predicted[row] for row in kept}):
            rows = [row for row in kept if predicted[row] == label]
            below = {row: sum(scores[other] < scores[row] for other in rows) * 5 // len(rows) for row in rows}
            for part in [None] if known is None else sorted(set(below.values())):
                some = [row for row in rows if part in (None, below[row])]
                reach = None if known is None else (min(scores[r] for r in some), max(scores[r] for r in some))
                groups.append(Predicted(label, len(some), sum(actual[row] == label for row in some), reach))
        assert calibration(predicted, actual, known) == groups


@pytest.mark.parametrize("number", [1, 2, 7])
def test_votes_are_those_of_each_row(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a count of the trees' classes row by row, in which the first of equals occurred first."""
    monkeypatch.setattr(prediction, "PIECE", 7)
    draw, values = np.random.default_rng(number), domains(4)
    trees = [random_tree(draw, values, ["a", "b", "c"], 3) for _ in range(number)]
    rows = rows_of(**{name: draw.choice(of, 40).tolist() for name, of in values.items()})
    ballots = zip(*(predict(tree, rows) for tree in trees), strict=True)
    assert prediction.vote(trees, rows) == [Counter(votes).most_common(1)[0][0] for votes in ballots]
