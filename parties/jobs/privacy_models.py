"""Settings fields of k-anonymity, l-diversity and t-closeness: names, bounds and help. A kind adds the objects."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from parties.jobs.settings import AnyField, public

K = Annotated[int, Field(strict=True, ge=1, le=2**32)]
L = Annotated[float, Field(strict=True, ge=1, le=2**32, allow_inf_nan=False)]
T = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
Diversity: TypeAlias = Literal["distinct", "entropy"]
Distance: TypeAlias = Literal["variational", "ordered"]
Against: TypeAlias = Literal["peer", "public"]


def fewest_rows(default: int | None, promise: str, left_out: str = "") -> AnyField:
    """Return the field `k`.

    Args:
        default: Default value; None if there is none.
        promise: Meaning of k, for the help.
        left_out: Effect of omitting k, if a value is chosen then.
    """
    return public(default, "k-anonymity", f"k-anonymity: {promise}", left_out=left_out)


def diverse(promise: str) -> AnyField:
    """Return the field `l`; `promise` is its meaning for the help."""
    return public(1.0, "l-diversity", f"l-diversity: {promise}", advanced=True)


def diversity(values: str) -> AnyField:
    """Return the field for the diversity measure of `l`."""
    help_text = f"How l counts {values}. distinct: their number. entropy: e^entropy, smaller if some are rare"
    return public("distinct", "Diversity", help_text, advanced=True)


def close(promise: str) -> AnyField:
    """Return the field `t`; `promise` is its meaning for the help."""
    return public(1.0, "t-closeness", f"t-closeness: {promise}", advanced=True)


def distance(values: str) -> AnyField:
    """Return the field for the distance that `t` bounds."""
    help_text = f"Distance that t bounds: variational, or ordered = earth mover's distance, for {values} with an order"
    return public("variational", "Distance", help_text, advanced=True)


def against(each: str, both: str) -> AnyField:
    """Return the field `against`.

    Args:
        each: Promise that holds for each party's rows.
        both: Promise that holds only for the rows of both parties together.
    """
    help_text = f"Reader who must not single people out. peer: {each}. public: {both}"
    return public("peer", "Against", help_text, advanced=True)
