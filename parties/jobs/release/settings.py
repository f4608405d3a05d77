"""The settings of questions with a noisy answer, and what in them goes together."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from parties.base.settings import LocalPath
from parties.jobs.settings import AnyField, BooleanSettings, output, public
from parties.jobs.spending import Adjacency
from parties.jobs.tabular_settings import RowBound, TabularSettings, check_names, row_bound
from parties.tables.schema import Schema
from protocols.release.promise import LEAST_EPSILON, MOST_EPSILON
from smc.errors import InputError

Epsilon = Annotated[float, Field(strict=True, ge=LEAST_EPSILON, le=MOST_EPSILON, allow_inf_nan=False)]
Delta = Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)]


def neighbours(hidden: str = "What is hidden", besides: str = "") -> AnyField:
    """Return the field `adjacency`."""
    return public("add-remove", "Neighbours", f"{hidden}: that a row is there at all, or what one row says{besides}")


def loss(unless: str = "") -> AnyField:
    """Return the field `epsilon`."""
    words = "Privacy loss: one row changes the chance of any answer by a factor of at most e^epsilon"
    return public(None, "Epsilon", words, unless=unless)


class NoisySettings(BooleanSettings, TabularSettings):
    """What questions with noise have in common."""

    where: Annotated[str, Field(max_length=20_000)] | None = public(
        None,
        "Only rows where",
        "Only rows such as 'age in [young, middle] and sex = male'",
        none="all rows",
        joined="; ",
        examples=["age in [young, middle] and sex = male"],
    )
    epsilon: Epsilon | None = loss()
    adjacency: Adjacency = neighbours(besides=" (twice the noise, as a rule)")
    max_rows: RowBound = row_bound()


class ReleaseSettings(NoisySettings):
    """What `smc release` commands have in common: they may be asked without noise, too."""

    epsilon: Epsilon | None = loss(unless="exact")
    exact: Annotated[bool, Field(strict=True)] = public(
        False, "Exact", "No noise, in the place of epsilon: this tells each party the other's number"
    )


class DrawnSettings(ReleaseSettings):
    """What commands have besides whose answer is drawn."""

    svg: LocalPath | None = output("Draw the numbers with their intervals.")


def check_privacy(settings: NoisySettings) -> None:
    """`InputError` unless the answer is either noisy, by an epsilon, or exact."""
    may_be_exact = isinstance(settings, ReleaseSettings)
    is_exact = isinstance(settings, ReleaseSettings) and settings.exact
    if is_exact and settings.epsilon is not None:
        raise InputError("exact: without noise there is no epsilon: give one or the other")
    if not is_exact and settings.epsilon is None:
        other = ", or exact, for no noise at all" if may_be_exact else ""
        raise InputError(f"epsilon: is missing: give the privacy loss, 1 for example{other}")


def check_columns(settings: NoisySettings, schema: Schema) -> None:
    """`InputError` for a column that the schema does not have, or that one setting names twice."""
    named = {key: getattr(settings, key, None) or () for key in ("by", "of", "columns", "target")}
    named = {key: (given,) if isinstance(given, str) else given for key, given in named.items()}
    for key, columns in named.items():
        check_names(key, columns, schema.attributes)
    if set(named["of"]) & set(named["by"]):
        raise InputError("of: name another column than those of by")
