"""Settings of joint decision trees."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from parties.base.settings import AtMost, Count, LocalPath, Settings
from parties.jobs import settings as fields
from parties.jobs.hidden_rows import Side
from parties.jobs.kind import Adjacency
from parties.jobs.settings import AnyField, Name, RowBound, output, own_file, public
from parties.jobs.tabular import TabularSettings
from protocols.release.promise import LEAST_EPSILON, MOST_EPSILON

Epsilon = Annotated[float, Field(strict=True, ge=LEAST_EPSILON, le=1000, allow_inf_nan=False)]


Criterion = Literal["entropy", "gini", "gain-ratio"]
Splits = Literal["multiway", "binary", "ordered"]


def criterion(default: Criterion, when: str = "") -> AnyField:
    """Return the field `criterion`: the measure by which a node chooses its split.

    Args:
        default: Default of the setting.
        when: Beginning of the help text: the condition under which the setting applies.
    """
    help_text = "Split criterion: conditional entropy, Gini impurity, or C4.5's gain ratio"
    return public(default, "Criterion", when + help_text, advanced=True)


def splits(default: Splits | None, left_out: str = "") -> AnyField:
    """Return the field `splits`: the number of branches of a node.

    Args:
        default: Default of the setting.
        left_out: Help text on the effect if the setting is omitted.
    """
    return public(
        default,
        "Splits",
        "Branches of a node. multiway: one per value. binary: two. ordered: two for numbers "
        "and dates, else one per value",
        left_out=left_out,
        advanced=True,
    )


MOST_SHARDS = 64  # processes of a party
WORTH = "Test by which a node becomes a leaf if no split is worth it: mdl (description length), chi2 or pessimistic"


class ExactSettings(TabularSettings):
    """Settings of exact trees, one or a forest."""

    target: str | None = public(None, "Target", "Class column", none="target in the schema", column=True)
    columns: tuple[str, ...] | None = fields.predictors()
    tolerance: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = public(
        0.001,
        "Tolerance",
        "Splits whose entropy is within this distance of the best count as equally good (delta of ID3-delta)",
        advanced=True,
    )
    criterion: Criterion = criterion("entropy")
    min_rows: Count = public(
        0, "Fewest rows", "A node with at most this number of rows of both parties becomes a leaf", advanced=True
    )
    max_depth: Count | None = public(
        None,
        "Most levels",
        "Maximum depth of a tree",
        none="no limit",
        left_out="from the schema and the row bounds; with plain no limit",
    )
    max_rows: RowBound = fields.row_bound()
    at_most: AtMost | None = fields.of_people()
    held_out: fields.HeldOut | None = fields.held_out()
    fold: fields.Fold | None = fields.fold()
    splits: Splits | None = splits(None, "binary (plain: multiway; epsilon: ordered)")
    prune: Literal["off", "mdl", "chi2", "pessimistic"] = public("off", "Pruning", WORTH)
    weights: Annotated[tuple[Name, ...], Field(min_length=1)] | None = public(
        None,
        "Weights",
        "Weight of each class, as CLASS:TIMES. Each row of the class counts as TIMES rows",
        none="every row counts once",
        advanced=True,
    )
    shards: Annotated[int, Field(strict=True, ge=1, le=MOST_SHARDS)] | None = public(
        None,
        "Shards",
        "Number of parallel processes of each party, each with its own connection. More processes use more cores",
        none="one",
        advanced=True,
    )
    most_bytes: fields.MostBytes | None = fields.most_bytes_field("the next level of the tree")
    plain: Annotated[bool, Field(strict=True)] = public(
        False, "Plain", "ID3 of Lindell and Pinkas, no minimum per leaf: a leaf may describe one person"
    )
    k: fields.K | None = fields.fewest_rows(
        None, "each party has at least k rows in each leaf, or none", left_out="5; with plain no minimum"
    )
    l: fields.L = fields.diverse("the rows of a leaf have at least l classes; 1 = no rule")  # noqa: E741
    diversity: fields.Diversity = fields.diversity("classes")
    t: fields.T = fields.close("maximum distance between the class shares of a leaf and those of all rows; 1 = no rule")
    distance: fields.Distance = fields.distance("classes")
    against: fields.Against = fields.against(
        "k, l and t hold for each party's rows, and k and l for both together", "only for both together"
    )

    @model_validator(mode="after")
    def _plain_has_no_rules(self) -> ExactSettings:
        rules = [name for name in ("k", "l", "t") if getattr(self, name) not in (None, 1)]
        if self.plain and rules:
            raise ValueError(f"plain cannot be combined with {rules[0]}; remove one of them")
        return self


class Id3Settings(ExactSettings):
    """Settings of `smc id3`."""

    prune: Literal["off", "mdl", "chi2", "pessimistic", "holdout"] = public(  # type: ignore[assignment]
        "off", "Pruning", f"{WORTH}; holdout prunes the opened tree"
    )
    holdout: Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)] = public(
        0.3, "Held out", "With prune holdout: share of each party's rows kept for pruning", advanced=True
    )
    listener_columns: fields.PartyColumns | None = fields.listener_columns()
    hidden_rows: Side | None = fields.hidden_rows()
    aligned: LocalPath | None = fields.aligned_rows()
    alignment: Name | None = fields.alignment()
    epsilon: Epsilon | None = public(
        None, "Epsilon", "Privacy loss of a row: noise on all choices; not with k; less = noisier", none="no noise"
    )
    support_epsilon: Annotated[Epsilon, Field(le=MOST_EPSILON)] | None = public(
        None,
        "Leaf counts' epsilon",
        "Without epsilon: also open the number of rows of each leaf and class, with noise of this epsilon",
        none="they are not counted",
        advanced=True,
    )
    adjacency: Adjacency = public(
        "add-remove",
        "Neighbours",
        "Difference that the noise hides: a row added or removed, or a row replaced",
        advanced=True,
    )
    quality: Literal["max", "gini", "entropy"] = public(
        "max",
        "Quality",
        "With epsilon: measure of a split. max = number of rows in the majority class of their branch; it costs least",
        advanced=True,
    )
    stop: Literal["on", "off"] = public(
        "on", "Stop", "With epsilon: allow a node to become a leaf before the maximum depth", advanced=True
    )
    leaf_epsilon: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = public(
        None,
        "Leaves' epsilon",
        "Part of epsilon that is spent on the classes of the leaves",
        none="as much as a level",
        advanced=True,
    )
    trees: Annotated[int, Field(strict=True, ge=1, le=1000)] = public(
        1, "Trees", "With epsilon: number of trees that vote, each learnt from rows of its own"
    )
    out: LocalPath | None = output("Write the tree as JSON.")
    dot: LocalPath | None = output("Write the tree in Graphviz's DOT.", advanced=True)
    rules: LocalPath | None = output("Write the tree as rules in words, one per leaf.", advanced=True)
    svg: LocalPath | None = output("Draw the tree as SVG.")


class ForestSettings(ExactSettings):
    """Settings of `smc forest`."""

    trees: Annotated[int, Field(strict=True, ge=1, le=1000)] = public(
        100, "Trees", "Number of trees that vote, each learnt from secretly drawn rows"
    )
    attributes: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = public(
        None,
        "Attributes a node",
        "Number of candidate splits for each node, drawn at random. With fewer, the trees differ more",
        none="the square root of all, rounded up",
        advanced=True,
    )
    seed: Count = public(0, "Seed", "Public seed of the draws; another seed gives another forest", advanced=True)
    criterion: Criterion = criterion("gini")
    splits: Splits = splits("binary")
    usual: ClassVar[str] = "lean"
    t: Literal[1] = 1  # every tree has rows of its own, so no leaf is compared with all rows
    distance: Literal["variational"] = "variational"
    out: LocalPath | None = output("Write the trees as JSON.")
    rules: LocalPath | None = output("Write the trees as rules in words, one per leaf.", advanced=True)
    svg: LocalPath | None = output("Draw the first tree as SVG.")


class Id3Extra(Settings):
    """Settings of `smc estimate id3`."""

    tree: LocalPath | None = own_file("Tree", "The result of an earlier run: then the costs are exact.")
