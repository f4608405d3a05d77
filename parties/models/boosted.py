"""Boosted trees as a result: sums of leaves decide a row's class or number; also as XGBoost's JSON.

A split sends a row to `then` if its cell is below an edge, or equals a value, else to `otherwise`. A missing number is
below every edge, and so is a missing value of a column with ordered values.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.base.text import quoted
from parties.models.scored import Margins, Scored, columns_of, head, is_number, number, unknown_value
from parties.models.trees.compiled import Choice, Compiled, compiled
from parties.tables.delimited import MISSING

Node: TypeAlias = Mapping[str, Any]
Document: TypeAlias = Mapping[str, Any]
MOST_LEVELS = 64
OBJECTIVES = {"logistic": "binary:logistic", "softmax": "multi:softprob", "squared": "reg:squarederror"}


@dataclass(frozen=True)
class Column:
    """A column: the lower edge of each bin but the first, or the bin of each value; both if ranges have names."""

    edges: tuple[float, ...] | None
    values: Mapping[str, int]
    ordered: bool

    def read(self, text: str) -> int:
        """Return the bin of a cell. Raise ValueError if the model does not know the cell."""
        if text in self.values:
            return self.values[text]
        if self.edges is None:
            raise unknown_value(text, self.values)
        return 0 if text == MISSING else bisect_right(self.edges, number(text))

    @property
    def bins(self) -> int:
        """Number of bins."""
        return max(len(self.values), 0 if self.edges is None else len(self.edges) + 1)

    @cached_property
    def places(self) -> Mapping[float, int]:
        """Number of the bin that begins at each edge."""
        return {edge: place for place, edge in enumerate(self.edges or (), 1)}

    def place(self, below: Any) -> int:
        """Return the bin that begins at an edge, or the bin of a value; `below` is that edge or value."""
        return self.places[float(below)] if self.edges is not None else self.values[below]


@dataclass(frozen=True)
class BoostedModel(Scored):
    """Trees by round: one for each class; a single one for numbers, or for two classes without softmax."""

    target: str
    classes: tuple[str, ...] | None
    columns: Mapping[str, Column]
    base: float  # start of each score
    rounds: Sequence[Sequence[Node]]
    bounds: tuple[float, float] | None = None

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> BoostedModel:
        """Return the model in a job's result, or in the content of its file. Raise ValueError if it is invalid."""
        target_fields, trees, base = head(fields), fields.get("trees"), fields.get("base")
        if not isinstance(trees, list):
            raise ValueError("it has no trees")
        classes = target_fields["classes"] or ()
        width = len(classes) if len(classes) > 2 or (classes and fields.get("objective") == "softmax") else 1
        if not is_number(base):
            raise ValueError("base: must be a number")
        columns = columns_of(fields, _column)
        for tree in trees:
            if not isinstance(tree, list) or len(tree) != width:
                raise ValueError(f"trees: each round must have {width}")
            for node in tree:
                _check(node, columns)
        return cls(columns=columns, base=float(base), rounds=trees, **target_fields)  # type: ignore[arg-type]

    @property
    @override
    def width(self) -> int:
        return len(self.rounds[0]) if self.rounds else 1

    @cached_property
    def choices(self) -> Sequence[Sequence[Choice | float]]:
        """Trees in the form of choices by bins of columns, whose leaves are numbers."""
        return [[self._choice(tree) for tree in trees] for trees in self.rounds]

    @cached_property
    def compiled(self) -> Sequence[Sequence[Compiled]]:
        """Trees in the form of arrays, for fast prediction."""
        return [[compiled(tree) for tree in trees] for trees in self.choices]

    @override
    def margins_of(self, cells: Mapping[str, NDArray[Any]], rows: int) -> Margins:
        margins = np.full((self.width, rows), self.base)
        for trees in self.compiled:
            for place, tree in enumerate(trees):
                margins[place] += np.array(tree.ends)[tree.route(cells, rows)]
        return margins

    def edge(self, choice: Choice) -> float:
        """Return the number below which rows take the first branch; only for a column in `numeric`."""
        edges = self.columns[choice.column].edges
        assert edges is not None
        return edges[list(choice.goes).index(1) - 1]

    def _choice(self, node: Node) -> Choice | float:
        if "leaf" in node:
            return float(node["leaf"])
        column = self.columns[node["column"]]
        bins = np.arange(column.bins)
        goes = bins == column.values[node["is"]] if "is" in node else bins < column.place(node["below"])
        branches = (self._choice(node["then"]), self._choice(node["otherwise"]))
        return Choice(node["column"], (~goes).astype(np.int64), branches)


