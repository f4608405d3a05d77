"""`smc prepare --omop`: from OMOP tables to a public schema and a table of one row a person, by public rules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties.base import console, files
from parties.base.report import Report
from parties.base.settings import validated
from parties.base.text import instead, quoted
from parties.commands.options import PARTY_FILE, check_proposal
from parties.party_file import load
from parties.sources.formats import format_of
from parties.sources.opening import open_rows, open_table
from parties.sources.places import DIALECTS
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables import schema as schemas
from parties.tables.toml_text import toml_key, toml_lines
from parties.tables.unfit import UnfitError
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.preparing.omop import Model, Rules

SCHEMA = "schema.toml"


def prepare_omop(raw: str, rules_file: Path, within: str | None, out: Path, force: bool) -> Report:
    """Write the schema of the rules, and a table of party.toml that follows them. Report on each column.

    Args:
        raw: A folder with a file for each table, a DuckDB file, or the URL of a database.
        rules_file: The rules.
        within: Schema of the tables in a database.
        out: Directory of both files.
        force: Whether to replace another schema.

    Raises:
        InputError: The rules are wrong, a table is missing, or its rows do not fit the rules.
    """
    from parties.alone.preparing import omop

    rules = omop.load(rules_file)
    keys, model = _placed(raw, rules, within)
    name, party_file, schema_file = rules_file.stem, out / PARTY_FILE, out / SCHEMA
    if schema_file.exists() and schemas.load(schema_file).text() != rules.schema.text() and not force:
        check_proposal(schema_file, "give another --out, or --force to replace it")
    fields = {**keys, "query": rules.query(model), "schema": str(schema_file), "max_rows": rules.max_rows}
    table = validated(TableSettings, fields)
    there = load(party_file).tables.get(name) if party_file.exists() else None
    if there is not None and _rows_of(there) != _rows_of(table):
        raise InputError(f"{party_file}: tables.{name} follows other rules; remove it, or give another --out")
    with console.progress(f"reading {raw}") as status:
        target = rules.schema.target or next(iter(rules.schema.attributes))
        try:
            with open_table(table, rules.schema, target) as source:
                rows = source.check()
            status.doing("counting the values of each column")
            with open_rows(table.model_copy(update={"query": rules.survey(model), "lookups": ()})) as survey:
                (every, *held), (known, *ignored) = survey.engine.counts(survey.query).reshape(-1, 2).T.tolist()
        except UnfitError:
            _complain(table, rules, model)
            raise
    if known < every:
        raise InputError(f"person: {every - known:,} rows have no person_id of their own; keep one row a person")
    files.make_directory(out)
    rules.schema.save(schema_file)
    if there is None:
        _add(party_file, name, fields | {"schema": SCHEMA}, out)
    report = Report(
        {
            "rows": rows,
            "digest": rules.schema.digest(),
            "columns": [
                {"name": column, "people": people, "ignored_records": records}
                for column, people, records in zip(rules.columns, held, ignored, strict=True)
            ],
        }
    )
    listed = [(column, f"{people:,}") for column, people in zip(rules.columns, held, strict=True)]
    report.table({"column": "", "people with a value, or yes": ">"}, listed)
    report.line(f"written  {schema_file}   {len(rules.columns)} attributes, digest {rules.schema.digest()}")
    report.line(f"written  {party_file}   table {name}, {rows:,} people")
    notes = []
    for column, people, records in zip(rules.columns, held, ignored, strict=True):
        if not people:
            notes.append(f"{column}: nobody has it; check the concept ids, the days and the unit")
        if records:
            why = "are in another unit, beyond the bounds or without a number, and do not count"
            notes.append(f"{column}: {records:,} records {why}")
    if "link" not in files.read_toml(party_file):
        notes.append(f"next: smc init --out {out}    adds the link to the peer to {party_file}")
    for note in notes:
        report.note(note, always=False)
    return report


def _placed(raw: str, rules: Rules, within: str | None) -> tuple[dict[str, Any], Model]:
    """Return the keys of party.toml for the tables, and the model as a query spells it.

    Raise InputError if a folder lacks a table.
    """
    from parties.alone.preparing.omop import ANCESTORS, Model, files_in

    scheme, mark, _ = raw.partition("://")
    lookups = {"lookups": [ANCESTORS]} if ANCESTORS in rules.tables else {}
    if mark or format_of(Path(raw), None) == "duckdb":
        dialect = DIALECTS.get("postgresql" if scheme == "postgres" else scheme, "duckdb") if mark else "duckdb"
        return {"source": raw, **lookups}, Model(dialect, within or "")
    if not Path(raw).is_dir():
        raise InputError(f"RAW: {raw} is one file; --omop needs the folder of all tables, a DuckDB file or a URL")
    if within is not None:
        raise InputError("--table: with --omop it is the schema of the tables in a database; a folder has none")
    found = files_in(Path(raw), rules.tables)
    return {"files": {name: str(path) for name, path in found.items()}, **lookups}, Model(converted=True)


def _complain(table: TableSettings, rules: Rules, model: Model) -> None:
    """Raise InputError with the first table that lacks a column of the model, or has a wrong cell in a file."""
    from parties.alone.preparing.omop import COLUMNS, EXPECTED, unconverted

    for name in rules.tables:
        inner = None if model.converted else f"{model.schema}.{name}" if model.schema else name
        place = PlaceSettings(source=table.files[name].source if model.converted else table.source, table=inner)
        with open_rows(place) as rows:
            there = list(map(str.lower, rows.types))
            for column, kind in COLUMNS[name].items():
                where = f"{place.label}: the OMOP table {name} needs a column {quoted(column)}"
                if column not in there:
                    raise InputError(f"{where}{instead(column, there)}; rename a column, or add it")
                query = unconverted(column, kind).from_(rows.query.subquery("t"))
                if model.converted and (text := rows.engine.text(query)) is not None:
                    raise InputError(f"{where} of {EXPECTED[kind]}, not {quoted(text)}; correct the file")


def _rows_of(table: TableSettings) -> tuple[Any, ...]:
    source = table.source if "://" in table.source else os.path.realpath(table.source)
    paths = {name: os.path.realpath(file.source) for name, file in table.files.items()}
    return source, paths, (table.query or "").strip(), table.max_rows


def _add(party_file: Path, name: str, fields: dict[str, Any], out: Path) -> None:
    """Add a table to party.toml. Its files are named from there, and its query has lines."""
    paths = {name: files.seen_from(out, Path(path)) for name, path in fields.get("files", {}).items()}
    source = fields.get("source", "")
    if source and "://" not in source:
        fields["source"] = files.seen_from(out, Path(source))
    head = f"tables.{toml_key(name)}"
    plain = {key: value for key, value in fields.items() if key not in ("query", "files")}
    query = fields["query"].replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    text = f'[{head}]\n{toml_lines(plain)}query = """\n{query}\n"""\n'
    text += f"\n[{head}.files]\n{toml_lines(paths)}" if paths else ""
    if party_file.exists():
        text = f"{files.read_text(party_file).rstrip()}\n\n{text}"
        files.check_addition(party_file, text)
    files.write_text(party_file, text)
