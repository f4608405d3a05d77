"""What a party brings to a job: its table, its circuits, what its operator has typed. All of it stays here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties.tables.unfit import without_cells
from smc.errors import InputError

if TYPE_CHECKING:  # tables: of many jobs and no others
    from parties.sources.settings import TableSettings
    from parties.sources.source import Source
    from parties.tables.schema import Schema


class AwayError(InputError):
    """Something that a job needs is away now; the job can go on when it is back."""


class MachineError(InputError):
    """A machine of this party's cannot do its part of a job. That says nothing of rows, and nothing is paid for it."""


@dataclass(frozen=True)
class Inputs:
    """One party's side of a job. `schema` is the table's public one; `typed` the private inputs by their names.

    `secret` is the key of this party's own random choices about its data: the same as long as a job lasts.
    """

    party: int = 0
    table: TableSettings | None = None
    schema: Schema | None = None
    circuits: Mapping[str, Path] = field(default_factory=dict)
    typed: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secret: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    def required(self) -> tuple[TableSettings, Schema]:
        """Return the table and its schema. `InputError` if there is none."""
        if self.table is None or self.schema is None:
            raise InputError("the job needs a table, and none is named")
        return self.table, self.schema

    @contextmanager
    def counts(
        self, target: str, columns: Sequence[str], wanted: Schema | None = None, streamed: bool = False
    ) -> Iterator[Source]:
        """Give the table as a source of counts, by these columns in this order, the target among them.

        `wanted` is the schema of a job, which may ask for numbers by themselves where ours has ranges. For
        `streamed` see `open_table`.

        Its rows are checked: `InputError` if they are not fit, `AwayError` if the table cannot be opened now. By the
        table's own public bounds, which a job's are compared with before (`Kind.misfit`): if rows were held against a
        job's, whoever proposes jobs could find out by halves how many there are.
        """
        from parties.sources.opening import open_table
        from parties.tables.schema import Schema

        table, schema = self.required()
        ours = schema.attributes | (wanted.attributes if wanted is not None else {})
        ordered = Schema({name: ours[name] for name in [*columns, *ours]})
        try:
            source = open_table(table, ordered, target, columns, streamed)
        except InputError as error:
            raise AwayError(without_cells(error)) from None
        try:
            source.check()
            yield source
        finally:
            source.close()

    @contextmanager
    def value_counts(self, column: str) -> Iterator[Opened]:
        """Give how often each value of a column occurs in the table, int64[values] in the schema's order; see
        `counts`."""
        from protocols.tree import Open

        with self.counts(column, [column]) as source:
            (counts,) = source.level(Open(), attributes=False).classes
            yield Opened(counts, source.fingerprint)


@dataclass(frozen=True)
class Opened:
    """A party's private data, ready for a run. `fingerprint(key)` tells whether they are the same as in a run before.

    It is None for what an operator types: a keyed digest of a small number would be the number itself.
    """

    data: Any = field(repr=False)
    fingerprint: Callable[[bytes], bytes] | None = None
