"""Settings of a table in `party.toml`: where the rows are, and how columns become attributes of the public schema.

    [tables.patients]
    source = "visits.parquet"        # a file, a folder or pattern of Parquet files, or a URL
    schema = "schema.toml"           # the public schema that the table is mapped to
    max_rows = 65535                 # public: largest number of rows
    least_rows = 1000                # public: smallest number of rows; by default 0
    analysts = ["3F:B2:..."]         # whole fingerprints: the only recipients of sealed tables
    tries = 5                        # sessions without progress before a job fails
    version = "2026-11"              # public: change it whenever rows change; without it, rows may change any time
    same_rows_as = "visits"          # a table of common rows with the budget; see docs/tables-rows.md

    [tables.patients.budget]         # limit on noisy results, over all peers and jobs
    epsilon = 4
    delta = 1e-7                     # below 1/max_rows; by default 0
    per = "year"                     # any 365 consecutive days; by default for ever
    adjacency = "add-remove"         # neighbouring tables differ by one row; "replace": by a replaced row

    [tables.patients.rights]         # see `parties.sources.rights`
    contact = "privacy@clinic-a.example"

    [tables.patients.columns.sex]
    column = "geschlecht"            # own name, if it differs
    values = { M = "male", F = "female" }
    missing = "unknown"              # the category of rows without a value; by default "?"

    [tables.patients.format]         # a CSV file that is not UTF-8 with commas and decimal points
    separator = ";"
    decimal = ","
    thousands = "."
    encoding = "latin-1"
    dates = "%d.%m.%Y"
    missing = ["-", "NA", "unbekannt"]

    [tables.patients.derived]        # columns that are computed from others, see `parties.sources.forms`
    days_in = { days = ["admitted", "left"] }

    [tables.patients.columns.age]    # the schema says: age = ["young", "middle", "old", "?"]
    edges = [40, 65]                 # young: x < 40, middle: 40 <= x < 65, old: 65 <= x
    values = { "999" = "?" }         # codes that are no number to compare

A table may be a query over several tables, see `parties.sources.sql`, and may leave out rows:

    [tables.patients]
    query = "SELECT v.*, p.sex FROM visits v JOIN people p ON v.person = p.id"
    where = "year >= 2020"           # other rows are left out
    consent = "agreed"               # a row without a yes here is left out
    objections = { column = "patient_id", file = "objections.txt" }   # people in the file are left out
    person = "patient_id"            # a column or SQL: noise then hides all rows of a person
    at_most = 4                      # public: maximum rows of a person that take part
    lookups = ["wards"]              # tables of the query without rows of people; sources may share them

    [tables.patients.files]          # tables of the query, without a `source`
    visits = "visits.csv"
    people = { source = "clinic.duckdb", table = "people" }

Sources by URL are `postgresql://[user[:password]@]host[:port]/database`, `mysql://` alike, `spark://host:port` (a
cluster's master) and `spark://local` (Spark in this process); `table` names the table there. A Spark `table` with a `/`
in it is the path of Parquet files. For a DuckDB file `table` may be left out if there is only one.
"""

from __future__ import annotations

import codecs
import os
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
from parties.sources.forms import FORMS, checked_form, columns_of, in_order
from parties.sources.rights import RightsSettings
from parties.tables.delimited import MISSING
from parties.tables.split import Part
from parties.tables.types import as_text, unusable
from protocols.release.promise import check_delta
from smc.errors import InputError

MOST_TRIES = 5  # sessions of a job without progress; each may open a value
YES = ("yes", "Yes", "YES", "y", "Y", "true", "True", "TRUE", "1")  # default spellings of consent
SIMPLE = r"[A-Za-z_][A-Za-z0-9_]{0,62}"  # names of tables in a query; no engine reads them as paths
MOST_SQL = 20_000  # letters
MOST_OBJECTIONS = 10_000  # people on a list, which is part of each query
Combine: TypeAlias = Literal["deny-overrides", "permit-overrides"]


