"""Settings of gradient-boosted trees."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import AtMost, LocalPath
from parties.jobs import settings as fields
from parties.jobs.kind import Adjacency
from parties.jobs.release.settings import Delta, Epsilon, failure, neighbours
from parties.jobs.settings import Columns, Name, RowBound, output, public
from parties.jobs.tabular import TabularSettings

MOST_ROUNDS = 50  # default limit of the rounds
DEFAULT_BITS = 3072  # bits that the splits may open by default: three quarters of a table's default bit budget
Amount = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]


class BoostSettings(TabularSettings):
    """Settings of `smc boost`."""

    target: Name | None = public(
        None, "Target", "Class column, or a column of numbers to predict", none="target in the schema", column=True
    )
    columns: Columns | None = fields.predictors()
    numeric: Columns | None = public(
        None,
        "Columns of numbers",
        "Columns of numbers in the schema: split at edges, or the target of a regression",
        none="those that the schema types as numbers",
        column=True,
    )
    objective: Literal["auto", "logistic", "softmax", "squared"] = public(
        "auto", "Objective", "Loss. auto = squared for numbers, logistic for two classes, else softmax", advanced=True
    )
    rounds: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = public(
        None,
        "Rounds",
        "Boosting rounds. Each adds one tree; with three or more classes one per class. 1 with a target of numbers "
        "gives one regression tree",
        left_out=f"{MOST_ROUNDS}; fewer if the splits would open over {DEFAULT_BITS:,} bits",
    )
    depth: Annotated[int, Field(strict=True, ge=1, le=10)] = public(4, "Depth", "Levels of splits of each tree")
    bins: Annotated[int, Field(strict=True, ge=2, le=256)] = public(
        32,
        "Bins",
        "Maximum number of ranges that a column of numbers is cut into, if the schema has no edges for it",
        advanced=True,
    )
    rate: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] | None = public(
        None,
        "Rate",
        "Learning rate: factor on the weight of each leaf. A smaller rate needs more rounds",
        left_out="10 / rounds, from 0.3 to 1",
        advanced=True,
    )
    regularisation: Amount = public(
        1.0, "Lambda", "L2 regularisation: larger = smaller leaf weights", alias="lambda", advanced=True
    )
    gamma: Amount = public(
        0.0,
        "Gamma",
        "Minimum gain of a split: how much it must reduce the loss. A larger minimum makes smaller trees",
        advanced=True,
    )
    min_child_weight: Annotated[float, Field(strict=True, ge=1, le=1_000_000, allow_inf_nan=False)] = public(
        5.0,
        "Least curvature",
        "Minimum sum of a child's second derivatives. A row counts 1 (squared loss) or up to 1/4 (two classes)",
        advanced=True,
    )
    epsilon: Epsilon | None = public(
        None,
        "Leaves' epsilon",
        "Epsilon, the privacy loss of a row by all leaf weights. The best splits are opened without noise",
        unless="exact",
    )
    delta: Delta | None = failure()
    adjacency: Adjacency = neighbours()
    exact: Annotated[bool, Field(strict=True)] = public(
        False,
        "Exact",
        "Open the leaf weights without noise, instead of epsilon. Each party then learns the "
        "other's sums in every leaf",
    )
    max_rows: RowBound = fields.row_bound()
    at_most: AtMost | None = fields.of_people()
    held_out: fields.HeldOut | None = fields.held_out()
    fold: fields.Fold | None = fields.fold()
    svg: LocalPath | None = output("Draw the columns that the trees use as SVG.")
    xgboost: LocalPath | None = output("Write the model as XGBoost's JSON.", advanced=True)
