"""Rows that an alignment has put in one order at both parties: the file of `smc align exact`, and own columns by it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parties.base.text import listed
from parties.jobs.hidden_rows import party_of_each
from parties.sources.labels import keyed_codes
from parties.sources.mapping import rules
from parties.sources.opening import open_rows, open_table
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from parties.tables.unfit import NoColumnError
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Indices

NUMBERED = "row of "  # begins the name of the column of numbers, before the alignment's identifier
GIVE = "give the file of smc align exact or hidden"
IDENTIFIER_BYTES = 8
Key = tuple[str, ...]


def row_column(session: bytes) -> str:
    """Return the name of the column of row numbers in a file of aligned rows: it names the alignment.

    Args:
        session: Identifier of the alignment's session, equal at both parties.
    """
    return NUMBERED + session[:IDENTIFIER_BYTES].hex()


@dataclass(frozen=True)
class AlignedRows:
    """A file of aligned rows.

    Attributes:
        label: Name of the file for messages.
        alignment: Identifier of the alignment, equal at both parties.
        columns: Names of the key columns.
        keys: The cells of each row in these columns, as own table writes them.
    """

    label: str
    alignment: str
    columns: tuple[str, ...]
    keys: list[Key] = field(repr=False)

    @classmethod
    def parsed(cls, text: str, label: str) -> AlignedRows:
        """Return the aligned rows of a file's content.

        Args:
            text: The content.
            label: Name of the file for messages.

        Raises:
            InputError: It is another file, or lines are missing or moved.
        """
        try:
            head, *lines = list(csv.reader(io.StringIO(text))) or [[]]
        except csv.Error as error:
            raise InputError(f"{label}: is no CSV file ({error}); {GIVE}") from None
        if len(head) < 2 or not head[-1].startswith(NUMBERED):
            raise InputError(f"{label}: its last column is not named '{NUMBERED}...'; {GIVE}")
        if not lines:
            raise InputError(f"{label}: no row is aligned; align by other keys")
        for number, line in enumerate(lines, 1):
            if len(line) != len(head) or line[-1] != str(number):
                raise InputError(f"{label}: row {number} is missing or moved; keep all rows in their order")
        return cls(label, head[-1].removeprefix(NUMBERED), tuple(head[:-1]), [tuple(line[:-1]) for line in lines])

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a command on these rows that follow from them."""
        return {"alignment": self.alignment, "max_rows": len(self.keys), "hidden_rows": None}

    def cells_in(self, table: TableSettings, schema: Schema, names: Sequence[str]) -> tuple[Indices, list[str]]:
        """Return columns of the aligned rows as category indices, and the schema's other columns that the table has.

        Args:
            table: Own table.
            schema: The public schema, which may have more columns.
            names: The columns to read, at least one.

        Returns:
            The cells, int64[rows, columns], and the names of the columns that are not read.

        Raises:
            InputError: The table cannot be read, lacks a column or an aligned row, or a value is not in the schema.
        """
        own = schema.only(names)
        mapping = {name: column for name, column in table.columns.items() if name in names}
        mapped = table.model_copy(update={"columns": mapping})
        try:
            with open_table(mapped, own, names[0], names[1:]) as source:
                source.check()
                unread = [name for name in schema.attributes if name in source.names and name not in names]
        except NoColumnError as error:
            raise InputError(f"{error}; in a command, if the peer has it, correct --listener-columns") from None
        keys = [table.renamed.get(name, name) for name in self.columns]
        with open_rows(mapped) as rows:
            texts, codes = keyed_codes(rows, rules(mapping, own, names, table.format), keys, table.is_chosen)
        row_of: dict[Key, int] = {}
        for row, key in enumerate(zip(*texts, strict=True)):
            row_of.setdefault(tuple(cell or "" for cell in key), row)  # of doubles the alignment takes the first
        if missing := sum(key not in row_of for key in self.keys):
            raise InputError(
                f"{table.label}: lacks {missing:,} of the keys in {self.label}, as written there; give the table "
                "aligned there, or align anew"
            )
        order = [row_of[key] for key in self.keys]
        return np.column_stack([column[order] for column in codes]).astype(np.int64), unread


def owners(schema: Schema, listener_columns: Sequence[str]) -> Mapping[str, int]:
    """Return the party of each column: 0, which listens, or 1. Raise InputError if a party has no column.

    Args:
        schema: The public schema of all columns.
        listener_columns: Columns of the party that listens.
    """
    if not 0 < len({*schema.attributes} & {*listener_columns}) < len(schema.attributes):
        raise InputError(f"the job reads {listed(schema.attributes)}, columns of one party; name one of each party")
    return party_of_each(schema.attributes, listener_columns)
