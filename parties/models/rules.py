"""Association rules as a result: which rules apply to a row, and which hold for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.base import file_kinds, files
from parties.tables.delimited import Columns
from smc.errors import InputError

Items: TypeAlias = tuple[tuple[str, str], ...]  # columns and values
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Rules:
    """Rules "if these values, then those", in their order; about rows, or about baskets of several rows each."""

    rules: Sequence[tuple[Items, Items]]
    of_baskets: bool = False

    @classmethod
    def parse(cls, fields: Any) -> Rules:
        """Return the rules in a job's result, or in the content of its file. Raise ValueError if it is invalid."""
        rules = fields.get("rules") if isinstance(fields, dict) else None
        if not isinstance(rules, list):
            raise ValueError("it has no rules")
        return cls([(_items(rule, "if"), _items(rule, "then")) for rule in rules], "transaction" in fields)

    @classmethod
    def load(cls, path: Path) -> Rules:
        """Return the rules in a file of `smc rules --out`. Raise InputError, naming the file, if it is invalid."""
        with file_kinds.expecting(path, (file_kinds.RULES, file_kinds.JSON), "give a file that smc rules --out wrote"):
            try:
                return cls.parse(files.read_json(path))
            except ValueError as error:
                raise InputError(f"{path}: not a file that smc rules --out wrote: {error}") from None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns in the rules, each once."""
        return tuple(dict.fromkeys(name for rule in self.rules for items in rule for name, _ in items))

    @property
    def texts(self) -> Sequence[tuple[list[str], list[str]]]:
        """Conditions and conclusions of each rule, as texts of the file."""
        both = ([[f"{name}={value}" for name, value in items] for items in rule] for rule in self.rules)
        return [(conditions, then) for conditions, then in both]

    def fire(self, rows: Columns) -> Marks:
        """Return for each row the rules whose conditions it meets, bool[rows, rules].

        Raises:
            InputError: A column is missing, or the rules are about baskets.
        """
        return self._have(rows, [conditions for conditions, _ in self.rules])

    def hold(self, rows: Columns) -> Marks:
        """Return whether a row meets a rule's conditions and has its conclusions, bool[rows, rules]."""
        return self._have(rows, [(*conditions, *then) for conditions, then in self.rules])

    def _have(self, rows: Columns, sets: Sequence[Items]) -> Marks:
        if self.of_baskets:
            raise InputError("these rules are for baskets of several rows, so they cannot be applied to single rows")
        rows.require(self.columns)
        cells = {name: np.array(rows.values[name], dtype=object) for name in self.columns}
        items = {item for wanted in sets for item in wanted}
        has = {(name, value): np.asarray(cells[name] == value, dtype=bool) for name, value in items}
        marks = np.ones((len(rows.lines), len(sets)), dtype=bool)
        for rule_index, wanted in enumerate(sets):
            for item in wanted:
                marks[:, rule_index] &= has[item]
        return marks


def words(items: Items) -> str:
    """Return items as text for people, such as `age=young and sex=male`."""
    return " and ".join(f"{name}={value}" for name, value in items)


def _items(rule: Any, side: str) -> Items:
    items = rule.get(side) if isinstance(rule, Mapping) else None
    if not isinstance(items, list) or not items or not all(isinstance(item, str) and "=" in item for item in items):
        raise ValueError(f"rules: each must have {side!r}, texts column=value")
    return tuple((name, value) for name, _, value in (item.partition("=") for item in items))
