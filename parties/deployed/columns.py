"""Input columns of a model, and the meaning of their cells: by a table's mapping, a schema, or categories."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from parties.models.boosted import BoostedModel, Column
from parties.models.load import AnyModel, columns_of, form_of, schema_for
from parties.models.trees.tree import TreeFile, domains
from parties.sources.mapping import ColumnRule, rules
from parties.sources.settings import FormatSettings, TableSettings
from parties.tables.delimited import MISSING


@dataclass(frozen=True)
class Asked:
    """A column that a model requires, with the rule that maps its cells to categories.

    If it is not `mapped`, cells are spelled as in the model. If its rule has no categories, cells are numbers.
    """

    rule: ColumnRule
    mapped: bool = True

    @property
    def raw(self) -> bool:
        """Whether a cell is used as a number."""
        return not self.rule.categories

    def spelled(self, text: str) -> str | None:
        """Return a cell's text in the model's spelling, "" for no value; None for a value unknown to the schema."""
        if not self.mapped:
            return text or MISSING
        return None if (code := self.rule.code(text)) is None else self.rule.categories[code]


def asked(model: AnyModel, schema_file: Path | None = None, table: TableSettings | None = None) -> Mapping[str, Asked]:
    """Return the columns of a model by name, mapped by a table or a schema, or spelled as in the model.

    Args:
        model: The model.
        schema_file: The schema; None takes the model's spelling.
        table: Table settings with a mapping and a schema; they take precedence.

    Raises:
        InputError: The schema lacks one of the columns.
    """
    names = columns_of(model)
    if table is not None:
        column_rules = rules(table.columns, schema_for(model, table.schema_file), names, table.format)
    elif schema_file is not None:
        column_rules = rules({}, schema_for(model, schema_file), names, FormatSettings())
    else:
        return {name: _plain(model, name) for name in names}
    return {rule.attribute: Asked(rule) for rule in column_rules}


def _plain(model: AnyModel, name: str) -> Asked:
    values_of = domains(model.trees) if isinstance(model, TreeFile) else {name: form_of(model).columns[name].values}
    values = tuple(values_of[name])
    if not values:
        return Asked(ColumnRule(name, name), mapped=False)
    index = {value: position for position, value in enumerate(values)}
    return Asked(ColumnRule(name, name, values, index, missing=index.get(MISSING)), mapped=False)


def codes_of(model: TreeFile | BoostedModel, asked: Mapping[str, Asked]) -> dict[str, dict[int, int]]:
    """Return the trees' code of each known category, by column and index of the category.

    Args:
        model: The model.
        asked: Columns of the model.
    """
    columns: Mapping[str, Column]
    if isinstance(model, TreeFile):
        values_of = domains(model.trees)
        columns = {name: Column(None, {v: i for i, v in enumerate(values)}, True) for name, values in values_of.items()}
    else:
        columns = model.columns
    codes: dict[str, dict[int, int]] = {name: {} for name in columns}
    for name, column in columns.items():
        for index, text in enumerate(asked[name].rule.categories):
            with suppress(ValueError):
                codes[name][index] = column.read(text)
    return codes
