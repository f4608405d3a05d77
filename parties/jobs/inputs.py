"""One party's private inputs of a job: its table, its circuits and the numbers its operator typed. They stay here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties.base.text import quoted
from parties.tables.unfit import without_cells
from smc.errors import InputError

if TYPE_CHECKING:  # jobs without a table do not load these
    from parties.jobs.hidden_rows import HiddenTerms
    from parties.sources.settings import TableSettings
    from parties.sources.source import Source
    from parties.tables.schema import Schema
    from parties.tables.split import Part


class AwayError(InputError):
    """A thing that the job needs is unavailable now; the job can continue when it is back."""


@dataclass(frozen=True)
class Matching:
    """Rows that an earlier job has matched in both tables, in one order; a node keeps the keys of its own.

    Attributes:
        job: Identifier of the job.
        rows: Number of matched rows, or the public terms of hidden rows.
        read: Returns the own keys, as CSV, or the own part of hidden rows. It raises InputError if the table's keys
            have changed since.
    """

    job: str
    rows: int | HiddenTerms
    read: Callable[[], str]


def no_matching(job: str) -> Matching:
    """Raise InputError: only a node keeps what an earlier `job` has matched."""
    raise InputError(f"alignment: only a node keeps the rows that job {quoted(job[:8])} has matched; use smc submit")


@dataclass(frozen=True)
class Inputs:
    """One party's side of a job.

    `table` and its public `schema` are None for a job without rows. `circuits` are public files, `typed` private inputs
    by name. `secret` keys this party's own random choices about its data throughout a job. `keep` stores its own part
    of a result on the node; None if a command writes it. `matching` returns the rows that an earlier job has matched.
    """

    party: int = 0
    table: TableSettings | None = None
    schema: Schema | None = None
    circuits: Mapping[str, Path] = field(default_factory=dict)
    typed: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secret: bytes = field(default_factory=lambda: os.urandom(32), repr=False)
    keep: Callable[[str], object] | None = field(default=None, repr=False, compare=False)
    matching: Callable[[str], Matching] = field(default=no_matching, repr=False, compare=False)

    def required(self) -> tuple[TableSettings, Schema]:
        """Return the table and its schema. Raise InputError if the job has no table."""
        if self.table is None or self.schema is None:
            raise InputError("the job needs a table; name one")
        return self.table, self.schema

    @contextmanager
    def counts(
        self,
        target: str,
        columns: Sequence[str],
        job_schema: Schema | None = None,
        streamed: bool = False,
        part: Part | None = None,
    ) -> Iterator[Source]:
        """Open the table as a source of counts and check its rows.

        The rows are checked against the table's own public bounds, which are compared with the job's before
        (`Kind.misfit`). A check against the job's bounds would let a peer find the number of rows by bisection.

        Args:
            target: The target column.
            columns: The columns to count by, in this order, with the target among them.
            job_schema: Schema of the job; it may ask for single numbers where the table's schema has ranges.
            streamed: Whether rows are read in pieces, by `Source.batches`.
            part: The part of the rows to read; None for all.

        Raises:
            InputError: The rows do not fit the schema or the bounds.
            AwayError: The table cannot be opened now.
        """
        from parties.sources.opening import open_table
        from parties.tables.schema import Schema

        table, schema = self.required()
        ours = schema.attributes | (job_schema.attributes if job_schema is not None else {})
        ordered = Schema({name: ours[name] for name in [*columns, *ours]})
        try:
            source = open_table(table.only(part), ordered, target, columns, streamed)
        except InputError as error:
            raise AwayError(without_cells(error)) from None
        try:
            source.check()
            yield source
        finally:
            source.close()

    @contextmanager
    def value_counts(self, column: str) -> Iterator[Opened]:
        """Open the counts of each value of a column, int64[values] in the schema's order; see `counts`."""
        from protocols.tree import Open

        with self.counts(column, [column]) as source:
            (counts,) = source.level(Open(), attributes=False).classes
            yield Opened(counts, source.fingerprint)


@dataclass(frozen=True)
class Opened:
    """A party's private data, ready for a run.

    `fingerprint(key)` shows whether the data equal those of an earlier run. It is None for typed numbers: a keyed
    digest of a small number would reveal the number.
    """

    data: Any = field(repr=False)
    fingerprint: Callable[[bytes], bytes] | None = None
