"""A tree as an ONNX model, in bytes: text goes in, a category each cell, and classes come out."""

from __future__ import annotations

from collections.abc import Mapping

from parties.deployed.columns import Asked
from parties.models.load import AnyModel
from parties.models.trees import onnx
from parties.models.trees.tree import TreeFile
from smc.errors import InputError


def to_onnx(model: AnyModel, asked: Mapping[str, Asked]) -> bytes:
    """Return the model. `InputError` unless it is one tree, of categories as it has them, and onnx is installed."""
    if not isinstance(model, TreeFile) or model.others:
        raise InputError("only a single tree is written as ONNX: take --to sql")
    if any(ask.mapped for ask in asked.values()):
        raise InputError("--to onnx takes categories as the tree has them: leave out --schema and --config")
    about = {"target": model.target, "schema_digest": model.schema_digest}
    return onnx.to_onnx(model.tree, list(asked), about).SerializeToString()
