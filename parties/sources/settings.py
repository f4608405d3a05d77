"""A table in `party.toml`: where a party's rows live, and how its columns become the public schema's attributes.

    [tables.patients]
    source = "visits.parquet"        # a file, a folder or pattern of Parquet files, or a URL
    schema = "schema.toml"           # the public schema that the table is mapped to
    max_rows = 65535                 # public: the table has no more rows than that
    least_rows = 1000                # public: nor fewer than that; left out: 0
    analysts = ["3F:B2:..."]         # whole fingerprints: to whom alone a node's jobs may seal a table of its numbers
    tries = 5                        # of a job's sessions that get no further than those before; then it fails
    version = "2026-11"              # public: as long as it says the same, so do the rows; left out: they may change
    same_rows_as = "visits"          # another table of the same rows, whose budget counts; see docs/tables-rows.md

    [tables.patients.budget]         # what noisy results may tell of single rows, all peers and jobs together
    epsilon = 4
    delta = 1e-7                     # below 1/max_rows; left out: 0
    per = "year"                     # in any 365 days on end; left out: ever
    adjacency = "add-remove"         # neighbours differ by a row more, or "replace": by another row in a row's place

    [tables.patients.rights]         # see `parties.sources.rights`
    contact = "privacy@clinic-a.example"

    [tables.patients.columns.sex]
    column = "geschlecht"            # the name here, if it is another
    values = { M = "male", F = "female" }
    missing = "unknown"              # the category of rows without a value; by default "?"

    [tables.patients.format]         # a CSV file that is not UTF-8 with commas and decimal points
    separator = ";"
    decimal = ","
    thousands = "."
    encoding = "latin-1"
    dates = "%d.%m.%Y"
    missing = ["-", "NA", "unbekannt"]

    [tables.patients.columns.age]    # the schema says: age = ["young", "middle", "old", "?"]
    edges = [40, 65]                 # young: x < 40, middle: 40 <= x < 65, old: 65 <= x
    values = { "999" = "?" }         # codes that are no number to compare

A table may be a question to several, see `parties.sources.sql`, and some of its rows may be left out:

    [tables.patients]
    query = "SELECT v.*, p.sex FROM visits v JOIN people p ON v.person = p.id"
    where = "year >= 2020"           # what is not so is left out
    consent = "agreed"               # so is a row where this column says no, or nothing
    objections = { column = "patient_id", file = "objections.txt" }   # and those of whoever is a line of the file
    person = "patient_id"            # whose row it is, a column or SQL: what has noise hides all of a person
    at_most = 4                      # public: so many rows of a person take part
    lookups = ["wards"]              # tables of the query whose rows are nobody's: two sources may share them

    [tables.patients.files]          # without a `source`: what the query's tables are
    visits = "visits.csv"
    people = { source = "clinic.duckdb", table = "people" }

Sources by URL are `postgresql://[user[:password]@]host[:port]/database`, `mysql://` alike, `spark://host:port` (a
cluster's master) and `spark://local` (Spark in this process); `table` names the table there. A Spark `table` with a `/`
in it is the path of Parquet files. For a DuckDB file `table` may be left out if there is only one.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    StringConstraints,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)
from typing_extensions import override

from parties.base import files
from parties.base.canonical import job_digest
from parties.base.settings import AtMost, LocalPath, Settings
from parties.base.text import canonical_fingerprint, listed, quoted
from parties.sources.rights import RightsSettings
from parties.tables.delimited import MISSING
from parties.tables.types import as_text
from protocols.release.promise import check_delta
from smc.errors import InputError

MOST_TRIES = 5  # sessions of a job that get no further: what each opens, other rows could have led to
YES = ("yes", "Yes", "YES", "y", "Y", "true", "True", "TRUE", "1")  # of consent, unless others are said
SIMPLE = r"[A-Za-z_][A-Za-z0-9_]{0,62}"  # names of tables in a query that we give: no engine takes one for a path
MOST_SQL = 20_000  # letters
MOST_OBJECTIONS = 10_000  # people on a list: they are part of each query
Combine: TypeAlias = Literal["deny-overrides", "permit-overrides"]


def _place(value: object, info: ValidationInfo) -> object:
    """Return a URL as it is; a path as the file means it."""
    if isinstance(value, str) and "://" not in value:
        return str(TypeAdapter(LocalPath).validate_python(value, context=info.context))
    return value


def _spellings(values: Mapping[str, str]) -> Mapping[str, str]:
    """Return a check that a cell could be each raw value: cells have no space around them."""
    stripped = {raw.strip(): category for raw, category in values.items()}
    if len(stripped) < len(values):
        raise ValueError("a value stands twice, but for the space around it")
    if not stripped.keys().isdisjoint({"", MISSING}):
        raise ValueError("an empty value and '?' both mean a missing one: give its category as `missing`")
    return stripped


def _spelled_out(yes: tuple[str, ...]) -> tuple[str, ...]:
    """Return a check that a yes is said."""
    stripped = tuple(text.strip() for text in yes)
    if not {"", MISSING}.isdisjoint(stripped):
        raise ValueError("an empty value and '?' mean a missing one, which is no consent")
    return stripped


def _file(value: object) -> object:
    return {"source": value} if isinstance(value, str) else value


def _consent(value: object) -> object:
    return {"column": value} if isinstance(value, str) else value


def _simple(files: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a check that no engine takes a name for anything but a name."""
    if len({name.lower() for name in files}) < len(files):
        raise ValueError("two names differ only in case")
    for name, file in files.items():
        if re.fullmatch(SIMPLE, name) is None:
            raise ValueError(f"{quoted(name)}: a name of letters, digits and _ is needed")
        if "://" in file.source:
            raise ValueError(f"{name}: must be a file, not a URL: give the database as `source`")
    return files


