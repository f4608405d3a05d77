"""Numbers as categories by public edges, and a clear word where there are none; the tree on one's own axes."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError

from parties.notebook import JointID3Classifier, bin_labels, equal_width
from parties.tables.example import demo
from parties.tables.schema import Schema
from smc.errors import InputError

matplotlib.use("Agg")
RANDOM = np.random.default_rng(5)
AGES = RANDOM.uniform(0, 100, 500)
GRADES = np.where(AGES < 40, "young", "old")
FRAME = pd.DataFrame({"age": AGES, "sex": RANDOM.choice(["m", "f"], 500)})


def test_edges_and_their_labels() -> None:
    assert equal_width(0, 100, 5) == (20, 40, 60, 80)
    assert bin_labels((20, 40.5)) == ("< 20", "20 to 40.5", ">= 40.5")
    for low, high, number in ((0, 100, 1), (1, 1, 4), (2, 1, 4), (0, float("inf"), 4)):
        with pytest.raises(InputError, match="bins"):
            equal_width(low, high, number)


def test_measurements_are_refused_with_a_hint() -> None:
    with pytest.raises(
        InputError, match=r"column 'age': 500 different numbers, .*bins=\{'age': \[\.\.\.\]\}.*public edges"
    ):
        JointID3Classifier(plain=True).fit(FRAME, GRADES)
    agreed = Schema({"age": ("1", "2"), "sex": ("m", "f"), "grade": ("young", "old")}, "grade")
    with pytest.raises(InputError, match="column 'age': 500 different numbers"):
        JointID3Classifier(agreed, plain=True).fit(FRAME, GRADES)
    few = FRAME.assign(age=np.round(AGES, -1))  # fractions by their type, categories by their number
    assert JointID3Classifier(plain=True).fit(few, GRADES).attributes_ == ("age", "sex")


def test_given_edges_make_a_tree_that_reads_numbers() -> None:
    for edges in ([40], equal_width(0, 100, 5)):
        found = JointID3Classifier(bins={"age": edges}, plain=True).fit(FRAME, GRADES)
        assert found.score(FRAME, GRADES) == 1.0
        assert found.tree_.attribute == "age"
        assert tuple(found.tree_.branches) == bin_labels(edges)
    rows = pd.DataFrame({"age": [39.99, 40.0, -5.0, 1e9], "sex": "m"})
    assert found.predict(rows).tolist() == ["young", "old", "young", "old"]


def test_a_schema_lists_the_bins() -> None:
    edges = [20.0, 40.0]
    agreed = Schema({"age": (*bin_labels(edges), "?"), "sex": ("m", "f"), "grade": ("young", "old")}, "grade")
    frame = FRAME.assign(age=np.where(AGES > 95, np.nan, AGES))
    found = JointID3Classifier(agreed, bins={"age": edges}, plain=True).fit(frame, GRADES)
    assert found.score(frame, GRADES) == 1.0
    assert found.schema_ is agreed
    with pytest.raises(InputError, match=r"'(<|>=) 30' is not in the schema"):
        JointID3Classifier(agreed, bins={"age": [30]}, plain=True).fit(frame, GRADES)


def test_a_number_of_bins_is_for_one_alone() -> None:
    found = JointID3Classifier(bins=10, plain=True).fit(FRAME, GRADES)
    assert len(found.tree_.branches) == 10
    assert found.score(FRAME, GRADES) > 0.9
    agreed = Schema({"age": ("1", "2"), "sex": ("m", "f"), "grade": ("young", "old")}, "grade")
    for joint in (
        JointID3Classifier(agreed, bins=10, plain=True),
        JointID3Classifier(peer="party.toml", bins=10, plain=True),
    ):
        with pytest.raises(InputError, match=r"range from your own rows|party\.toml"):
            joint.fit(FRAME, GRADES)


@pytest.mark.parametrize("bins", [0, 1, True, 2.5, {"age": []}, {"age": [2, 1]}, {"age": [1, float("nan")]}])
def test_bins_that_are_none(bins: object) -> None:
    with pytest.raises(InputError, match=r"^bins: "):
        JointID3Classifier(bins=bins, plain=True).fit(FRAME, GRADES)  # type: ignore[arg-type]


def test_text_has_no_bins() -> None:
    with pytest.raises(InputError, match=r"row 0 \(the first is 0\), column 'sex': '[mf]' is not a number"):
        JointID3Classifier(bins={"age": [40], "sex": [1]}, plain=True).fit(FRAME, GRADES)


def test_plot_draws_on_the_axes_that_it_is_given() -> None:
    rows = pd.read_csv(demo().clinic_a)
    found = JointID3Classifier(target="play", plain=True)
    with pytest.raises(NotFittedError):
        found.plot()
    found.fit(rows)
    figure, (left, right) = pyplot.subplots(ncols=2)
    try:
        assert found.plot(right) is right
        assert not left.texts
        figure.canvas.draw()
        texts = [text.get_text() for text in right.texts]
        assert texts.count(found.tree_.attribute) == 1
        assert set(found.tree_.branches) <= set(texts)
        assert {"yes", "no"} <= set(texts)
        assert found.plot().texts
    finally:
        pyplot.close("all")


def test_a_formula_is_text() -> None:
    frame = pd.DataFrame({"a$b$": ["$x", "$y"], "c": ["1", "1"]})
    found = JointID3Classifier(plain=True).fit(frame, ["no", "yes"])
    try:
        axes = found.plot()
        axes.figure.canvas.draw()
        assert r"a\$b\$" in [text.get_text() for text in axes.texts]
    finally:
        pyplot.close("all")
