"""This party's contributions to jobs: its tables with their public schemas, and its circuits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parties.base.settings import at_key
from parties.base.text import instead, quoted
from parties.jobs.inputs import Inputs
from parties.node.settings import ALIGNED_HOURS, NodeFile
from parties.sources.mapping import rules
from parties.sources.settings import MOST_TRIES, TableSettings
from parties.tables import schema as schemas
from parties.tables.merging import side_by_side
from parties.tables.schema import Schema
from smc.errors import InputError


@dataclass(frozen=True)
class Offer:
    """A table that this party offers: its settings and its public schema."""

    settings: TableSettings
    schema: Schema


@dataclass(frozen=True)
class Offers:
    """All tables and circuits that a party offers for jobs."""

    tables: Mapping[str, Offer]
    circuits: Mapping[str, Path]
    retention_days: int | None = None  # of jobs on any table
    aligned_hours: int = ALIGNED_HOURS  # that the rows matched by a job are kept

    @classmethod
    def of(cls, file: NodeFile) -> Offers:
        """Return the offers of a node's file. Raise InputError if a schema or mapping is wrong."""
        return cls(
            {name: _offer(name, table) for name, table in file.tables.items()},
            file.circuits,
            file.node.retention_days,
            file.node.aligned_hours,
        )

    def inputs(self, party: int, table: str, typed: Mapping[str, Any] | None = None) -> Inputs:
        """Return this party's inputs to a job on a table.

        Args:
            party: Number of this party in the job.
            table: Name of the table; empty if the job needs none.
            typed: Values that the operator typed.

        Raises:
            InputError: There is no such table.
        """
        if not table:
            return Inputs(party, circuits=self.circuits, typed=typed or {})
        offer = self.tables.get(table)
        if offer is None:
            raise InputError(f"there is no table {quoted(table)}{instead(table, self.tables)}")
        return Inputs(min(party, 1), offer.settings, offer.schema, self.circuits, typed or {})

    def version(self, table: str) -> str:
        """Return the version of the table's rows and people that this party's file states; empty if it states none."""
        offer = self.tables.get(table)
        return offer.settings.state if offer is not None else ""

    def person(self, table: str) -> str:
        """Return the column or SQL that identifies each row's person; empty if this party's file has none."""
        offer = self.tables.get(table)
        return (offer.settings.person if offer is not None else None) or ""

    def stale(self) -> dict[str, str]:
        """Return a note, by table, if its schema file has changed or become unreadable since the node started."""
        notes = {}
        for name, offer in self.tables.items():
            try:
                now = schemas.load(offer.settings.schema_file)
                if (now.digest(), now.target) == (offer.schema.digest(), offer.schema.target):
                    continue
                news = "has changed"
            except InputError:
                news = "cannot be read any more"
            notes[name] = (
                f"the schema of the table {quoted(name)} {news} since the node started: jobs use the earlier schema; "
                "restart the node"
            )
        return notes

    def kept(self, table: str) -> int | None:
        """Return the days until ended jobs on a table are archived: the lesser of node's and table's; None: never."""
        offer = self.tables.get(table)
        rights = None if offer is None else offer.settings.rights
        retention_days = (self.retention_days, None if rights is None else rights.retention_days)
        return min((days for days in retention_days if days is not None), default=None)

    def tries(self, table: str) -> int:
        """Return how many sessions in a row of a job on this table may begin without progress."""
        offer = self.tables.get(table)
        return offer.settings.tries if offer is not None else MOST_TRIES


def check_beside(table: TableSettings, schema: Schema) -> None:
    """Check that the peer's schema in `beside`, if it is set, can be read and shares no column with the table.

    Args:
        table: Own table.
        schema: Schema of the own columns.

    Raises:
        InputError: The file is missing or no schema, or a column is in both.
    """
    if table.beside is not None:
        with at_key("beside"):
            theirs = schemas.load(table.beside)
            side_by_side(schema, theirs, schema.target or theirs.target)


def _offer(name: str, table: TableSettings) -> Offer:
    try:
        offer = Offer(table, schemas.load(table.schema_file))
        rules(table.columns, offer.schema, list(offer.schema.attributes))  # report a mapping that does not fit at once
        check_beside(table, offer.schema)
        return offer
    except InputError as error:
        raise InputError(f"tables.{name}: {error}") from None
