"""All rows of one person in a party's table, for access (GDPR art. 15) and portability (art. 20)."""

from __future__ import annotations

import sqlglot.expressions as exp

from parties.sources import open_rows
from parties.sources.people import column_text
from parties.sources.settings import TableSettings


def answer(table: TableSettings, column: str, person: str) -> tuple[list[str], list[list[str | None]]]:
    """Return the column names of a table's source, or of its query, and the person's rows as text.

    Rows that `where`, consent and objections exclude are included: they are personal data too.

    Args:
        table: the party's table
        column: column that identifies persons
        person: the person's value in that column

    Raises:
        InputError: the rows cannot be read, or the column does not exist
    """
    whole = table.model_copy(
        update={"where": None, "consent": None, "objections": None, "person": None, "at_most": None, "derived": {}}
    )
    with open_rows(whole) as rows:
        names = list(rows.types)
        is_theirs = exp.EQ(this=column_text(rows, column, "--column"), expression=exp.Literal.string(person))
        cells = [exp.cast(exp.column(name, quoted=True), "TEXT").as_(f"c{i}") for i, name in enumerate(names)]
        query = exp.Select().select(*cells).from_(rows.query.subquery("t")).where(is_theirs)
        pieces = (piece.to_pydict().values() for piece in rows.engine.batches(query))
        return names, [list(line) for piece in pieces for line in zip(*piece, strict=True)]
