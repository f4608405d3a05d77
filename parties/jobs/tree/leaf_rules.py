"""Rules for the leaves of an exact tree, as settings and as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parties.jobs.tree.settings import ExactSettings

if TYPE_CHECKING:
    from protocols.rules import Rules

KEYS = ("k", "l", "diversity", "t", "distance", "against")


def rules_of(settings: ExactSettings) -> Rules:
    """Return the protocol's rules. Raise InputError if they are inconsistent."""
    from protocols.rules import Rules

    assert settings.k is not None  # `completed` has chosen it
    return Rules(**{name: getattr(settings, name) for name in KEYS})


def may_speak_of_one(settings: ExactSettings) -> bool:
    """Return whether a leaf of an exact tree may hold the rows of a single person."""
    return settings.k in (None, 1) and settings.l <= 1


def promises(settings: ExactSettings, peer: str, on_shares: bool = False) -> list[str]:
    """Return the promises of the rules as sentences, or the consequence of having none.

    Args:
        settings: Settings of the tree with its rules.
        peer: Name of the peer.
        on_shares: True if further holders give rows.
    """
    rules = rules_of(settings)
    if rules.against == "peer" and on_shares:
        whose, other = "of all others together, whichever party subtracts its own", "all rows of the others"
    elif rules.against == "peer":
        whose, other = f"of {peer} or of us alone", "all rows of that party"
    else:
        whose, other = "of both parties together", "all rows"
    lines = []
    if may_speak_of_one(settings):
        lines.append(
            "A leaf may describe a single person, because neither k nor l requires more than one row. Whoever knows "
            "the person's values on the path to this leaf learns the person's class from it."
        )
    if rules.k > 1:
        lines.append(f"No leaf has fewer than {rules.k:,} rows {whose}, unless it has none of them.")
    if rules.diverse:
        mixed = "" if rules.diversity == "distinct" else ", by the entropy of their frequencies"
        lines.append(f"In no leaf do the rows {whose} have fewer than {rules.l:g} classes{mixed}.")
    if rules.close:
        lines.append(
            f"In no leaf do the classes of rows {whose} differ from those of {other} by more than {rules.t:g} "
            f"({rules.distance} distance)."
        )
    if lines and rules.against == "public" and getattr(settings, "listener_columns", None) is None:
        lines.append(
            "A party can subtract its own rows from a leaf: these rules promise nothing for the other's rows alone."
        )
    return lines
