"""Base classes of jobs on rows: a public schema, bounds, and rows from a file or a table; runs that may stop early."""

from __future__ import annotations

import atexit
import hmac
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import model_validator
from typing_extensions import override

from parties.base import files
from parties.base.console import size
from parties.base.settings import LocalPath, at_key
from parties.base.text import listed
from parties.jobs.hidden_rows import HiddenFile, HiddenTerms, party_of_each
from parties.jobs.kind import (
    KEPT_BY_NODES,
    Document,
    Inputs,
    Kind,
    KindSettings,
    LargerThanForecastError,
    OnStep,
    Opened,
    Step,
    nothing_else_of_rows,
)
from parties.jobs.settings import ENGINE, MOST_ROWS, AnyField, check_names, own_file, public_parameters
from parties.sources.settings import TableSettings
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from parties.tables.split import Part, Split, folds
from parties.tables.types import rounded_numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.aligned import AlignedRows
    from protocols.counts import Rows
    from protocols.vertical import Columns as VerticalColumns
    from smc.counting import CountingEngine
    from smc.engines import Engine

CELL_BYTES = 8  # approximate bytes of a cell in a file
STOPPED_AT = 4  # times the forecast: twice the largest error measured for trees of ten tables
IDENTIFIER = 32  # digits of a job's identifier
MEMBERSHIP = "Without noise, the answer can show whether a person whom a party singles out is in both tables."
LEAST_STOP = 100_000_000  # bytes: a smaller run continues, unless its settings have a limit


def schema_file() -> AnyField:
    """Return the field `schema_file`: the public schema. The name `schema` is pydantic's."""
    return own_file("Schema", "Public schema (columns, values), agreed  [that of the table]", alias="schema")


class TabularSettings(KindSettings):
    """Settings for a party's own rows. A kind adds `max_rows` at the position it wants."""

    data: LocalPath | None = own_file("Rows", "Your private rows, CSV or Parquet  [the table of --config]", data=True)
    schema_file: LocalPath | None = schema_file()
    own_table: TableSettings | None = None  # table of party.toml with the rows; it has no flag
    own_aligned: Any = None  # the `AlignedRows` or `HiddenFile` of a command; it has no flag
    own_max_rows: int | None = None  # bound on own rows where `max_rows` is half of all holders' rows; it has no flag

    @model_validator(mode="after")
    def _fold_is_held_out(self) -> Self:
        share, fold = (getattr(self, name, None) for name in ("held_out", "fold"))
        if fold is not None and (share is None or fold > folds(share)):
            most = "needs held_out; give both" if share is None else f"is at most {folds(share)} for this held_out"
            raise ValueError(f"fold {most}, or remove fold")
        return self

    @property
    def together(self) -> int:
        """Maximum number of rows that noise hides together: the used rows of a person, or 1."""
        return getattr(self, "at_most", None) or 1


def with_holders(settings: TabularSettings, parties: int) -> TabularSettings:
    """Return settings with half of all rows as `max_rows`, as if two parties had them, and with `own_max_rows`.

    Args:
        settings: Settings whose `max_rows` bounds the rows of each party; it becomes `own_max_rows`.
        parties: Number of parties that may have rows.

    Raises:
        InputError: The bound of all rows is too large.
    """
    from parties.jobs.holders import half_of_all

    rows = getattr(settings, "max_rows", 0)
    whole = half_of_all(parties, rows)
    if whole > MOST_ROWS:
        raise InputError(
            f"--max-rows: {parties} parties with {rows:,} rows each exceed {2 * MOST_ROWS:,} rows in all; lower it"
        )
    return settings.model_copy(update={"max_rows": whole, "own_max_rows": rows})


