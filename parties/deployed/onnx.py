"""A model as ONNX, in bytes: the inputs are texts, one category or number a cell; the output is classes or numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parties.deployed.columns import Asked
from parties.models.boosted import BoostedModel
from parties.models.linear import LinearModel, Slope
from parties.models.load import AnyModel, form_of
from parties.models.scored import Scored
from parties.models.trees.onnx import NO_CLASS, Graph, Step
from parties.models.trees.onnx import to_onnx as trees_to_onnx
from parties.models.trees.tree import TreeFile
from smc.errors import InputError

if TYPE_CHECKING:
    from onnx import ModelProto


def to_onnx(model: AnyModel, asked: Mapping[str, Asked]) -> bytes:
    """Return a model in the ONNX format, in bytes.

    Args:
        model: The model.
        asked: Columns of the model, from `columns.asked`.

    Raises:
        InputError: The columns are mapped by a schema or table, or onnx is not installed.
    """
    if any(ask.mapped for ask in asked.values()):
        raise InputError("--to onnx cannot read raw cells; remove --schema and --config")
    metadata = {"target": model.target}
    if isinstance(model, TreeFile):
        made = trees_to_onnx(model.trees, list(asked), metadata | {"schema_digest": model.schema_digest})
    else:
        graph, form = Graph(list(asked)), form_of(model)
        terms = _boosted(graph, form) if isinstance(form, BoostedModel) else _linear(graph, form)
        made = _decided(graph, terms, form, metadata)
    return made.SerializeToString()


# A row's scores are sums of terms float64[rows, terms, scores], NaN for an unknown value.


def _boosted(graph: Graph, model: BoostedModel) -> list[str]:
    width = model.width
    terms = [graph.filled([[model.base] * width], np.float64)]
    indices = {name: index for index, name in enumerate(model.columns)}
    weights: list[float] = []
    trees = [_steps(model, tree, indices, weights) for trees in model.rounds for tree in trees]
    codes = []
    for name, column in model.columns.items():
        if column.edges is not None:
            codes.append(graph.bin(name, column.edges, column.values))
        else:
            codes.append(graph.category(name, list(column.values)))
            terms.append(_looked_up(graph, codes[-1], [[0.0] * width] * len(column.values)))
    if trees:
        leaves = graph.step("Gather", graph.constant(weights, np.float64), graph.leaves(codes, trees))
        terms.append(graph.step("Reshape", leaves, graph.constant([0, len(model.rounds), width])))
    return terms


def _steps(model: BoostedModel, tree: Mapping[str, Any], places: Mapping[str, int], weights: list[float]) -> list[Step]:
    """Return a tree whose leaves are indices into `weights`; its leaf weights are appended to these.

    `places` has the index of each column's feature.
    """
    nodes, steps = [tree], []
    for node in nodes:  # grows during the loop
        if "leaf" in node:
            steps.append(Step(leaf=len(weights)))
            weights.append(node["leaf"])
            continue
        column = model.columns[node["column"]]
        if "is" in node:
            mode, limit = "BRANCH_EQ", float(column.values[node["is"]])
        else:
            mode, limit = "BRANCH_LEQ", column.place(node["below"]) - 0.5
        steps.append(Step(places[node["column"]], limit, mode, 0, len(nodes), len(nodes) + 1))
        nodes += [node["then"], node["otherwise"]]
    return steps


def _linear(graph: Graph, model: Scored) -> list[str]:
    assert isinstance(model, LinearModel)
    terms = [graph.filled([model.intercepts], np.float64)]
    for name, column in model.columns.items():
        if isinstance(column, Slope):
            least, greatest, middle, weight, nothing = (
                graph.constant(number, np.float64)
                for number in (column.least, column.greatest, column.middle, column.weight, 0.0)
            )
            missing, _, number = graph.number(name)
            off = graph.step("Sub", graph.step("Clip", number, least, greatest), middle)
            added = graph.step("Where", missing, nothing, graph.step("Mul", off, weight))
            terms.append(graph.step("Unsqueeze", added, graph.constant([2])))
        else:
            codes = graph.category(name, list(column.values))
            terms.append(_looked_up(graph, codes, list(column.values.values())))
    return terms


def _looked_up(graph: Graph, codes: str, table: Sequence[Sequence[float]]) -> str:
    """Return the table's row for each code; code -1, an unknown value, gets an additional last row of NaN."""
    return graph.step("Gather", graph.constant([*table, [math.nan] * len(table[0])], np.float64), codes)


def _decided(graph: Graph, terms: Sequence[str], model: Scored, about: Mapping[str, str]) -> ModelProto:
    """Return the model that sums the terms in order, as `smc predict` does, and decides from the sums.

    `about` is its metadata.
    """
    from onnx import TensorProto

    sums = graph.step("CumSum", graph.step("Concat", *terms, axis=1), graph.constant(1))
    scores = graph.step("Gather", sums, graph.constant(-1), axis=1)  # [rows, scores]
    first = graph.step("Gather", scores, graph.constant(0), axis=1)
    is_unknown = graph.step("IsNaN", first)
    if model.bounds is not None:
        least, greatest = (graph.constant(bound, np.float64) for bound in model.bounds)
        within = graph.step("Clip", first, least, greatest)
        return graph.model(graph.step("Where", is_unknown, first, within), about)
    labels = list(model.classes or ())
    if model.width == 1 and len(labels) == 2:
        above = graph.step("Greater", first, graph.constant(0.0, np.float64))
        chosen = graph.step("Cast", above, to=TensorProto.INT64)
    else:
        chosen = graph.step("ArgMax", scores, axis=1, keepdims=0)
    output = graph.step("Where", is_unknown, graph.constant(len(labels)), chosen)
    return graph.model(output, about, labels=[*labels, NO_CLASS])
