"""Boosted trees in LightGBM's text format (`lightgbm.Booster(model_file=...)`, version v4), with identical scores.

A column is a feature, in the model's order: a number as it is, any other value as its index in the model's list, from
0. The lists are in `pandas_categorical`, so a frame with columns of pandas' type "category" can be used as it is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from parties.base.text import quoted
from parties.deployed.columns import Asked
from parties.models.boosted import BoostedModel, Column
from parties.models.load import AnyModel
from smc.errors import InputError

ZERO, MOST = 1e-35, 1e300  # LightGBM reads numbers closer to 0 as 0, and has no numbers beyond 1e300
CATEGORICAL, MISSING_IS_LEFT = 1, 2 | 2 << 2  # decision types of nodes: by a set; NaN is missing, and goes left
NOT_IN_A_NAME = re.compile(r'[\s",:\[\]{}]')


def to_lightgbm(model: AnyModel, asked: Mapping[str, Asked]) -> str:
    """Return the model in LightGBM's text format.

    Args:
        model: The model.
        asked: Columns of the model, from `columns.asked`.

    Raises:
        InputError: LightGBM cannot express the model, or its columns are mapped by a schema or table.
    """
    if not isinstance(model, BoostedModel):
        raise InputError("--to lightgbm works only for boosted trees; use --to onnx, pmml or sql")
    if any(ask.mapped for ask in asked.values()):
        raise InputError("--to lightgbm cannot read raw cells; remove --schema and --config")
    if not model.columns or not model.rounds:
        raise InputError("--to lightgbm: the model has no trees, or no columns; give another model")
    for name, column in model.columns.items():
        if outside := [edge for edge in column.edges or () if edge and not ZERO < abs(edge) < MOST]:
            raise InputError(
                f"--to lightgbm: {quoted(name)} has the edge {outside[0]:g}, which LightGBM cannot hold; use --to sql"
            )
    trees = [
        f"Tree={number}\n{_tree(model, tree, model.base if number < model.width else 0.0)}\n\n"
        for number, tree in enumerate(tree for trees in model.rounds for tree in trees)
    ]
    objective = "regression" if model.classes is None else "binary sigmoid:1"
    objective = objective if model.width == 1 else f"multiclass num_class:{model.width}"
    head = {
        "version": "v4",
        "num_class": model.width,
        "num_tree_per_iteration": model.width,
        "label_index": 0,
        "max_feature_idx": len(model.columns) - 1,
        "objective": objective,
        "feature_names": " ".join(_names(model)),
        "feature_infos": " ".join(map(_range, model.columns.values())),
        "tree_sizes": " ".join(str(len(tree)) for tree in trees),
    }
    lists = [list(column.values) for column in model.columns.values() if column.edges is None]
    return (
        f"tree\n{_lines(head)}\n\n{''.join(trees)}end of trees\n\nfeature_importances:\n\n"
        f"parameters:\n\nend of parameters\n\npandas_categorical:{json.dumps(lists)}\n"
    )


def beyond_bounds(model: AnyModel) -> str:
    """Return a remark if LightGBM's numbers may exceed the bounds that `smc predict` enforces; otherwise ""."""
    if not isinstance(model, BoostedModel) or model.bounds is None or len(model.rounds) == 1:
        return ""
    ends = [sorted(tree.ends) for (tree,) in model.compiled]
    least, greatest = model.bounds
    if least <= model.base + sum(of[0] for of in ends) and model.base + sum(of[-1] for of in ends) <= greatest:
        return ""
    return f"LightGBM knows no bounds: keep its numbers from {least:g} to {greatest:g}, as smc predict does"


def _lines(fields: Mapping[str, object]) -> str:
    return "\n".join(f"{name}={value}" for name, value in fields.items())


def _names(model: BoostedModel) -> list[str]:
    names: list[str] = []
    for index, name in enumerate(model.columns):
        plain = NOT_IN_A_NAME.sub("_", name)
        names.append(f"{plain}_{index}" if plain in names or not plain else plain)
    return names


def _range(column: Column) -> str:
    if column.edges is not None:
        return f"[{column.edges[0]!r}:{column.edges[-1]!r}]" if column.edges else "none"
    indices = range(len(column.values))
    return f"[0:{indices[-1]}]" if column.ordered else ":".join(map(str, indices))


def _tree(model: BoostedModel, root: Mapping[str, Any], base: float) -> str:
    """Return the tree of `root` as lists; children are nodes from 0, or leaves from -1 down. `base` is added to leaves.

    In a model with a single tree of numbers, the leaves are clipped to the bounds, as in `smc predict`.
    """
    order = {name: place for place, name in enumerate(model.columns)}
    leaves: list[float] = []
    features: list[int] = []
    thresholds: list[str] = []
    decisions: list[int] = []
    children: list[tuple[int, int]] = []
    sets: list[list[int]] = []  # 32-bit words
    nodes = [root]

    def number(node: Mapping[str, Any]) -> int:
        if "leaf" in node:
            leaves.append(base + float(node["leaf"]))
            if model.bounds is not None and len(model.rounds) == 1:
                leaves[-1] = min(max(leaves[-1], model.bounds[0]), model.bounds[1])
            return -len(leaves)
        nodes.append(node)
        return len(nodes) - 1

    if "leaf" in root:
        number(root)
        return _lines({"num_leaves": 1, "num_cat": 0, "leaf_value": repr(leaves[0])})
    for node in nodes:  # grows during the loop
        column = model.columns[node["column"]]
        features.append(order[node["column"]])
        if "is" in node:
            if column.edges is not None:
                raise InputError(f"--to lightgbm: a tree tests a range of {quoted(node['column'])}, not an edge")
            place = column.values[node["is"]]
            thresholds.append(str(len(sets)))
            sets.append([0] * (place // 32) + [1 << place % 32])
            decisions.append(CATEGORICAL)
        else:
            place = column.place(node["below"])
            # a number is below an edge if it is at most the next smaller number
            limit = place - 0.5 if column.edges is None else math.nextafter(column.edges[place - 1], -math.inf)
            thresholds.append(repr(limit))
            decisions.append(MISSING_IS_LEFT)
        children.append((number(node["then"]), number(node["otherwise"])))
    fields: dict[str, list[Any]] = {
        "split_feature": features,
        "split_gain": [0] * len(nodes),
        "threshold": thresholds,
        "decision_type": decisions,
        "left_child": [then for then, _ in children],
        "right_child": [otherwise for _, otherwise in children],
        "leaf_value": list(map(repr, leaves)),
        "leaf_weight": [0] * len(leaves),
        "leaf_count": [0] * len(leaves),
        "internal_value": [0] * len(nodes),
        "internal_weight": [0] * len(nodes),
        "internal_count": [0] * len(nodes),
    }
    if sets:
        ends = [sum(map(len, sets[:many])) for many in range(len(sets) + 1)]
        fields |= {"cat_boundaries": ends, "cat_threshold": [word for words in sets for word in words]}
    lists = {name: " ".join(map(str, values)) for name, values in fields.items()}
    return _lines({"num_leaves": len(leaves), "num_cat": len(sets), **lists, "is_linear": 0, "shrinkage": 1})
