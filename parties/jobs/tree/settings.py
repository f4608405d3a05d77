"""What can be asked of a joint decision tree: the settings of the kind `id3`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from parties.base.settings import AtMost, Count, LocalPath
from parties.jobs import privacy_models as models
from parties.jobs.kind import Extra
from parties.jobs.settings import AnyField, of_people, output, own_file, public
from parties.jobs.spending import Adjacency
from parties.jobs.stopping import MostBytes, most_bytes_field
from parties.jobs.tabular_settings import Name, RowBound, TabularSettings, row_bound
from protocols.release.promise import LEAST_EPSILON, MOST_EPSILON

Epsilon = Annotated[float, Field(strict=True, ge=LEAST_EPSILON, le=1000, allow_inf_nan=False)]


Criterion = Literal["entropy", "gini", "gain-ratio"]
Splits = Literal["multiway", "binary", "ordered"]


def criterion(default: Criterion, when: str = "") -> AnyField:
    """Return the field `criterion`."""
    words = (
        "How attributes compare: by the class's entropy once they are known, its Gini impurity, or C4.5's gain ratio"
    )
    return public(default, "Criterion", when + words)


def splits(default: Splits | None, left_out: str = "") -> AnyField:
    """Return the field `splits`."""
    return public(
        default,
        "Splits",
        "A branch for every value or range, or two: for those before one of them in the schema, and those from it on, "
        "or of three categories for any one and the others; then again by another; ordered: two of numbers, dates and "
        "times, a branch for every value of other columns",
        left_out=left_out,
    )


MOST_SHARDS = 64  # processes of a party
WORTH = "A node is a leaf if no split of it is worth it: by description length, a chi-square test, or errors"


class ExactSettings(TabularSettings):
    """Those that exact trees have, one or a forest."""

    target: str | None = public(None, "Target", "The class column", none="target in the schema", column=True)
    columns: tuple[str, ...] | None = public(
        None, "Columns", "The columns to predict from, with commas between them", none="all of the schema", column=True
    )
    tolerance: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = public(
        0.001,
        "Tolerance",
        "Attributes whose conditional entropy is so near the best are as good: the delta of ID3-delta. Of a column "
        "that is asked in two, three edges are compared at a node; a plain tree compares all",
    )
    criterion: Criterion = criterion("entropy")
    min_rows: Count = public(0, "Fewest rows", "Nodes with at most so many rows, of both together, become leaves")
    max_depth: Count | None = public(
        None,
        "Most levels",
        "Deepest level of the tree",
        none="no limit",
        left_out="chosen by public numbers; with plain no limit",
    )
    max_rows: RowBound = row_bound()
    at_most: AtMost | None = of_people()
    splits: Splits | None = splits(None, "binary (plain: multiway; epsilon: ordered)")
    prune: Literal["off", "mdl", "chi2", "pessimistic"] = public("off", "Pruning", WORTH)
    weights: Annotated[tuple[Name, ...], Field(min_length=1)] | None = public(
        None, "Weights", "CLASS:TIMES for classes whose rows count so many times", none="every row counts once"
    )
    shards: Annotated[int, Field(strict=True, ge=1, le=MOST_SHARDS)] | None = public(
        None,
        "Shards",
        "Each party computes in so many processes at once, each with a connection of its own to the peer's",
        none="one",
    )
    most_bytes: MostBytes | None = most_bytes_field("a level of the tree")
    plain: Annotated[bool, Field(strict=True)] = public(
        False, "Plain", "ID3-delta as published, without rules for its leaves: they may speak of one person"
    )
    k: models.K | None = models.fewest_rows(
        None, "No leaf speaks of fewer rows, unless of none", left_out="5; with plain or epsilon none"
    )
    l: models.L = models.diverse("No leaf speaks of rows with fewer classes")  # noqa: E741
    diversity: models.Diversity = models.diversity("classes")
    t: models.T = models.close("No leaf's classes are distributed otherwise than those of all rows by more")
    distance: models.Distance = models.distance("classes")
    against: models.Against = models.against(
        "k, l and t hold for each party's own rows, k and l then for both together too, or only for both together"
    )

    @model_validator(mode="after")
    def _plain_has_no_rules(self) -> ExactSettings:
        rules = [name for name in ("k", "l", "t") if getattr(self, name) not in (None, 1)]
        if self.plain and rules:
            raise ValueError(f"plain is the tree without rules for its leaves: leave out plain, or {rules[0]}")
        return self


class Id3Settings(ExactSettings):
    """`smc id3`."""

    prune: Literal["off", "mdl", "chi2", "pessimistic", "holdout"] = public(  # type: ignore[assignment]
        "off", "Pruning", f"{WORTH}; or, once the tree is grown and opened, by errors on rows held out"
    )
    holdout: Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)] = public(
        0.3, "Held out", "With prune holdout: the share of each party's rows that the tree is pruned by, not grown on"
    )
    epsilon: Epsilon | None = public(
        None, "Epsilon", "Differential privacy of each row: every choice with noise", none="no noise"
    )
    support_epsilon: Annotated[Epsilon, Field(le=MOST_EPSILON)] | None = public(
        None,
        "Leaf counts' epsilon",
        "Without epsilon: how many rows each leaf has, by class, with noise of this epsilon",
        none="they are not counted",
    )
    adjacency: Adjacency = public(
        "add-remove", "Neighbours", "Epsilon is for tables that differ by a row added or removed, or by one replaced"
    )
    quality: Literal["max", "gini", "entropy"] = public(
        "max", "Quality", "With epsilon: how attributes compare; max, the rows that majorities get right, costs least"
    )
    stop: Literal["on", "off"] = public("on", "Stop", "With epsilon: whether a node may choose to be a leaf")
    leaf_epsilon: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = public(
        None, "Leaves' epsilon", "The part of epsilon for the classes of the leaves", none="as much as a level"
    )
    trees: Annotated[int, Field(strict=True, ge=1, le=1000)] = public(
        1, "Trees", "With epsilon: so many trees, each of rows of its own, that vote"
    )
    out: LocalPath | None = output("Write the tree as JSON.")
    dot: LocalPath | None = output("Write the tree in Graphviz's DOT.")
    rules: LocalPath | None = output("Write the tree as rules in words, one a leaf.")
    svg: LocalPath | None = output("Draw the tree.")


class ForestSettings(ExactSettings):
    """`smc forest`."""

    trees: Annotated[int, Field(strict=True, ge=1, le=1000)] = public(
        100, "Trees", "So many trees, each of rows drawn anew by each party in secret, that vote"
    )
    attributes: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = public(
        None,
        "Attributes a node",
        "Each node chooses from so many of the questions that it has left, drawn anew for each",
        none="the square root of all, rounded up",
    )
    seed: Count = public(0, "Seed", "Public, of these draws: another seed, another forest")
    criterion: Criterion = criterion("gini")
    splits: Splits = splits("binary")
    usual: ClassVar[str] = "lean"
    t: Literal[1] = 1  # every tree has rows of its own: no leaf is compared with all
    distance: Literal["variational"] = "variational"
    out: LocalPath | None = output("Write the trees as JSON.")
    rules: LocalPath | None = output("Write the trees as rules in words, one a leaf.")
    svg: LocalPath | None = output("Draw the first tree.")


class Id3Extra(Extra):
    """`smc estimate id3`."""

    tree: LocalPath | None = own_file("Tree", "The tree of an earlier run: then the costs are exact.")
