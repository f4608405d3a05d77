"""A fitted tree in other forms: text, DOT, SVG, ONNX, and what a notebook shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
import pytest
from onnx.reference import ReferenceEvaluator
from sklearn.exceptions import NotFittedError

from parties.notebook.estimator import JointID3Classifier
from parties.notebook.exports import export_dot, export_onnx, export_svg, export_text
from parties.tables.example import demo
from smc.errors import InputError
from tests.support.onnx_runs import run

DEMO = demo()
WEATHER = pd.concat([pd.read_csv(DEMO.clinic_a), pd.read_csv(DEMO.clinic_b)], ignore_index=True)


def test_onnx_of_a_fitted_classifier(tmp_path: Path) -> None:
    classifier = JointID3Classifier(DEMO.schema, plain=True).fit(WEATHER)
    model = export_onnx(classifier, tmp_path / "tree.onnx")
    assert onnx.load(tmp_path / "tree.onnx") == model
    cells = WEATHER[list(classifier.attributes_)].to_numpy(dtype=object)
    assert run(model, cells) == classifier.predict(WEATHER).tolist()
    properties = {entry.key: entry.value for entry in model.metadata_props}
    assert properties["target"] == "play"
    assert properties["attributes"].splitlines() == list(classifier.attributes_)
    assert properties["schema_digest"] == classifier.tree_file_.schema_digest
    with pytest.raises(InputError, match="cannot write"):
        export_onnx(classifier, tmp_path / "nowhere" / "tree.onnx")


@pytest.mark.parametrize("bins", [{"age": [0.1, 40, 65], "weight": [70.5]}, 7], ids=["edges", "alone"])
def test_onnx_takes_the_numbers_that_are_binned(bins: object) -> None:
    rng = np.random.default_rng(5)
    age, weight = rng.uniform(-90, 90, 300), rng.normal(70, 20, 300)
    age[:4], age[rng.integers(4, 300, 30)] = [0.1, np.nextafter(0.1, 0), 40, 65], np.nan  # on an edge, next to it
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 300), "weight": weight})
    classes = np.where(np.nan_to_num(age, nan=50) * weight > 3000, "b", "a")
    classifier = JointID3Classifier(bins=bins, plain=True).fit(frame, classes)  # type: ignore[arg-type]
    model = export_onnx(classifier)
    cells = frame.map(str).to_numpy(dtype=object)
    expected = classifier.predict(frame).tolist()
    assert run(model, cells) == expected
    cells[cells == "nan"] = "?"
    assert run(model, cells) == expected
    (labels,) = ReferenceEvaluator(model).run(["label"], {"X": cells[:50]})
    assert labels.tolist() == expected[:50]
    properties = {entry.key: entry.value for entry in model.metadata_props}
    assert {name: tuple(edges) for name, edges in json.loads(properties["bins"]).items()} == classifier.edges_


def test_a_bin_that_the_tree_never_saw_is_the_empty_text() -> None:
    frame = pd.DataFrame({"age": [10.0, 50.0]})
    classifier = JointID3Classifier(bins={"age": [30]}, plain=True).fit(frame, ["young", "old"])
    cells = np.array([["12"], ["1e3"], ["-7.5"], ["?"]], dtype=object)
    assert run(export_onnx(classifier), cells) == ["young", "old", "young", ""]


def test_text_dot_and_svg() -> None:
    classifier = JointID3Classifier(DEMO.schema, plain=True).fit(WEATHER)
    assert "├── outlook = overcast: yes\n" in export_text(classifier)
    assert export_dot(classifier).count("->") == 7
    svg = export_svg(classifier)
    assert "Decision tree for play" in svg
    assert classifier._repr_svg_() == svg


@pytest.mark.parametrize("export", [export_text, export_dot, export_svg, export_onnx])
def test_there_is_nothing_to_export_before_fit(export) -> None:
    with pytest.raises(NotFittedError):
        export(JointID3Classifier(plain=True))


def test_a_notebook_shows_scikit_learns_box_and_then_the_tree() -> None:
    classifier = JointID3Classifier(DEMO.schema, plain=True)
    before = classifier._repr_mimebundle_()["text/html"]
    assert "<img" not in before
    assert classifier._repr_svg_() is None
    after = classifier.fit(WEATHER)._repr_mimebundle_()["text/html"]
    assert "JointID3Classifier" in before
    assert "JointID3Classifier" in after
    assert len(re.findall(r'<img alt="decision tree" src="data:image/svg\+xml;base64,[A-Za-z0-9+/=]+">', after)) == 1
