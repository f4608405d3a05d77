"""The settings of gradient-boosted trees."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from parties.base.settings import AtMost, LocalPath
from parties.jobs.release.settings import Delta, Epsilon, neighbours
from parties.jobs.settings import of_people, output, public
from parties.jobs.spending import Adjacency
from parties.jobs.tabular_settings import Columns, Name, RowBound, TabularSettings, row_bound

MOST_ROUNDS = 50  # that are taken if nobody says how many
DEFAULT_BITS = 3072  # which their splits may open: three quarters of what a table with a budget has if it says nothing
Amount = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]


class BoostSettings(TabularSettings):
    """`smc boost`."""

    target: Name | None = public(
        None, "Target", "Classes, or a column of numbers to regress on", none="target in the schema", column=True
    )
    columns: Columns | None = public(
        None, "Columns", "The columns to predict from, with commas between them", none="all of the schema", column=True
    )
    numeric: Columns | None = public(
        None,
        "Columns of numbers",
        "Lists of numbers in the schema that are asked by edges, or regressed on",
        none="those that the schema types as numbers",
        column=True,
    )
    objective: Literal["auto", "logistic", "softmax", "squared"] = public(
        "auto", "Objective", "What trees lower; auto: squared for a target of numbers, else by the number of classes"
    )
    rounds: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = public(
        None,
        "Rounds",
        "Trees, each corrects those before; of several classes a tree for each",
        left_out=f"{MOST_ROUNDS}, or as many as open {DEFAULT_BITS:,} bits by their splits",
    )
    depth: Annotated[int, Field(strict=True, ge=1, le=10)] = public(4, "Depth", "Levels of splits of a tree")
    bins: Annotated[int, Field(strict=True, ge=2, le=256)] = public(
        32, "Bins", "A column's numbers in so many ranges at most, where the schema gives no edges"
    )
    rate: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] | None = public(
        None, "Rate", "What part of its best weight a leaf gets", left_out="10 / rounds, from 0.3 to 1"
    )
    regularisation: Amount = public(1.0, "Lambda", "Added to a leaf's curvature: pulls its weight to 0", alias="lambda")
    gamma: Amount = public(0.0, "Gamma", "A split's gain must be greater")
    min_child_weight: Annotated[float, Field(strict=True, ge=1, le=1_000_000, allow_inf_nan=False)] = public(
        5.0,
        "Least curvature",
        "Of each child, of both parties' rows: a row counts 1 with squares, at most a quarter with two classes",
    )
    epsilon: Epsilon | None = public(
        None,
        "Leaves' epsilon",
        "Differential privacy of the leaves' weights, in all rounds; which splits are best is told without noise",
        unless="exact",
    )
    delta: Delta | None = public(
        None, "Delta", "The chance that epsilon does not hold", none="a thousandth of one over all rows, or less"
    )
    adjacency: Adjacency = neighbours()
    exact: Annotated[bool, Field(strict=True)] = public(
        False, "Exact", "No noise, in the place of epsilon: this tells each party the other's sums in every leaf"
    )
    max_rows: RowBound = row_bound()
    at_most: AtMost | None = of_people()
    svg: LocalPath | None = output("Draw which columns the trees ask.")
    xgboost: LocalPath | None = output("Write the model as XGBoost's JSON.")
