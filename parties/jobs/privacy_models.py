"""The fields of the models k-anonymity, l-diversity and t-closeness: names, bounds, words. A kind says of what."""

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
    """Return the field `k`; `left_out` says what leaving it out means, if something is chosen then."""
    return public(default, "k-anonymity", f"{promise} (k-anonymity)", left_out=left_out)


def diverse(promise: str) -> AnyField:
    """Return the field `l`."""
    return public(1.0, "l-diversity", f"{promise} (l-diversity)")


def diversity(values: str) -> AnyField:
    """Return what `l` counts."""
    return public("distinct", "Diversity", f"With l: how {values} are counted; entropy by how often each occurs")


def close(promise: str) -> AnyField:
    """Return the field `t`."""
    return public(1.0, "t-closeness", f"{promise} (t-closeness)")


def distance(values: str) -> AnyField:
    """Return what `t` bounds."""
    words = f"With t: how distributions differ; ordered is for {values} in order (earth mover's)"
    return public("variational", "Distance", words)


def against(what: str) -> AnyField:
    """Whose rows are meant, so from whom something is kept: `what` says of both ways, part of a sentence."""
    return public("peer", "Against", f"Whether {what}")
