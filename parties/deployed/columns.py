"""Which cells a model takes, and what each means: as its table maps them, as the schema does, or as categories."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parties.models.boosted import BoostedModel, Column
from parties.models.load import AnyModel, columns_of, form_of, schema_for
from parties.models.trees.tree import TreeFile, domains
from parties.sources.mapping import ColumnRule, rules
from parties.sources.settings import FormatSettings
from parties.tables.delimited import MISSING

if TYPE_CHECKING:
    from pathlib import Path

    from parties.sources.settings import TableSettings


@dataclass(frozen=True)
class Asked:
    """A column that a model asks for, and how its cells become the rule's categories.

    If that is not `mapped` they are spelled as the model has them; without categories they are numbers.
    """

    rule: ColumnRule
    mapped: bool = True

    @property
    def raw(self) -> bool:
        """Whether a cell is a number as it stands."""
        return not self.rule.categories

    def spelled(self, text: str) -> str | None:
        """Return a cell's text as the model reads it, "" for no value; None of what the schema does not know."""
        if not self.mapped:
            return text or MISSING
        return None if (code := self.rule.code(text)) is None else self.rule.categories[code]


def asked(model: AnyModel, schema_file: Path | None = None, table: TableSettings | None = None) -> Mapping[str, Asked]:
    """Return the columns of a model, by name: by a table's mapping, by a schema, or spelled as the model has them.

    `InputError` if the schema lacks one of them.
    """
    names = columns_of(model)
    if table is not None:
        found = rules(table.columns, schema_for(model, table.schema_file), names, table.format)
    elif schema_file is not None:
        found = rules({}, schema_for(model, schema_file), names, FormatSettings())
    else:
        return {name: _plain(model, name) for name in names}
    return {rule.attribute: Asked(rule) for rule in found}


def _plain(model: AnyModel, name: str) -> Asked:
    """Return a column whose cells are spelled as the model has them: numbers, if it knows no values."""
    known = domains(model.trees) if isinstance(model, TreeFile) else {name: form_of(model).columns[name].values}
    values = tuple(known[name])
    if not values:
        return Asked(ColumnRule(name, name), mapped=False)
    index = {value: place for place, value in enumerate(values)}
    return Asked(ColumnRule(name, name, values, index, missing=index.get(MISSING)), mapped=False)


def codes_of(model: TreeFile | BoostedModel, asked: Mapping[str, Asked]) -> dict[str, dict[int, int]]:
    """Return the code that trees know each category of a column by; none of those that they do not know."""
    columns: Mapping[str, Column]
    if isinstance(model, TreeFile):
        known = domains(model.trees)
        columns = {name: Column(None, {v: i for i, v in enumerate(values)}, True) for name, values in known.items()}
    else:
        columns = model.columns
    codes: dict[str, dict[int, int]] = {name: {} for name in columns}
    for name, column in columns.items():
        for place, text in enumerate(asked[name].rule.categories):
            with suppress(ValueError):
                codes[name][place] = column.read(text)
    return codes