def _increasing(edges: tuple[float, ...]) -> tuple[float, ...]:
    """Return a check that ranges have a width."""
    for lower, upper in pairwise(edges):
        if lower >= upper:
            raise ValueError(f"the edges must increase, but {upper:.15g} follows {lower:.15g}")
    return edges


def _fingerprint(value: str) -> str:
    if (fingerprint := canonical_fingerprint(value)) is None:
        raise ValueError(f"{quoted(value)} is no whole fingerprint: smc identity show writes it")
    return fingerprint


def is_encoding(name: str) -> bool:
    """Return whether Python has a text encoding of this name."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        return False
    return True


def _encoding(value: str) -> str:
    """Require a text encoding of Python, and return its name; UTF-8 and UTF-16 by their usual names."""
    if not is_encoding(value):
        raise ValueError(f"{quoted(value)} is not a text encoding of Python, such as cp1251 or gb18030")
    name = codecs.lookup(value).name
    return name if name in ("utf-8", "utf-16") else value


def day_and_clock(form: str) -> tuple[str, str]:
    """Return the part of a date form that gives the day, and the rest, which gives the time of the day."""
    match = re.search("%[HI]", form)
    end = len(form) if match is None else match.start()
    return form[:end], form[end:]


CLOCKS = ("", "H", "HM", "HMS", "HMSf", "IMp", "IMSp", "IMSfp")  # the codes of the time of the day, in their order


def _date_form(value: str) -> str:
    """Return a check that a form names the day, the month and the year, each once; and maybe the time of the day."""
    day, clock = day_and_clock(value)
    codes = ["".join(re.findall(r"%(.)", part)) for part in (day, clock)]
    if (
        "".join(sorted(codes[0])) not in ("Ydm", "dmy", "Yj", "Ybd", "bdy", "BYd", "Bdy")
        or codes[1].removesuffix("z") not in CLOCKS
    ):
        raise ValueError(f'must be a form such as "%d.%m.%Y", not {quoted(value)}')
    return value


Name: TypeAlias = Annotated[str, StringConstraints(min_length=1)]
Encoding: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=40), AfterValidator(_encoding)]
DecimalMark: TypeAlias = Literal[".", ","]
ThousandsMark: TypeAlias = Literal["", ".", ",", "'", " ", "\u2019", "\u00a0", "\u202f", "\u2009", "\u2007"]
NegativeMark: TypeAlias = Literal["-", "\u2212", "\u2013", "()", "behind"]
Dropped: TypeAlias = tuple[Name, ...]
LastYear: TypeAlias = Annotated[int, Field(strict=True, ge=1099, le=9000)]
DateForm: TypeAlias = Annotated[str, StringConstraints(max_length=40), AfterValidator(_date_form)]
Fingerprint: TypeAlias = Annotated[str, AfterValidator(_fingerprint)]  # of a certificate
Category: TypeAlias = Annotated[Name, BeforeValidator(as_text)]
# Whole numbers beyond 2^53 would be rounded where they are compared with fractions.
Edge: TypeAlias = Annotated[
    Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)],
    Field(union_mode="left_to_right"),
]


class FormatSettings(Settings):
    """Spelling of a table's text cells. The first five settings are for CSV files.

    `skip` lines stand before the header. Rows whose first cell is one of `drop_rows` are not rows of the table.
    `missing` are texts that mean no value, in all columns but those whose schema lists them. `dates` is a form of
    `strftime`. Its two-digit years end with `last_year`. A number's `thousands` marks and the texts of `drop` are
    dropped, and its `decimal` mark stands for a point. `negative` marks a number below zero: `-` before it, U+2212 or
    U+2013 (or `-`) before it, brackets around it, or `-` behind it.
    """

    separator: Literal[",", ";", "\t", "|"] = ","
    quote: Literal['"', "'"] = '"'
    encoding: Encoding = "utf-8"
    skip: Annotated[int, Field(strict=True, ge=0, le=1000)] = 0
    drop_rows: tuple[str, ...] = ()
    decimal: DecimalMark = "."
    thousands: ThousandsMark = ""
    negative: NegativeMark = "-"
    drop: Dropped = ()
    dates: DateForm = "%Y-%m-%d"
    last_year: LastYear = 2068
    missing: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _marks_differ(self) -> FormatSettings:
        if self.thousands == self.decimal:
            raise ValueError(f"thousands: {quoted(self.decimal)} is the decimal mark")
        return self


class ColumnSettings(Settings):
    """Settings of a column that becomes an attribute. What is not said follows from the names in the schema.

    A raw value in `values` stands for the category that it is mapped to; without `edges`, any other stands for itself.
    With `edges` the column is a number x: of the attribute's k categories other than `?`, in schema order, category i
    holds edges[i-1] <= x < edges[i], the first all below edges[0], the last all from edges[k-2]; `values` are codes
    that are taken out before. `missing` is the category of NULL, NaN, empty text and `?`. `decimal`, `thousands`,
    `negative`, `drop`, `dates` and `last_year` are the spelling of this column, where it is not the table's.
    """

    column: Name | None = None
    values: Annotated[dict[str, Category], AfterValidator(_spellings)] = Field(default_factory=dict)
    decimal: DecimalMark | None = None
    thousands: ThousandsMark | None = None
    negative: NegativeMark | None = None
    drop: Dropped | None = None
    dates: DateForm | None = None
    last_year: LastYear | None = None
    edges: Annotated[tuple[Edge, ...], AfterValidator(_increasing)] | None = None
    missing: Category | None = None

    def spelling(self, table: FormatSettings) -> FormatSettings:
        """Return the spelling of this column: the table's, with the settings of the column."""
        own = {name: value for name in SPELLED if (value := getattr(self, name)) is not None}
        return table.model_copy(update=own) if own else table


