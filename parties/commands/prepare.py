"""`smc prepare`: from a raw table to a public schema and the table's own mapping to it."""

from __future__ import annotations

import os
import re
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

from parties.base import console, files
from parties.base.report import Report
from parties.base.text import listed
from parties.commands.options import FOLDER, PARTY_FILE, check_proposal, names_of
from parties.commands.outputs import FORCE, check_new
from parties.commands.own_table import chosen
from parties.commands.prepare_omop import prepare_omop
from parties.commands.readings import ReadingOptions, asked
from parties.commands.rows import paths, place
from parties.commands.signature import argument, command, option, settings
from parties.party_file import files_of, load
from parties.sources.excel import sheets
from parties.sources.formats import format_of
from parties.sources.settings import FormatSettings, PlaceSettings, TableSettings
from parties.tables import schema as schemas
from smc.errors import InputError

SETTLED = {"columns", "format"}  # keys of a table in party.toml that --force replaces
WRITTEN = SETTLED | {"derived"}  # keys that are written anew


@command("prepare", "smc prepare raw.csv --target outcome --out clinic")
def prepare(
    raw: str | None = argument(),
    config_file: Path | None = option("party.toml with the table, instead of RAW."),
    target: str | None = option("Class column that a tree or model predicts.", "COLUMN"),
    agreed: Path | None = option("Existing schema: map the table to it, propose no new one.", flag="--schema"),
    exclude: tuple[str, ...] = option("Leave columns out, separated by commas; repeatable.", "COLUMNS"),
    column: tuple[str, ...] = option("With --schema: an attribute and its column; repeatable.", "NAME=COLUMN"),
    table: str | None = option(
        "Table of a database or of --config, or a sheet; for a CSV file, its name in party.toml.", "NAME"
    ),
    person: str | None = option(
        "Column that names each row's person, and how many rows of a person count.", "COLUMN=ROWS"
    ),
    derive: tuple[str, ...] = option("Compute a column, such as 'age=age born 2026-01-01'; repeatable.", "NAME=FORM"),
    omop: Path | None = option("Rules for OMOP tables: RAW has one row a person then (docs/omop.md).", "RULES"),
    how: ReadingOptions = settings(ReadingOptions),
    page: Path | None = option("Write the findings as an HTML page; keep it to yourself."),
    out: Path | None = option("Directory for schema.toml and party.toml  [directory of --config]", FOLDER),
    force: bool = FORCE,
) -> Report:
    """Read a raw table, and propose a schema and a mapping of the table to the schema.

    RAW is an exported file: Parquet, or CSV with any separator, decimal mark and encoding, gzipped or not. It can also
    be an Excel workbook, with --table SHEET if several have rows, a DuckDB file or the URL of a database, with --table.
    With --config the table is one of a party.toml, possibly a query.

    DIR/schema.toml proposes typed columns for both parties to agree on. DIR/party.toml has the table: its cell formats,
    and the mapping of its columns to the schema. smc init adds the link to the peer. Both files are text: correct them
    by hand. Or prepare the table again with --force, which replaces the schema, the cell formats and the mapping.

    --derive computes a column from others, without SQL: 'NAME=FORM COLUMN ...'. Put names with spaces in quotes.
    docs/tables-schema.md lists the forms.

    If all cells of a column can be read in several ways, as 03/04/2024, the command asks at a terminal. Else give
    --reading, or --guess for the first way.
    """
    if (raw is None) == (config_file is None):
        raise InputError("RAW: give either RAW, a file or the URL of a database, or --config with your table")
    if omop is not None:
        settled = {"--target": target, "--schema": agreed, "--exclude": exclude, "--column": column}
        unread = {"--person": person, "--derive": derive, "--page": page, "--config": config_file}
        if flag := next((flag for flag, given in {**settled, **unread}.items() if given), None):
            raise InputError(f"{flag}: the rules of --omop decide the columns and rows; remove it")
        assert raw is not None
        return prepare_omop(raw, omop, table, _required(out), force)
    from parties.alone.preparing import checking, deriving, fitting, proposing, writing
    from parties.alone.preparing.profile import profile

    name, rows_at = _place(raw, table) if config_file is None else _of_config(config_file, table)
    out = _required(out or (config_file.parent if config_file is not None else None))
    if force and config_file is not None:  # spelling and columns are detected anew
        rows_at = rows_at.model_copy(update={"format": FormatSettings(), "columns": {}})
        rows_at.model_fields_set.difference_update(SETTLED)
    if agreed is None and column:
        raise InputError("--column: names the column of an attribute of --schema; give --schema too")
    if agreed is not None and (target is not None or exclude):
        raise InputError("--schema: already sets the columns; remove --target and --exclude")
    party_file = out / PARTY_FILE
    before, there = _present(party_file, name, rows_at, force)
    present = {} if there is None else there.derived
    derived = deriving.declared("--derive", derive, present, replace=force)
    schema_file = out / "schema.toml" if there is None else there.schema_file
    people = None if person is None else _people(person, name, there)
    writes_schema = agreed is None or agreed.resolve() != schema_file.resolve()
    if writes_schema and not force:
        check_proposal(schema_file, "give another --out, or --force to replace it")
    elif writes_schema and schema_file.exists():
        _require_own(schema_file, party_file, name)
    inputs = [*(paths(raw) if raw else []), agreed, schema_file, party_file, *(files_of(party_file) if before else [])]
    check_new({"--page": page}, inputs, config_file, force)
    known = None if agreed is None else schemas.load(agreed)
    with console.progress(f"reading {rows_at.label}") as status:
        choices = how.choices(status)
        table_profile = profile(rows_at, target, choices, derived)
        columns = [*(found.name for found in table_profile.columns), *table_profile.unfit]
        if people is not None and people["person"] not in columns:
            raise InputError(f"--person: there is no column {people['person']!r}; check the name")
        if known is None:
            try:
                left_out = [name for text in exclude for name in names_of(columns)(text)]
            except InputError as error:
                raise InputError(f"--exclude: {error}") from None
            proposal = proposing.propose(table_profile, target, left_out)
            status.doing("reading the rows as the proposal says")
            proposal = checking.checked(table_profile, proposal, there)
        else:
            ask = choices.ask if console.is_asked() and not how.guess else None
            proposal = fitting.fit(table_profile, known, _named(column), ask)
    if there is not None and getattr(table_profile.place, "files", {}) != there.files:
        raise InputError(f"{party_file}: the files of {name} have different formats; give each its own `format`")
    files.make_directory(out)
    text = writing.mapping_text(name, table_profile, proposal)
    if there is None:
        text = writing.party_text(name, table_profile, out, people) + text
    if before:
        text = f"{before.rstrip()}\n\n{text.lstrip()}"
        files.check_addition(party_file, text)
    if writes_schema:
        proposal.schema.save(schema_file)
    files.write_text(party_file, text)
    if page is not None:
        files.write_text(page, writing.to_html(rows_at.label, table_profile, proposal))
    report = Report(writing.to_json(table_profile, proposal))
    report.table({"column": "", "holds": "~", "becomes": "~", "look at": "~"}, writing.lines(proposal), in_pages=True)
    notes = list(proposal.remarks)
    digest = proposal.schema.digest()
    report.line(f"written  {schema_file}   {len(proposal.schema.attributes)} attributes, digest {digest}")
    report.line(f"written  {party_file}   table {name}, {table_profile.rows:,} rows")
    if there is not None and table_profile.rows > there.max_rows:
        notes.append(f"tables.{name}.max_rows: {there.max_rows:,} are fewer than the rows; raise it")
    if agreed is None:
        notes.append(writing.TELLS)
    if "link" not in files.read_toml(party_file):
        notes.append(f"next: smc init --out {out}    adds the link to the peer to {party_file}")
    for note in notes:
        report.note(note, always=False)
    return report


