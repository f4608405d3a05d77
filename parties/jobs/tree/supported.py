"""Exact tree with noisy counts of its leaves: the rows of each leaf, and its accuracy.

The counts are made after the tree is opened, in the same job: one more step. Their charge is made before anything is
opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Bits, Disclosure, OnStep, PureLoss, State, Step, changes, exact, nothing_else_of_rows
from parties.jobs.release.noise import Noise, laplace
from parties.jobs.tree.joint import Levels
from parties.jobs.tree.result import indexed, indexed_counts, named
from parties.jobs.tree.staged import LARGEST_PART, Staged, StagedTree

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols.tree import Tree
    from smc.counting import CountingEngine
    from smc.engines import Engine

COUNTED = "noisy count of the rows of a class in a leaf"


class SupportedTree(StagedTree):
    """Task of `protocols.id3`, then `protocols.release.leaf_counts`: the only stage is the noisy counts of the leaves,
    in reading order, by class.
    """

    key = "counts"
    specified = (*StagedTree.specified, "support_epsilon", "adjacency")

    @cached_property
    def noise(self) -> Noise:
        """Noise on every count."""
        assert self.settings.support_epsilon is not None
        epsilon, adjacency = exact(self.settings.support_epsilon), self.settings.adjacency
        return laplace(epsilon, 2 if adjacency == "replace" else 1, adjacency, self.settings.together)

    @property
    @override
    def disclosure(self) -> Disclosure:
        """The openings of the tree, which spends nothing, and the counts of all leaves, which have noise."""
        from protocols.tree import decided_levels, open_depth

        of_tree, epsilon, adjacency = super().disclosure, self.settings.support_epsilon, self.settings.adjacency

        def reveals(peer: str) -> list[str]:
            first, *rest = of_tree.reveals(peer)
            counts = (
                "And how many rows of both together each leaf has, by class, with noise that neither knows. "
                f"{changes(self.at_most, adjacency == 'replace', 'these counts are', f'e^{epsilon:g}')}; "
                "the tree itself has no noise."
            )
            unsaid = nothing_else_of_rows(peer, self.settings.max_rows)
            return [first, counts, *unsaid, *(line for line in rest if line not in unsaid)]

        def opened(state: Staged, step: int | None = None) -> dict[str, int]:
            stages = state.after if step in (None, decided_levels(state.tree)) else ()
            numbers = sum(len(row) for counts in stages for row in counts)
            return {**of_tree.opened(state.tree, step), COUNTED: numbers}

        def bits(step: Step) -> int:
            return 0 if open_depth(step.state.tree) is None else of_tree.bits.of_step(step)

        loss = PureLoss("leaf counts, discrete Laplace", self.noise.epsilon, adjacency=adjacency)
        of_both = Bits(bits, of_tree.bits.at_most)
        return replace(of_tree, reveals=reveals, opened=opened, bits=of_both, spends=(loss,), opens_exact_too=True)

    # Cost and execution.

    @property
    @override
    def sizes(self) -> tuple[Sequence[int], Sequence[int]]:
        from protocols import cost_model

        splits = sum(cost_model.typical_splits(self.problem))
        leaves = 1 + round(splits * (cost_model.mean_domain(self.problem) - 1))
        return [max(1, leaves)], [cost_model.most_nodes(self.problem)]

    @override
    def count_stages(self, engine: CountingEngine, sizes: Sequence[int], largest: int = LARGEST_PART) -> None:
        from protocols.release.leaf_counts import noisy_leaf_counts

        engine.answers = None
        for leaves in sizes:
            times = -(-leaves * self.classes // largest)
            zeros = np.zeros((-(-leaves // times), self.classes), dtype=np.int64)
            with engine.repeated(times):
                noisy_leaf_counts(engine, self.problem, zeros, self.noise.law(leaves * self.classes))

    @override
    def asked(self, levels: Levels) -> Sequence[int]:
        """Return how many numbers each question asks a holder: those of the tree, then the leaves of each depth.

        If all leaves are on the last level and its question has counted their classes, they are not asked again.
        """
        leaves = [nodes - splits for nodes, splits, _ in levels if nodes > splits]
        if len(leaves) == 1 and not self.problem.counts_attributes(len(levels) - 1, levels[-1][2]):
            leaves = []
        each = self.classes + self._groups_asked
        return [*super().asked(levels), *(each * number for number in leaves)]

    @override
    def stages(self, tree: Tree) -> int:
        return 1

    @override
    def run_stages(self, engine: Engine, data: Any, state: Staged, on_step: OnStep) -> tuple[Any, ...]:
        from protocols.release.leaf_counts import leaf_counts, leaves_of
        from protocols.tree import decided_levels

        if state.after:
            return state.after
        tree, leaves = state.tree, leaves_of(state.tree)
        description = f"counting the rows of {leaves:,} {'leaf' if leaves == 1 else 'leaves'}"
        on_step(Step(decided_levels(tree), leaves, state, description))
        counts = leaf_counts(engine, self.problem, data, tree, self.noise.law(leaves * self.classes))
        return (tuple(tuple(row) for row in counts.tolist()),)

    # States and results.

    @override
    def encoded(self, after: tuple[Any, ...]) -> Any:
        return [list(row) for row in after[0]] if after else None

    @override
    def decoded(self, value: Any) -> tuple[Any, ...]:
        return (tuple(map(tuple, value)),) if value else ()

    @override
    def file_of(self, state: State) -> TreeFile:
        from parties.models.trees.tree import Support

        classes, reach = self.schema.attributes[self.target], (self.noise.reach(self.classes), self.noise.reach())
        supports = iter([Support(dict(zip(classes, row, strict=True)), *reach) for row in state.after[0]])
        whole = super().file_of(state.tree)
        return replace(whole, tree=named(state.tree, self.schema, self.target, self.questions, supports))

    @override
    def state_of_trees(self, tree_file: TreeFile) -> State:
        tree = indexed(tree_file.tree, self.schema, self.target, self.questions)
        return Staged(tree, (indexed_counts(tree_file.tree, self.schema, self.target),))
