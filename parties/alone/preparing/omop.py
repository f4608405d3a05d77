"""One row a person from tables of the OMOP common data model (version 5.4), by public rules.

A file of rules (docs/omop.md) has a table for each column of the public schema, with one key of `FORMS`. The schema
follows from the rules alone, so both parties have the same one, and it tells nothing of the rows.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import sqlglot
import sqlglot.expressions as exp
from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from typing_extensions import override

from parties.base import files
from parties.base.settings import Settings, at_key, validated
from parties.base.text import instead, listed, quoted
from parties.sources.settings import SIMPLE
from parties.tables.schema import Schema
from parties.tables.types import Day, Decimal, Domain, Text, read_type
from smc.errors import InputError

ID, DAY, NUMBER = "BIGINT", "DATE", "DOUBLE"
EXPECTED = {ID: "whole numbers", DAY: "days such as 2022-08-16", NUMBER: "numbers such as 5.4"}
COLUMNS = {  # of the model, as far as rules read them
    "person": {"person_id": ID, "gender_concept_id": ID, "race_concept_id": ID, "year_of_birth": ID},
    "condition_occurrence": {"person_id": ID, "condition_concept_id": ID, "condition_start_date": DAY},
    "drug_exposure": {"person_id": ID, "drug_concept_id": ID, "drug_exposure_start_date": DAY},
    "measurement": {
        "measurement_id": ID,
        "person_id": ID,
        "measurement_concept_id": ID,
        "measurement_date": DAY,
        "value_as_number": NUMBER,
        "unit_concept_id": ID,
    },
    "concept_ancestor": {"ancestor_concept_id": ID, "descendant_concept_id": ID},
}
PERSON, ANCESTORS, OTHER = "person", "concept_ancestor", "other"
ENDINGS = (".parquet", ".csv", ".csv.gz")


def _some(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


def _by_number(labels: Mapping[str, str]) -> Mapping[str, str]:
    if wrong := next((text for text in labels if not (text.isascii() and text.isdigit() and len(text) < 11)), None):
        raise ValueError(f'{quoted(wrong)} is no concept id; write such as 8507 = "male"')
    return labels


Concept: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
Concepts: TypeAlias = Annotated[tuple[Concept, ...], BeforeValidator(_some), Field(min_length=1)]
Labels: TypeAlias = Annotated[dict[str, Text], Field(min_length=1), AfterValidator(_by_number)]


@dataclass(frozen=True)
class Model:
    """Where the tables are: the SQL dialect, the schema of a database, and whether cells are converted from text."""

    dialect: str = "duckdb"
    schema: str = ""
    converted: bool = False


class Rule(Settings, ABC):
    """How a column follows from the tables. Further keys are those of the column's type in the schema."""

    type: ClassVar[str] = ""  # of the column in the schema

    @abstractmethod
    def value(self, rows: str) -> str:
        """Return the SQL of the column's value. `rows` is the name of the joined rows; the people are `p`."""

    def rows(self) -> str | None:
        """Return the SELECT of the rows that are joined to the people; None if the value needs no other table."""
        return None

    def ignored(self) -> str:
        """Return the SQL of the number of records that do not count for their unit or value."""
        return "0"

    def domain(self, keys: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the categories of the column. `keys` are those of its type."""
        return Domain(read_type({**keys, "type": self.type}))

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables that the rule reads beside `person`."""
        return ()


class Age(Rule):
    """Age in years at the end of the year `age`: the model has everyone's year of birth, but the day of some only."""

    type = "integer"
    age: Annotated[int, Field(strict=True, ge=1900, le=2200)]

    @override
    def value(self, rows: str) -> str:
        return f"{self.age} - p.year_of_birth"


class _Named(Rule):
    """A concept of a person, by name."""

    column: ClassVar[str]
    labels: Labels

    @override
    def value(self, rows: str) -> str:
        cases = " ".join(f"WHEN {int(concept)} THEN {_text(label)}" for concept, label in self.labels.items())
        return f"CASE p.{self.column} {cases} ELSE {_text(OTHER)} END"

    @override
    def domain(self, keys: Mapping[str, Any]) -> tuple[str, ...]:
        if keys:
            raise InputError(f"{next(iter(keys))}: unknown key; a column of named concepts has no other key")
        return tuple(dict.fromkeys((*self.labels.values(), OTHER)))


class Gender(_Named):
    """The gender of a person."""

    column = "gender_concept_id"
    labels: Labels = Field(alias="gender")


class Race(_Named):
    """The race of a person."""

    column = "race_concept_id"
    labels: Labels = Field(alias="race")


class _Recorded(Rule):
    """Whether a person has a record of one of some concepts, between two days."""

    type = "flag"
    table: ClassVar[str]
    concept: ClassVar[str]  # column of the concept id
    day: ClassVar[str]
    concepts: Concepts
    descendants: bool = False
    first_day: Day | None = Field(None, alias="from")
    last_day: Day | None = Field(None, alias="to")

    @model_validator(mode="after")
    def _days_in_order(self) -> _Recorded:
        if self.first_day is not None and self.last_day is not None and self.first_day > self.last_day:
            raise ValueError(f"from: {self.first_day} is after to, {self.last_day}; exchange them")
        return self

    @property
    @override
    def tables(self) -> tuple[str, ...]:
        return (self.table, *([ANCESTORS] if self.descendants else []))

    def records(self, *conditions: str) -> str:
        among = ", ".join(map(str, self.concepts))
        if self.descendants:
            among = f"SELECT descendant_concept_id FROM {ANCESTORS} WHERE ancestor_concept_id IN ({among})"
        where = [f"{self.concept} IN ({among})"]
        for day, sign in ((self.first_day, ">="), (self.last_day, "<=")):
            where += [] if day is None else [f"{self.day} {sign} DATE '{day:%Y-%m-%d}'"]
        return f"FROM {self.table} WHERE {' AND '.join((*where, *conditions))}"

    @override
    def value(self, rows: str) -> str:
        return f"CASE WHEN {rows}.person_id IS NULL THEN 'no' ELSE 'yes' END"

    @override
    def rows(self) -> str | None:
        return f"SELECT DISTINCT person_id {self.records()}"


class Condition(_Recorded):
    """Whether a person has a record of one of some conditions."""

    table, concept, day = "condition_occurrence", "condition_concept_id", "condition_start_date"
    concepts: Concepts = Field(alias="condition")


class Drug(_Recorded):
    """Whether a person has a record of one of some drugs."""

    table, concept, day = "drug_exposure", "drug_concept_id", "drug_exposure_start_date"
    concepts: Concepts = Field(alias="drug")


class Measurement(_Recorded):
    """One value of a person's measurements, in one unit and within the bounds of the column."""

    type = "real"
    table, concept, day = "measurement", "measurement_concept_id", "measurement_date"
    concepts: Concepts = Field(alias="measurement")
    unit: Concepts
    take: Literal["last", "first", "min", "max"]
    low: Decimal
    high: Decimal

    @override
    def domain(self, keys: Mapping[str, Any]) -> tuple[str, ...]:
        return super().domain({**keys, "low": self.low, "high": self.high, "missing": True})

    @override
    def value(self, rows: str) -> str:
        return f"{rows}.x"

    @override
    def rows(self) -> str | None:
        if self.take in ("min", "max"):
            return f"SELECT person_id, {self.take}(value_as_number) AS x {self._valid()} GROUP BY person_id"
        way = "DESC" if self.take == "last" else "ASC"
        place = f"ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY {self.day} {way}, measurement_id {way})"
        placed = f"SELECT person_id, value_as_number AS x, {place} AS place {self._valid()}"
        return f"SELECT person_id, x FROM ({placed}) AS t WHERE place = 1"

    @override
    def ignored(self) -> str:
        return f"(SELECT COUNT(*) {self.records()}) - (SELECT COUNT(*) {self._valid()})"

    def _valid(self) -> str:
        units = f"unit_concept_id IN ({', '.join(map(str, self.unit))})"
        return self.records(units, f"value_as_number BETWEEN {self.low!r} AND {self.high!r}")


FORMS: dict[str, type[Rule]] = {
    "age": Age,
    "gender": Gender,
    "race": Race,
    "condition": Condition,
    "drug": Drug,
    "measurement": Measurement,
}


class _File(Settings):
    target: str | None = None
    max_rows: Annotated[int, Field(strict=True, ge=1, le=2**31)]
    columns: dict[str, dict[str, Any]] = Field(min_length=1)


@dataclass(frozen=True)
class Rules:
    """Rules of a file: the columns in public order, and the schema that follows from them."""

    columns: Mapping[str, Rule]
    schema: Schema
    max_rows: int

    @property
    def tables(self) -> list[str]:
        """Tables that the rules read."""
        return [*dict.fromkeys([PERSON, *(table for rule in self.columns.values() for table in rule.tables)])]

    def query(self, model: Model) -> str:
        """Return the SELECT of one row a person: its identifier, and the columns."""
        return self._written(self._people(), model)

    def survey(self, model: Model) -> str:
        """Return the SELECT of rows and people; then of each column people with a value or yes, and ignored records."""
        numbers = ["COUNT(*) AS h", "COUNT(DISTINCT person_id) AS i"]
        for number, (name, rule) in enumerate(self.columns.items()):
            has = f"CASE WHEN \"{name}\" <> 'no' THEN 1 END" if rule.type == "flag" else f'"{name}"'
            numbers += [f"COUNT({has}) AS h{number}", f"{rule.ignored()} AS i{number}"]
        return self._written(f"SELECT {', '.join(numbers)} FROM ({self._people()}) AS t", model)

    def _people(self) -> str:
        values, joins = ["p.person_id"], [f"{PERSON} AS p"]
        for number, (name, rule) in enumerate(self.columns.items()):
            values.append(f'{rule.value(f"r{number}")} AS "{name}"')
            if (rows := rule.rows()) is not None:
                joins.append(f"LEFT JOIN ({rows}) AS r{number} ON r{number}.person_id = p.person_id")
        return f"SELECT {', '.join(values)} FROM {' '.join(joins)}"

    def _written(self, query: str, model: Model) -> str:
        if model.converted:
            tables = ", ".join(f"{table} AS ({_converted(table)})" for table in self.tables)
            query = f"WITH {tables} {query}"
        tree = sqlglot.parse_one(query, dialect="duckdb")
        for table in tree.find_all(exp.Table):
            if model.schema and table.name in COLUMNS:
                table.set("db", exp.to_identifier(model.schema, quoted=True))
        return tree.sql(dialect=model.dialect, pretty=True)


def _converted(table: str) -> str:
    """Return the SELECT of a table's columns with the types of the model; an empty text is no value."""
    cells = [f"CAST(NULLIF(CAST({c} AS VARCHAR), '') AS {kind}) AS {c}" for c, kind in COLUMNS[table].items()]
    return f"SELECT {', '.join(cells)} FROM {table}"


def load(path: Path) -> Rules:
    """Read and check a file of rules.

    Raises:
        InputError: The file is wrong; the message names the file and the key.
    """
    fields = files.read_toml(path)
    with at_key(str(path)):
        file = validated(_File, fields)
        columns, domains = {}, {}
        for name, keys in file.columns.items():
            with at_key(f"columns.{name}"):
                columns[name], domains[name] = _column(name, keys)
        if file.target is not None and file.target not in columns:
            raise InputError(f"target: there is no column {quoted(file.target)}{instead(file.target, columns)}")
    return Rules(columns, Schema(domains, file.target), file.max_rows)


def _column(name: str, fields: Mapping[str, Any]) -> tuple[Rule, tuple[str, ...]]:
    if re.fullmatch(SIMPLE, name) is None or name.lower() == "person_id":
        raise InputError("must be a name of letters, digits and _, and not person_id")
    forms = [key for key in fields if key in FORMS]
    if len(forms) != 1:
        raise InputError(f"must have exactly one of {listed(FORMS)}")
    form = FORMS[forms[0]]
    own = {field.alias or key for key, field in form.model_fields.items()}
    rule = validated(form, {key: value for key, value in fields.items() if key in own})
    return rule, rule.domain({key: value for key, value in fields.items() if key not in own})


def files_in(folder: Path, tables: Sequence[str]) -> dict[str, Path]:
    """Return the file of each table in a folder: NAME.csv, NAME.csv.gz, NAME.parquet or a folder NAME of Parquet.

    Args:
        folder: The folder. Capitals in the names of files do not matter.
        tables: Names of the tables.

    Raises:
        InputError: A table has no file, or several.
    """
    there = {}
    for name in tables:
        spelled = (name, *(f"{name}{ending}" for ending in ENDINGS))
        found = [path for path in sorted(folder.iterdir()) if path.name.lower() in spelled]
        if not found:
            raise InputError(f"{folder}: there is no table {name}; write it as {name}.csv or {name}.parquet")
        if len(found) > 1:
            raise InputError(f"{folder}: the table {name} is there twice, {listed([p.name for p in found])}; keep one")
        there[name] = found[0]
    return there


def unconverted(column: str, kind: str) -> exp.Select:
    """Return a query, without its rows, for the least text of a column that is not of its type in the model.

    Args:
        column: Name of the column.
        kind: Its type.
    """
    cell = f"NULLIF(CAST({column} AS VARCHAR), '')"
    wrong = f"{cell} IS NOT NULL AND TRY_CAST({cell} AS {kind}) IS NULL"
    return sqlglot.select(f"MIN({cell})", dialect="duckdb").where(wrong, dialect="duckdb")


def _text(label: str) -> str:
    return "'" + label.replace("'", "''") + "'"
