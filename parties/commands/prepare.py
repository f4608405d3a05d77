"""`smc prepare`: from a raw table to a public schema and the table's own mapping to it."""

from __future__ import annotations

import re
from pathlib import Path

import click

from parties.base import console, files
from parties.base.extras import require
from parties.commands.options import FILE, FOLDER, PARTY_FILE, check_outputs, check_proposal, json_option
from parties.commands.own_table import chosen
from parties.commands.rows import paths, place
from parties.party_file import files_of, load
from parties.sources.formats import format_of
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables import schema as schemas
from smc.errors import InputError


@click.command("prepare", epilog="Example:  smc prepare raw.csv --target outcome --out clinic")
@click.argument("raw", required=False)
@click.option("--config", "config_file", type=FILE, help="Instead of RAW, a party.toml: a table that it has.")
@click.option("--target", metavar="COLUMN", help="The class column: what a tree or a model shall predict.")
@click.option("--schema", "agreed", type=FILE, help="A schema that exists: map the table to it, propose none.")
@click.option("--exclude", metavar="COLUMN", multiple=True, help="Leave a column out; may be repeated.")
@click.option("--table", metavar="NAME", help="Of a database or --config, which table; of a file, what to call it.")
@click.option("--page", type=FILE, help="The same as an HTML page, to look at. Private.")
@click.option("--out", type=FOLDER, help="Directory for schema.toml and party.toml  [that of --config]")
@json_option
def prepare(
    raw: str | None,
    config_file: Path | None,
    target: str | None,
    agreed: Path | None,
    exclude: tuple[str, ...],
    table: str | None,
    page: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Look at a raw table, and write what computing on it needs: a schema and the table's mapping.

    RAW is a file as it was exported: CSV with any separator, decimal mark and encoding, compressed by gzip or not, or
    Parquet; or a DuckDB file or a database's URL, with --table. With --config it is a table of a party.toml, which may
    be a query. DIR/schema.toml is a proposal of typed columns for both parties to agree on; DIR/party.toml has the
    table with its spelling, to which smc init adds the way to the peer. Both are text: overrule by hand what is wrong.
    """
    if (raw is None) == (config_file is None):
        raise InputError("give RAW, a file or a database's URL, or --config with a table of one's own: one of the two")
    require(f"{raw or config_file}: smc prepare", "ibis", "duckdb", "pyarrow")
    from parties.alone.preparing import fitting, proposing, writing
    from parties.alone.preparing.profile import profile

    name, settings = _place(raw, table) if config_file is None else _of_config(config_file, table)
    if out is None and config_file is None:
        raise InputError("--out is missing: the directory for schema.toml and party.toml")
    out = out or config_file.parent  # type: ignore[union-attr]
    if agreed is not None and (target is not None or exclude):
        raise InputError("--schema says which columns are wanted: give no --target and no --exclude")
    party_file = out / PARTY_FILE
    in_place = config_file is not None and party_file.resolve() == config_file.resolve()
    schema_file = settings.schema_file if in_place and isinstance(settings, TableSettings) else out / "schema.toml"
    before = _present(party_file, name, in_place)
    writes_schema = agreed is None or agreed.resolve() != schema_file.resolve()
    if writes_schema:
        check_proposal(schema_file)
    inputs = [*(paths(raw) if raw else []), agreed, schema_file, party_file, *(files_of(party_file) if before else [])]
    check_outputs({"--page": page}, inputs, config_file)
    known = None if agreed is None else schemas.load(agreed)
    with console.progress(f"reading {settings.label}"):
        table_profile = profile(settings, target)
        if known is None:
            for column in exclude:
                if column not in [*(c.name for c in table_profile.columns), *table_profile.unfit]:
                    raise InputError(f"--exclude: there is no column {column!r}")
            proposal = proposing.propose(table_profile, target, exclude)
        else:
            proposal = fitting.fit(table_profile, known)
    if in_place and getattr(table_profile.place, "files", None) != getattr(settings, "files", None):
        raise InputError(f"{party_file}: the files of {name} are spelled differently: give each its `format`")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the directory {out}: {error.strerror}") from None
    text = writing.mapping_text(name, table_profile, proposal)
    if not in_place:
        text = writing.party_text(name, table_profile, out) + text
    if before:
        text = f"{before.rstrip()}\n\n{text.lstrip()}"
        files.check_addition(party_file, text)
    if writes_schema:
        proposal.schema.save(schema_file)
    files.write_text(party_file, text)
    if page is not None:
        files.write_text(page, writing.to_html(settings.label, table_profile, proposal))
    if as_json:
        console.print_json(writing.to_json(table_profile, proposal))
        return
    listing = console.columns(("column",), (), wrapped=("holds", "becomes", "look at"))
    for line in writing.lines(proposal):
        listing.add_row(*line)
    console.show(listing, in_pages=True)
    for remark in proposal.remarks:
        console.err.print(remark)
    console.out.print(
        f"written  {schema_file}   {len(proposal.schema.attributes)} attributes, digest {proposal.schema.digest()}"
    )
    console.out.print(f"written  {party_file}   table {name}, {table_profile.rows:,} rows")
    if in_place and isinstance(settings, TableSettings) and table_profile.rows > settings.max_rows:
        console.err.print(f"tables.{name}.max_rows: {settings.max_rows:,} are fewer than the rows: raise it")
    if agreed is None:
        console.err.print(writing.TELLS)
    if "link" not in files.read_toml(party_file):
        console.err.print(f"next: smc init --out {out}    adds the way to the peer to {party_file}")


def _place(raw: str | None, table: str | None) -> tuple[str, PlaceSettings]:
    """Return what a table of a file or of a database is called in party.toml, and where it is."""
    assert raw is not None
    is_database = "://" in raw or format_of(Path(raw), None) == "duckdb"
    called = (table or "") if "://" in raw else table or Path(raw).name.partition(".")[0]
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", called).strip("_") or "rows"
    return name, place(raw, table if is_database else None)


def _of_config(config_file: Path, table: str | None) -> tuple[str, TableSettings]:
    """Return a table of party.toml, with its name."""
    tables = load(config_file).tables
    name = chosen(table, tables)
    return name, tables[name]


def _present(party_file: Path, name: str, in_place: bool) -> str:
    """Return the party's file as it is, empty if there is none. `InputError` if it has already what is to be added."""
    if not party_file.exists():
        return ""
    there = load(party_file).tables.get(name)
    if there is not None and not in_place:
        raise InputError(f"{party_file} has a table {name} already: give another --table, or take it out")
    if there is not None and (settled := {"columns", "format"} & there.model_fields_set):
        raise InputError(
            f"{party_file}: tables.{name} has {' and '.join(sorted(settled))} already: take it out, or give "
            "another --out"
        )
    return files.read_text(party_file)