def _required(out: Path | None) -> Path:
    if out is None:
        raise InputError("--out is missing: give the directory for schema.toml and party.toml")
    return out


def _place(raw: str | None, table: str | None) -> tuple[str, PlaceSettings]:
    assert raw is not None
    kind = "duckdb" if "://" in raw else format_of(Path(raw), None)
    is_database = kind in ("duckdb", "excel")
    if kind == "excel" and table is None and console.is_asked():
        table = _sheet(Path(raw))
    called = (table or "") if "://" in raw else table or Path(raw).name.partition(".")[0]
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", called).strip("_") or "rows"
    return name, place(raw, table if is_database else None)


def _sheet(path: Path) -> str | None:
    """Return the sheet of an Excel workbook that the operator chooses; None if it has only one."""
    from parties.alone.preparing.readings import Question

    if len(names := sheets(path)) < 2:
        return None
    with console.progress(f"reading {path}") as status:
        return asked(Question(str(path), "", dict.fromkeys(names, "a sheet"), "--table"), status)


def _of_config(config_file: Path, table: str | None) -> tuple[str, TableSettings]:
    tables = load(config_file).tables
    name = chosen(table, tables)
    return name, tables[name]


def _present(party_file: Path, name: str, settings: PlaceSettings, force: bool) -> tuple[str, TableSettings | None]:
    """Return the text of the party's file (empty if it is missing), and its table of this name, if any.

    `force` removes the table's spelling and columns; without it they raise InputError, and so do other rows.
    """
    if not party_file.exists():
        return "", None
    text, there = files.read_text(party_file), load(party_file).tables.get(name)
    if there is None:
        return text, None
    rows = [(getattr(table, "query", None), _real(table.source), table.table) for table in (settings, there)]
    if rows[0] != rows[1]:
        raise InputError(
            f"{party_file}: tables.{name} names another source; give another --table, or remove that table"
        )
    if not WRITTEN & there.model_fields_set:
        return text, there
    if (settled := SETTLED & there.model_fields_set) and not force:
        has = " and ".join(sorted(settled))
        raise InputError(f"{party_file}: tables.{name} already has {has}; give --force to replace, or another --out")
    return _without(party_file, text, name), there