SPELLED = ("decimal", "thousands", "negative", "drop", "dates", "last_year")  # settings of a table and of a column
Sql: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=MOST_SQL)]


class BudgetSettings(Settings):
    """A table's privacy budget: no window of time may cost more than (epsilon, delta), whoever asks.

    Nor may exact answers open more than `bits` in it: what has no noise has no epsilon. `apart` is the part of delta
    for questions that have a delta of their own; without one such questions are refused.

    `per` is the window's length, and it slides: "year" are any 365 days on end, "month" any 30. So a budget that is
    used up at the end of a year is not whole again on the next day, as it would be by the calendar.
    """

    epsilon: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
    delta: Annotated[float, Field(strict=True, ge=0, lt=1, allow_inf_nan=False)] = 0.0
    per: Literal["day", "week", "month", "year", "ever"] = "ever"
    adjacency: Literal["add-remove", "replace"] = "add-remove"
    apart: Annotated[float, Field(strict=True, ge=0, lt=1, allow_inf_nan=False)] = 0.0
    bits: Annotated[int, Field(strict=True, ge=0, le=1 << 40)] = 4096

    @model_validator(mode="after")
    def _apart_is_a_part(self) -> BudgetSettings:
        if self.apart > self.delta:
            raise ValueError(f"apart: a part of delta, which is {self.delta:.3g}")
        return self

    def shared(self, share: float) -> BudgetSettings:
        """Return this part of the budget: parts that come to 1 compose to the whole, whoever has each."""
        parts = {name: getattr(self, name) * share for name in ("epsilon", "delta", "apart")}
        parts["bits"] = int(self.bits * share + 1e-6)
        return self.model_copy(update=parts)

    @property
    def words(self) -> str:
        """The budget in words."""
        window = "" if self.per == "ever" else f" per {self.per}"
        at = f" at delta {self.delta:.3g}" if self.delta else ""
        return f"epsilon {self.epsilon:.6g}{window}{at}"


