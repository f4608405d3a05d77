"""What kinds of jobs on rows have in common: a public schema and bound on the rows, and rows from a file or a table."""

from __future__ import annotations

import atexit
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self

from typing_extensions import override

from parties.base.text import listed
from parties.jobs.kind import Document, Inputs, Kind, KindSettings, Opened
from parties.jobs.settings import ENGINE, public_parameters
from parties.jobs.tabular_settings import file_of, own_table
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from parties.tables.types import type_of
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows

CELL_BYTES = 8  # of a file, about


class BySchema(Kind):
    """A task on rows of both parties: its specification is its settings and the schema of the columns that they name.

    `schema` is public, and `settings` have `data`, `schema_file` and `max_rows`.
    """

    settings: Any
    unread: ClassVar[str] = "not in the schema, ignored"  # of a file's other columns

    def __init__(self, settings: KindSettings, schema: Schema) -> None:
        """Settings in canonical form, and the schema of the columns that are read."""
        super().__init__(settings)
        self.schema = schema

    @classmethod
    @abstractmethod
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        """Return the task of these settings, by a schema with more columns perhaps. `InputError` names what is
        wrong."""

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.attributes)

    @property
    def target(self) -> str:
        """The column by whose values a source counts."""
        return self.columns[0]

    @abstractmethod
    def own_rows(self, source: Any) -> Any:
        """Return what `run` takes of this party's rows, whose columns are `columns`: the target is the class, the last
        one."""

    @property
    def streamed(self) -> bool:
        """Whether rows are asked for in pieces, see `protocols.counts.Rows.batches`."""
        return False

    @property
    def is_grouped(self) -> bool:
        """Whether rows are asked for by baskets, which an engine collects; see `Source.baskets`."""
        return False

    @property
    @override
    def reads_table(self) -> bool:
        return True

    @override
    def own_seconds(self) -> dict[str, float]:
        """See `Kind.own_seconds`: a file is read, or an engine is asked: for many rows, or typed ones."""
        from parties.sources.opening import LARGE, is_plain
        from smc.counting.rates import CELL_SECONDS, ENGINE_SECONDS, PASS_SECONDS, QUERIED_CELL_SECONDS

        cells, table = self.settings.max_rows * len(self.columns), self.settings.own_table
        is_queried = cells * CELL_BYTES >= LARGE or any(map(type_of, self.schema.attributes.values()))
        if self.is_grouped or (is_queried if table is None else not is_plain(table, self.schema)):
            seconds = {"opening the table": ENGINE_SECONDS + cells * QUERIED_CELL_SECONDS}
        else:
            seconds = {"opening the table": cells * CELL_SECONDS}
        return seconds | ({"passing over rows": self.passes * cells * PASS_SECONDS} if self.passes else {})

    @property
    def passes(self) -> int:
        """How often rows that are streamed are gone through, once they are there."""
        return 0

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """See `Kind.misfit`: a table that lacks an attribute, or knows it with other values."""
        table, schema = inputs.required()
        if self.settings.max_rows < table.max_rows:  # or a run that fails for too many rows would tell about them
            return f"max_rows of the job must be at least {table.max_rows}, the public bound of the table here"
        known = [name for name in self.number_columns if name in schema.attributes]
        return schema.numeric(known).misfit(self.schema)

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns that are taken number by number; all others are counted as the schema says."""
        return ()

    def rows_in_file(self, schema: Schema, target: str) -> tuple[Rows, list[str]]:
        """Return this party's rows, from its table or file, by this schema; and the columns that it does not know."""
        from parties.sources.delimited import csv_columns
        from parties.sources.opening import is_plain, open_table
        from parties.tables import rows
        from protocols.counts import RowCounts

        table = self.settings.own_table or own_table(self.settings)
        if self.at_most != table.at_most:
            raise InputError(
                f"at_most: is {self.at_most or 'missing'}, but {table.label} is "
                + (f"of people, at most {table.at_most} rows of each" if table.at_most else "of rows, not of people")
                + ": `person` and `at_most` of [tables.NAME] in --config say whose rows they are"
            )
        if self.is_grouped or not is_plain(table, schema):
            mapping = {name: column for name, column in table.columns.items() if name in schema.attributes}
            mapped = table.model_copy(update={"max_rows": self.settings.max_rows, "columns": mapping})
            source = open_table(mapped, schema, target, streamed=self.streamed)
            atexit.register(source.close)  # a tree asks it level by level, to the end of the command
            source.check()
            as_it_stands = self.settings.own_table is None and not schema.has_types
            return source, [name for name in source.names if as_it_stands and name not in schema.attributes]
        columns = csv_columns(file_of(self.settings.data, "data"), max_rows=self.settings.max_rows)
        encoded = rows.encoded(columns, schema, target)
        sizes = {name: len(values) for name, values in schema.attributes.items()}
        domains = [sizes[name] for name in schema.features(target)]
        return RowCounts(domains, sizes[target], encoded.rows, encoded.classes), list(encoded.ignored)

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[Self, Any, list[str]]:
        """See `Kind.alone`: the rows are a file too."""
        task = cls.planned(settings)
        ordered = Schema({name: task.schema.attributes[name] for name in task.columns})
        rows, ignored = task.rows_in_file(ordered, task.target)
        return task, task.own_rows(rows), [f"{cls.unread}: {listed(ignored)}"] if ignored else []

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        with inputs.counts(self.target, self.columns, self.schema, self.streamed) as source:
            fingerprint = source.fingerprint_of_rows if self.streamed else source.fingerprint
            yield Opened(self.own_rows(source), fingerprint)

    @classmethod
    @override
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> Self:
        """See `Kind.proposed`: the bound of the table, unless the job has another."""
        table, schema = inputs.required()
        if "max_rows" not in settings.model_fields_set:
            settings = settings.model_copy(update={"max_rows": table.max_rows})
        return cls.canonical(settings, schema)

    @classmethod
    @override
    def agreed(cls, specification: Mapping[str, Any]) -> Self:
        return cls.canonical(cls._settings_in(specification), Schema.from_public(specification.get("schema")))

    @classmethod
    @override
    def planned(cls, settings: Any) -> Self:
        """See `Kind.planned`: the schema is a file."""
        return cls.canonical(settings, schemas.load(file_of(settings.schema_file, "schema")))

    @override
    def specification(self) -> Document:
        """See `Kind.specification`: with the schema of what is read."""
        values = {parameter.key: parameter.of(self.settings) for parameter in public_parameters(self.Settings)}
        what = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None and name not in ENGINE
        }
        return {"protocol": self.name, "schema": self.schema.public(), **what, **self._engine_fields()}

    @override
    def parameters(self) -> dict[str, Any]:
        """See `Kind.parameters`: several columns are one text."""
        return {name: ", ".join(v) if isinstance(v, tuple) else v for name, v in super().parameters().items()}
