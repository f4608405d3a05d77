"""The record of processing and the draft of the assessment as Markdown, for people to complete."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from parties.base.text import visible

NOTHING = "not said"
CHARACTERS = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def to_markdown(document: Mapping[str, Any]) -> str:
    """Return the document with its sections; Markdown in quoted texts is escaped."""
    lines = list(_record(document["record"]))
    if (draft := document.get("assessment")) is not None:
        lines += _assessment(draft)
    return "\n".join(lines) + "\n"


def text(value: object) -> str:
    """Return a value as plain text on one line."""
    match value:
        case None | "" | [] | ():
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case int():
            return f"{value:,}"
        case Mapping():
            return ", ".join(f"{text(name)} {text(inner)}" for name, inner in value.items()) or NOTHING
        case list() | tuple():
            return ", ".join(map(text, value))
    return CHARACTERS.sub(r"\\\1", visible(str(value)))


def _record(record: Mapping[str, Any]) -> Iterator[str]:
    yield from ("# Record of processing activities", "")
    log = record["log"]
    state = "no node has run yet" if log is None else f"{log['entries']:,} entries, {'' if log['ok'] else 'NOT '}whole"
    yield f"GDPR art. 30. Made {text(record['at'])} by {text(record['software'])}; audit log: {state}."
    yield from _facts("Controller", record["controller"] or {})
    yield from ("", "## Purposes", "")
    heads = ("purpose", "declared", "table", "kind", "with", "columns", "jobs", "ends", "first", "last", "protected_by")
    yield from _table(heads, record["activities"])
    if record["publications"]:
        yield from ("", "## Published by commands", "")
        columns = ("at", "what", "table", "purpose", "declared", "columns", "protected_by")
        yield from _table(columns, record["publications"])
    if record["refused"]:
        yield from ("", f"Not computed, because refused by: {text(record['refused'])}.")
    for table in record["tables"]:
        rights = table["rights"] or {}
        facts = {name: value for name, value in table.items() if name not in ("table", "rights")}
        terms = ("subjects", "categories", "special", "legal_basis", "purposes", "retention_days")
        contacts = ("contact", "access", "erasure", "objection")
        yield from _facts(
            f"Table {text(table['table'])}", facts | {name: rights.get(name) for name in (*terms, *contacts)}
        )
    for recipient in record["recipients"]:
        yield from _facts(f"Recipient {text(recipient['name'])}", recipient)
    yield from ("", "## Security (art. 32)", "", *_items(record["measures"]))
    if record["missing"]:
        yield from ("", "## Missing", "", *_items(record["missing"]))


def _assessment(draft: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "# Data protection impact assessment: draft", "")
    yield "GDPR art. 35. The description of the processing is the record above; below are the risks that were measured."
    if draft["budgets"]:
        yield from ("", "## What noisy results reveal about single rows", "")
        heads = ("table", "spent", "delta", "budget", "per", "left", "jobs", "surest")
        yield from _table(heads, draft["budgets"])
        yield from ("", "Spent and left are epsilon. Surest: the largest certainty that a row is in the table, for")
        yield "somebody who held this to be as likely as not before, except with probability delta."
    if draft["results"]:
        yield from ("", "## What results without noise reveal", "")
        yield from _table(("purpose", "table", "kind", "jobs", "tells"), draft["results"])
    if draft["purposes"]:
        yield from ("", "## Purposes that the tables do not declare", "")
        yield from _table(("purpose", "table", "jobs"), draft["purposes"])
    if draft["publications"]:
        yield from ("", "## Published tables", "")
        heads = ("report", "models", "failed", "prosecutor", "marketer", "unique_rows", "sensitive", "membership")
        rows = [report | {"failed": report["failed"] or "none"} for report in draft["publications"]]
        yield from _table(heads, rows)
        yield from ("", "Prosecutor and marketer: the chance that a person's row is found, at worst and on average, by")
        yield "an attacker who knows the person's quasi-identifiers."
    yield from ("", "## To be answered by people", "", *_items(draft["open"]))


def _facts(title: str, facts: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from [f"- {name.replace('_', ' ')}: {text(value)}" for name, value in facts.items()] or [f"- {NOTHING}"]


def _items(lines: Iterable[str]) -> list[str]:
    return [f"- {text(line)}" for line in lines]


def _table(heads: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    lines = [[text(row.get(head)) for head in heads] for row in rows]
    if not lines:
        yield "None so far."
        return
    yield "| " + " | ".join(head.replace("_", " ") for head in heads) + " |"
    yield "|" + "---|" * len(heads)
    for cells in lines:
        yield "| " + " | ".join(cells) + " |"