def with_aligned(settings: Any) -> Any:
    """Return settings with the rows of the file `aligned`, whose number becomes `max_rows`; unchanged without a file.

    Args:
        settings: Settings of a command.

    Raises:
        InputError: The file is unreadable, `listener_columns` is missing, or a setting differs from that of the file.
    """
    if (path := getattr(settings, "aligned", None)) is None:
        return settings
    if (text := files.read_text(path)).startswith("{"):
        files.ensure_private(path)
    rows = aligned_in(text, str(path))
    if settings.listener_columns is None and "listener_columns" not in rows.settings:
        raise InputError("--listener-columns is missing: with --aligned name the columns of the party that listens")
    own, of_table = settings.own_table, set[str]()
    if own is not None:
        of_table = {"data", "max_rows"} if settings.max_rows == own.max_rows else {"data"}
    for name in settings.model_fields_set & rows.settings.keys() - of_table:
        value, typed = rows.settings[name], getattr(settings, name)
        if name == "listener_columns":  # in any order
            value, typed = {*value}, {*typed}
        if value != typed:
            units = "bins" if isinstance(rows, HiddenFile) else "rows"
            flag, has = "--" + name.replace("_", "-"), f"{value:,} {units}" if name == "max_rows" else "its own"
            raise InputError(f"{flag}: {path} has {has}; remove {flag}")
    return settings.model_copy(update={**rows.settings, "own_aligned": rows})


def aligned_in(text: str, label: str) -> AlignedRows | HiddenFile:
    """Return the matched rows in the content of a file of `smc align`.

    Args:
        text: The content.
        label: Name of the file for messages.
    """
    from parties.jobs.aligned import AlignedRows

    return (HiddenFile if text.startswith("{") else AlignedRows).parsed(text, label)


def with_matching(settings: Any, inputs: Inputs) -> tuple[Any, Schema]:
    """Return the settings of a job with its public bound on rows, and the schema of its columns.

    Without an alignment, the schema is the table's, and so is the bound unless the settings have one. With it, the
    rows are those that the earlier job has matched, and the columns are those of both tables.

    Args:
        settings: Settings of a job file.
        inputs: This party's table and files.

    Raises:
        InputError: The alignment, `max_rows` or the peer's columns do not fit.
    """
    table, schema = inputs.required()
    bound, is_set = table.max_rows, "max_rows" in settings.model_fields_set
    if (name := getattr(settings, "alignment", None)) is not None:
        if table.beside is None:
            raise InputError("alignment: name the peer's schema file as `beside` in [tables.NAME] for its columns")
        matching = inputs.matching(name)
        rows = matching.rows
        bound, fixed = (rows.bins, rows.settings) if isinstance(rows, HiddenTerms) else (rows, {})
        if is_set and settings.max_rows != bound:
            raise InputError(f"max_rows: the alignment has {bound:,} {'bins' if fixed else 'rows'}; remove max_rows")
        schema, listener = beside(schema, table.beside, inputs.party, getattr(settings, "target", ""))
        settings = settings.model_copy(update={"alignment": matching.job, "listener_columns": listener, **fixed})
    return (settings if is_set else settings.model_copy(update={"max_rows": bound})), schema


def beside(own: Schema, path: Path, party: int, target: str | None = "") -> tuple[Schema, tuple[str, ...]]:
    """Return the joint schema of columns that lie apart, and the columns of the party that listens.

    Args:
        own: Schema of the own columns.
        path: The peer's schema file.
        party: Number of this party.
        target: The target; None for that of both schemas; "" for that of either.
    """
    from parties.tables.merging import side_by_side

    theirs = schemas.load(path)
    joint = side_by_side(own, theirs, own.target or theirs.target if target == "" else target)
    return joint, tuple((own, theirs)[party].attributes)


def file_of(path: Path | None, key: str) -> Path:
    """Return the file in the setting `key`, `data` or `schema`. Raise InputError with the remedy if it is missing.

    Args:
        path: The value of the setting; None if it is missing.
        key: Name of the setting, data or schema.
    """
    if path is None:
        note = " (with --data its schema is not read)" if key == "schema" else ""
        raise InputError(f"--{key} is missing: give the flag, or your rows as [tables.NAME] in --config{note}")
    return path


def own_table(settings: TabularSettings) -> TableSettings:
    """Return the data file and schema file in the settings as a table's settings."""
    data, schema_file = file_of(settings.data, "data"), file_of(settings.schema_file, "schema")
    return TableSettings.model_construct(source=str(data), schema_file=schema_file)


