"""Settings of questions with a noisy answer, and their consistency."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from parties.base.settings import AtMost, LocalPath
from parties.jobs import settings as fields
from parties.jobs.hidden_rows import Side
from parties.jobs.kind import Adjacency
from parties.jobs.settings import AnyField, BooleanSettings, Columns, Name, RowBound, check_names, output, public
from parties.jobs.tabular import TabularSettings
from parties.tables.schema import Schema
from protocols.release.promise import LEAST_EPSILON, MOST_EPSILON, check_delta
from smc.errors import InputError

Epsilon = Annotated[float, Field(strict=True, ge=LEAST_EPSILON, le=MOST_EPSILON, allow_inf_nan=False)]
Where = Annotated[str, Field(max_length=20_000)]
SHARE = 1000  # the default delta is at most 1 / (SHARE x the largest number of rows)
NO_DELTA = "none; inexact sampling of the noise adds at most 2^-38"  # what holds without a delta
Delta = Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)]


def neighbours() -> AnyField:
    """Return the field `adjacency`: the difference between neighbouring tables."""
    help_text = "Difference that the noise hides: a row added or removed, or a row replaced (often twice the noise)"
    return public("add-remove", "Neighbours", help_text, advanced=True)


def loss(unless: str = "") -> AnyField:
    """Return the field `epsilon`; `unless` names a setting that makes it unnecessary."""
    help_text = "Privacy loss: a row changes an answer's chance by the factor e^epsilon at most. Less = more noise"
    return public(None, "Epsilon", help_text, unless=unless)


def failure(more: str = "", none: str = "the largest power of ten up to 1 / (2,000 max_rows)") -> AnyField:
    """Return the field `delta`.

    Args:
        more: End of its help line.
        none: What holds if it is left out.
    """
    return public(None, "Delta", f"Probability that the guarantee of epsilon fails{more}", none=none)


def condition() -> AnyField:
    """Return the field `where`: a condition on the rows that are used."""
    return public(
        None,
        "Only rows where",
        "Use only the rows that meet a condition, such as 'age in [young, middle] and sex = male'",
        none="all rows",
        joined="; ",
        examples=["age in [young, middle] and sex = male"],
    )


class DecisionSettings(BooleanSettings, TabularSettings):
    """Settings of a question whose answer is a decision, without a number and without noise."""

    where: Where | None = condition()
    max_rows: RowBound = fields.row_bound()
    at_most: AtMost | None = fields.of_people()


class ApartSettings(TabularSettings):
    """Settings of a question that also reads columns that lie apart."""

    listener_columns: fields.PartyColumns | None = fields.listener_columns()
    hidden_rows: Side | None = fields.hidden_rows()
    aligned: LocalPath | None = fields.aligned_rows()
    alignment: Name | None = fields.alignment()


class NoisySettings(BooleanSettings, TabularSettings):
    """Settings of every question with noise.

    `gives_no_row_away` is True if a failure of the guarantee, with probability delta, only raises epsilon a little.
    Any delta is allowed then; otherwise delta must be below 1 / (2 `max_rows`).
    """

    gives_no_row_away: ClassVar[bool] = False
    where: Where | None = condition()
    epsilon: Epsilon | None = loss()
    adjacency: Adjacency = neighbours()
    max_rows: RowBound = fields.row_bound()
    at_most: AtMost | None = fields.of_people()


class ReleaseSettings(NoisySettings):
    """Settings of the `smc release` commands, which may also be exact."""

    epsilon: Epsilon | None = loss(unless="exact")
    exact: Annotated[bool, Field(strict=True)] = public(
        False,
        "Exact",
        "Open the result without noise, instead of epsilon. From an exact count or sum, each party learns the other's",
    )


class DrawnSettings(ReleaseSettings):
    """Settings of commands that draw their answer."""

    svg: LocalPath | None = output("Draw the numbers with their intervals as SVG.")
    csv: LocalPath | None = output("Write the numbers with their intervals as CSV.", advanced=True)


class GaussianSettings(ReleaseSettings):
    """Settings of a question for which Gaussian noise is suited: one row changes many numbers together."""

    delta: Delta | None = failure("; selects Gaussian noise. Choose it far below 1 / rows", NO_DELTA)


class GroupSettings(ReleaseSettings, ApartSettings):
    """Settings of a question that may be answered for each of several groups of rows."""

    by: Columns | None = public(
        None, "Groups", "Columns whose values form the groups", none="all rows are one group", column=True
    )


def check_privacy(settings: Any) -> None:
    """Raise InputError if `exact` and `epsilon` are both given or both missing, or if delta is wrong."""
    is_exact = isinstance(settings, ReleaseSettings) and settings.exact
    if is_exact and settings.epsilon is not None:
        raise InputError("exact: excludes epsilon, because there is no noise; remove one of them")
    if isinstance(settings, NoisySettings) and not is_exact and settings.epsilon is None:
        other = ", or exact, for no noise at all" if isinstance(settings, ReleaseSettings) else ""
        raise InputError(f"epsilon: is missing: give the privacy loss, 1 for example{other}")
    if not (delta := getattr(settings, "delta", None)):
        return
    if is_exact:
        raise InputError("exact: excludes delta, because there is no noise; remove one of them")
    if not settings.gives_no_row_away:
        check_delta(delta, 2 * settings.max_rows)


def default_delta(max_rows: int) -> float:
    """Return the default delta: the largest power of ten that is at most 1 / (2,000 max_rows)."""
    return float(f"1e-{len(str(2 * max_rows * SHARE - 1))}")


def check_columns(settings: Any, schema: Schema) -> None:
    """Raise InputError for a column that the schema lacks, that a setting names twice, or that is in column and by.

    Args:
        settings: The settings.
        schema: The agreed schema.
    """
    named = {key: names_in(getattr(settings, key, None)) for key in ("by", "column", "columns", "numeric", "target")}
    for key, columns in named.items():
        check_names(key, columns, schema.attributes)
    if set(named["column"]) & set(named["by"]):
        raise InputError("column: name another column than those of by")


def names_in(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the columns in a setting as a tuple."""
    return (value,) if isinstance(value, str) else value or ()


def with_features(settings: Any, schema: Schema) -> Any:
    """Return the settings with target and columns filled in, in the schema's order. Raise InputError if no column is
    left, or if the columns include the target.

    Args:
        settings: The settings.
        schema: The agreed schema.
    """
    target = schema.choose_target(settings.target)
    chosen = schema.features(target) if settings.columns is None else settings.columns
    if target in chosen or not chosen:
        raise InputError("columns: name at least one, and not the target")
    order = list(schema.attributes)
    ordered = sorted(chosen, key=lambda name: order.index(name) if name in order else -1)
    return settings.model_copy(update={"target": target, "columns": tuple(ordered)})
