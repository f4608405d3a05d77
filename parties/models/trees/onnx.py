"""Models as ONNX, for programs without smc: a graph that takes text, with trees that vote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parties.base.extras import needing
from parties.models.trees.compiled import Compiled, choice, compiled
from parties.models.trees.tree import domains

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import ModelProto, NodeProto, TensorProto

    from parties.models.trees.tree import Node


OPSETS = {"": 17, "ai.onnx.ml": 3}  # of 2022; every runtime in use supports them
IR_VERSION = 8
NO_CLASS = ""  # class of a row with a value that the model does not know
UNKNOWN = -1  # code of a value that the model does not know
MISSING = ("?", "", "nan", "NaN", "None")  # texts that may represent a missing number
Bins: TypeAlias = tuple["Sequence[float]", "Sequence[str]"]  # edges of a numeric column, categories of the bins
Search: TypeAlias = tuple[int, int, int]  # a node of the tree, and the bounds of its value's code


class Step(NamedTuple):
    """A node of a binary tree: a comparison of a feature with a limit (at most, or equal), or a leaf."""

    feature: int = 0
    limit: float = 0.0
    mode: str = "LEAF"  # or BRANCH_LEQ, BRANCH_EQ
    leaf: int = 0
    then: int = 0  # number of the next node if the comparison is true
    otherwise: int = 0


class Graph:
    """Operators of a model. Its input "X" is text[rows, columns]; each method adds operators and returns their
    output."""

    def __init__(self, columns: Sequence[str]) -> None:
        """Raise InputError unless onnx is installed."""
        with needing("ONNX"):
            import onnx  # noqa: F401
        self._columns = list(columns)
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._texts: dict[str, str] = {}

    def constant(self, values: Any, dtype: Any = np.int64) -> str:
        """Add a constant to the graph, and return its name.

        Args:
            values: The values.
            dtype: Type of the values; object for texts.
        """
        from onnx import numpy_helper

        self._constants.append(numpy_helper.from_array(np.array(values, dtype=dtype), f"c{len(self._constants)}"))
        return self._constants[-1].name

    def step(self, operator: str, *inputs: str, **options: Any) -> str:
        """Add an operator to the graph, and return the name of its output.

        Args:
            operator: Type of the operator in ONNX, such as "Gather".
            inputs: Names of its inputs.
            options: Attributes of the operator.
        """
        from onnx import helper

        self._nodes.append(helper.make_node(operator, inputs, [f"n{len(self._nodes)}"], **options))
        return str(self._nodes[-1].output[0])

    def text(self, name: str) -> str:
        """Return the name of the output that holds a column as text[rows, 1]."""
        if name not in self._texts:
            place = self.constant([self._columns.index(name)])
            self._texts[name] = self.step("Gather", "X", place, axis=1)
        return self._texts[name]

    def category(self, name: str, values: Sequence[str]) -> str:
        """Add an output with the value index of each cell of a column, int64[rows, 1]; return the output's name.

        A cell that is none of the values has the index `UNKNOWN`.

        Args:
            name: Name of the column.
            values: Values in the order of their indices.
        """
        keys: dict[str, Any] = {"keys_strings": list(values), "values_int64s": list(range(len(values)))}
        return self.step("LabelEncoder", self.text(name), domain="ai.onnx.ml", default_int64=UNKNOWN, **keys)

    def number(self, name: str, texts: Mapping[str, int] | None = None) -> tuple[str, str, str]:
        """Return the parts of a numeric column, [rows, 1] each.

        Args:
            name: Name of the column.
            texts: Codes of texts that are not read as numbers; a missing number has code 0 unless it is among them.

        Returns:
            Whether each cell is such a text or a missing number, bool; its code, int64; and the number of any other,
            double.
        """
        from onnx import TensorProto

        codes = dict.fromkeys(MISSING, 0) | dict(texts or {})
        keys: dict[str, Any] = {"keys_strings": list(codes), "values_int64s": list(codes.values())}
        meaning = self.step("LabelEncoder", self.text(name), domain="ai.onnx.ml", default_int64=UNKNOWN, **keys)
        is_text = self.step("GreaterOrEqual", meaning, self.constant(0))
        # No runtime can skip such a text in the conversion, so it is replaced by "0".
        legible = self.step("Where", is_text, self.constant(["0"], object), self.text(name))
        return is_text, meaning, self.step("Cast", legible, to=TensorProto.DOUBLE)

    def bin(self, name: str, edges: Sequence[float], texts: Mapping[str, int]) -> str:
        """Return the bin of each cell, int64[rows, 1]: the number of edges not above its number, in double
        precision.

        Args:
            name: Name of the column.
            edges: Edges of the bins, ascending.
            texts: Bins of texts that are not read as numbers; a missing number has bin 0 unless it is among them.
        """
        from onnx import TensorProto

        is_text, meaning, number = self.number(name, texts)
        reached = self.step("GreaterOrEqual", number, self.constant([list(edges)], np.float64))
        ones = self.step("Cast", reached, to=TensorProto.INT64)
        among = self.step("ReduceSum", ones, self.constant([1]), keepdims=1)
        return self.step("Where", is_text, meaning, among)

    def filled(self, values: Any, dtype: Any) -> str:
        """Add a constant that is repeated for every row, and return its name.

        Args:
            values: The values for one row.
            dtype: Type of the values.
        """
        rows = self.step("Shape", "X", start=0, end=1)
        array = np.array(values, dtype=dtype)
        return self.step(
            "Expand", self.constant(array, dtype), self.step("Concat", rows, self.constant(array.shape), axis=0)
        )

    def leaves(self, features: Sequence[str], trees: Sequence[Sequence[Step]]) -> str:
        """Add the number of the leaf that each tree assigns to a row, int64[rows, trees], and return its name.

        Args:
            features: Names of the operator outputs that hold the features.
            trees: Nodes of each tree.
        """
        from onnx import TensorProto

        # a tree of a single leaf needs some feature: zeros
        whole = self.step("Concat", *(features or [self.filled([0], np.int64)]), axis=1)
        nodes = [(place, number, step) for place, tree in enumerate(trees) for number, step in enumerate(tree)]
        ends = [(place, number, step.leaf) for place, number, step in nodes if step.mode == "LEAF"]
        leaves = self.step(
            "TreeEnsembleRegressor",
            self.step("Cast", whole, to=TensorProto.FLOAT),
            domain="ai.onnx.ml",
            n_targets=len(trees),
            nodes_treeids=[place for place, _, _ in nodes],
            nodes_nodeids=[number for _, number, _ in nodes],
            nodes_modes=[step.mode for _, _, step in nodes],
            nodes_featureids=[step.feature for _, _, step in nodes],
            nodes_values=[step.limit for _, _, step in nodes],
            nodes_truenodeids=[step.then for _, _, step in nodes],
            nodes_falsenodeids=[step.otherwise for _, _, step in nodes],
            target_treeids=[place for place, _, _ in ends],
            target_nodeids=[number for _, number, _ in ends],
            target_ids=[place for place, _, _ in ends],
            target_weights=[float(leaf) for _, _, leaf in ends],
        )
        return self.step("Cast", leaves, to=TensorProto.INT64)

    def model(self, output: str, about: Mapping[str, str], *, labels: Sequence[str] | None = None) -> ModelProto:
        """Return the graph as an ONNX model, which gives one label or number for each row.

        Args:
            output: Result: the index of a label for each row, or the number.
            about: Metadata.
            labels: Texts of the "label" output; None for a "number" output.
        """
        from onnx import TensorProto, checker, helper

        name, kind = ("number", TensorProto.DOUBLE) if labels is None else ("label", TensorProto.STRING)
        if labels is None:
            last = helper.make_node("Identity", [output], [name])
        else:
            last = helper.make_node("Gather", [self.constant(list(labels), object), output], [name])
        graph = helper.make_graph(
            [*self._nodes, last],
            "model",
            [helper.make_tensor_value_info("X", TensorProto.STRING, ["rows", len(self._columns)])],
            [helper.make_tensor_value_info(name, kind, ["rows"])],
            self._constants,
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="smc")
        helper.set_model_props(model, {**about, "attributes": "\n".join(self._columns)})
        checker.check_model(model, full_check=True)
        return model


def to_onnx(
    trees: Sequence[Node], attributes: Sequence[str], about: Mapping[str, str], bins: Mapping[str, Bins] | None = None
) -> ModelProto:
    """Return the model of voting trees.

    A cell of a column in `bins` is a number, written as text; a cell of any other column is a category.

    Args:
        trees: The trees.
        attributes: Columns of the input, in order.
        about: Metadata of the model.
        bins: Edges and bin categories of the numeric columns.
    """
    graph = Graph(attributes)
    class_indices: dict[str, int] = {}
    features: dict[tuple[str, tuple[str, ...]], int] = {}  # column and its values in the trees
    steps = []
    for tree in trees:
        arrays = compiled(choice(tree))
        labels = [class_indices.setdefault(leaf.label, len(class_indices)) for leaf in arrays.ends]
        columns = [features.setdefault(domain, len(features)) for domain in domains([tree]).items()]
        sizes = [len(values) for values in domains([tree]).values()]
        steps.append(_steps(arrays, sizes, columns, labels))
    numbers = [_feature(graph, name, values, (bins or {}).get(name)) for name, values in features]
    votes = graph.leaves(numbers, steps)
    return graph.model(_vote(graph, votes, len(trees), len(class_indices)), about, labels=[*class_indices, NO_CLASS])


def _feature(graph: Graph, name: str, values: Sequence[str], bins: Bins | None) -> str:
    if bins is None:
        return graph.category(name, values)
    edges, labels = bins
    number = {value: place for place, value in enumerate(values)}
    places = [number.get(category, UNKNOWN) for category in (*labels, MISSING[0])]
    return graph.step(
        "Gather", graph.constant(places), graph.bin(name, edges, dict.fromkeys(MISSING, len(labels))), axis=0
    )


def _vote(graph: Graph, votes: str, trees: int, classes: int) -> str:
    """Return the class with most votes, int64[rows]; a tie goes to the earliest tree.

    If a tree returns UNKNOWN, the class is `classes`.
    """
    from onnx import TensorProto

    each = graph.step("Unsqueeze", votes, graph.constant([2]))
    votes_for = graph.step("Equal", each, graph.constant([[list(range(classes))]]))
    votes_for = graph.step("Cast", votes_for, to=TensorProto.INT64)  # [rows, trees, classes]
    count = graph.step("ReduceSum", votes_for, graph.constant([1]), keepdims=0)
    first = graph.step("ArgMax", votes_for, axis=1, keepdims=0)
    score = graph.step("Sub", graph.step("Mul", count, graph.constant([trees + 1])), first)
    winner = graph.step("ArgMax", score, axis=1, keepdims=0)
    least = graph.step("ReduceMin", votes, axes=[1], keepdims=0)
    return graph.step("Where", graph.step("Less", least, graph.constant(0)), graph.constant(classes), winner)


def _steps(arrays: Compiled, sizes: Sequence[int], features: Sequence[int], labels: Sequence[int]) -> list[Step]:
    """Return a tree as binary comparisons of features; a leaf is the index of its class.

    A split by k values becomes a binary search: k comparisons "number <= limit", about log2 k of them on a path; the
    leftmost one detects the unknown value. Neighbours that lead to one node, such as all values on one side of an edge,
    are not separated. If an attribute has three values and the outer two lead to one node, only the middle is compared.

    Args:
        arrays: The tree.
        sizes: Number of values of each attribute.
        features: Feature of each attribute.
        labels: Index of each leaf's class.
    """

    def whole(position: int) -> Search:
        attribute = int(arrays.attribute[position])
        return position, UNKNOWN, sizes[attribute] - 1 if attribute >= 0 else UNKNOWN

    def cuts(position: int, low: int, high: int) -> list[int]:
        """Return the numbers from `low` to `high` - 1 after which the next number leads to another child of a node.

        UNKNOWN is always one of them, if `low`. `position` is the node's.
        """
        first = int(arrays.first[position])
        after = [UNKNOWN] if low == UNKNOWN < high else []
        nodes = arrays.children[first + max(low, 0) : first + high + 1]
        return [*after, *(max(low, 0) + np.flatnonzero(np.diff(nodes))).tolist()]

    def alone(position: int) -> bool:
        first, attribute = int(arrays.first[position]), int(arrays.attribute[position])
        return sizes[attribute] == 3 and arrays.children[first] == arrays.children[first + 2]

    def part(position: int, low: int, high: int) -> Search:
        single = low != UNKNOWN and not cuts(position, low, high)
        return whole(int(arrays.children[arrays.first[position] + low])) if single else (position, low, high)

    steps: list[Step] = []
    waiting = [(whole(0), 0, False)]
    while waiting:
        (position, low, high), parent, holds = waiting.pop()
        number, ends = len(steps), cuts(position, low, high) if low < high else []
        if holds:
            steps[parent] = steps[parent]._replace(then=number)
        elif number:
            steps[parent] = steps[parent]._replace(otherwise=number)
        attribute = int(arrays.attribute[position])
        if len(ends) == 2 and low != UNKNOWN and alone(position):
            steps.append(Step(features[attribute], 1.0, "BRANCH_EQ"))
            waiting.append((part(position, 0, 0), number, False))
            waiting.append((part(position, 1, 1), number, True))
        elif ends:
            middle = UNKNOWN if low == UNKNOWN and alone(position) else ends[(len(ends) - 1) // 2]
            steps.append(Step(features[attribute], middle + 0.5, "BRANCH_LEQ"))
            waiting.append((part(position, middle + 1, high), number, False))
            waiting.append((part(position, low, middle), number, True))
        else:
            steps.append(Step(leaf=UNKNOWN if attribute >= 0 else labels[int(arrays.end[position])]))
    return steps