def _people(text: str, name: str, there: TableSettings | None) -> dict[str, Any]:
    """Return `person` and `at_most` from --person. Raise InputError if the existing table has other values."""
    column, _, rows = text.rpartition("=")
    if not column or not re.fullmatch("[1-9][0-9]{0,2}|1000", rows):
        raise InputError(f"--person: must be COLUMN=ROWS with 1 to 1,000 rows, such as patient_id=1, not {text!r}")
    if there is not None and (there.person, there.at_most) != (column, int(rows)):
        raise InputError(f"--person: tables.{name} does not have this person and at_most; change its lines by hand")
    return {"person": column, "at_most": int(rows)}


def _named(texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if wrong := next((text for text, pair in zip(texts, pairs, strict=True) if not all(map(str.strip, pair))), None):
        raise InputError(f"--column {wrong}: write NAME=COLUMN, such as 'sex=geschlecht'")
    return {name.strip(): own.strip() for name, _, own in pairs}


def _require_own(schema_file: Path, party_file: Path, name: str) -> None:
    """Raise InputError if other tables of the party's file use this schema file too, because it will be replaced."""
    tables = load(party_file).tables if party_file.exists() else {}
    real = schema_file.resolve()
    if others := [other for other, table in tables.items() if other != name and table.schema_file.resolve() == real]:
        raise InputError(
            f"{schema_file} is also the schema of {listed(others)}; give --schema {schema_file} to keep it"
        )


def _real(source: str) -> str:
    return source if not source or "://" in source else os.path.realpath(source)


def _without(party_file: Path, text: str, name: str) -> str:
    """Return a party's file without a table's spelling and columns; comments stay.

    Raise InputError if their lines cannot be separated from the rest.
    """
    remaining, wanted, stays = [], tomllib.loads(text), True
    for part in WRITTEN:
        wanted["tables"][name].pop(part, None)
    for line in text.splitlines(keepends=True):
        if (header := _header(line)) is not None:
            stays = header[:2] != ["tables", name] or not WRITTEN & {*header[2:3]}
        if stays or line.lstrip().startswith("#"):
            remaining.append(line)
    with suppress(tomllib.TOMLDecodeError):
        if tomllib.loads("".join(remaining)) == wanted:
            return "".join(remaining)
    raise InputError(
        f"{party_file}: cannot separate the lines of format, columns and derived in tables.{name}; remove them by hand"
    )


def _header(line: str) -> list[str] | None:
    """Return the keys of a TOML table header, such as tables and NAME of [tables.NAME]; None for other lines."""
    if not line.lstrip().startswith("["):
        return None
    try:
        inner = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    words = []
    while isinstance(inner, dict) and inner:
        (word, inner), *_ = inner.items()
        words.append(word)
    return words
