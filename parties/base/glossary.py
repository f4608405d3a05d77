"""Glossary of the program, one paragraph for each term, from glossary.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from parties.base.text import did_you_mean, quoted
from smc.errors import InputError


class Entry(NamedTuple):
    """Term with its paragraph, its other names, and a page of docs/ with details."""

    word: str
    text: str
    others: tuple[str, ...] = ()
    page: str = ""


@cache
def entries() -> tuple[Entry, ...]:
    """Return the entries of all terms, in alphabetical order."""
    tables = tomllib.loads(files("parties.base").joinpath("glossary.toml").read_text())["entries"]
    return tuple(
        Entry(one["word"], " ".join(one["text"].split()), tuple(one.get("others", ())), one.get("page", ""))
        for one in sorted(tables, key=lambda table: str(table["word"]))
    )


CODES = frozenset({"0", "1", "2", "3", "4", "5", "130", "141", "143"})


def explained(word: str) -> Entry:
    """Return the entry of a term or an exit code; upper and lower case are equal.

    Raises:
        InputError: The glossary lacks the word; the message names a similar one.
    """
    name = " ".join(word.casefold().removeprefix("--").split())
    by_name = {each: entry for entry in entries() for each in (entry.word, *entry.others)}
    entry = by_name.get("exit code" if name in CODES else name)
    if entry is None:
        instead = did_you_mean(name, by_name)
        raise InputError(f"there is no word {quoted(word)} in the glossary{instead}; smc explain lists all")
    return entry


def markdown() -> str:
    """Return the glossary as the page docs/glossary.md."""
    lines = ["# Glossary", "", "This page defines the words used here. `smc explain WORD` prints a paragraph.", ""]
    for entry in entries():
        others = f" (also: {', '.join(entry.others)})" if entry.others else ""
        more = f" More: [{entry.page.removesuffix('.md')}]({entry.page})." if entry.page else ""
        lines += [f"## {entry.word}", "", f"{entry.text}{more}{others}", ""]
    return "\n".join(lines).rstrip() + "\n"