class BySchema(Kind):
    """A task on rows of both parties, specified by its settings and the schema of the columns that they name.

    `schema` is public; `settings` have `data`, `schema_file` and `max_rows`.
    """

    settings: Any
    takes_holders: ClassVar[bool] = False  # whether further holders can give rows
    unread: ClassVar[str] = "not in the schema, ignored"  # message on a file's other columns; empty for none

    def __init__(self, settings: KindSettings, schema: Schema) -> None:
        super().__init__(settings)
        self.schema = schema
        self.on_shares = self.apart is not None

    @classmethod
    @abstractmethod
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        """Return the task with complete settings: columns in the schema's order, and all defaults from public numbers.

        Args:
            settings: The settings as given, some perhaps missing.
            schema: The agreed schema; it may have more columns.

        Raises:
            InputError: A setting is invalid.
        """

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.attributes)

    @property
    def target(self) -> str:
        """Column by whose values a source counts."""
        return self.columns[0]

    @property
    def apart(self) -> tuple[str, ...] | None:
        """Columns of the party that listens, if the parties have different columns of the same rows; else None."""
        names: tuple[str, ...] | None = getattr(self.settings, "listener_columns", None)
        return names

    @property
    def apart_setting(self) -> str:
        """Name of the setting that says that the columns lie apart: of a job of nodes `alignment`."""
        own = self.settings.own_aligned
        if isinstance(own, HiddenFile):
            return "aligned"
        return "listener_columns" if own is not None or self.settings.alignment is None else "alignment"

    @property
    def rows_each(self) -> int:
        """Bound on the rows of a party in the protocol; half of all rows if each party has columns of every row."""
        rows: int = self.settings.max_rows
        return rows if self.apart is None else -(-rows // 2)

    def check_apart(self) -> None:
        """Raise InputError if the settings do not fit columns that lie apart."""
        from parties.jobs.aligned import owners

        hidden, own = self.settings.hidden_rows is not None, self.settings.own_aligned
        with at_key(self.apart_setting):
            if not hidden:
                owners(self.schema, self.apart or ())
            elif isinstance(own, HiddenFile) and (why := own.terms.misfit(self.schema, self.settings)):
                raise InputError(why)
        refused = [name for name in ("at_most", "held_out", "exact") if getattr(self.settings, name, None)]
        if refused:
            raise InputError(f"{refused[0]} cannot be combined with {self.apart_setting}; remove one of them")
        epsilon, adjacency = (getattr(self.settings, name, None) for name in ("epsilon", "adjacency"))
        if epsilon is not None and adjacency == "add-remove" and not hidden:
            raise InputError(
                "adjacency: both parties know who is aligned, so noise hides values; set adjacency to replace"
            )

    @property
    @override
    def without_holders(self) -> str | None:
        if self.apart is not None:
            return "columns that lie apart are those of two parties; remove one of them"
        return None if self.takes_holders else super().without_holders

    @property
    def terms_apart(self) -> Document:
        """Public terms of tables that have different columns of the same persons, for the specification; else empty."""
        if self.apart is None:
            return {}
        alignment: str | None = self.settings.alignment
        listener = [name for name in self.schema.attributes if name in self.apart]
        more = {"hidden_rows": self.settings.hidden_rows, "alignment": alignment}
        return {"listener_columns": listener, **{name: value for name, value in more.items() if value is not None}}

    def own_columns(self, party: int) -> list[str]:
        """Return the columns of a party, 0 or 1, if the columns lie apart; the target comes last if it is among them.

        Args:
            party: Number of the party.
        """
        party_of = party_of_each((*self.schema.features(self.target), self.target), self.apart or ())
        return [name for name, owner in party_of.items() if owner == party]

    @override
    def columns_of(self, party: int) -> tuple[str, ...]:
        return self.columns_read if self.apart is None else tuple(self.own_columns(party))

    def nothing_else(self, peer: str) -> list[str]:
        """Return the sentences that neither party learns more; for columns that lie apart also whose column is which.

        Args:
            peer: Name of the peer.
        """
        if self.apart is None:
            return nothing_else_of_rows(peer, self.settings.max_rows)
        listener = [name for name in self.schema.attributes if name in self.apart]
        dialler = [name for name in self.schema.attributes if name not in listener]
        alignment: str | None = self.settings.alignment
        matched = "" if alignment is None else f" from alignment {alignment[:8]}"
        rows = f"{self.settings.max_rows:,} people who are in both tables, as both parties know{matched}"
        if hidden := self.settings.hidden_rows is not None:
            rows = f"the people in both tables{matched}. Neither party knows who they are, nor how many"
        return [
            f"The rows are {rows}. {peer} could choose them by the keys that it entered there.",
            *([MEMBERSHIP] if hidden and self.disclosure.past_budget else []),
            f"The party that listens gives {listed(listener) or 'no column'}; "
            f"the party that dials gives {listed(dialler) or 'no column'}.",
            f"{peer} learns nothing else of our columns, and we nothing else of {peer}'s.",
        ]

    def sent_counts(self, engine: CountingEngine) -> Any:
        """Return data without values, to count a run on columns that lie apart; None if they do not lie apart.

        Args:
            engine: The engine that counts.
        """
        if self.apart is None:
            return None
        import numpy as np  # loads slowly

        from smc.counting.session import no_values

        if self.settings.hidden_rows is not None:
            terms = HiddenTerms("", self.schema, self.apart, self.settings.hidden_rows, self.settings.max_rows)
            part = terms.shape.part(engine.party, lambda name, kind, shape: no_values(kind, shape))
            return self.with_engine(engine, HiddenFile("", engine.party, terms, part))
        layout, kind = self.layout, np.dtype(np.int64)
        labels = no_values(kind, (layout.rows,)) if engine.party == layout.class_owner else None
        own = no_values(kind, (layout.rows, len(layout.of(engine.party))))
        return self.with_engine(engine, (own, labels))

    @property
    def layout(self) -> VerticalColumns:
        """Public description of columns that lie apart."""
        from protocols.vertical import Columns

        party_of = party_of_each(self.schema.attributes, self.apart or ())
        features = self.schema.features(self.target)
        sizes = {name: len(values) for name, values in self.schema.attributes.items()}
        return Columns(
            tuple(sizes[name] for name in features),
            sizes[self.target],
            tuple(party_of[name] for name in features),
            party_of[self.target],
            self.settings.max_rows,
        )

    @override
    def bounded(self) -> dict[str, Any]:
        """Return the parameters as rules bound them: hidden rows may be of nobody, so they are 0 rows."""
        hidden = getattr(self.settings, "hidden_rows", None) is not None
        return super().bounded() | ({"max_rows": 0} if hidden else {})

    @property
    def split(self) -> Split | None:
        """The split that holds rows out of the training of a model, for its judgement; None if all rows train it."""
        share: float | None = getattr(self.settings, "held_out", None)
        if share is None:
            return None
        return Split(share, () if self.at_most else tuple(sorted(self.columns)), self.settings.fold or 1)

    @property
    def rows_taken(self) -> Part | None:
        """The part of the rows that takes part; None for all rows."""
        return None if self.split is None else Part(self.split, False)

    @property
    def split_fields(self) -> Document:
        """The split as fields of a model file; empty without a split."""
        return {} if self.split is None else self.split.fields()

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
        """Whether rows are read in baskets, not one by one; see `Source.baskets`."""
        return False

    @property
    @override
    def reads_table(self) -> bool:
        return True

    @property
    def own_bound(self) -> int:
        """Public upper bound on the number of this party's rows."""
        bound: int | None = self.settings.own_max_rows
        return self.settings.max_rows if bound is None else bound

    def own_seconds(self) -> dict[str, float]:
        """Return the expected seconds of local work for all rows, by description: to open the table and reread it."""
        from parties.sources.opening import SMALL, is_csv
        from smc.counting.rates import CELL_SECONDS, ENGINE_SECONDS, PASS_SECONDS, QUERIED_CELL_SECONDS

        cells, table = self.own_bound * len(self.columns), self.settings.own_table
        is_small = cells * CELL_BYTES < SMALL
        if table is not None and (re.search("://|[*]", table.source) or Path(table.source).exists()):
            is_small = is_csv(table, SMALL)
        seconds = {
            "opening the table": cells * CELL_SECONDS if is_small else ENGINE_SECONDS + cells * QUERIED_CELL_SECONDS
        }
        return seconds | ({"passing over rows": self.passes * cells * PASS_SECONDS} if self.passes else {})

    @property
    def passes(self) -> int:
        """Number of times that a run reads the streamed rows, besides the reading that opens and checks them."""
        return 0

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """Return the reason if the table may have more rows than the job's bound, or its columns are not the job's."""
        table, schema = inputs.required()
        if self.apart is not None:
            return self._misfit_apart(inputs)
        if self.settings.max_rows < table.max_rows:  # a run that fails for too many rows would reveal their number
            return f"max_rows of the job must be at least {table.max_rows}, the public bound of the table here"
        numeric_columns = [name for name in self.number_columns if name in schema.attributes]
        return schema.numeric(numeric_columns).misfit(self.schema)

    def _misfit_apart(self, inputs: Inputs) -> str | None:
        """Return the reason why the matched rows or own columns are not the job's; see `misfit`."""
        name: str = self.settings.alignment or ""
        if len(name) != IDENTIFIER:  # another node could find another job by a part of it
            return "alignment of the job must be the whole identifier of the job that has matched the rows"
        try:
            matching = inputs.matching(name)
        except InputError as error:
            return str(error)
        if isinstance(matching.rows, HiddenTerms):
            return matching.rows.misfit(self.schema, self.settings)
        if self.settings.hidden_rows is not None:
            return "hidden_rows of the job is set, and both parties know the rows of its alignment"
        if self.settings.max_rows != matching.rows:
            return f"max_rows of the job must be {matching.rows:,}, the rows that its alignment has matched"
        own = self.own_columns(inputs.party)
        schema = inputs.required()[1]
        numeric_columns = [name for name in self.number_columns if name in own]
        return schema.numeric(numeric_columns).misfit(self.schema.only(own))

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Columns that are read number by number; all others are counted as in the schema."""
        return ()

    @property
    def rounded(self) -> list[str]:
        """A sentence for each column whose numbers are rounded before they are counted."""
        attributes = self.schema.attributes
        return [line for name in self.columns for line in rounded_numbers(name, attributes[name])]

    def rows_in_file(self, schema: Schema, target: str) -> tuple[Rows, list[str]]:
        """Return this party's rows, and the columns of a plain file (no table, no types) that the schema lacks.

        Args:
            schema: Schema of the columns to read, in their order.
            target: Column of the class.

        Raises:
            InputError: The rows do not fit, or the settings and the table bound the rows per person differently.
        """
        from parties.sources.opening import open_table

        table, bound = self.settings.own_table or own_table(self.settings), self.own_bound
        if self.at_most != table.at_most:
            raise InputError(
                f"at_most: is {self.at_most or 'missing'}, but {table.label} is "
                + (f"of people, at most {table.at_most} rows of each" if table.at_most else "of rows, not of people")
                + "; set at_most as `person` and `at_most` of [tables.NAME] in --config do"
            )
        mapping = {name: column for name, column in table.columns.items() if name in schema.attributes}
        mapped = table.model_copy(update={"max_rows": bound, "columns": mapping}).only(self.rows_taken)
        source = open_table(mapped, schema, target, streamed=self.streamed)
        atexit.register(source.close)  # a tree queries it level by level until the command ends
        source.check()
        is_plain_file = self.settings.own_table is None and not schema.has_types
        return source, [name for name in source.names if is_plain_file and name not in schema.attributes]

    @override
    def of_nobody(self) -> Any:
        import numpy as np  # loads slowly

        from protocols.counts import RowCounts

        sizes = {name: len(values) for name, values in self.schema.attributes.items()}
        domains = [sizes[name] for name in self.schema.features(self.target)]
        empty = np.zeros((0, len(domains)), dtype=np.int64), np.zeros(0, dtype=np.int64)
        return self.own_rows(RowCounts(domains, sizes[self.target], *empty))

    def data_of(self, source: Any, secret: bytes) -> Any:
        """Return the data that `run` takes.

        Args:
            source: This party's rows.
            secret: Key of this party's random choices among its rows.
        """
        return self.own_rows(source)

    @property
    def warnings(self) -> list[str]:
        """Reasons, from public numbers alone, why the answer may be of little use; one line each."""
        return []

    def notes(self, settings: Any, source: Any) -> list[str]:
        """Return remarks on a command's task, a line each.

        Args:
            settings: The command's settings, as given.
            source: This party's rows; None if columns lie apart.
        """
        return [KEPT_BY_NODES] if self.disclosure.spends else []

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[Self, Any, list[str]]:
        task, inputs = cls.planned(settings), Inputs(party)
        if task.apart is not None:
            table = None if task.settings.hidden_rows is not None else task._table_aligned()
            data, unread = task.aligned_cells(party, task.settings.own_aligned, table)
            twice = [f"also in your table, taken from the peer: {listed(unread)}"] if unread else []
            return task, data, [*twice, *task.notes(settings, None)]
        ordered = Schema({name: task.schema.attributes[name] for name in task.columns})
        rows, others = task.rows_in_file(ordered, task.target)
        ignored = [name for name in others if name not in task.columns_read]
        unread = [f"{cls.unread}: {listed(ignored)}"] if ignored and cls.unread else []
        return task, task.data_of(rows, inputs.secret), [*unread, *task.notes(settings, rows)]

    def _table_aligned(self) -> TableSettings:
        """Return the table of a command; by hand its rows have no bound but the largest."""
        table: TableSettings | None = self.settings.own_table
        return own_table(self.settings).bounded_by(MOST_ROWS) if table is None else table

    def aligned_cells(self, party: int, rows: AlignedRows | HiddenFile | None, table: Any) -> tuple[Any, list[str]]:
        """Return own columns of the aligned rows, and the peer's columns that own table has too.

        Args:
            party: 0 for the listening party, 1 for the dialling party.
            rows: The aligned rows; None if a command names no file of them.
            table: Own table; not read for hidden rows.

        Returns:
            The columns to predict from, int64[rows, columns], with the classes, int64[rows], or None if the peer has
            them, or hidden rows as they are; and the names of the columns that are taken from the peer.

        Raises:
            InputError: The file of aligned rows is missing, or own table does not fit it or the schema.
        """
        if rows is None:
            raise InputError("--aligned is missing: with --listener-columns give the file of smc align exact")
        if isinstance(rows, HiddenFile):
            if party != rows.party:
                raise InputError(f"{rows.label}: is the other party's file; give yours, and listen or dial as there")
            return rows, []
        own = self.own_columns(party)
        cells, unread = rows.cells_in(table, self.schema, own)
        return ((cells[:, :-1], cells[:, -1]) if own[-1] == self.target else (cells, None)), unread

    @override
    def with_engine(self, engine: Engine, data: Any) -> Any:
        """Return the source of counts by both parties' columns if these lie apart; else the data."""
        if self.apart is None:
            return data
        from protocols.vertical import VerticalCounts

        engine.masked_numbers = True
        if isinstance(data, HiddenFile):
            engine.session.note(f"hidden rows of session {data.terms.alignment} at both; else match anew")
            return self.own_rows(data.counts(engine, [*self.schema.features(self.target), self.target]))
        return self.own_rows(VerticalCounts(engine, self.layout, *data))

    def fingerprint(self, source: Any, data: Any) -> Callable[[bytes], bytes]:
        """Return a function from a key to the digest by which a resumed session notices changed rows.

        Args:
            source: This party's rows.
            data: The data that were made from them.
        """
        digest: Callable[[bytes], bytes] = source.fingerprint_of_rows if self.streamed else source.fingerprint
        return digest

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        if self.apart is not None:
            yield self.opened_apart(inputs, self.matched_keys(inputs))
            return
        with inputs.counts(self.target, self.columns, self.schema, self.streamed, self.rows_taken) as source:
            data = self.data_of(source, inputs.secret)
            yield Opened(data, self.fingerprint(source, data))

    def matched_keys(self, inputs: Inputs) -> AlignedRows | HiddenFile:
        """Return the matched rows that this party's node has kept: their keys, which reads the table, or hidden."""
        return aligned_in(inputs.matching(self.settings.alignment).read(), "the kept alignment")

    def opened_apart(self, inputs: Inputs, rows: AlignedRows | HiddenFile) -> Opened:
        """Return this party's columns of matched rows, and their fingerprint.

        Args:
            inputs: This party's inputs.
            rows: The matched rows.
        """
        data, _ = self.aligned_cells(inputs.party, rows, inputs.required()[0])
        private = (data.rows.member, data.rows.shares) if isinstance(data, HiddenFile) else data
        cells = b"".join(part.tobytes() for part in private if part is not None)
        return Opened(data, lambda key: hmac.digest(key, cells, "sha256"))

    @classmethod
    @override
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> Self:
        return cls.canonical(*with_matching(settings, inputs))

    @classmethod
    @override
    def agreed(cls, specification: Mapping[str, Any]) -> Self:
        return cls.canonical(cls._settings_in(specification), Schema.from_public(specification.get("schema")))

    @classmethod
    @override
    def planned(cls, settings: Any) -> Self:
        """Return the task of a command's settings, for a run or an estimate. Read the schema's file, but no rows."""
        schema = schemas.load(file_of(settings.schema_file, "schema"))
        check_names("listener_columns", getattr(settings, "listener_columns", None) or (), schema.attributes)
        return cls.canonical(with_aligned(settings), schema)

    @override
    def specification(self) -> Document:
        values = {parameter.key: parameter.of(self.settings) for parameter in public_parameters(self.Settings)}
        fields = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None and name not in (*ENGINE, "alignment")  # `terms_apart` has it
        }
        return {
            "protocol": self.name,
            "schema": self.schema.public(),
            **fields,
            **self.terms_apart,
            **self._engine_fields(),
        }

    @override
    def parameters(self) -> dict[str, Any]:
        return {name: ", ".join(v) if isinstance(v, tuple) else v for name, v in super().parameters().items()}


