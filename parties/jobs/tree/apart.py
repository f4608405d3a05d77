"""Trees over columns that lie apart: settings that do not fit, and sentences."""

from __future__ import annotations

from typing import Any

from parties.jobs.tabular import BySchema
from parties.jobs.tree import leaf_rules
from parties.jobs.tree.settings import Id3Settings
from smc.errors import InputError

# Settings by which each party would draw or part its own rows, so that the columns of a row would be torn apart.
BY_OWN_ROWS = ("shards", "support_epsilon")


def check(task: BySchema) -> None:
    """Raise InputError if the completed settings of a tree do not fit columns that lie apart."""
    settings: Id3Settings = task.settings
    refused = [name for name in BY_OWN_ROWS if getattr(settings, name) != getattr(Id3Settings(), name)]
    refused += ["trees"] if settings.trees > 1 and settings.hidden_rows is not None else []
    refused += ["prune holdout"] if settings.prune == "holdout" else []
    if refused:
        raise InputError(f"{refused[0]} cannot be combined with {task.apart_setting}; remove one of them")
    if settings.epsilon is None and settings.against == "peer" and leaf_rules.rules_of(settings).any:
        raise InputError("against: each party has all rows, so no rule is about those of one; set against to public")


def dealt(settings: Id3Settings) -> list[str]:
    """Return the sentence for consent on the rows of each of several trees."""
    trees = settings.trees
    return [] if trees == 1 else [f"Each tree has one of {trees} people in their order, so both know whom it has."]


def remarks(settings: Any) -> list[str]:
    """Return remarks on a command's task, a line each: columns of the other party that a tree without noise shows."""
    if settings.epsilon is not None:
        return []
    return ["the tree may tell values of single people to the party with the other columns: --epsilon prevents it"]


def inferences(settings: Id3Settings) -> list[str]:
    """Return the sentences for consent on what a tree of columns that lie apart tells about single people."""
    if settings.epsilon is not None:
        return []
    return [
        "Each party knows its own columns of these people. From a leaf that few of them fit, it can learn the other's "
        "values of these few."
    ]
