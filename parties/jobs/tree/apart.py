"""Trees over columns that lie apart: settings that do not fit, public terms, and sentences."""

from __future__ import annotations

from typing import Any

from parties.base.text import listed
from parties.jobs.kind import Document
from parties.jobs.settings import check_names
from parties.jobs.tree import leaf_rules
from parties.jobs.tree.settings import Id3Settings
from parties.tables.schema import Schema
from smc.errors import InputError

# Settings by which each party would draw or part its own rows, so that the columns of a row would be torn apart.
BY_OWN_ROWS = ("at_most", "held_out", "shards", "support_epsilon", "trees")


def check(settings: Id3Settings, schema: Schema) -> None:
    """Raise InputError if settings do not fit columns that lie apart.

    Args:
        settings: Completed settings of the tree.
        schema: The schema of the columns that are used.
    """
    from parties.jobs.aligned import owners

    assert settings.listener_columns is not None
    check_names("listener_columns", settings.listener_columns, schema.attributes)
    owners(schema, settings.listener_columns)
    refused = [name for name in BY_OWN_ROWS if getattr(settings, name) != getattr(Id3Settings(), name)]
    refused += ["prune holdout"] if settings.prune == "holdout" else []
    if refused:
        raise InputError(f"{refused[0]} cannot be combined with listener_columns; remove one of them")
    if (
        settings.epsilon is None
        and settings.against == "peer"
        and not settings.plain
        and leaf_rules.rules_of(settings).any
    ):
        raise InputError(
            "against: each party has all rows, so no rule holds for the rows of one; give --against public"
        )
    if settings.epsilon is not None and settings.adjacency == "add-remove":
        raise InputError("adjacency: both parties know who is aligned, so noise hides values; give --adjacency replace")


def terms(settings: Any) -> Document:
    """Return the public terms of columns that lie apart, for the specification; empty if they do not."""
    if getattr(settings, "listener_columns", None) is None:
        return {}
    aligned = settings.own_aligned
    return {
        "listener_columns": list(settings.listener_columns),
        **({} if aligned is None else {"alignment": aligned.alignment}),
    }


def remarks(settings: Any) -> list[str]:
    """Return remarks on a command's task, a line each: columns of the other party that a tree without noise shows."""
    if settings.epsilon is not None:
        return []
    return ["the tree may tell values of single people to the party with the other columns: --epsilon prevents it"]


def reveals(settings: Id3Settings, schema: Schema, target: str, peer: str) -> list[str]:
    """Return the sentences for consent: the tree, the columns of each party, and the inference about people.

    Args:
        settings: Settings of the tree.
        schema: The schema of the columns that are used.
        target: Column of the classes.
        peer: Name of the peer.
    """
    listener = [name for name in schema.attributes if name in (settings.listener_columns or ())]
    dialler = [name for name in schema.attributes if name not in listener]
    noise = ", every choice in it with noise that neither knows" if settings.epsilon is not None else ""
    lines = [
        f"We and {peer} both learn the decision tree for {target} of the {settings.max_rows:,} aligned rows{noise}.",
        f"The party that listens gives {listed(listener)}; the party that dials gives {listed(dialler)}.",
        f"{peer} learns nothing else of our columns, and we nothing else of {peer}'s.",
    ]
    if settings.epsilon is None:
        lines.append(
            "Each party knows its own columns of these people. From a leaf that few of them fit, it can learn the "
            "other's values of these few."
        )
    return lines
