"""One row a person from OMOP tables, wherever they are, beside plain counts over the same rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from parties.party_file import load
from parties.sources.opening import open_table
from parties.tables import schema as schemas
from tests.support import omop
from tests.support.places import ROOT
from tests.support.postgres import Server
from tests.support.processes import Done, here
from tests.support.walkthrough import blocks

RULES = next(block.text for block in blocks((ROOT / "docs" / "omop.md").read_text()) if block.kind == "toml")
VALUE = RULES[RULES.index("[columns.hba1c]") :]
WAYS = ("first", "min", "max")
EACH_WAY = "\n".join(VALUE.replace("hba1c", way).replace("last", way) for way in WAYS)


@pytest.fixture(scope="module")
def model() -> omop.Model:
    return omop.made(seed=7)


def declared(column: str) -> str:
    """The type of a column in the model."""
    return "DATE" if column.endswith("_date") else "DOUBLE PRECISION" if column.endswith("number") else "BIGINT"


def tables_in(run: Any, model: omop.Model, schema: str) -> None:
    """The tables in a database, with the types of the model."""
    run(f"CREATE SCHEMA {schema}")
    for name, rows in model.items():
        run(f"CREATE TABLE {schema}.{name} ({', '.join(f'{column} {declared(column)}' for column in rows[0])})")
        lines = (", ".join(f"'{cell}'" if cell else "NULL" for cell in row.values()) for row in rows)
        run(f"INSERT INTO {schema}.{name} VALUES {', '.join(f'({line})' for line in lines)}")


def placed(kind: str, model: omop.Model, folder: Path, request: pytest.FixtureRequest) -> list[str]:
    """The arguments that name the tables, after they have been put there."""
    match kind:
        case "csv":
            omop.write(model, folder / "cdm")
            (folder / "cdm" / "person.csv").rename(folder / "cdm" / "PERSON.csv")
            return [str(folder / "cdm")]
        case "parquet":
            omop.write(model, folder / "csv")
            (folder / "cdm").mkdir()
            for name in model:
                source = f"read_csv('{folder / 'csv' / name}.csv')"
                duckdb.execute(f"COPY (FROM {source}) TO '{folder / 'cdm' / name}.parquet'")
            return [str(folder / "cdm")]
        case "duckdb":
            with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
                tables_in(connection.execute, model, "cdm")
            return [str(folder / "clinic.duckdb"), "--table", "cdm"]
        case _:
            server: Server = request.getfixturevalue("postgres")
            with server.connect() as connection:
                tables_in(connection.execute, model, "cdm")
            return [server.url(), "--table", "cdm"]


def prepared(folder: Path, rules: str, *arguments: str) -> Done:
    (folder / "rules.toml").write_text(rules)
    return here(folder, "prepare", *arguments, "--omop", "rules.toml", "--out", "clinic")


def rows_of(folder: Path) -> Counter[tuple[str, ...]]:
    """The categories of all people, as jobs read them."""
    table = load(folder / "clinic" / "party.toml").tables["rules"]
    schema = schemas.load(table.schema_file)
    names = [*schema.features("diabetes"), "diabetes"]
    found: Counter[tuple[str, ...]] = Counter()
    with open_table(table, schema, "diabetes") as source:
        for batch in source.batches():
            for *row, times in batch.tolist():
                cells = {name: schema.attributes[name][index] for name, index in zip(names, row, strict=True)}
                found[tuple(cells[name] for name in schema.attributes)] += times
    return found


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "postgres"])
def test_every_place_has_the_people_of_the_model(
    kind: str, model: omop.Model, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    done = prepared(tmp_path, f"{RULES}\n{EACH_WAY}", *placed(kind, model, tmp_path, request))
    assert done.code == 0, done.err
    ways = zip(omop.columns(model), *(omop.columns(model, way) for way in WAYS), strict=True)
    assert rows_of(tmp_path) == Counter((*row, *(other[-1] for other in others)) for row, *others in ways)
    ill = sum(row[2] == "yes" for row in omop.columns(model))
    assert re.search(rf"diabetes +{ill} ", done.out)
    assert re.search(r"hba1c: \d+ records are in another unit, beyond the bounds or without a number", done.err)


def test_the_schema_tells_nothing_of_the_rows(tmp_path: Path) -> None:
    for seed in (1, 2):
        omop.write(omop.made(seed, 20 * seed), tmp_path / str(seed) / "cdm")
        assert prepared(tmp_path / str(seed), RULES, "cdm").code == 0
    first, second = ((tmp_path / str(seed) / "clinic" / "schema.toml").read_text() for seed in (1, 2))
    assert first == second


def test_a_second_time_changes_nothing_and_other_rules_are_refused(model: omop.Model, tmp_path: Path) -> None:
    omop.write(model, tmp_path / "cdm")
    assert prepared(tmp_path, RULES, "cdm").code == 0
    first = (tmp_path / "clinic" / "party.toml").read_text()
    assert prepared(tmp_path, RULES, "cdm").code == 0
    assert (tmp_path / "clinic" / "party.toml").read_text() == first
    done = prepared(tmp_path, RULES.replace("201826, 201254", "201826"), "cdm")
    assert (done.code, done.message) == (
        2,
        "smc: clinic/party.toml: tables.rules follows other rules; remove it, or give another --out",
    )


def test_nobody_has_a_wrong_concept(model: omop.Model, tmp_path: Path) -> None:
    omop.write(model, tmp_path / "cdm")
    done = prepared(tmp_path, RULES.replace("drug = 1503297", "drug = 99"), "cdm")
    assert "metformin: nobody has it; check the concept ids, the days and the unit" in done.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "age = 2025",
            "",
            "columns.age: must have exactly one of 'age', 'gender', 'race', 'condition', 'drug', 'measurement'",
        ),
        ("age = 2025", "age = 2025\nrace = { 1 = 'x' }", "columns.age: must have exactly one of 'age', 'gender'"),
        ("unit = 8554", "", "columns.hba1c: unit: is missing"),
        ('take = "last"', 'take = "mean"', "columns.hba1c: take: must be 'last', 'first', 'min' or 'max', not 'mean'"),
        ("low = 3 ", "low = 30 ", "columns.hba1c: low must be below high"),
        ("from = 2018-01-01", "from = 2025-01-01", "columns.diabetes: from: 2025-01-01 is after to, 2024-12-31"),
        ("8507 =", "man =", "columns.sex: gender: 'man' is no concept id; write such as 8507 = \"male\""),
        ("max_rows = 20000", "", "max_rows: is missing"),
        (
            'target = "diabetes"',
            'target = "diabete"',
            "target: there is no column 'diabete' (did you mean 'diabetes'?)",
        ),
        ("columns.age]", 'columns."a b"]', "columns.a b: must be a name of letters, digits and _"),
        ("edges = [5.7, 6.5]", "edgs = [5.7, 6.5]", "columns.hba1c: edgs: unknown key (did you mean 'edges'?)"),
    ],
)
def test_a_wrong_rule_is_one_line(old: str, new: str, message: str, model: omop.Model, tmp_path: Path) -> None:
    assert old in RULES
    omop.write(model, tmp_path / "cdm")
    done = prepared(tmp_path, RULES.replace(old, new, 1), "cdm")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.message.startswith(f"smc: rules.toml: {message}"), done.message
    assert not (tmp_path / "clinic").exists()


def test_wrong_rows_are_one_line(model: omop.Model, tmp_path: Path) -> None:
    omop.write(model, tmp_path / "cdm")
    for arguments, message in [
        (["cdm/person.csv"], "RAW: cdm/person.csv is one file; --omop needs the folder of all tables"),
        (["cdm", "--table", "x"], "--table: with --omop it is the schema of the tables in a database"),
        (["cdm", "--target", "sex"], "--target: the rules of --omop decide the columns and rows; remove it"),
    ]:
        assert prepared(tmp_path, RULES, *arguments).message.startswith(f"smc: {message}")
    few = prepared(tmp_path, RULES.replace("max_rows = 20000", "max_rows = 100"), "cdm")
    assert (few.code, "100" in few.message) == (2, True)
    person = (tmp_path / "cdm" / "person.csv").read_text()
    twice = person + "".join(person.splitlines(keepends=True)[1:3])  # noise for one row would not hide these people
    (tmp_path / "cdm" / "person.csv").write_text(twice)
    again = "smc: person: 2 rows have no person_id of their own; keep one row a person"
    assert prepared(tmp_path, RULES, "cdm").message.splitlines()[-1] == again
    assert not (tmp_path / "clinic").exists()
    (tmp_path / "cdm" / "person.csv").write_text(person)
    (tmp_path / "cdm" / "measurement.csv").rename(tmp_path / "cdm" / "values.csv")
    assert prepared(tmp_path, RULES, "cdm").message == (
        "smc: cdm: there is no table measurement; write it as measurement.csv or measurement.parquet"
    )
    (tmp_path / "cdm" / "Person.csv.gz").touch()
    assert "the table person is there twice" in prepared(tmp_path, RULES, "cdm").message


@pytest.mark.parametrize(
    ("table", "column", "cell", "message"),
    [
        (
            "measurement",
            "unit_concept_id",
            None,
            "the OMOP table measurement needs a column 'unit_concept_id' (did you mean 'measurement_concept_id'?)",
        ),
        (
            "condition_occurrence",
            "condition_start_date",
            "16.08.2022",
            "the OMOP table condition_occurrence needs a column 'condition_start_date' of days such as 2022-08-16, "
            "not '16.08.2022'; correct the file",
        ),
        (
            "person",
            "year_of_birth",
            "?",
            "the OMOP table person needs a column 'year_of_birth' of whole numbers, not '?'; correct",
        ),
    ],
)
def test_a_file_that_is_not_of_the_model_is_named_with_its_column(
    table: str, column: str, cell: str | None, message: str, tmp_path: Path
) -> None:
    model = omop.made(seed=7)
    model[table][3][column] = cell or ""
    for row in model[table] if cell is None else ():
        del row[column]
    omop.write(model, tmp_path / "cdm")
    done = prepared(tmp_path, RULES, "cdm")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert re.match(rf"smc: cdm/{table}\.csv[:,] {re.escape(message)}", done.message), done.message


def test_a_table_of_a_database_without_a_column_is_named(model: omop.Model, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        tables_in(connection.execute, model, "cdm")
        connection.execute("ALTER TABLE cdm.person DROP COLUMN gender_concept_id")
    done = prepared(tmp_path, RULES, "clinic.duckdb", "--table", "cdm")
    assert done.message.startswith(
        "smc: clinic.duckdb, table 'cdm.person': the OMOP table person needs a column 'gender_concept_id'"
    )


def test_any_label_and_an_objection_are_kept(model: omop.Model, tmp_path: Path) -> None:
    """Quotes and backslashes pass through SQL and TOML; people who objected are left out by their `person_id`."""
    label = 'o\'x \\ """ r.2'
    omop.write(model, tmp_path / "cdm")
    rules = RULES.replace('8507 = "male"', f"8507 = '''{label}'''")
    assert prepared(tmp_path, rules, "cdm").code == 0
    before = rows_of(tmp_path)
    men = sum(row[1] == "male" for row in omop.columns(model))
    assert sum(times for row, times in before.items() if row[1] == label) == men
    party = tmp_path / "clinic" / "party.toml"
    objections = 'objections = { column = "person_id", file = "optouts.txt" }\n'
    party.write_text(party.read_text().replace("max_rows", f"{objections}max_rows"))
    (tmp_path / "clinic" / "optouts.txt").write_text("1\n2\n")
    assert before - rows_of(tmp_path) == Counter(
        (*(label if cell == "male" else cell for cell in row),) for row in omop.columns(model)[:2]
    )
