"""Base class of jobs on rows: a public schema, a bound on the rows, and rows from a file or a table."""

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

CELL_BYTES = 8  # approximate bytes of a cell in a file


class BySchema(Kind):
    """A task on rows of both parties, specified by its settings and the schema of the columns that they name.

    `schema` is public; `settings` have `data`, `schema_file` and `max_rows`.
    """

    settings: Any
    unread: ClassVar[str] = "not in the schema, ignored"  # message on a file's other columns

    def __init__(self, settings: KindSettings, schema: Schema) -> None:
        """Store settings in canonical form and the schema of the columns that are read."""
        super().__init__(settings)
        self.schema = schema

    @classmethod
    @abstractmethod
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        """Return the task with complete settings. Raise InputError if a setting is invalid.

        Args:
            settings: The settings as given, some perhaps missing.
            schema: The agreed schema; it may have more columns.
        """

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.attributes)

    @property
    def target(self) -> str:
        """Column by whose values a source counts."""
        return self.columns[0]

    @abstractmethod
    def own_rows(self, source: Any) -> Any:
        """Return this party's rows as `run` takes them.

        The source's columns are `columns`; the target is the class, and stands last.
        """

    @property
    def streamed(self) -> bool:
        """Whether rows are read in pieces, see `protocols.counts.Rows.batches`."""
        return False

    @property
    def is_grouped(self) -> bool:
        """Whether rows are read in baskets, which a database collects; see `Source.baskets`."""
        return False

    @property
    @override
    def reads_table(self) -> bool:
        return True

    def own_seconds(self) -> dict[str, float]:
        """Return the seconds of local work by its description, at the largest table: reading it, for a start."""
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
        """Number of passes over streamed rows after they are opened."""
        return 0

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """Return the reason if the table lacks an attribute or has it with other values."""
        table, schema = inputs.required()
        if self.settings.max_rows < table.max_rows:  # a run that fails for too many rows would reveal their number
            return f"max_rows of the job must be at least {table.max_rows}, the public bound of the table here"
        numeric_columns = [name for name in self.number_columns if name in schema.attributes]
        return schema.numeric(numeric_columns).misfit(self.schema)

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Columns that are read number by number; all others are counted as in the schema."""
        return ()

    def rows_in_file(self, schema: Schema, target: str) -> tuple[Rows, list[str]]:
        """Return this party's rows from its table or file, and the file's columns that the schema lacks.

        Args:
            schema: Schema of the columns to read, in their order.
            target: Column of the class.

        Raises:
            InputError: The rows do not fit, or rows per person are bounded on one side only.
        """
        from parties.sources.delimited import csv_columns
        from parties.sources.opening import is_plain, open_table
        from parties.tables import rows
        from protocols.counts import RowCounts

        table, bound = self.settings.own_table or own_table(self.settings), self.settings.own_max_rows
        bound = self.settings.max_rows if bound is None else bound
        if self.at_most != table.at_most:
            raise InputError(
                f"at_most: is {self.at_most or 'missing'}, but {table.label} is "
                + (f"of people, at most {table.at_most} rows of each" if table.at_most else "of rows, not of people")
                + ": `person` and `at_most` of [tables.NAME] in --config say whose rows they are"
            )
        if self.is_grouped or not is_plain(table, schema):
            mapping = {name: column for name, column in table.columns.items() if name in schema.attributes}
            mapped = table.model_copy(update={"max_rows": bound, "columns": mapping})
            source = open_table(mapped, schema, target, streamed=self.streamed)
            atexit.register(source.close)  # a tree queries it level by level until the command ends
            source.check()
            is_plain_file = self.settings.own_table is None and not schema.has_types
            return source, [name for name in source.names if is_plain_file and name not in schema.attributes]
        columns = csv_columns(file_of(self.settings.data, "data"), max_rows=bound)
        encoded = rows.encoded(columns, schema, target)
        sizes = {name: len(values) for name, values in schema.attributes.items()}
        domains = [sizes[name] for name in schema.features(target)]
        return RowCounts(domains, sizes[target], encoded.rows, encoded.classes), list(encoded.ignored)

    def without_rows(self) -> Any:
        """Return the data of a party without a row, as `run` takes them."""
        import numpy as np

        from protocols.counts import RowCounts

        sizes = {name: len(values) for name, values in self.schema.attributes.items()}
        domains = [sizes[name] for name in self.schema.features(self.target)]
        empty = np.zeros((0, len(domains)), dtype=np.int64), np.zeros(0, dtype=np.int64)
        return self.own_rows(RowCounts(domains, sizes[self.target], *empty))

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[Self, Any, list[str]]:
        """Return the task with this party's rows read from a file."""
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
        """Use the table's bound unless the job has its own."""
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
        """Read the schema from a file."""
        return cls.canonical(settings, schemas.load(file_of(settings.schema_file, "schema")))

    @override
    def specification(self) -> Document:
        values = {parameter.key: parameter.of(self.settings) for parameter in public_parameters(self.Settings)}
        fields = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None and name not in ENGINE
        }
        return {"protocol": self.name, "schema": self.schema.public(), **fields, **self._engine_fields()}

    @override
    def parameters(self) -> dict[str, Any]:
        """Join the names of several columns into one text."""
        return {name: ", ".join(v) if isinstance(v, tuple) else v for name, v in super().parameters().items()}
