"""Learn a random forest: many trees that vote."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from parties.jobs.kind import Counted, Disclosure, State
from parties.jobs.tree.exact import LARGEST_COUNTED, ExactTree
from parties.jobs.tree.joint import JointTree, Levels
from parties.jobs.tree.settings import ForestSettings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols.counts import Rows
    from protocols.problem import Problem
    from smc.counting import Program
    from smc.engines import Profile


class Forest(ExactTree):
    """Learn many decision trees that vote, from the rows of both parties. Both learn the trees, and nothing else."""

    name = "forest"
    about = replace(
        JointTree.about,
        title="Random forest",
        noun="forest",
        example="--trees 100 --target play --out forest.json",
        afterwards="smc predict --tree forest.json --data rows.csv classifies rows by its vote, on this machine alone.",
    )
    Settings = ForestSettings
    specified: ClassVar[tuple[str, ...]] = (
        "trees",
        "attributes",
        "seed",
        *(name for name in ExactTree.specified if name not in ("t", "distance")),
    )
    votes = True
    edges = None  # all, of which each node draws some

    @override
    def completed(self) -> Any:
        settings = super().completed()
        if settings.attributes is None:
            number = math.isqrt(max(1, len(self.questions.domains)) - 1) + 1
            settings = settings.model_copy(update={"attributes": number})
        return settings

    @override
    def _problem(self) -> Problem:
        settings = self.settings
        return replace(super()._problem(), trees=settings.trees, drawn=settings.attributes, seed=settings.seed)

    @override
    def check_noise(self) -> None:
        """Check nothing: no setting of a forest is for noise alone."""

    @property
    @override
    def disclosure(self) -> Disclosure:
        from protocols.openings import opened

        of_tree = super().disclosure
        trees = f"{self.settings.trees} decision trees" if self.settings.trees > 1 else "a decision tree"
        rules = " under rules for their leaves" if self.problem.rules.any else ""
        voting = f"{self.settings.trees} decision trees that vote on {self.target}"
        return replace(
            of_tree,
            reveals=lambda peer: [
                f"We and {peer} both learn {trees} for {self.target}, each of rows that both have drawn from their "
                "own, with replacement and in secret.",
                *of_tree.reveals(peer)[1:],
            ],
            opened=lambda state, step=None: opened(self.problem, state, step),
            question=f"{voting}, from the rows of both parties{rules}",
        )

    # Cost and run.

    @override
    def typical_cost(self) -> Counted:
        """Return the cost of typical trees, level by level. Several trees cost at most the sum of each alone."""
        from protocols import cost_model

        tree, trees = super().typical_cost(), self.settings.trees

        def most(profile: Profile) -> int | None:
            of_one = tree.most(profile)
            return None if of_one is None else trees * of_one

        return replace(
            tree,
            program=lambda engine: cost_model.typical_forest(engine, self.problem, LARGEST_COUNTED // self.scored),
            of=f"{trees} times {tree.assumed}",
            most=most,
        )

    @override
    def typical_levels(self) -> Levels:
        from protocols import cost_model

        trees, drawn = self.settings.trees, self.settings.attributes
        levels = cost_model.typical_levels(self.single)
        return [(trees * nodes, trees * splits, min(left, drawn)) for nodes, splits, left in levels]

    @property
    @override
    def single(self) -> Problem:
        return replace(self.problem, trees=1, drawn=None)

    @override
    def with_result(self, state: State) -> Program:
        from protocols import cost_model

        return lambda engine: cost_model.with_forest(engine, self.problem, state)

    @override
    def own_rows(self, source: Rows, secret: bytes = b"") -> Any:
        """Return the counts of rows drawn for each tree, with replacement, from this party's rows by `secret`."""
        from protocols.bootstrap import Bootstrapped

        drawn = Bootstrapped(self.domains, self.classes, source, self.settings.trees, secret)
        return self.by_questions(drawn)

    @override
    def state_of_trees(self, tree_file: TreeFile) -> State:
        if tree_file.noise is not None or len(tree_file.trees) != self.settings.trees:
            raise InputError(f"this is not a result of {self.settings.trees} trees without noise; give one")
        return self.indexed(tree_file)
