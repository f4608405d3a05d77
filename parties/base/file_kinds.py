"""Descriptions of files that were given in place of another one, for errors."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parties.base import files
from smc.errors import InputError

TREE, FOREST, LINEAR = "a tree", "a forest", "a linear model"
BOOSTED, BAYES = "a model of boosted trees", "a naive Bayes model"
RULES, CLUSTERS = "a file of rules", "a file of clusters"
SCHEMA, PARTY, CSV, JSON = "a schema", "a party's file", "a CSV file", "a JSON file"
SECRET = "a key or a certificate"
# keys of JSON documents, in order of precedence
OF_KEYS = {"intercept": LINEAR, "rules": RULES, "tree": TREE, "trees": FOREST, "clusters": CLUSTERS, "classes": BAYES}


@contextmanager
def expecting(path: Path, expected_kinds: tuple[str, ...], remedy: str) -> Iterator[None]:
    """Replace an InputError of the block by one that names the file's kind, if the file is recognised as another kind.

    Args:
        path: The file that the block reads.
        expected_kinds: Expected kinds, such as `TREE`, as `kind_of` returns them; the error names the first.
        remedy: Which file to give instead.

    Raises:
        InputError: The block has raised one.
    """
    try:
        yield
    except InputError:
        kind = kind_of(path)
        if kind is None or kind in expected_kinds:
            raise
        raise InputError(f"{path}: this is {kind}, not {expected_kinds[0]}: {remedy}") from None


def kind_of(path: Path) -> str | None:
    """Return the kind of a file; None if it is unknown or cannot be read.

    Examples:
        >>> kind_of(Path("no such file")) is None
        True
    """
    try:
        text = files.read_text(path)
    except InputError:
        return None
    if text.startswith("-----BEGIN"):
        return SECRET
    try:
        return _of_json(json.loads(text))
    except (ValueError, RecursionError):
        pass
    try:
        return _of_toml(tomllib.loads(text))
    except (ValueError, RecursionError):
        pass
    return CSV if _is_csv(text) else None


def _of_json(content: Any) -> str:
    keys = content.keys() if isinstance(content, dict) else set()
    kind = next((kind for key, kind in OF_KEYS.items() if key in keys), JSON)
    return BOOSTED if kind == FOREST and "columns" in keys else kind


def _of_toml(content: dict[str, Any]) -> str | None:
    if "attributes" in content:
        return SCHEMA
    return PARTY if content.keys() & {"link", "node", "tables"} else None


def _is_csv(text: str) -> bool:
    """Return whether the first lines have an equal number of columns, two or more."""
    lines = [line for line in text.splitlines() if line][:5]
    for mark in ",;\t":
        try:
            widths = {len(row) for row in csv.reader(lines, delimiter=mark, strict=True)}
        except csv.Error:
            continue
        if len(lines) > 1 and "=" not in lines[0] and len(widths) == 1 and min(widths) > 1:
            return True
    return False
