"""Scores of rows by a model that is public: the chance, from 0 to 1, that it gives the class that is meant.

A linear classifier's score goes through the logistic function, naive Bayes says how likely the class is, of a forest
it is the share of the trees that say the class, of a single tree 0 or 1, or the share in a leaf that was counted;
boosted trees' margins go through the logistic function, or softmax.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeAlias

import numpy as np

from parties.base.arrays import Codes, Floats
from parties.base.text import quoted
from parties.models.bayes import NaiveBayesModel
from parties.models.boosted import BoostedModel
from parties.models.linear import LinearModel, Slope
from parties.models.trees.tree import Leaf, Node, Split, TreeFile
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from smc.errors import InputError

Model: TypeAlias = TreeFile | LinearModel | NaiveBayesModel | BoostedModel
ANOTHER = "the model is of another schema"


def read(text: str) -> Model:
    """Return the model in a text: the content of the file of trees, a linear or a naive Bayes model. `InputError`."""
    try:
        fields = json.loads(text)
        if isinstance(fields, dict) and "trees" in fields and "base" in fields:
            return BoostedModel.parse(fields)
        if isinstance(fields, dict) and ("tree" in fields or "trees" in fields):
            return TreeFile.parse(json.loads(text, parse_int=float))
        if isinstance(fields, dict) and "intercept" in fields:
            return LinearModel.parse(fields)
        return NaiveBayesModel.parse(fields)
    except (ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"model: these are no trees, linear or naive Bayes model: {error}") from None


def columns(model: Model) -> tuple[str, ...]:
    """Return the columns that a model reads, each once."""
    if not isinstance(model, TreeFile):
        return tuple(model.columns)
    names: dict[str, None] = {}
    nodes: list[Node] = list(model.trees)
    for node in nodes:  # grows while it is read
        if isinstance(node, Split):
            names[node.attribute] = None
            nodes += node.branches.values()
    return tuple(names)


def numbers(model: Model) -> tuple[str, ...]:
    """Return the columns that a model takes as numbers."""
    if isinstance(model, BoostedModel):
        return model.numeric
    if not isinstance(model, LinearModel):
        return ()
    return tuple(name for name, column in model.columns.items() if isinstance(column, Slope))


def check(model: Model, schema: Schema, positive: str) -> None:
    """`InputError` if a model does not fit the schema, or does not know the class."""
    if model.target not in schema.attributes:
        raise InputError(f"model: {ANOTHER}: there is no target {quoted(model.target)}")
    for name in columns(model):
        if name not in schema.attributes:
            raise InputError(f"model: {ANOTHER}: there is no column {quoted(name)}")
    if isinstance(model, LinearModel | BoostedModel) and model.classes is None:
        raise InputError("model: it is of a target of numbers: classes are judged")
    known = model.classes if not isinstance(model, TreeFile) else None
    if known is not None and positive not in known:
        raise InputError(f"model: {ANOTHER}: it knows no class {quoted(positive)}")
    nothing = {name: np.arange(len(schema.attributes[name])) for name in columns(model)}
    for name in nothing:  # every value of each column is known, wherever it is asked
        longest = {other: nothing[name] * 0 if other != name else nothing[name] for other in nothing}
        scores(model, schema, positive, longest, len(nothing[name]))
    if isinstance(model, TreeFile):
        for node in model.trees:
            _check_tree(node, schema)


def _check_tree(node: Node, schema: Schema) -> None:
    if isinstance(node, Split):
        for value in schema.attributes[node.attribute]:
            if value not in node.values:
                raise InputError(f"model: {ANOTHER}: it has no branch for {quoted(value)} of {quoted(node.attribute)}")
        for branch in node.branches.values():
            _check_tree(branch, schema)


def scores(model: Model, schema: Schema, positive: str, codes: dict[str, Codes], rows: int) -> Floats:
    """Return the score of each row, float[rows], from the category numbers of its columns."""
    if isinstance(model, TreeFile):
        trees = [_by_tree(tree, schema, positive, codes, rows) for tree in model.trees]
        return np.asarray(np.mean(trees, axis=0))
    if isinstance(model, LinearModel):
        assert model.classes is not None
        added = np.full(rows, model.intercept)
        for name, column in model.columns.items():
            added += np.array([_weight(name, column, value) for value in schema.attributes[name]])[codes[name]]
        sign = 1 if model.classes[1] == positive else -1
        return np.asarray(1 / (1 + np.exp(np.clip(-sign * added, -700, 700))))
    if isinstance(model, BoostedModel):
        return _by_boosting(model, schema, positive, codes, rows)
    classes = list(model.classes)
    logs = np.tile([math.log(count + 1) for count in model.classes.values()], (rows, 1))
    for name, values in model.columns.items():
        table = np.array([_counts(name, values, value) for value in schema.attributes[name]], dtype=float) + 1
        logs += np.log(table / (np.sum(list(values.values()), axis=0) + len(values)))[codes[name]]
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares[:, classes.index(positive)] / shares.sum(axis=1))


def _by_tree(tree: Node, schema: Schema, positive: str, codes: dict[str, Codes], rows: int) -> Floats:
    result: Floats = np.zeros(rows)
    below: list[tuple[Node, Codes]] = [(tree, np.arange(rows))]
    while below:
        node, there = below.pop()
        if isinstance(node, Leaf):
            result[there] = _share(node, positive)
            continue
        branches = list(node.branches.values())
        by_value = [
            next((i for i, branch in enumerate(branches) if branch is node.below(value)), -1)
            if value in node.values
            else -1
            for value in schema.attributes[node.attribute]
        ]
        places = np.array(by_value)[codes[node.attribute][there]]
        below += [(branch, there[places == i]) for i, branch in enumerate(branches)]
    return result


def _by_boosting(model: BoostedModel, schema: Schema, positive: str, codes: dict[str, Codes], rows: int) -> Floats:
    assert model.classes is not None
    bins = {}
    for name, column in model.columns.items():
        where = f"model: {ANOTHER}: {quoted(name)}"
        bins[name] = np.array([column.code(value, where) for value in schema.attributes[name]])[codes[name]]
    return np.asarray(model.chances(model.margins_of(bins, rows))[:, model.classes.index(positive)])


def _share(leaf: Leaf, positive: str) -> float:
    if leaf.support is not None and (rows := sum(max(0, count) for count in leaf.support.counts.values())):
        return max(0, leaf.support.counts.get(positive, 0)) / rows
    return float(leaf.label == positive)


def _weight(name: str, column: Any, value: str) -> float:
    if isinstance(column, Slope):
        if value == MISSING:
            return 0.0
        try:
            return column.added(float(value))
        except ValueError:
            raise InputError(
                f"model: {ANOTHER}: {quoted(name)} is a number for it, and {quoted(value)} is none"
            ) from None
    if value not in column:
        raise InputError(f"model: {ANOTHER}: it knows no {quoted(value)} of {quoted(name)}")
    return float(column[value])


def _counts(name: str, values: Any, value: str) -> list[int]:
    if value not in values:
        raise InputError(f"model: {ANOTHER}: it knows no {quoted(value)} of {quoted(name)}")
    return list(values[value])
