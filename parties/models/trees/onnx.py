"""A tree as an ONNX model, for programs that have never heard of smc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parties.base.extras import needing
from parties.models.trees.compiled import Compiled, compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import ModelProto, NodeProto, TensorProto

    from parties.models.trees.tree import Node


OPSETS = {"": 17, "ai.onnx.ml": 3}  # of 2022: every runtime in use knows them
IR_VERSION = 8
NO_BRANCH = ""  # the class of a row with a value that the tree has no branch for
UNKNOWN = -1  # the number of such a value
MISSING = ("?", "", "nan", "NaN", "None")  # what a missing number may be as text
Bins = tuple["Sequence[float]", "Sequence[str]"]  # the edges of a column of numbers, and the bins' categories in order
Search = tuple[int, int, int]  # a node of the tree, and the least and the greatest number its value may still have


def to_onnx(
    tree: Node, attributes: Sequence[str], about: Mapping[str, str], bins: Mapping[str, Bins] | None = None
) -> ModelProto:
    """Return the model of a tree over these columns; `about` goes into its metadata.

    A cell of a column in `bins` is a number, written as text; a cell of any other is a category.
    """
    with needing("ONNX"):
        from onnx import TensorProto, checker, helper

    arrays = compiled(tree)
    nodes, constants = [], []
    for i, (name, values) in enumerate(arrays.domains.items()):
        constants.append(helper.make_tensor(f"position{i}", TensorProto.INT64, [1], [list(attributes).index(name)]))
        nodes.append(helper.make_node("Gather", ["X", f"position{i}"], [f"text{i}"], axis=1))
        if bins is not None and name in bins:
            steps, needed = _bin(i, *bins[name], values)
            nodes += steps
            constants += needed
        else:
            nodes.append(_category(i, values))
    if arrays.domains:
        numbers = [f"number{i}" for i in range(len(arrays.domains))]
        nodes.append(helper.make_node("Concat", numbers, ["numbers"], axis=1))
    else:  # a single leaf asks nothing: a column of zeros, as long as there are rows
        constants.append(helper.make_tensor("one", TensorProto.INT64, [1], [1]))
        nodes.append(helper.make_node("Shape", ["X"], ["rows"], start=0, end=1))
        nodes.append(helper.make_node("Concat", ["rows", "one"], ["shape"], axis=0))
        nodes.append(helper.make_node("ConstantOfShape", ["shape"], ["numbers"]))
    nodes.append(
        helper.make_node(
            "TreeEnsembleClassifier", ["numbers"], ["label", "scores"], domain="ai.onnx.ml", **_ensemble(arrays)
        )
    )
    graph = helper.make_graph(
        nodes,
        "decision tree",
        [helper.make_tensor_value_info("X", TensorProto.STRING, ["rows", len(attributes)])],
        [helper.make_tensor_value_info("label", TensorProto.STRING, ["rows"])],
        constants,
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="smc")
    helper.set_model_props(model, {**about, "attributes": "\n".join(attributes)})
    checker.check_model(model, full_check=True)
    return model


def _category(i: int, values: Sequence[str]) -> NodeProto:
    """Map the text of column i to the number of its value."""
    from onnx import helper

    return helper.make_node(
        "LabelEncoder",
        [f"text{i}"],
        [f"number{i}"],
        domain="ai.onnx.ml",
        keys_strings=list(values),
        values_floats=[float(n) for n in range(len(values))],
        default_float=float(UNKNOWN),
    )


def _bin(
    i: int, edges: Sequence[float], labels: Sequence[str], values: Sequence[str]
) -> tuple[list[NodeProto], list[TensorProto]]:
    """Map the text of column i, which is a number, to the number of its bin among `values`; and their constants.

    The bin is how many edges are not above the number, in double precision. A missing one is read as 0 and then set
    right: no runtime can be asked to read it.
    """
    from onnx import TensorProto, helper, numpy_helper

    categories = [*labels, MISSING[0]]
    numbers = [float(values.index(category)) if category in values else float(UNKNOWN) for category in categories]
    constants = [
        numpy_helper.from_array(np.array(["0"], dtype=object), f"zero{i}"),
        helper.make_tensor(f"edges{i}", TensorProto.DOUBLE, [1, len(edges)], list(edges)),
        helper.make_tensor(f"across{i}", TensorProto.INT64, [1], [1]),
        helper.make_tensor(f"last{i}", TensorProto.INT64, [1], [len(labels)]),
        helper.make_tensor(f"numbers{i}", TensorProto.FLOAT, [len(numbers)], numbers),
    ]
    known: dict[str, Any] = {"keys_strings": MISSING, "values_int64s": [1] * len(MISSING), "default_int64": 0}
    nodes = [
        helper.make_node("LabelEncoder", [f"text{i}"], [f"flag{i}"], domain="ai.onnx.ml", **known),
        helper.make_node("Cast", [f"flag{i}"], [f"missing{i}"], to=TensorProto.BOOL),
        helper.make_node("Where", [f"missing{i}", f"zero{i}", f"text{i}"], [f"legible{i}"]),
        helper.make_node("Cast", [f"legible{i}"], [f"cell{i}"], to=TensorProto.DOUBLE),
        helper.make_node("GreaterOrEqual", [f"cell{i}", f"edges{i}"], [f"reached{i}"]),
        helper.make_node("Cast", [f"reached{i}"], [f"ones{i}"], to=TensorProto.INT64),
        helper.make_node("ReduceSum", [f"ones{i}", f"across{i}"], [f"among{i}"], keepdims=1),
        helper.make_node("Where", [f"missing{i}", f"last{i}", f"among{i}"], [f"bin{i}"]),
        helper.make_node("Gather", [f"numbers{i}", f"bin{i}"], [f"number{i}"], axis=0),
    ]
    return nodes, constants


def _ensemble(arrays: Compiled) -> dict[str, Any]:
    """Return the attributes of the operator `TreeEnsembleClassifier`, of one tree.

    Its nodes have two branches only. A split by k values becomes a search by halving: k comparisons "number <= limit",
    about log2 k of them on a way, the leftmost of which finds the unknown value. Neighbours that lead to one node, as
    all on one side of an edge do, are not told apart.
    """
    sizes = [len(values) for values in arrays.domains.values()]
    lost = len(arrays.labels)  # the class of a value without a branch

    def whole(position: int) -> Search:
        attribute = int(arrays.attribute[position])
        return position, UNKNOWN, sizes[attribute] - 1 if attribute >= 0 else UNKNOWN

    def cuts(position: int, low: int, high: int) -> list[int]:
        """Return the numbers in a search after which another node follows."""
        first = int(arrays.first[position])
        after = [UNKNOWN] if low == UNKNOWN < high else []
        nodes = arrays.children[first + max(low, 0) : first + high + 1]
        return [*after, *(max(low, 0) + np.flatnonzero(np.diff(nodes))).tolist()]

    def part(position: int, low: int, high: int) -> Search:
        single = low != UNKNOWN and not cuts(position, low, high)
        return whole(int(arrays.children[arrays.first[position] + low])) if single else (position, low, high)

    modes: list[str] = []
    columns: list[int] = []
    limits: list[float] = []
    below: tuple[list[int], list[int]] = [], []  # the node below if the comparison does not hold, if it does
    scores: list[tuple[int, int, float]] = []  # node, class, score
    waiting = [(whole(0), 0, False)]
    while waiting:
        (position, low, high), parent, holds = waiting.pop()
        number, ends = len(modes), cuts(position, low, high) if low < high else []
        inner, middle = bool(ends), ends[(len(ends) - 1) // 2] if ends else UNKNOWN
        if number:
            below[holds][parent] = number
        modes.append("BRANCH_LEQ" if inner else "LEAF")
        columns.append(int(arrays.attribute[position]) if inner else 0)
        limits.append(middle + 0.5 if inner else 0.0)
        for side in below:
            side.append(0)
        if inner:
            waiting.append((part(position, middle + 1, high), number, False))
            waiting.append((part(position, low, middle), number, True))
        else:
            label = int(arrays.label[position]) if arrays.attribute[position] < 0 else lost
            scores.append((number, label, 1.0))
            if lost == 1:  # of two classes, onnxruntime takes a single score for that of the second
                scores.append((number, 1 - label, 0.0))
    places, classes, weights = zip(*scores, strict=True)
    return {
        "nodes_treeids": [0] * len(modes),
        "nodes_nodeids": list(range(len(modes))),
        "nodes_modes": modes,
        "nodes_featureids": columns,
        "nodes_values": limits,
        "nodes_truenodeids": below[True],
        "nodes_falsenodeids": below[False],
        "class_treeids": [0] * len(scores),
        "class_nodeids": places,
        "class_ids": classes,
        "class_weights": weights,
        "classlabels_strings": [*arrays.labels, NO_BRANCH],
        "post_transform": "NONE",
    }
