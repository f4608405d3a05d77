"""Sentences of several kinds of jobs: for consent, and a job's heading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parties.base.text import visible

NAMED = 3  # columns in a heading
LONGEST = 160  # maximum characters of a profile on display: the peer may have written it

CONSTANT_AS_GOOD = "a constant answer may be as good"


def adjacency_of(document: Mapping[str, Any]) -> str:
    """Return the adjacency of a result's noise, and the rows of a person that it hides together."""
    people = f", people of at most {document['at_most']} rows" if document.get("at_most") else ""
    return f"{document['adjacency']}{people}"


def hidden(at_most: int | None, replaced: bool, baskets: bool = False) -> str:
    """Return the unit that noise hides, part of a sentence: a row, a basket with its rows, or a person's rows.

    Args:
        at_most: Rows of a person that take part, None if the table names no people.
        replaced: True if neighbours differ by a replacement, False if by an addition or removal.
        baskets: True if rows are counted by baskets.
    """
    if at_most is None and baskets:
        return "what one basket, or one row, says" if replaced else "whether one basket, or one row, is there"
    if at_most is None:
        return "what one row says" if replaced else "whether one row is there"
    of_each = f"at most {at_most} {'row' if at_most == 1 else 'rows'} of each"
    return f"what one person's rows say ({of_each})" if replaced else f"whether one person is there ({of_each})"


def changed(at_most: int | None, replaced: bool) -> str:
    """Return the difference of two neighbouring tables as the beginning of a sentence.

    Args:
        at_most: Rows of a person that take part; None if rows have no persons.
        replaced: Whether neighbouring tables differ by a replaced row.
    """
    change = "replaced by another" if replaced else "more or less"
    if at_most is None:
        return f"One row {change}, whosever it is,"
    rows = f"at most {at_most} {'row' if at_most == 1 else 'rows'}"
    return (
        f"The rows of one person, {rows}, replaced by as many others," if replaced else f"One person {change} ({rows})"
    )


def changes(at_most: int | None, replaced: bool, what: str, factor: str) -> str:
    """Return the promise of differential privacy, a sentence without its full stop.

    Args:
        at_most: Rows of a person that take part, None if the table names no people.
        replaced: True if neighbours differ by a replacement, False if by an addition or removal.
        what: The subject of the promise with its verb, such as "any result is".
        factor: The largest factor, and when it fails.
    """
    return (
        f"{changed(at_most, replaced)} changes how likely {what} by a factor of at most {factor} (differential privacy)"
    )


def of_people(at_most: int, noisy: bool) -> list[str]:
    """Return the sentences on the rows of people that take part, and on people with rows at both parties.

    Args:
        at_most: Rows of a person that take part.
        noisy: Whether the answer has noise.
    """
    rows = "one row takes" if at_most == 1 else f"{at_most} rows take"
    twice = ": for such a person epsilon is twice as much" if noisy else ""
    return [
        f"Of each person at most {rows} part at either party, chosen by that party's secret key.",
        f"A person with rows at both parties counts at both{twice}.",
    ]


def nothing_else(peer: str, of: str, but: str) -> list[str]:
    """Return the sentences that neither party learns more.

    Args:
        peer: The peer's name.
        of: The private data, such as "rows".
        but: The public fact about these data, such as "they are at most 100".
    """
    return [
        f"{peer} learns nothing else of our {of}, only that {but}.",
        f"We learn nothing else of {peer}'s {of}, only that {but}.",
    ]


def nothing_else_of_rows(peer: str, max_rows: int) -> list[str]:
    """Return the sentences that neither party learns more of the other's rows than their bound and the answer.

    Args:
        peer: Name of the peer.
        max_rows: Public bound on the rows of a party.
    """
    return nothing_else(peer, "rows", f"they are at most {max_rows:,}")


def nothing_else_of_either(peer: str, max_rows: int, least: str = "") -> str:
    """Return `nothing_else_of_rows` in one sentence.

    Args:
        peer: Name of the peer.
        max_rows: Bound on the rows.
        least: Phrase with a lower bound on the rows.
    """
    end = f"only that they are at most {max_rows:,}{least}."
    return f"{peer} learns nothing else of our rows, and we nothing else of {peer}'s, {end}"


def heading(title: str, target: str, parameters: Mapping[str, object]) -> str:
    """Return a job's question as a title, such as "Noisy count of rows where age = old".

    Args:
        title: Title of the kind of job.
        target: Subject of the question, such as a column.
        parameters: Public settings that the title mentions.
    """
    of, by = parameters.get("column"), _names(parameters.get("by"))
    across = _names(parameters.get("across"))
    counted = parameters.get("of")  # "rows", or those with COLUMN=VALUE
    where = parameters.get("where")
    if parameters.get("exact") is True:
        title = title.replace("Noisy", "Exact")
    if counted:
        column, sign, value = str(counted).partition("=")
        title += f": rows where {column} = {value}" if sign else ": rows"
    elif of:
        title += f" of {of}{_by(by)}"
    elif across or len(by) > 1:
        title += _by([*by, *across])
    elif by:
        title += f" of {by[0]}"
    elif "target" not in parameters and (columns := _names(parameters.get("columns") or parameters.get("recode"))):
        title += f" of {_some(columns)}"
    elif target:
        title += f" for {target}"
    elif "where" in parameters:
        title += " of rows"
    return title + (f" where {where}" if where else "")


def _names(value: object) -> list[str]:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) and value else []


def _by(names: Sequence[str]) -> str:
    return f" by {_some(names)}" if names else ""


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


ENGINES = {  # the first word of a profile, for people
    "yao": "encrypted circuits",
    "gmw": "shared bits",
    "mixed": "shared numbers and encrypted circuits",
    "lean": "shared numbers and shared bits",
}


def profile_words(profile: str) -> str:
    """Return a profile's engine in plain words, then the profile's name, cut to LONGEST; the name alone if unknown."""
    plain = ENGINES.get(profile.partition(" ")[0])
    return f"{plain} ({visible(profile[:LONGEST])})" if plain else visible(profile[:LONGEST])
