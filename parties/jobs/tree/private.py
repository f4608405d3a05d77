"""Decision tree with differential privacy, or several voting trees: every choice in them is noisy."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.base.console import size
from parties.jobs.kind import (
    NO_BITS,
    Counted,
    Disclosure,
    Loss,
    OnStep,
    PureLoss,
    State,
    changes,
    exact,
    nothing_else_of_either,
)
from parties.jobs.spending import Noised
from parties.jobs.tree import apart, leaf_rules
from parties.jobs.tree.joint import JointTree, Levels
from parties.jobs.tree.settings import Id3Settings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols.counts import Rows
    from protocols.grower import Level
    from protocols.release.tree_problem import Problem
    from protocols.vertical import Columns as VerticalColumns
    from smc.counting import Program
    from smc.engines import Engine, Profile

MOST_NODES = 1 << 20  # nodes of a level in which every node is split
LARGEST_COUNTED = 100_000  # row counts of all levels together
WITHOUT_NOISE = (  # settings of exact trees alone: exact row counts do not exist for a tree with noise
    *("min_rows", "support_epsilon", "most_bytes", "tolerance", "prune", "holdout", "weights", "criterion", "plain"),
    *leaf_rules.KEYS,
)


class PrivateTree(Noised, JointTree):
    """Task of `protocols.release.tree`; the state is a tuple of unfinished trees."""

    votes = True
    specified = ("epsilon", "adjacency", "quality", "stop", "leaf_epsilon", "trees", "max_depth", "max_rows", "splits")

    @cached_property
    def problem(self) -> Problem:
        """Public parameters of the noisy trees, on which both parties must agree."""
        from protocols.release.tree_problem import Problem

        settings = self.settings
        assert settings.max_depth is not None  # `completed` has chosen it
        levels = max(0, min(settings.max_depth, len(self.questions.domains) - (settings.stop == "off")))
        share = self.epsilon / (levels + 1)  # see `protocols.release.defaults`
        return Problem(
            domains=self.questions.domains,
            runs=self.questions.runs,
            classes=self.classes,
            max_rows=self.rows_each,
            max_depth=settings.max_depth,
            epsilon=self.epsilon,
            leaf_epsilon=share if settings.leaf_epsilon is None else exact(settings.leaf_epsilon),
            replace=self.replaced,
            rows=settings.together,
            quality=settings.quality,
            stop=settings.stop == "on",
            trees=settings.trees,
        )

    @override
    def completed(self) -> Any:
        from protocols.release.defaults import chosen

        settings = self.settings
        if settings.splits is None:
            settings = self.settings = settings.model_copy(update={"splits": "ordered"})
        if settings.max_depth is not None:
            return settings
        rows = max(1, 2 * self.rows_each // settings.trees)
        epsilon = self.epsilon / (settings.together * (1 + self.replaced))
        tree = chosen(rows, epsilon, self.domains, self.classes, self.questions.ordered)
        return settings.model_copy(update={"max_depth": tree.depth})

    @override
    def check(self) -> None:
        from protocols.release.partition_rows import DEALT

        defaults = Id3Settings()
        for name in WITHOUT_NOISE:
            if getattr(self.settings, name) != getattr(defaults, name):
                remedy = "remove it, or use quality" if name == "criterion" else "remove one of them"
                raise InputError(f"{name} cannot be combined with epsilon; {remedy}")
        problem = self.problem
        self.check_depth()
        widest = sorted(problem.domains)[-problem.max_depth :] if problem.max_depth else []
        if not problem.stop and (nodes := problem.trees * prod(widest)) > MOST_NODES:
            raise InputError(f"without stop the trees could have {nodes:,} leaves; choose a smaller max_depth")
        if problem.trees > 1 and problem.max_rows > DEALT:
            raise InputError(f"trees: at most {DEALT:,} rows are dealt to several: lower max_rows, or take one tree")
        problem.check()

    @property
    @override
    def disclosure(self) -> Disclosure:
        from protocols.release.tree_openings import opened

        opens = lambda state, step=None: opened(self.problem, state, step)  # noqa: E731
        trees = "a decision tree" if self.settings.trees == 1 else f"{self.settings.trees} decision trees that vote"
        noise = f"with noise (epsilon {self.settings.epsilon:g})"
        question = f"{trees} for {self.target} from the rows of both parties, {noise}"
        return Disclosure(self._reveals, opens, NO_BITS, self._losses, question=question, subject=self.target)

    def _reveals(self, peer: str) -> list[str]:
        settings = self.settings
        trees = "the decision tree" if settings.trees == 1 else f"{settings.trees} decision trees"
        return [
            f"We and {peer} both learn {trees} for {self.target} of both tables' rows together, every choice in it "
            "with noise that neither knows.",
            f"{changes(self.at_most, self.replaced, 'any result is', f'e^{settings.epsilon:g}')}.",
            *(apart.dealt(settings) if self.apart is not None else []),
            *([nothing_else_of_either(peer, settings.max_rows)] if self.apart is None else self.nothing_else(peer)),
        ]

    @property
    def _losses(self) -> tuple[Loss, ...]:
        problem, adjacency = self.problem, self.settings.adjacency
        leaves = PureLoss("leaf classes by noisy max", problem.leaf_epsilon, adjacency=adjacency)
        if not problem.levels:
            return (leaves,)
        mechanism = "choices of a tree level by noisy max"
        return (PureLoss(mechanism, problem.level_epsilon, adjacency=adjacency, times=problem.levels), leaves)

    @property
    @override
    def layout(self) -> VerticalColumns:
        return replace(super().layout, trees=self.settings.trees)

    @override
    def own_rows(self, source: Rows, secret: bytes = b"") -> Any:
        """Return the source of counts; with several trees, each row goes to one tree, drawn with `secret`.

        If columns lie apart, the source deals the rows itself, in an order that both parties know.
        """
        from protocols.counts import Unpartitioned
        from protocols.release.partition_rows import Partitioned

        if self.apart is not None:
            return self.by_questions(source)
        if self.settings.trees == 1:
            return self.by_questions(Unpartitioned(source))
        return self.by_questions(Partitioned(self.domains, self.classes, source, self.settings.trees, secret))

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Grow the trees, and return them. `data` is a `protocols.counts.ForestCounts`."""
        from protocols.release import tree

        def on_level(level: Level) -> None:
            on_step(self.step(level.depth, level.nodes, level.trees))

        return tree.private_tree(engine, self.problem, data, on_level, start)

    @override
    def with_result(self, state: State) -> Program:
        from protocols.release import tree_openings

        return lambda engine: tree_openings.with_forest(engine, self.problem, state, self.sent_counts(engine))

    @override
    def typical_cost(self) -> Counted:
        from protocols.release import tree_costs

        problem = self.problem
        counts = (1 + min(problem.max_depth, len(problem.domains))) * tree_costs.node_counts(problem, problem.domains)
        is_countable = counts <= LARGEST_COUNTED and self.classes <= 200

        def most(profile: Profile) -> int | None:
            return tree_costs.most_bytes(problem, profile, self._part) if is_countable and profile.shards == 1 else None

        def of() -> str:
            splits = [f"{number:,}" for _, number in tree_costs.typical_levels(problem) if number] or ["no"]
            trees = "a tree" if problem.trees == 1 else f"{problem.trees} trees together"
            description = (
                f"{trees} with {', '.join(splits)} splits on {'its' if problem.trees == 1 else 'their'} levels"
            )
            if problem.stop and problem.levels and self.classes > 1:
                description += f" ({size(self.least)} if noise leaves the root unsplit)"
            return description

        return Counted(
            lambda engine: tree_costs.typical(engine, problem, self._part),
            "typical",
            of,
            most,
            is_countable,
            lambda: self.asked(self.typical_levels()),
        )

    @override
    def typical_levels(self) -> Levels:
        from protocols.release import tree_costs

        levels = enumerate(tree_costs.typical_levels(self.problem))
        return [(nodes, splits, len(self.problem.domains) - depth) for depth, (nodes, splits) in levels]

    @override
    def levels_of(self, state: State) -> Levels:
        from protocols.release.tree_openings import levels

        return [level.shape for level in levels(self.problem, state)]

    @property
    def least(self) -> int:
        """Bytes in both directions of a run whose trees are a single leaf each.

        They are forecast on the named profile, or on the first contender for "auto".
        """
        from parties.jobs.execution import profiles
        from protocols.tree import Leaf
        from smc.counting import forecast

        profile = profiles.named(self.specification()) or profiles.contenders(self.about.integers)[0]
        return forecast(self.with_result((Leaf(0),) * self.problem.trees), profile).bytes

    @property
    def _part(self) -> int:
        """Row counts at most in each of the parts into which a counting engine divides a level."""
        return LARGEST_COUNTED // (1 + self.problem.max_depth)

    @override
    def file_of(self, state: State) -> TreeFile:
        from parties.models.trees.tree import Noise, TreeFile

        settings = self.settings
        assert settings.epsilon is not None
        first, *others = self.named(state)
        noise = Noise(settings.epsilon, settings.adjacency, settings.quality, settings.at_most)
        return TreeFile(self.schema.digest(), self.target, None, first, noise, tuple(others))

    @override
    def state_of_trees(self, tree_file: TreeFile) -> State:
        if tree_file.noise is None or len(tree_file.trees) != self.settings.trees:
            raise InputError(f"this is not a result of {self.settings.trees} trees with epsilon; give one")
        return self.indexed(tree_file)