class FileSettings(Settings):
    """A file that a query names. Its `format` is the table's unless it says another."""

    source: Annotated[Name, BeforeValidator(_place)]
    table: Name | None = None
    format: FormatSettings | None = None


class ConsentSettings(Settings):
    """Which rows may be counted: those where this column of the rows says one of the spellings of yes, to the letter.

    No value is no consent.
    """

    column: Name
    yes: Annotated[tuple[Category, ...], Field(min_length=1), AfterValidator(_spelled_out)] = YES


class ObjectionsSettings(Settings):
    """Whose rows are left out: those where this column of the rows is, to the letter, a line of the file.

    It is read whenever the table is opened, so an objection acts from then on.
    """

    column: Name
    file: LocalPath

    def people(self) -> tuple[str, ...]:
        """Return the lines of the file, without those that are empty or begin with #, each once, in order.

        `InputError` if it cannot be read, or has too many.
        """
        if not self.file.exists():
            how = f"make an empty one while nobody has objected: touch {self.file}"
            raise InputError(f"cannot read {self.file}: there is no such file; {how}")
        lines = [line.strip() for line in files.read_text(self.file).split("\n")]  # a name may have other line ends
        if (bad := next((number for number, line in enumerate(lines, 1) if "\r" in line), None)) is not None:
            raise InputError(f"{self.file}: line {bad} has a carriage return in it: end lines with a line feed")
        people = tuple(sorted({line for line in lines if line and not line.startswith("#")}))
        if len(people) > MOST_OBJECTIONS:
            raise InputError(
                f"{self.file}: {len(people):,} people, more than the {MOST_OBJECTIONS:,} that a list may have: "
                "mark them in a column of the table, and name it as `consent`"
            )
        return people


File: TypeAlias = Annotated[FileSettings, BeforeValidator(_file)]


