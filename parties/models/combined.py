"""Combination of models that parties learned alone: trees vote, rules unite, weights are averaged, counts add up.

The models are files that `smc` wrote. No rows are read, so in general the result is not the model of a joint job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from parties.base import files
from parties.models.linear import content
from parties.models.load import load_model
from parties.models.rules import Rules
from parties.models.trees.tree import TreeFile
from smc.errors import InputError

Document: TypeAlias = Mapping[str, Any]
HEAD = ("target", "classes", "log", "least", "greatest")  # of a linear model's file


def votes(paths: Sequence[Path]) -> dict[str, Any]:
    """Return the forest of all trees in these files, one vote each.

    Raise InputError unless all files have one schema, target, tolerance and noise.
    """
    parts = [TreeFile.load(path) for path in paths]
    require_equal(paths, [(part.schema_digest, part.target, part.tolerance, part.noise) for part in parts])
    first, *others = (tree for part in parts for tree in part.trees)
    return replace(parts[0], tree=first, others=tuple(others)).fields()


def averages(paths: Sequence[Path]) -> dict[str, Any]:
    """Return the linear model with the means of all weights. Raise InputError if target, classes or columns differ."""
    parts = _models(paths, HEAD, _frame)
    head = {key: value for key, value in parts[0].items() if key in HEAD}
    weights = [
        {name: {key: column[key] for key in ("weight", "weights") if key in column} for name, column in of.items()}
        for of in (part["columns"] for part in parts)
    ]
    means = _by_item(weights, fmean)
    columns = {name: {**column, **means[name]} for name, column in parts[0]["columns"].items()}
    return {**head, "intercept": fmean(part["intercept"] for part in parts), "columns": columns}


def sums(paths: Sequence[Path]) -> dict[str, Any]:
    """Return the naive Bayes model of all counted rows. Raise InputError if targets, classes or columns differ."""
    parts = _models(paths, ("target",), sorted)
    require_equal(paths, [list(part["classes"]) for part in parts])
    counts = {key: _by_item([part[key] for part in parts], sum) for key in ("classes", "columns")}
    return {"target": parts[0]["target"], **counts}


def union(paths: Sequence[Path], at_least: int) -> dict[str, Any]:
    """Return a document with the rules that several files have, those in most files first.

    Args:
        paths: Files of rules.
        at_least: Number of files that must have a rule.

    Raises:
        InputError: A file is not one of rules, or the rules are of other baskets.
    """
    parts = [Rules.load(path) for path in paths]
    baskets = [files.read_json(path).get("transaction") for path in paths]
    require_equal(paths, baskets)
    texts = [{(frozenset(given), frozenset(then)): (given, then) for given, then in part.texts} for part in parts]
    holders = Counter(rule for part in texts for rule in part)
    shown = {rule: text for part in reversed(texts) for rule, text in part.items()}
    rules = [
        {"if": shown[rule][0], "then": shown[rule][1], "holders": count}
        for rule, count in holders.most_common()
        if count >= at_least
    ]
    return {"rules": rules} | ({} if baskets[0] is None else {"transaction": baskets[0]})


def require_equal(paths: Sequence[Path], questions: Sequence[object]) -> None:
    """Raise InputError for the first file with another question than the first file.

    Args:
        paths: The files.
        questions: The question that each file answers, such as its schema, target and settings.
    """
    for path, question in zip(paths, questions, strict=True):
        if question != questions[0]:
            raise InputError(f"{path}: answers another question than {paths[0]}; learn both with equal settings")


def _models(paths: Sequence[Path], keys: Sequence[str], frame: Callable[[Any], object]) -> list[dict[str, Any]]:
    """Return the contents of model files. Raise InputError unless these keys, and `frame` of each column, are equal."""
    for path in paths:
        load_model(path)
    parts: list[dict[str, Any]] = [dict(content(files.read_json(path))) for path in paths]
    questions = [
        ([part.get(key) for key in keys], {name: frame(column) for name, column in part["columns"].items()})
        for part in parts
    ]
    require_equal(paths, questions)
    return parts


def _frame(column: Document) -> Document:
    return {k: sorted(v) if isinstance(v, Mapping) else v for k, v in column.items() if k != "weight"}


def _by_item(parts: Sequence[Any], leaf: Callable[[list[Any]], Any]) -> Any:
    """Return a JSON value of the common structure of `parts`, each number being `leaf` of the list of theirs there."""
    if isinstance(parts[0], Mapping):
        return {key: _by_item([part[key] for part in parts], leaf) for key in parts[0]}
    if isinstance(parts[0], list):
        return [_by_item(list(items), leaf) for items in zip(*parts, strict=True)]
    return leaf(list(parts))
