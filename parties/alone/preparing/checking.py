"""Test of a proposed schema on the table's own rows, before it is written to a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from parties.alone.preparing.columns import TableProfile
from parties.alone.preparing.proposing import TableProposal
from parties.base.settings import validated
from parties.sources.opening import open_table
from parties.sources.settings import ColumnSettings, TableSettings
from parties.tables.schema import Schema
from parties.tables.unfit import UnfitError


def checked(table: TableProfile, proposal: TableProposal, present: TableSettings | None) -> TableProposal:
    """Return the proposal without columns that `smc check` would refuse.

    Args:
        table: Profile of the raw table.
        proposal: The proposed schema and mapping.
        present: Settings of the table in party.toml; None if it is not there.

    Raises:
        InputError: The target has cells outside the schema, or no column remains.
    """
    while (fault := _fault(table, proposal, present)) is not None:
        bad = fault.attributes or [
            column for column in proposal.schema.attributes if _is_at_fault(table, proposal, present, column)
        ]
        if not bad or proposal.schema.target in bad:
            raise fault
        attributes = {key: of for key, of in proposal.schema.attributes.items() if key not in bad}
        if not attributes:
            raise fault
        proposal = replace(
            proposal,
            schema=Schema(attributes, proposal.schema.target, proposal.schema.keys),
            columns=tuple(
                replace(c, domain=None, remarks=(), aside="its cells cannot be read back") if c.name in bad else c
                for c in proposal.columns
            ),
            mapping={key: of for key, of in proposal.mapping.items() if key not in bad},
        )
    return proposal


def _is_at_fault(table: TableProfile, proposal: TableProposal, present: TableSettings | None, column: str) -> bool:
    alone = replace(
        proposal,
        schema=Schema({column: proposal.schema.attributes[column]}, None),
        mapping={key: of for key, of in proposal.mapping.items() if key == column},
    )
    return _fault(table, alone, present) is not None


def _fault(table: TableProfile, proposal: TableProposal, present: TableSettings | None) -> UnfitError | None:
    """Return the error that `smc check` would report under the proposal; None if the table fits.

    `present` are the settings of the table in the configuration; None for a new one.
    """
    columns = {key: validated(ColumnSettings, of) for key, of in proposal.mapping.items()}
    if present is None and isinstance(table.place, TableSettings):
        present = table.place
    elif present is None:
        fields = table.place.model_dump(exclude_unset=True, exclude={"format"}) | {"schema": "schema.toml"}
        present = TableSettings.model_validate(fields, context={"directory": Path()})
    settings = present.bounded_by(max(present.max_rows, table.rows))
    settings = settings.model_copy(update={"format": table.spelling, "columns": columns, "derived": table.derived})
    schema = proposal.schema
    try:
        with open_table(settings, schema, schema.target or next(iter(schema.attributes))) as source:
            source.check()
    except UnfitError as error:
        return error
    return None
