"""Entries of the audit log in words, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from parties.operator.interface import AuditEntry


def fields_in_words(entry: AuditEntry) -> Iterator[tuple[str, str]]:
    """Yield name and text of each field of an entry that is not empty.

    An archived entry yields only that it is archived. An entry "signed" yields the number of each party's last entry.
    """
    if not entry.fields:
        yield "content", "archived"
    elif entry.kind == "signed":
        for party in ("ours", "theirs"):
            yield party, f"after entry {entry.fields[party]['head']['number']}"
    else:
        for name, value in entry.fields.items():
            if name != "blind" and (words := in_words(value)):
                yield name, words


def in_words(value: object) -> str:
    """Return the value of a field as text, with long values such as digests cut; empty for None."""
    match value:
        case None:
            return ""
        case list():
            items = [in_words(item) if isinstance(item, dict) else str(item) for item in value[:8]]
            return ", ".join(items) + (", …" if len(value) > 8 else "")
        case dict():
            return ", ".join(f"{name} {in_words(inner)}" for name, inner in value.items() if inner is not None)
        case _:
            text = str(value)
            return text if len(text) <= 60 else f"{text[:23]}…"