def _place(value: object, info: ValidationInfo) -> object:
    """Return a URL unchanged, and any other text as a path that begins at the settings file's folder."""
    if isinstance(value, str) and "://" not in value:
        path = str(TypeAdapter(LocalPath).validate_python(value, context=info.context))
        plain = os.path.normpath(path)  # another file if `..` follows a symbolic link
        return plain if ".." in path and os.path.realpath(plain) == os.path.realpath(path) else path
    return value


def _spellings(values: Mapping[str, str]) -> Mapping[str, str]:
    """Return the map with raw values stripped of spaces, as cells are. Raise ValueError for an impossible cell."""
    stripped = {raw.strip(): category for raw, category in values.items()}
    if len(stripped) < len(values):
        raise ValueError("two values differ only in the space around them; remove one")
    if not stripped.keys().isdisjoint({"", MISSING}):
        raise ValueError(
            "an empty value and '?' both mean a missing value; set the category of missing values as `missing`"
        )
    return stripped


def _spelled_out(yes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the spellings of yes without outer spaces. Raise ValueError if one means a missing value."""
    stripped = tuple(text.strip() for text in yes)
    if not {"", MISSING}.isdisjoint(stripped):
        raise ValueError("an empty value and '?' mean a missing value, which is never a consent; remove it")
    return stripped


def _file(value: object) -> object:
    return {"source": value} if isinstance(value, str) else value


def _consent(value: object) -> object:
    return {"column": value} if isinstance(value, str) else value


def _simple(files: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the files. Raise ValueError unless each name is a plain SQL name, and each source is a file."""
    if len({name.lower() for name in files}) < len(files):
        raise ValueError("two names differ only in case; rename one")
    for name, file in files.items():
        if re.fullmatch(SIMPLE, name) is None:
            raise ValueError(f"{quoted(name)}: a name of letters, digits and _ is needed")
        if "://" in file.source:
            raise ValueError(f"{name}: must be a file, not a URL: give the database as `source`")
    return files


def _increasing(edges: tuple[float, ...]) -> tuple[float, ...]:
    """Return the edges. Raise ValueError unless they increase."""
    for lower, upper in pairwise(edges):
        if lower >= upper:
            raise ValueError(f"the edges must increase, but {upper:.15g} follows {lower:.15g}")
    return edges


def _fingerprint(value: str) -> str:
    if (fingerprint := canonical_fingerprint(value)) is None:
        raise ValueError(f"{quoted(value)} is not a whole fingerprint; copy it from smc identity show")
    return fingerprint


def is_encoding(name: str) -> bool:
    """Return True if Python has a text encoding of this name."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        return False
    return True


def _encoding(value: str) -> str:
    """Return an encoding's name; UTF-8 and UTF-16 in Python's form. Raise ValueError if Python has no such encoding."""
    if not is_encoding(value):
        raise ValueError(f"must be a text encoding of Python, such as cp1251 or gb18030, not {quoted(value)}")
    name = codecs.lookup(value).name
    return name if name in ("utf-8", "utf-16") else value


def day_and_clock(form: str) -> tuple[str, str]:
    """Return the two parts of a date form: day, and time of day."""
    match = re.search("%[HI]", form)
    end = len(form) if match is None else match.start()
    return form[:end], form[end:]


EXCEL = "excel"  # a date form: the number of days that Excel counts
CLOCKS = ("", "H", "HM", "HMS", "HMSf", "IMp", "IMSp", "IMSfp")  # codes of the time of day, in order


def _date_form(value: str) -> str:
    """Return a date form. Raise ValueError unless it is `excel`, or a day in `strftime` codes, perhaps with a time."""
    if value == EXCEL:
        return value
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

    `skip` is the number of lines before the header. `drop_rows` drops the rows whose first cell is in this list.
    `missing` are texts that mean no value, in every column whose schema does not list them. `dates` is a form of
    `strftime`, or `excel`; its two-digit years end with `last_year`. A number's `thousands` marks and the texts of
    `drop` are removed, and its `decimal` mark becomes a point. `negative` marks a number below zero: `-` before it,
    U+2212 or U+2013 (or `-`) before it, brackets around it, or `-` behind it.
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
            raise ValueError(f"thousands: {quoted(self.decimal)} is the decimal mark; choose another mark")
        return self


class SpellingSettings(Settings):
    """Spelling of one column; None stands for the table's setting."""

    decimal: DecimalMark | None = None
    thousands: ThousandsMark | None = None
    negative: NegativeMark | None = None
    drop: Dropped | None = None
    dates: DateForm | None = None
    last_year: LastYear | None = None

    def spelling(self, table: FormatSettings) -> FormatSettings:
        """Return the spelling of this column: the table's, with the column's settings."""
        own = {name: value for name in SPELLED if (value := getattr(self, name)) is not None}
        return table.model_copy(update=own) if own else table


class ColumnSettings(SpellingSettings):
    """Settings of a column that becomes an attribute. The defaults follow from the names in the schema.

    `values` maps raw values to categories. Without `edges`, any other value is its own category. With `edges`, the
    column is a number x. Let the attribute have k categories other than `?`, in schema order. Category i holds
    edges[i-1] <= x < edges[i]; the first has all x below edges[0], the last all from edges[k-2]. Raw values in `values`
    are mapped by `values`, not by `edges`. `missing` is the category of NULL, NaN, empty text and `?`. `decimal`,
    `thousands`, `negative`, `drop`, `dates` and `last_year` replace the table's spelling for this column.
    """

    column: Name | None = None
    values: Annotated[dict[str, Category], AfterValidator(_spellings)] = Field(default_factory=dict)
    edges: Annotated[tuple[Edge, ...], AfterValidator(_increasing)] | None = None
    missing: Category | None = None


class SourceSettings(SpellingSettings):
    """Spelling of a column that a derived column or a publication reads. `missing` adds texts that mean no value."""

    missing: tuple[str, ...] = ()


class DerivedSettings(Settings):
    """A column that is computed from others: a form with its arguments, see `parties.sources.forms`.

    In the file the form is the key: `age = ["born", 2026-01-01]`. `columns` has the spelling of columns that it reads.
    """

    form: str
    arguments: tuple[Any, ...]
    columns: dict[str, SourceSettings] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _form_is_a_key(cls, fields: Any) -> Any:
        if not isinstance(fields, Mapping) or {"form", "arguments"} <= fields.keys():
            return fields
        named = [key for key in fields if key != "columns"]
        if len(named) != 1:
            raise ValueError(f"must have one form, such as age; the forms are {', '.join(FORMS)}")
        value = fields[named[0]]
        arguments = checked_form(named[0], value if isinstance(value, list | tuple) else [value])
        return {"form": named[0], "arguments": arguments, "columns": fields.get("columns", {})}

    @model_validator(mode="after")
    def _columns_are_read(self) -> DerivedSettings:
        if other := next((name for name in self.columns if name not in self.reads), None):
            raise ValueError(f"columns: {quoted(other)} is not a column that {self.form} reads; remove it")
        return self

    @property
    def reads(self) -> dict[str, str]:
        """The columns that the form reads, each with its kind: "date", "number" or "text"."""
        return columns_of(self.form, self.arguments)


SPELLED = ("decimal", "thousands", "negative", "drop", "dates", "last_year")  # settings of both table and column
Sql: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=MOST_SQL)]


