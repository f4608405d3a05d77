"""Scores of rows by a public model: the probability, from 0 to 1, of the positive class.

A linear classifier's score goes through the logistic function. Naive Bayes gives the probability of the class. A single
tree gives 0 or 1, or the share in a leaf that has counts. A forest gives the mean over its trees.
Margins of boosted trees go through the logistic function, or softmax.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.base.text import quoted
from parties.models.bayes import NaiveBayesModel
from parties.models.boosted import BoostedModel
from parties.models.linear import LinearModel
from parties.models.load import columns_of, form_of, is_of_numbers
from parties.models.trees.compiled import choice, compiled
from parties.models.trees.tree import Leaf, Node, Split, TreeFile, domains
from parties.tables.schema import Schema
from protocols.arrays import Codes, Floats
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.classification import Splits

Model: TypeAlias = TreeFile | LinearModel | NaiveBayesModel | BoostedModel
ANOTHER = "the model is for another schema"


def read(text: str) -> Model:
    """Return the model in a text, the content of a model file. Raise InputError if it is invalid."""
    try:
        fields = json.loads(text)
        if isinstance(fields, dict) and "trees" in fields and "base" in fields:
            return BoostedModel.parse(fields)
        if isinstance(fields, dict) and ("tree" in fields or "trees" in fields):
            return TreeFile.parse(json.loads(text, parse_int=float))
        if isinstance(fields, dict) and ("intercept" in fields or "reason" in fields):
            return LinearModel.parse(fields)
        return NaiveBayesModel.parse(fields)
    except (ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"model: not a tree, linear or naive Bayes model: {error}") from None


def check(model: Model, schema: Schema, positive: str) -> None:
    """Raise InputError if a model does not fit the schema, predicts numbers, or lacks the class.

    Trees may lack the class: then every row has the score 0.

    Args:
        model: The model.
        schema: The schema.
        positive: The positive class.
    """
    if model.target not in schema.attributes:
        raise InputError(f"model: {ANOTHER}: there is no target {quoted(model.target)}")
    for name in columns_of(model):
        if name not in schema.attributes:
            raise InputError(f"model: {ANOTHER}: there is no column {quoted(name)}")
    if is_of_numbers(model):
        raise InputError("model: it predicts numbers; give a model that predicts classes, or use smc evaluate error")
    classes = model.classes if not isinstance(model, TreeFile) else None
    if classes is not None and positive not in classes:
        raise InputError(f"model: {ANOTHER}: it has no class {quoted(positive)}")
    codes = {name: np.arange(len(schema.attributes[name])) for name in columns_of(model)}
    for name in codes:  # try every value of each column, wherever a model uses it
        longest = {other: codes[name] * 0 if other != name else codes[name] for other in codes}
        scores(model, schema, positive, longest, len(codes[name]))
    if isinstance(model, TreeFile):
        for node in model.trees:
            check_tree(node, schema)


def check_tree(node: Node, schema: Schema) -> None:
    """Raise InputError if a tree lacks a branch for a value of the schema.

    Args:
        node: Root of the tree.
        schema: The schema, with all columns of the tree.
    """
    if isinstance(node, Split):
        for value in schema.attributes[node.attribute]:
            if value not in node.values:
                raise InputError(f"model: {ANOTHER}: it has no branch for {quoted(value)} of {quoted(node.attribute)}")
        for branch in node.branches.values():
            check_tree(branch, schema)


def leaves(node: Node, schema: Schema, *above: tuple[str, tuple[bool, ...]]) -> Iterator[tuple[str, Splits]]:
    """Yield the label of each leaf and its path: for each split, its column and whether each value leads to the leaf.

    Args:
        node: Root of the tree.
        schema: The schema, with all columns of the tree.
        above: Path to the root.
    """
    if isinstance(node, Leaf):
        yield node.label, above
        return
    taken = [node.below(value) for value in schema.attributes[node.attribute]]
    for branch in node.branches.values():
        yield from leaves(branch, schema, *above, (node.attribute, tuple(below is branch for below in taken)))


def scores(model: Model, schema: Schema, positive: str, codes: dict[str, Codes], rows: int) -> Floats:
    """Return the score of each row for the positive class, float[rows].

    Args:
        model: The model.
        schema: The schema.
        positive: The positive class.
        codes: Category indices of each column, int[rows].
        rows: Number of rows.
    """
    if isinstance(model, TreeFile):
        trees = [_by_tree(tree, schema, positive, codes, rows) for tree in model.trees]
        return np.asarray(np.mean(trees, axis=0))
    form = form_of(model)
    assert form.classes is not None
    cells = {name: _read(name, column, schema.attributes[name])[codes[name]] for name, column in form.columns.items()}
    margins = form.margins_of(cells, rows)
    if isinstance(model, LinearModel):
        sign = 1 if form.classes[1] == positive else -1
        return np.asarray(1 / (1 + np.exp(np.clip(-sign * margins[0], -700, 700))))
    return np.asarray(form.chances(margins)[:, form.classes.index(positive)])


def check_numbers(model: Model, schema: Schema) -> None:
    """Raise InputError if a model predicts no numbers, or does not know a value of the schema.

    Args:
        model: The model.
        schema: The schema.
    """
    if not is_of_numbers(model):
        raise InputError("model: it predicts classes; give a model that predicts numbers, or use smc evaluate report")
    assert not isinstance(model, TreeFile)
    for name, column in form_of(model).columns.items():
        _read(name, column, schema.attributes[name])


def numbers(model: Model, domains: Mapping[str, Sequence[str]], codes: Mapping[str, Codes], rows: int) -> Floats:
    """Return the predicted number of each row, float[rows].

    Args:
        model: A model of numbers.
        domains: Values of each of its columns.
        codes: Indices of each column's values, int[rows].
        rows: Number of rows.
    """
    assert not isinstance(model, TreeFile)
    form = form_of(model)
    cells = {name: _read(name, column, domains[name])[codes[name]] for name, column in form.columns.items()}
    return form.numbers(form.margins_of(cells, rows))


def _read(name: str, column: Any, values: Sequence[str]) -> NDArray[Any]:
    try:
        return np.array([column.read(value) for value in values])
    except ValueError as error:
        remedy = f"learn the model on all values of {quoted(name)}, or map the others to known ones"
        raise InputError(f"model: {ANOTHER}: {quoted(name)}: {error}; {remedy}") from None


def _by_tree(tree: Node, schema: Schema, positive: str, codes: dict[str, Codes], rows: int) -> Floats:
    arrays, cells = compiled(choice(tree)), {}
    for name, values in domains([tree]).items():
        index = {value: code for code, value in enumerate(values)}
        cells[name] = np.array([index.get(value, -1) for value in schema.attributes[name]])[codes[name]]
    shares = np.array([_share(leaf, positive) for leaf in arrays.ends])
    return np.asarray(shares[arrays.route(cells, rows)])


def _share(leaf: Leaf, positive: str) -> float:
    if leaf.support is not None and (rows := sum(max(0, count) for count in leaf.support.counts.values())):
        return max(0, leaf.support.counts.get(positive, 0)) / rows
    return float(leaf.label == positive)