class StoppingKind(BySchema):
    """A kind whose runs may stop early, because they have cost more than `most_bytes` or far more than forecast.

    A run stops before its next step. The kind's `run` calls `stopping`. The two class variables are parts of the error:
    `enlarged` names what may become larger than forecast, and `smaller` advises how to make the run smaller.
    """

    enlarged: ClassVar[str]  # the object that may become larger than forecast, with its verb
    smaller: ClassVar[str]  # advice on a smaller run

    def stopping(self, engine: Engine, on_step: OnStep) -> OnStep:
        """Return `on_step` for a run that stops before a step once it has cost more than allowed.

        The cost follows from the opened values, and the limit is public. So both parties stop, and the stop reveals
        nothing.

        Args:
            engine: Engine of the run; its session counts the bytes.
            on_step: Called with each step.
        """
        total = engine.session.meter.total
        already_spent = total.bytes_sent + total.bytes_received

        def watched(step: Step) -> None:
            self._stop_if_larger(total.bytes_sent + total.bytes_received - already_spent, step)
            on_step(step)

        return watched

    def _stop_if_larger(self, spent: int, step: Step) -> None:
        """Raise LargerThanForecastError if the run so far has cost more than allowed."""
        allowed: int | None = getattr(self.settings, "most_bytes")  # noqa: B009 (of the kinds that have it)
        if spent <= (allowed or LEAST_STOP):
            return
        if allowed is None:
            if self.forecast is None or spent <= STOPPED_AT * self.forecast:
                return
            bound = f"forecast {size(self.forecast)}"
        else:
            bound = f"allowed {size(allowed)}"
        more = f"allow more on both sides: --most-bytes {4 * spent} (most_bytes in a job), or {self.smaller}"
        where = f"stopped before {step.words}"
        problem = f"{self.enlarged} larger than forecast: {size(spent)} so far, {bound}; {where}; {more}"
        raise LargerThanForecastError(problem, step.state, spent, self.allowing)

    @property
    def is_measured(self) -> bool:
        """Whether the cost of typical runs has been measured for this task's settings."""
        return True

    @cached_property
    def forecast(self) -> int | None:
        """Bytes of a typical run in both directions, on the named profile, or on the first contender for "auto".

        None if the job is too large to be counted, or typical runs were not measured.
        """
        if not ((cost := self.cost_of_run(Inputs())).is_countable and self.is_measured):
            return None
        from parties.jobs.execution.engine_selection import choice_for
        from smc.counting import forecast

        choice = choice_for(self, Inputs())  # cached: the choice was made before the run
        if choice.forecasts:
            return choice.forecasts[0].bytes
        return forecast(cost.program, choice.possible[0]).bytes

    def allowed_settings(self, most_bytes: int) -> Any:
        """Return the settings with this limit of bytes, both directions together."""
        return self.settings.model_copy(update={"most_bytes": most_bytes})

    def allowing(self, most_bytes: int) -> Self:
        """Return the task with this limit of bytes, both directions together."""
        return type(self)(self.allowed_settings(most_bytes), self.schema)
