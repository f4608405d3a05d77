"""Sentences for consent that are the same for many kinds."""

from __future__ import annotations


def nothing_else(peer: str, of: str, but: str) -> list[str]:
    """Say that neither learns more of the other's, a sentence each: of what, and what is public of it."""
    return [
        f"{peer} learns nothing else of our {of}, only that {but}.",
        f"We learn nothing else of {peer}'s {of}, only that {but}.",
    ]


def nothing_else_of_rows(peer: str, max_rows: int) -> list[str]:
    """Return the same of rows whose number is bounded."""
    return nothing_else(peer, "rows", f"they are at most {max_rows:,}")
