"""Exports of a fitted classifier's tree: text, DOT, SVG, and ONNX for programs without smc.

ONNX rather than PMML: its library and its runtime are maintained, run on all usual servers, and read and write text. So
categories are inputs and classes are outputs. The PMML writers for Python need Java, or had no release for years.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from parties.base import files
from parties.models.trees.drawing import draw_svg
from parties.models.trees.onnx import to_onnx
from parties.models.trees.text import to_dot, to_text
from parties.notebook.binning import bin_labels

if TYPE_CHECKING:
    from onnx import ModelProto

    from parties.notebook.estimator import JointID3Classifier


def export_text(classifier: JointID3Classifier) -> str:
    """Return the tree as text, one line for each branch.

    Raises:
        NotFittedError: The classifier has no tree yet.
    """
    return to_text(_fitted(classifier).tree_)


def export_dot(classifier: JointID3Classifier) -> str:
    """Return the tree in Graphviz's DOT language.

    Raises:
        NotFittedError: The classifier has no tree yet.
    """
    tree_file = _fitted(classifier).tree_file_
    return to_dot(tree_file.tree, tree_file.target)


def export_svg(classifier: JointID3Classifier) -> str:
    """Return the tree as an SVG document.

    Raises:
        NotFittedError: The classifier has no tree yet.
    """
    tree_file = _fitted(classifier).tree_file_
    return draw_svg(tree_file.tree, tree_file.target, f"Decision tree for {tree_file.target}")


def export_onnx(classifier: JointID3Classifier, path: Path | str | None = None) -> ModelProto:
    """Return the tree, or trees that vote, as an ONNX model.

    Its input "X" is text[rows, attributes], the columns in the order of `attributes_`. Each cell is spelled as in the
    schema. A column with `bins` takes the number itself (`frame.map(str)`), of which the model finds the bin. Its
    output "label" is text[rows]. A row with a value that the tree has no branch for, where `predict` raises an error,
    gets the empty text.

    Args:
        classifier: A fitted classifier.
        path: File to write the model to. Default: none is written.

    Raises:
        InputError: The onnx library is not installed.
        NotFittedError: The classifier has no tree yet.
    """
    fitted = _fitted(classifier)
    about = {"target": fitted.tree_file_.target, "schema_digest": fitted.tree_file_.schema_digest}
    if fitted.edges_:
        about["bins"] = json.dumps(fitted.edges_)
    bins = {name: (edges, bin_labels(edges)) for name, edges in fitted.edges_.items()}
    model = to_onnx(fitted.tree_file_.trees, fitted.attributes_, about, bins)
    if path is not None:
        files.write_bytes(Path(path), model.SerializeToString())
    return model


def _fitted(classifier: JointID3Classifier) -> JointID3Classifier:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(classifier)
    return classifier