def _derived(derived: dict[str, DerivedSettings]) -> dict[str, DerivedSettings]:
    """Return the columns. Raise ValueError for an unusable name, or for columns that read each other in a circle."""
    for name in derived:
        if problem := unusable(name):
            raise ValueError(f"{quoted(name)}: the name {problem}")
    in_order({name: column.reads for name, column in derived.items()})
    return derived


class BudgetSettings(Settings):
    """Privacy budget of a table. No window of time may cost more than (epsilon, delta), over all peers and jobs.

    `bits` limits the bits of exact answers in a window; exact answers have no epsilon. `apart` is the part of delta
    reserved for questions with a delta of their own; if it is 0, these questions are refused.

    `per` is the length of the window, which slides: "year" means any 365 consecutive days, "month" any 30. So a used-up
    budget does not return in full at the next calendar year.
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
            raise ValueError(f"apart: must be at most delta, {self.delta:.3g}")
        return self

    def shared(self, share: float) -> BudgetSettings:
        """Return this share of the budget. Shares that add up to 1 compose to the whole budget."""
        parts = {name: getattr(self, name) * share for name in ("epsilon", "delta", "apart")}
        parts["bits"] = int(self.bits * share + 1e-6)
        return self.model_copy(update=parts)

    @property
    def words(self) -> str:
        """The budget as text: epsilon, its window of time, and delta."""
        window = "" if self.per == "ever" else f" per {self.per}"
        at = f" at delta {self.delta:.3g}" if self.delta else ""
        return f"epsilon {self.epsilon:.6g}{window}{at}"


class FileSettings(Settings):
    """A file that a table's query reads. Its `format` is the table's by default."""

    source: Annotated[Name, BeforeValidator(_place)]
    table: Name | None = None
    format: FormatSettings | None = None


class ConsentSettings(Settings):
    """Consent to counting: a row may be counted if its `column` has exactly one of the texts `yes`.

    A row without a value has no consent.
    """

    column: Name
    yes: Annotated[tuple[Category, ...], Field(min_length=1), AfterValidator(_spelled_out)] = YES


class ObjectionsSettings(Settings):
    """People whose rows are left out: those whose `column` is, letter by letter, a line of the file.

    The file is read whenever the table is opened, so an objection takes effect at the next job.
    """

    column: Name
    file: LocalPath

    def people(self) -> tuple[str, ...]:
        """Return the people in the file, each once, sorted. Lines that are empty or begin with # are skipped.

        Raises:
            InputError: The file cannot be read, a line has a carriage return, or there are too many people.
        """
        if not self.file.exists():
            how = f"make an empty one while nobody has objected: touch {self.file}"
            raise InputError(f"cannot read {self.file}: there is no such file; {how}")
        lines = [line.strip() for line in files.read_text(self.file).split("\n")]  # a name may contain other line ends
        if (bad := next((number for number, line in enumerate(lines, 1) if "\r" in line), None)) is not None:
            raise InputError(f"{self.file}: line {bad} has a carriage return in it: end lines with a line feed")
        people = tuple(sorted({line for line in lines if line and not line.startswith("#")}))
        if len(people) > MOST_OBJECTIONS:
            raise InputError(
                f"{self.file}: {len(people):,} people, more than the {MOST_OBJECTIONS:,} of a list; mark these "
                f"people in a column of the table, and name the column as `consent`"
            )
        return people


File: TypeAlias = Annotated[FileSettings, BeforeValidator(_file)]


class PlaceSettings(Settings):
    """A place: the file or database table that holds rows. `memory` and `threads` limit the DuckDB that counts files.

    `source` may contain a password and is never shown.
    """

    source: Annotated[Name, BeforeValidator(_place)] = Field(repr=False)
    table: Name | None = None
    format: FormatSettings = Field(default_factory=FormatSettings)
    memory: Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]*(\.[0-9]+)? ?[KMGT]i?B$")] = "2GB"
    threads: Annotated[int, Field(strict=True, ge=1)] | None = None
    _party_table: TableSettings | None = PrivateAttr(None)
    _formats: Mapping[str, SourceSettings] = PrivateAttr(default_factory=dict)

    def read_columns_as(self, formats: Mapping[str, SourceSettings]) -> None:
        """Set the spellings of single columns, by name."""
        self._formats = formats

    @property
    def formats(self) -> Mapping[str, SourceSettings]:
        """Spellings of single columns by name, from `read_columns_as`, without those of the party's table."""
        return self._formats

    def read_as(self, table: TableSettings) -> None:
        """Set the party's table at this place, whose spelling and row filter then apply."""
        self._party_table = table

    @property
    def party_table(self) -> TableSettings | None:
        """The party's table at this place, if there is one."""
        return self._party_table

    @property
    def derives(self) -> Mapping[str, DerivedSettings]:
        """Derived columns of the party's table that has its rows at this place, by name."""
        return {} if self._party_table is None else self._party_table.derived

    @property
    def chosen_as(self) -> TableSettings | None:
        """The party's table at this place (a table: itself) if its settings may leave out rows; else None."""
        return self._party_table if self._party_table is not None and self._party_table.is_chosen else None

    @property
    def renamed(self) -> dict[str, str]:
        """Column of each attribute that party.toml names otherwise."""
        return {} if self._party_table is None else self._party_table.renamed

    @property
    def spelling(self) -> FormatSettings:
        """Spelling of cells: `format`, or the format of the party's table if `format` is the default."""
        table = self._party_table if self.format == FormatSettings() else None
        return self.format if table is None else table.format

    @property
    def label(self) -> str:
        """Source and table for messages, without user, password or options of a URL."""
        table = "" if self.table is None else f", table {quoted(self.table)}"
        return f"{public_place(self.source)}{table}"


