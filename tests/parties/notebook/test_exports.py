"""A fitted tree in other forms: text, DOT, SVG, ONNX, and what a notebook shows."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from parties.notebook.estimator import JointID3Classifier
from parties.notebook.exports import export_dot, export_onnx, export_svg, export_text
from parties.tables.example import demo
from smc.errors import InputError
from tests.support.onnx_runs import run

DEMO = demo()
WEATHER = pd.concat([pd.read_csv(DEMO.clinic_a), pd.read_csv(DEMO.clinic_b)], ignore_index=True)


def test_onnx_of_a_fitted_classifier(tmp_path: Path) -> None:
    classifier = JointID3Classifier(DEMO.schema).fit(WEATHER)
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


def test_text_dot_and_svg() -> None:
    classifier = JointID3Classifier(DEMO.schema).fit(WEATHER)
    assert "├── outlook = overcast: yes\n" in export_text(classifier)
    assert export_dot(classifier).count("->") == 7
    svg = export_svg(classifier)
    assert "Decision tree for play" in svg
    assert classifier._repr_svg_() == svg


@pytest.mark.parametrize("export", [export_text, export_dot, export_svg, export_onnx])
def test_there_is_nothing_to_export_before_fit(export) -> None:
    with pytest.raises(NotFittedError):
        export(JointID3Classifier())


def test_a_notebook_shows_scikit_learns_box_and_then_the_tree() -> None:
    classifier = JointID3Classifier(DEMO.schema)
    before = classifier._repr_mimebundle_()["text/html"]
    assert "<img" not in before
    assert classifier._repr_svg_() is None
    after = classifier.fit(WEATHER)._repr_mimebundle_()["text/html"]
    assert "JointID3Classifier" in before
    assert "JointID3Classifier" in after
    assert len(re.findall(r'<img alt="decision tree" src="data:image/svg\+xml;base64,[A-Za-z0-9+/=]+">', after)) == 1