class PlaceSettings(Settings):
    """Settings of a table's place. `memory` and `threads` bound DuckDB, which counts what is in files.

    `source` may hold a password: it is never shown.
    """

    source: Annotated[Name, BeforeValidator(_place)] = Field(repr=False)
    table: Name | None = None
    format: FormatSettings = Field(default_factory=FormatSettings)
    memory: Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]*(\.[0-9]+)? ?[KMGT]i?B$")] = "2GB"
    threads: Annotated[int, Field(strict=True, ge=1)] | None = None
    _party_table: TableSettings | None = PrivateAttr(None)

    def read_as(self, table: TableSettings) -> None:
        """Read the rows here as the party's table at this place: spelled so, without those that it leaves out."""
        self._party_table = table

    @property
    def party_table(self) -> TableSettings | None:
        """The party's table at this place, if it is known."""
        return self._party_table

    @property
    def chosen_as(self) -> TableSettings | None:
        """The settings that leave rows out: a party's table's own, or those of one at this place, if any."""
        return self._party_table if self._party_table is not None and self._party_table.is_chosen else None

    @property
    def spelling(self) -> FormatSettings:
        """How cells are spelled: as the format says, or that of the party's table if it says nothing."""
        table = self._party_table if self.format == FormatSettings() else None
        return self.format if table is None else table.format

    @property
    def label(self) -> str:
        """The source and the table for messages: no user, password or option of a URL."""
        table = "" if self.table is None else f", table {quoted(self.table)}"
        return f"{public_place(self.source)}{table}"


class TableSettings(PlaceSettings):
    """A table of this party that jobs may be about. `combine` says whose word counts if its owners' rules differ.

    Whether a job fits is decided by these public bounds alone, never by the rows. As long as `version` says the same,
    so do the rows, for all that anybody is told: a job that was answered comes again with the same result. Without it,
    rows may change at any time, and every answer is a new one.

    `query` asks the database at `source`, or the `files`, for the rows. Of these, those that fulfil `where` and
    consent, of nobody who has objected, are the table. If there is a `person`, they are at most `at_most` rows of each,
    chosen by a key from `identity`.

    A budget belongs to the rows, not to the name: tables that read the same rows say so by `same_rows_as` and share
    one (`share_budgets`). `lookups` are tables of the query that hold no person's rows.
    """

    source: Annotated[str, BeforeValidator(_place)] = Field("", repr=False)
    query: Sql | None = None
    files: Annotated[dict[str, File], AfterValidator(_simple)] = Field(default_factory=dict)
    where: Sql | None = None
    consent: Annotated[ConsentSettings, BeforeValidator(_consent)] | None = None
    objections: ObjectionsSettings | None = None
    person: Sql | None = None
    at_most: AtMost | None = None
    schema_file: LocalPath = Field(alias="schema")  # a model's `schema` is pydantic's
    max_rows: Annotated[int, Field(strict=True, ge=1, le=2**31)] = 65535
    least_rows: Annotated[int, Field(strict=True, ge=0)] = 0
    analysts: tuple[Fingerprint, ...] = ()
    tries: Annotated[int, Field(strict=True, ge=1, le=1000)] = MOST_TRIES
    version: Annotated[str, StringConstraints(max_length=100)] = ""
    columns: dict[str, ColumnSettings] = Field(default_factory=dict)
    budget: BudgetSettings | None = None
    same_rows_as: Name | None = None
    lookups: tuple[Name, ...] = ()
    rights: RightsSettings | None = None
    combine: Combine = "deny-overrides"
    _identity: Path | None = PrivateAttr(None)

    def owned_by(self, identity: Path | None) -> None:
        """Say which file holds this party's private key."""
        self._identity = identity

    @property
    def identity(self) -> Path | None:
        """The file with this party's private key, if it is known."""
        return self._identity

    @property
    def label(self) -> str:
        """See `PlaceSettings.label`; files by the names that the query has for them."""
        return super().label if self.source else f"the query of {listed(self.files)}"

    @property
    def state(self) -> str:
        """Which rows the table has and how they are counted, for this party alone; empty if `version` says nothing."""
        keys = {"query", "files", "where", "consent", "objections", "columns", "format", "person", "at_most"}
        chosen = self.model_dump(mode="json", include=keys, exclude_defaults=True)
        if self.objections is not None:
            with suppress(InputError):  # a list that is away is told when the table is opened
                chosen["objected"] = self.objections.people()
        return f"{self.version} {job_digest(chosen)}" if self.version and chosen else self.version

    @property
    @override
    def chosen_as(self) -> TableSettings | None:
        return self if self.is_chosen else None

    def bounded_by(self, rows: int) -> TableSettings:
        """Return the table for a use of this party alone: up to so many rows may be there, and none as well."""
        return self.model_copy(update={"max_rows": rows, "least_rows": 0})

    @property
    def is_chosen(self) -> bool:
        """True if the rows are chosen among those of a place, and not all of them."""
        parts = (self.query, self.where, self.consent, self.objections, self.person)
        return any(part is not None for part in parts)

    @model_validator(mode="after")
    def _rows_are_somewhere(self) -> TableSettings:
        if not self.source and not self.files:
            raise ValueError("source: say where the rows are")
        if self.files and self.query is None:
            raise ValueError("files: they are what a `query` asks: write one, or name a single file as `source`")
        if self.files and self.source:
            raise ValueError("files: there is a `source` already; a query asks either")
        if self.query is not None and self.table is not None:
            raise ValueError("table: the query says which tables it is about")
        return self

    @model_validator(mode="after")
    def _lookups_are_of_a_query(self) -> TableSettings:
        if self.lookups and self.query is None:
            raise ValueError("lookups: only a `query` reads several tables; remove it")
        return self

    @model_validator(mode="after")
    def _people_are_bounded(self) -> TableSettings:
        if self.person is not None and self.at_most is None:
            raise ValueError("at_most: say how many rows of a person take part, 1 for example")
        if self.at_most is not None and self.person is None:
            raise ValueError("person: say whose row it is, a column or SQL; `at_most` is of rows of a person")
        return self

    @model_validator(mode="after")
    def _bounds_leave_room(self) -> TableSettings:
        if self.least_rows > self.max_rows:
            raise ValueError(f"least_rows: no more than max_rows, which is {self.max_rows}")
        return self

    @model_validator(mode="after")
    def _delta_is_small(self) -> TableSettings:
        if self.budget is not None:
            try:
                check_delta(self.budget.delta, self.max_rows)
            except InputError as error:
                raise ValueError(f"budget.{error}") from None
        return self


