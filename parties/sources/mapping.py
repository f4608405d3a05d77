"""What each column means: the settings of a table, checked against the public schema, as rules for engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parties.base.text import did_you_mean, instead, listed, quoted
from parties.sources.settings import ColumnSettings
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from smc.errors import InputError

NUMBER = r"^[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,2})?$"  # text that is one


@dataclass(frozen=True)
class ColumnRule:
    """The rule by which the cells of one column become category indices of an attribute.

    First `texts`: a cell's text, without space around it, to its index. Then, if there are `edges`, the number x of the
    cell: index `ranges[i]` if edges[i-1] <= x < edges[i]. `missing` is the index of no value, None if the schema has no
    category for it. Anything else is not in the schema.
    """

    attribute: str
    column: str
    categories: tuple[str, ...]
    texts: Mapping[str, int]
    edges: tuple[float, ...] | None
    ranges: tuple[int, ...]
    missing: int | None

    def complaint(self, text: str | None) -> str:
        """Return what is wrong with a value that has no index, given as text; None for no value."""
        if text is None or text in ("", MISSING):
            return "no value, and the schema does not list '?' (missing) for this attribute"
        if self.edges is not None:
            return f"{quoted(text)} is not a number"
        hint = did_you_mean(text, self.texts)
        return f"{quoted(text)} is not in the schema{hint}; allowed: {listed(self.texts)}"


def rules(columns: Mapping[str, ColumnSettings], schema: Schema, names: Sequence[str]) -> list[ColumnRule]:
    """Return the rules of the named attributes, in that order.

    `InputError` if the settings, of whichever attribute, do not fit the schema; it names the key under `columns`.
    """
    for name in columns:
        if name not in schema.attributes:
            there = instead(name, schema.attributes)
            raise InputError(f"columns: {quoted(name)} is not an attribute of the schema{there}")
    by_name = {
        name: _rule(name, categories, columns.get(name, ColumnSettings()))
        for name, categories in schema.attributes.items()
    }
    return [by_name[name] for name in names]


def _rule(name: str, categories: tuple[str, ...], settings: ColumnSettings) -> ColumnRule:
    index = {category: i for i, category in enumerate(categories)}

    def place(category: str, key: str) -> int:
        if category not in index:
            hint = did_you_mean(category, categories)
            raise InputError(
                f"columns.{name}.{key}: {quoted(category)} is not a category of the schema{hint}; "
                f"it has {listed(categories)}"
            )
        return index[category]

    missing = index.get(MISSING) if settings.missing is None else place(settings.missing, "missing")
    texts = {raw: place(category, "values") for raw, category in settings.values.items()}
    ranges = tuple(i for category, i in index.items() if category != MISSING)
    if settings.edges is None:
        texts = index | texts
    elif not ranges:
        raise InputError(f"columns.{name}.edges: the attribute has no category for a range, only '?'")
    elif len(settings.edges) != len(ranges) - 1:
        raise InputError(
            f"columns.{name}.edges: {len(settings.edges)} edges, but the {len(ranges)} categories other than '?' "
            f"need {len(ranges) - 1}"
        )
    if missing is not None:
        texts = texts | {MISSING: missing}
    return ColumnRule(name, settings.column or name, categories, texts, settings.edges, ranges, missing)