def _column(where: str, fields: Any) -> Column:
    content = fields if isinstance(fields, dict) else {}
    edges, values = content.get("edges"), content.get("values", [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{where}.values: must be texts")
    if edges is not None and (not isinstance(edges, list) or not all(map(is_number, edges)) or edges != sorted(edges)):
        raise ValueError(f"{where}.edges: must be numbers that rise")
    if edges is None and not values:
        raise ValueError(f"{where}: must have edges or values")
    places = {value: place for place, value in enumerate(values)}
    return Column(None if edges is None else tuple(map(float, edges)), places, content.get("ordered") is not False)


def _check(node: Any, columns: Mapping[str, Column], level: int = 0) -> None:
    """Raise ValueError unless this node, `level` steps below the root, is the root of a tree on these columns."""
    if not isinstance(node, dict) or level > MOST_LEVELS:
        raise ValueError("trees: a node must be an object, and trees of bounded depth")
    if "leaf" in node:
        if not is_number(node["leaf"]):
            raise ValueError("trees: a leaf must be a number")
        return
    name = node.get("column")
    column = columns.get(name) if isinstance(name, str) else None
    if column is None:
        raise ValueError("trees: a node asks for a column that is not there")
    try:
        asks = node["is"] in column.values if "is" in node else column.place(node["below"]) > 0
    except (KeyError, TypeError, ValueError):
        asks = False
    if not asks:
        raise ValueError(f"trees: a node splits {quoted(str(node.get('column')))} by an edge or value that it lacks")
    _check(node.get("then"), columns, level + 1)
    _check(node.get("otherwise"), columns, level + 1)


def xgboost_features(document: Document) -> list[tuple[str, str | None]]:
    """Return the features of `xgboost_text` in order: a column, and the value for which the feature is 1, else 0.

    Without a value the feature is the number itself, or the position of an ordered value in its list.
    """
    features: list[tuple[str, str | None]] = []
    for name, column in document["columns"].items():
        by_value = "edges" not in column and not column["ordered"]
        features += [(name, value) for value in column["values"]] if by_value else [(name, None)]
    return features


def xgboost_text(document: Document) -> str:
    """Return the model in XGBoost's format (`Booster.load_model`, JSON); its features are `xgboost_features`."""
    features = xgboost_features(document)
    place = {feature: number for number, feature in enumerate(features)}
    width = len(document["trees"][0]) if document["trees"] else 1
    trees = [
        _xgboost_tree(tree, number, document, place)
        for number, tree in enumerate(tree for trees in document["trees"] for tree in trees)
    ]
    names = [name if value is None else f"{name}={value}" for name, value in features]
    for mark in "[]<":  # characters that XGBoost forbids in names
        names = [name.replace(mark, "_") for name in names]
    objective, is_logistic = OBJECTIVES[document["objective"]], document["objective"] == "logistic"
    base = 1 / (1 + math.exp(-document["base"])) if is_logistic else document["base"]
    objective_fields: dict[str, Any] = {"name": objective}
    if document["objective"] == "softmax":
        objective_fields["softmax_multiclass_param"] = {"num_class": str(width)}
    else:
        objective_fields["reg_loss_param"] = {"scale_pos_weight": "1"}
    learner = {
        "attributes": {},
        "feature_names": names,
        "feature_types": ["float"] * len(names),
        "gradient_booster": {
            "name": "gbtree",
            "model": {
                "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                "iteration_indptr": list(range(0, len(trees) + 1, width)),
                "tree_info": [number % width for number in range(len(trees))],
                "trees": trees,
            },
        },
        "learner_model_param": {
            "base_score": f"{base:.9E}",
            "boost_from_average": "0",
            "num_class": str(width if width > 1 else 0),
            "num_feature": str(len(names)),
            "num_target": "1",
        },
        "objective": objective_fields,
    }
    return json.dumps({"learner": learner, "version": [2, 0, 0]}, ensure_ascii=False) + "\n"


def _xgboost_tree(
    root: Node, number: int, document: Document, place: Mapping[tuple[str, str | None], int]
) -> dict[str, Any]:
    """Return the tree with this number as XGBoost's parallel lists.

    `place` has the index of each feature: of a column, or of one of its values. A value's feature of 1 goes right, so
    for it `then` is the right child.
    """
    nodes, parents = [root], [2**31 - 1]
    left: list[int] = []
    right: list[int] = []
    conditions: list[float] = []
    indices: list[int] = []
    for at, node in enumerate(nodes):  # the list grows during the loop
        if "leaf" in node:
            left.append(-1)
            right.append(-1)
            conditions.append(node["leaf"])
            indices.append(0)
            continue
        children = [node["then"], node["otherwise"]]
        column = document["columns"][node["column"]]
        if "is" in node:
            children, condition, feature = children[::-1], 0.5, (node["column"], node["is"])
        else:
            by_order = "edges" not in column
            condition = column["values"].index(node["below"]) - 0.5 if by_order else node["below"]
            feature = (node["column"], None)
        left.append(len(nodes))
        right.append(len(nodes) + 1)
        nodes += children
        parents += [at, at]
        conditions.append(condition)
        indices.append(place[feature])
    count = len(nodes)
    return {
        "base_weights": [0.0] * count, "categories": [], "categories_nodes": [], "categories_segments": [],
        "categories_sizes": [], "default_left": [1] * count, "id": number, "left_children": left,
        "loss_changes": [0.0] * count, "parents": parents, "right_children": right,
        "split_conditions": conditions, "split_indices": indices, "split_type": [0] * count,
        "sum_hessian": [0.0] * count,
        "tree_param": {
            "num_deleted": "0", "num_feature": str(len(place)), "num_nodes": str(count), "size_leaf_vector": "1"
        },
    }  # fmt: skip
