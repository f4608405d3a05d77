"""Output of a proposal: the public `schema.toml`, the table's part of `party.toml`, lines, JSON, and an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from parties.alone.preparing.columns import TableProfile
from parties.alone.preparing.deriving import derived_text
from parties.alone.preparing.proposing import ColumnProposal, TableProposal, names_people, nice
from parties.base import files
from parties.base.templates import environment
from parties.base.text import visible
from parties.tables.toml_text import toml_key, toml_lines
from parties.tables.types import type_of

SHOWN = 6  # categories of a column, in a line
TELLS = (
    "The schema tells the peer: the names of your columns, which values occur in at least 10 rows (the target's: "
    "all), whether there are rarer ones and rows without a value, and bounds and ranges of numbers and dates, rounded "
    "outwards: one row can move a bound. It tells no frequencies and no rows."
)


def party_text(name: str, table: TableProfile, folder: Path, person: Mapping[str, Any] | None = None) -> str:
    """Return the settings of a table's source, as TOML for a `party.toml`.

    Args:
        name: Name of the table in `party.toml`.
        table: Profile of the raw table.
        folder: Directory of the `party.toml`, to which paths are relative.
        person: `person` and `at_most` of the table. None: write them as a comment if a column seems to name people.
    """
    place = table.place.model_dump(
        exclude_unset=True, exclude={"schema_file", "format", "columns", "derived"}, mode="json"
    )
    fields = {"source": _from(folder, place.pop("source", "")), **place, "schema": "schema.toml"}
    fields.setdefault("max_rows", row_bound(table.rows))
    if "files" in place:
        named = place["files"].items()
        fields["files"] = {name: file | {"source": _from(folder, file["source"])} for name, file in named}
    people = _person(table) if person is None else toml_lines(person)
    return f"[tables.{toml_key(name)}]\n{toml_lines(_without_nothing(fields))}{people}"


def mapping_text(name: str, table: TableProfile, proposal: TableProposal) -> str:
    """Return the settings of a table's cell formats and column mapping, as TOML.

    Args:
        name: Name of the table in `party.toml`.
        table: Profile of the raw table.
        proposal: The proposed schema and mapping.
    """
    head = f"tables.{toml_key(name)}"
    spelling = table.spelling.model_dump(exclude_defaults=True)
    stubs = "".join(f"{line}\n" for line in proposal.stubs)
    parts = {f"{head}.format": toml_lines(spelling), f"{head}.columns": toml_lines(proposal.mapping) + stubs}
    mapped = "".join(f"\n[{key}]\n{lines}" for key, lines in parts.items() if lines)
    return mapped + derived_text(head, table.derived)


def _from(folder: Path, source: str) -> str:
    return source if not source or "://" in source else files.seen_from(folder, Path(source))


def _without_nothing(value: Any) -> Any:
    """Return nested dicts without entries that are None or empty texts, because TOML has no null."""
    if isinstance(value, dict):
        return {key: _without_nothing(item) for key, item in value.items() if item not in (None, "")}
    return value


def _person(table: TableProfile) -> str:
    """Return the settings `person` and `at_most` as comments, if a column seems to name people; else an empty text."""
    named = [column.name for column in table.columns if names_people(column)]
    if not named:
        return ""
    lines = toml_lines({"person": named[0], "at_most": 1}).splitlines()
    return "".join(f"# {line}\n" for line in ("noise hides all rows of a person that take part:", *lines))


def row_bound(rows: int) -> int:
    """Return a public row bound: the least 1, 2 or 5 times a power of ten that is at least 1.25 times the rows."""
    return int(nice(max(Fraction(5 * rows, 4), Fraction(1))))


def becomes(column: ColumnProposal) -> str:
    """Return a description of a column's proposal: its type with categories, "key", or why it is left out."""
    if column.domain is None:
        return f"left out: {column.aside}"
    if not column.domain:
        return "key"
    kind = type_of(column.domain)
    some = ", ".join(column.domain[:SHOWN]) + (f", … ({len(column.domain)})" if len(column.domain) > SHOWN else "")
    return f"{'category' if kind is None else kind.type}: {some}"


def lines(proposal: TableProposal) -> Iterator[tuple[str, str, str, str]]:
    """Yield, for each column, its name, the descriptions of its contents and its proposal, and its remarks."""
    for column in proposal.columns:
        yield visible(column.name), column.holds, visible(becomes(column)), visible("; ".join(column.remarks))


def to_json(table: TableProfile, proposal: TableProposal) -> dict[str, Any]:
    """Return the proposal as a JSON object: number of rows, format, digest of the schema, columns, and remarks.

    Args:
        table: Profile of the raw table.
        proposal: The proposed schema and mapping.
    """
    return {
        "rows": table.rows,
        "format": table.spelling.model_dump(),
        "digest": proposal.schema.digest(),
        "columns": [
            {"name": c.name, "holds": c.holds, "becomes": becomes(c), "remarks": list(c.remarks)}
            for c in proposal.columns
        ],
        "remarks": list(proposal.remarks),
    }


@cache
def _template() -> Any:
    return environment("parties.alone.preparing").get_template("preparing.html")


def to_html(name: str, table: TableProfile, proposal: TableProposal) -> str:
    """Return the proposal as an HTML page. The page is private, because it describes the rows.

    Args:
        name: Name of the table, for the title.
        table: Profile of the raw table.
        proposal: The proposed schema and mapping.
    """
    page: str = _template().render(
        name=visible(name),
        rows=table.rows,
        spelling=table.spelling.model_dump(exclude_defaults=True),
        lines=list(lines(proposal)),
        remarks=proposal.remarks,
        tells=TELLS,
    )
    return page