class TableSettings(PlaceSettings):
    """A table of this party for jobs. `combine` resolves conflicts between the rules of its owners.

    Only the public bounds `max_rows` and `least_rows` decide whether a job fits, never the rows. An equal `version`
    promises equal rows, so a repeated job gets its old result. Without `version` rows may change at any time, and every
    answer is new.

    `query` selects rows from the database at `source`, or from the `files`. The table then keeps the rows that fulfil
    `where`, have consent and belong to a person who did not object. With `person`, it keeps at most `at_most` rows of
    each person, chosen by a key from `identity`.

    `beside` is the schema file of a peer whose table has other columns of the same people.

    A budget belongs to the rows, not to the name. Tables of common rows declare this by `same_rows_as` and share one
    budget (`share_budgets`). `lookups` are tables of the query without rows of people.
    """

    source: Annotated[str, BeforeValidator(_place)] = Field("", repr=False)
    query: Sql | None = None
    files: Annotated[dict[str, File], AfterValidator(_simple)] = Field(default_factory=dict)
    where: Sql | None = None
    consent: Annotated[ConsentSettings, BeforeValidator(_consent)] | None = None
    objections: ObjectionsSettings | None = None
    person: Sql | None = None
    at_most: AtMost | None = None
    schema_file: LocalPath = Field(alias="schema")  # pydantic uses the name `schema`
    beside: LocalPath | None = None
    max_rows: Annotated[int, Field(strict=True, ge=1, le=2**31)] = 65535
    least_rows: Annotated[int, Field(strict=True, ge=0)] = 0
    analysts: tuple[Fingerprint, ...] = ()
    tries: Annotated[int, Field(strict=True, ge=1, le=1000)] = MOST_TRIES
    version: Annotated[str, StringConstraints(max_length=100)] = ""
    columns: dict[str, ColumnSettings] = Field(default_factory=dict)
    derived: Annotated[dict[str, DerivedSettings], AfterValidator(_derived)] = Field(default_factory=dict)
    budget: BudgetSettings | None = None
    same_rows_as: Name | None = None
    lookups: tuple[Name, ...] = ()
    rights: RightsSettings | None = None
    combine: Combine = "deny-overrides"
    _identity: Path | None = PrivateAttr(None)
    _part: Part | None = PrivateAttr(None)

    def owned_by(self, identity: Path | None) -> None:
        """Set the file with this party's private key."""
        self._identity = identity

    @property
    def identity(self) -> Path | None:
        """File with this party's private key, if known."""
        return self._identity

    @property
    def label(self) -> str:
        """Source and table for messages, see `PlaceSettings.label`; for a query of files, the files' names."""
        return super().label if self.source else f"the query of {listed(self.files)}"

    @property
    @override
    def renamed(self) -> dict[str, str]:
        return {name: column.column for name, column in self.columns.items() if column.column is not None}

    @property
    def state(self) -> str:
        """`version` with a private digest of the settings that decide rows and categories; empty without `version`."""
        keys = {"query", "files", "where", "consent", "objections", "columns", "format", "person", "at_most", "derived"}
        chosen = self.model_dump(mode="json", include=keys, exclude_defaults=True)
        if self.objections is not None:
            with suppress(InputError):  # opening the table reports a missing list
                chosen["objected"] = self.objections.people()
        return f"{self.version} {job_digest(chosen)}" if self.version and chosen else self.version

    @property
    @override
    def derives(self) -> Mapping[str, DerivedSettings]:
        return self.derived

    @property
    @override
    def chosen_as(self) -> TableSettings | None:
        return self if self.is_chosen else None

    def bounded_by(self, rows: int) -> TableSettings:
        """Return the table for this party's own use, with `max_rows` replaced by this number and `least_rows` by 0."""
        return self.model_copy(update={"max_rows": rows, "least_rows": 0})

    def only(self, part: Part | None) -> TableSettings:
        """Return the table with the rows of a part; `least_rows` bounds all rows, so it is 0. None: all rows."""
        if part is None:
            return self
        table = self.model_copy(update={"least_rows": 0})
        table._part = part
        return table

    @property
    def part(self) -> Part | None:
        """The part of the rows that takes part; None for all rows."""
        return self._part

    @property
    def is_chosen(self) -> bool:
        """True if the settings may leave out rows of the place; always so with a query."""
        parts = (self.query, self.where, self.consent, self.objections, self.person, self._part)
        return any(part is not None for part in parts)

    @model_validator(mode="after")
    def _rows_are_somewhere(self) -> TableSettings:
        if not self.source and not self.files:
            raise ValueError("source: is missing; name a file or the URL of a database")
        if self.files and self.query is None:
            raise ValueError("files: need a `query`; write one, or name a single file as `source`")
        if self.files and self.source:
            raise ValueError("files: cannot be combined with `source`; remove one of them")
        if self.query is not None and self.table is not None:
            raise ValueError("table: cannot be combined with `query`, which names its tables; remove it")
        return self

    @model_validator(mode="after")
    def _lookups_are_of_a_query(self) -> TableSettings:
        if self.lookups and self.query is None:
            raise ValueError("lookups: only a `query` reads several tables; remove it")
        return self

    @model_validator(mode="after")
    def _people_are_bounded(self) -> TableSettings:
        if self.person is not None and self.at_most is None:
            raise ValueError("at_most: is missing; set the number of rows per person that take part, such as 1")
        if self.at_most is not None and self.person is None:
            raise ValueError("person: is missing; `at_most` needs it: the column of the person, or SQL")
        return self

    @model_validator(mode="after")
    def _bounds_leave_room(self) -> TableSettings:
        if self.least_rows > self.max_rows:
            raise ValueError(f"least_rows: is more than max_rows, {self.max_rows}; choose a smaller number")
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
    """Return a path unchanged. Return a URL's scheme, host and path, or less if the password's end is unclear."""
    scheme, mark, rest = source.partition("://")
    if not mark:
        return source
    place, *options = re.split("[?#]", rest, maxsplit=1)
    if any("@" in text for text in options):
        return f"{scheme}://…"
    return f"{scheme}://{place.rpartition('@')[2]}"


