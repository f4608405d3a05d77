"""`smc prepare`: from a raw table to a public schema and the table's own mapping to it."""

from __future__ import annotations

import re
from pathlib import Path

import click

from parties.base import console, files
from parties.base.extras import require
from parties.base.settings import validated
from parties.commands.options import FILE, FOLDER, PARTY_FILE, check_proposal, json_option
from parties.party_file import load
from parties.tables import schema as schemas
from smc.errors import InputError


@click.command("prepare", epilog="Example:  smc prepare raw.csv --target outcome --out clinic")
@click.argument("raw", type=FILE)
@click.option("--target", metavar="COLUMN", help="The class column: what a tree or a model shall predict.")
@click.option("--schema", "agreed", type=FILE, help="A schema that exists: map the table to it, propose none.")
@click.option("--exclude", metavar="COLUMN", multiple=True, help="Leave a column out; may be repeated.")
@click.option("--table", metavar="NAME", help="What the table is called in party.toml  [the file's name]")
@click.option("--page", type=FILE, help="The same as an HTML page, to look at. Private.")
@click.option("--out", type=FOLDER, required=True, help="Directory for schema.toml and party.toml.")
@json_option
def prepare(
    raw: Path,
    target: str | None,
    agreed: Path | None,
    exclude: tuple[str, ...],
    table: str | None,
    page: Path | None,
    out: Path,
    as_json: bool,
) -> None:
    """Look at a raw table, and write what computing on it needs: a schema and the table's mapping.

    RAW is a file as it was exported: CSV with any separator, decimal mark and encoding, compressed by gzip or not, or
    Parquet. DIR/schema.toml is a proposal of typed columns for both parties to agree on; DIR/party.toml has the table
    with its spelling, to which smc init adds the way to the peer. Both are text: overrule by hand what is wrong.
    """
    require(f"{raw}: smc prepare", "ibis", "duckdb", "pyarrow")
    from parties.alone.preparing import fitting, proposing, writing
    from parties.alone.preparing.profile import profile
    from parties.sources.settings import PlaceSettings

    name = table or re.sub(r"[^A-Za-z0-9_-]+", "_", raw.name.partition(".")[0]).strip("_") or "rows"
    if agreed is not None and (target is not None or exclude):
        raise InputError("--schema says which columns are wanted: give no --target and no --exclude")
    party_file, schema_file = out / PARTY_FILE, out / "schema.toml"
    before = _present(party_file, name)
    writes_schema = agreed is None or agreed.resolve() != schema_file.resolve()
    if writes_schema:
        check_proposal(schema_file)
    files.check_outputs({"--page": page}, [raw, agreed, schema_file, party_file])
    known = None if agreed is None else schemas.load(agreed)
    place = validated(PlaceSettings, {"source": str(raw)})
    with console.progress(f"reading {raw.name}"):
        table_profile = profile(place, target)
        if known is None:
            for column in exclude:
                if column not in [*(c.name for c in table_profile.columns), *table_profile.unfit]:
                    raise InputError(f"--exclude: there is no column {column!r}")
            proposal = proposing.propose(table_profile, target, exclude)
        else:
            proposal = fitting.fit(table_profile, known)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the directory {out}: {error.strerror}") from None
    source = files.seen_from(out, raw)
    text = writing.party_text(name, table_profile, proposal, source)
    if before:
        text = f"{before.rstrip()}\n\n{text}"
        files.check_addition(party_file, text)
    if writes_schema:
        proposal.schema.save(schema_file)
    files.write_text(party_file, text)
    if page is not None:
        files.write_text(page, writing.to_html(raw, table_profile, proposal))
    if as_json:
        console.print_json(writing.to_json(table_profile, proposal))
        return
    listing = console.columns(("column", "holds", "becomes", "look at"), ())
    for line in writing.lines(proposal):
        listing.add_row(*line)
    console.show(listing)
    for remark in proposal.remarks:
        console.err.print(remark)
    console.out.print(
        f"written  {schema_file}   {len(proposal.schema.attributes)} attributes, digest {proposal.schema.digest()}"
    )
    console.out.print(f"written  {party_file}   table {name}, {table_profile.rows:,} rows")
    if agreed is None:
        console.err.print(writing.TELLS)
    if "link" not in files.read_toml(party_file):
        console.err.print(f"next: smc init --out {out}    adds the way to the peer to {party_file}")


def _present(party_file: Path, name: str) -> str:
    """Return the party's file as it is, empty if there is none. `InputError` if it has this table already."""
    if not party_file.exists():
        return ""
    if name in load(party_file).tables:
        raise InputError(f"{party_file} has a table {name} already: give another --table, or take it out")
    return files.read_text(party_file)
