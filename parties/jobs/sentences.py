"""Sentences that are the same for many kinds: for consent, and a job's heading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NAMED = 3  # columns in a heading


def nothing_else(peer: str, of: str, but: str) -> list[str]:
    """Say that neither learns more of the other's, a sentence each: of what, and what is public of it."""
    return [
        f"{peer} learns nothing else of our {of}, only that {but}.",
        f"We learn nothing else of {peer}'s {of}, only that {but}.",
    ]


def nothing_else_of_rows(peer: str, max_rows: int) -> list[str]:
    """Return the same of rows whose number is bounded."""
    return nothing_else(peer, "rows", f"they are at most {max_rows:,}")


def heading(title: str, target: str, parameters: Mapping[str, object]) -> str:
    """Return a job's question as a title, such as "Noisy count of rows where age = old".

    It is made of the title of its kind, what it is about, and its public parameters.
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
    """Return columns as parameters have them, one text or several."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) and value else []


def _by(names: Sequence[str]) -> str:
    return f" by {_some(names)}" if names else ""


def _some(names: Sequence[str]) -> str:
    """Return a few columns of many."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