def share_budgets(tables: dict[str, TableSettings]) -> dict[str, TableSettings]:
    """Return the tables of a party.toml. A table with `same_rows_as` gets the budget of that table, if it is there.

    Raises:
        ValueError: A table also has its own budget, names itself or a table that names a third, or has too many rows.
    """
    shared = {}
    for name, table in tables.items():
        if (holder := table.same_rows_as) is None:
            continue
        key = f"{name}.same_rows_as"
        if holder == name:
            raise ValueError(f"{key}: names the table itself; remove it")
        if (other := tables.get(holder)) is None:  # a former name, which the log may have
            continue
        if other.same_rows_as in tables:
            raise ValueError(f"{key}: name {quoted(str(other.same_rows_as))}, as {quoted(holder)} does")
        if table.budget is not None:
            raise ValueError(f"{key}: the budget of {quoted(holder)} counts; remove [tables.{name}.budget]")
        if other.budget is not None:
            try:
                check_delta(other.budget.delta, table.max_rows)
            except InputError as error:
                raise ValueError(f"{key}: the budget of {quoted(holder)}: {error}") from None
        shared[name] = table.model_copy(update={"budget": other.budget})
    return tables | shared


Tables: TypeAlias = Annotated[dict[str, TableSettings], AfterValidator(share_budgets)]