def public_place(source: str) -> str:
    """Return a path as it is; of a URL scheme, host and path, or less if it is not sure where a password ends."""
    scheme, mark, rest = source.partition("://")
    if not mark:
        return source
    place, *options = re.split("[?#]", rest, maxsplit=1)
    if any("@" in text for text in options):
        return f"{scheme}://…"
    return f"{scheme}://{place.rpartition('@')[2]}"


def share_budgets(tables: dict[str, TableSettings]) -> dict[str, TableSettings]:
    """Return the tables of a file, each that names another of the same rows with the budget of that one.

    Raises:
        ValueError: a table has a budget beside that, names itself or one that names a third, or has too many rows.
    """
    shared = {}
    for name, table in tables.items():
        if (holder := table.same_rows_as) is None:
            continue
        key = f"{name}.same_rows_as"
        if holder == name:
            raise ValueError(f"{key}: names the table itself; remove it")
        if (other := tables.get(holder)) is None:  # a former name, which the log knows
            continue
        if other.same_rows_as in tables:
            raise ValueError(f"{key}: name {quoted(str(other.same_rows_as))}, as {quoted(holder)} does")
        if table.budget is not None:
            raise ValueError(f"{key}: the budget of {quoted(holder)} counts; remove [tables.{name}.budget]")
        if other.budget is not None:
            try:
                check_delta(other.budget.delta, table.max_rows)
            except InputError as error:
                raise ValueError(f"{key}: of the budget of {quoted(holder)}: {error}") from None
        shared[name] = table.model_copy(update={"budget": other.budget})
    return tables | shared


Tables: TypeAlias = Annotated[dict[str, TableSettings], AfterValidator(share_budgets)]
