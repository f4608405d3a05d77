"""What this party can take part with: its tables with their public schemas, its circuits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parties.base.text import instead, quoted
from parties.jobs.inputs import Inputs
from parties.node.settings import NodeFile
from parties.sources.mapping import rules
from parties.sources.settings import MOST_TRIES, TableSettings
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from smc.errors import InputError


@dataclass(frozen=True)
class Offer:
    """A table that this party takes part with: its settings and its public schema."""

    settings: TableSettings
    schema: Schema


@dataclass(frozen=True)
class Offers:
    """All offers of a party."""

    tables: Mapping[str, Offer]
    circuits: Mapping[str, Path]
    retention_days: int | None = None  # of jobs whatever their table

    @classmethod
    def of(cls, file: NodeFile) -> Offers:
        """Return those of a node's file. `InputError` if a schema cannot be read, or a mapping does not fit it."""
        return cls(
            {name: _offer(name, table) for name, table in file.tables.items()}, file.circuits, file.node.retention_days
        )

    def inputs(self, party: int, table: str, typed: Mapping[str, Any] | None = None) -> Inputs:
        """Return what this party, of this number, brings to a job on a table; an empty name stands for none.

        `InputError`: no such table.
        """
        if not table:
            return Inputs(party, circuits=self.circuits, typed=typed or {})
        offer = self.tables.get(table)
        if offer is None:
            raise InputError(f"there is no table {quoted(table)}{instead(table, self.tables)}")
        return Inputs(party, offer.settings, offer.schema, self.circuits, typed or {})

    def version(self, table: str) -> str:
        """Return what this party's file says which rows of which people the table has; empty if it says nothing."""
        offer = self.tables.get(table)
        return offer.settings.state if offer is not None else ""

    def person(self, table: str) -> str:
        """Return what this party's file says whose row one of a table is; empty if it says nothing."""
        offer = self.tables.get(table)
        return (offer.settings.person if offer is not None else None) or ""

    def stale(self) -> dict[str, str]:
        """Return what is to be said, by table, where the schema file is not what it was when it was read."""
        notes = {}
        for name, offer in self.tables.items():
            try:
                now = schemas.load(offer.settings.schema_file)
                if (now.digest(), now.target) == (offer.schema.digest(), offer.schema.target):
                    continue
                what = "has changed"
            except InputError:
                what = "cannot be read any more"
            notes[name] = (
                f"the schema of the table {quoted(name)} {what} since the node began: jobs go on by what it said then; "
                "start the node again"
            )
        return notes

    def kept(self, table: str) -> int | None:
        """Return for how many days jobs on this table are kept once they have ended: the least of what our file says.

        None: for ever.
        """
        offer = self.tables.get(table)
        rights = None if offer is None else offer.settings.rights
        said = (self.retention_days, None if rights is None else rights.retention_days)
        return min((days for days in said if days is not None), default=None)

    def tries(self, table: str) -> int:
        """Return how many sessions of a job on this table may begin, each without getting further than those before."""
        offer = self.tables.get(table)
        return offer.settings.tries if offer is not None else MOST_TRIES


def _offer(name: str, table: TableSettings) -> Offer:
    try:
        offer = Offer(table, schemas.load(table.schema_file))
        rules(table.columns, offer.schema, list(offer.schema.attributes))  # a mapping that does not fit is told now
        return offer
    except InputError as error:
        raise InputError(f"tables.{name}: {error}") from None
