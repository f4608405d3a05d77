"""Exact tree with noisy counts of its leaves: the rows of each leaf, and its accuracy.

The counts are made after the tree is opened, in the same job: one more step. Their charge is made before anything is
opened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Bits, Counted, Disclosure, OnStep, State, States, Step
from parties.jobs.release.noise import Noise, laplace
from parties.jobs.sentences import changed, nothing_else_of_rows
from parties.jobs.spending import PureLoss, exact
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.result import indexed, indexed_counts, named

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols.tree import Forest, Tree
    from smc.counting import CountingEngine, Program
    from smc.engines import Engine, Profile

COUNTED = "noisy count of the rows of a class in a leaf"
LARGEST_PART = 1 << 13  # counts of one part in a forecast


@dataclass(frozen=True)
class Supported:
    """A tree; once finished, also the noisy counts of its leaves, in reading order, by class."""

    tree: Tree
    counts: tuple[tuple[int, ...], ...] | None = None


class SupportedTree(ExactTree):
    """Task of `protocols.id3`, then `protocols.release.leaf_counts`."""

    specified = (*ExactTree.specified, "support_epsilon", "adjacency")

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
                f"{changed(self.at_most, adjacency == 'replace')} changes how likely these counts are by a factor of "
                f"at most e^{epsilon:g} (differential privacy); the tree itself has no noise."
            )
            unsaid = nothing_else_of_rows(peer, self.settings.max_rows)
            return [first, counts, *unsaid, *(line for line in rest if line not in unsaid)]

        def opened(state: Supported, step: int | None = None) -> dict[str, int]:
            is_counted = step in (None, decided_levels(state.tree))
            numbers = sum(map(len, state.counts)) if is_counted and state.counts is not None else 0
            return {**of_tree.opened(state.tree, step), COUNTED: numbers}

        def bits(step: Step) -> int:
            return 0 if open_depth(step.state.tree) is None else of_tree.bits.of_step(step)

        loss = PureLoss("leaf counts, discrete Laplace", self.noise.epsilon, adjacency=adjacency)
        of_both = Bits(bits, of_tree.bits.at_most)
        return replace(of_tree, reveals=reveals, opened=opened, bits=of_both, spends=(loss,), opens_exact_too=True)

    # Cost and execution.

    def _counts(self, engine: CountingEngine, leaves: int) -> None:
        """Count the step that counts the rows of the leaves, large ones in parts."""
        from protocols.release.leaf_counts import noisy_leaf_counts

        engine.answers = None
        times = -(-leaves * self.classes // LARGEST_PART)
        zeros = np.zeros((-(-leaves // times), self.classes), dtype=np.int64)
        with engine.repeated(times):
            noisy_leaf_counts(engine, self.problem, zeros, self.noise.law(leaves * self.classes))

    @override
    def typical_cost(self) -> Counted:
        from protocols import cost_model
        from smc.counting import forecast

        tree, splits = super().typical_cost(), sum(cost_model.typical_splits(self.problem))
        leaves = 1 + round(splits * (cost_model.mean_domain(self.problem) - 1))

        def program(engine: CountingEngine) -> None:
            tree.program(engine)
            self._counts(engine, max(1, leaves))

        def most(profile: Profile) -> int | None:
            if (tree_bytes := tree.most(profile)) is None:
                return None
            nodes = cost_model.most_nodes(self.problem)
            return tree_bytes + forecast(lambda engine: self._counts(engine, nodes), profile).bytes

        return replace(tree, program=program, most=most)

    @override
    def with_result(self, state: State) -> Program:
        from protocols.release.leaf_counts import leaves_of, noisy_leaf_counts

        tree, shape = super().with_result(state.tree), (leaves_of(state.tree), self.classes)

        def program(engine: CountingEngine) -> None:
            tree(engine)
            engine.answers = None
            zeros = np.zeros(shape, dtype=np.int64)
            noisy_leaf_counts(engine, self.problem, zeros, self.noise.law(zeros.size))

        return program

    @override
    def reached(self, trees: Forest) -> State:
        (tree,) = trees
        return Supported(tree)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        from protocols.release.leaf_counts import leaf_counts, leaves_of
        from protocols.tree import decided_levels, open_depth

        tree = start.tree
        if open_depth(tree) is not None:
            tree = super().run(engine, data, tree, on_step)
        leaves = leaves_of(tree)
        description = f"counting the rows of {leaves:,} {'leaf' if leaves == 1 else 'leaves'}"
        on_step(Step(decided_levels(tree), leaves, Supported(tree), description))
        counts = leaf_counts(engine, self.problem, data, tree, self.noise.law(leaves * self.classes))
        return Supported(tree, tuple(tuple(row) for row in counts.tolist()))

    # States.

    @property
    @override
    def states(self) -> States:
        """Levels of the tree, then the counts of its leaves."""
        trees = super().states

        def steps(state: Supported) -> int:
            return trees.steps(state.tree) + (state.counts is not None)

        def encode(state: Supported) -> Any:
            return {"tree": trees.encode(state.tree), "counts": state.counts and [list(row) for row in state.counts]}

        def decode(value: Any) -> Supported:
            return Supported(trees.decode(value["tree"]), value["counts"] and tuple(map(tuple, value["counts"])))

        return States(
            beginning := Supported(trees.beginning),
            steps,
            lambda state: state.counts is not None,
            lambda state, n: state if n >= steps(state) else Supported(trees.cut(state.tree, n)),
            lambda state: None if state == beginning else encode(state),
            lambda value: beginning if value is None else decode(value),
        )

    @override
    def tree_file(self, state: State) -> TreeFile:
        from parties.models.trees.tree import Support

        classes, reach = self.schema.attributes[self.target], (self.noise.reach(self.classes), self.noise.reach())
        supports = iter([Support(dict(zip(classes, row, strict=True)), *reach) for row in state.counts])
        whole = super().tree_file(state.tree)
        return replace(whole, tree=named(state.tree, self.schema, self.target, self.questions, supports))

    @override
    def state_of_trees(self, tree_file: TreeFile) -> State:
        tree = indexed(tree_file.tree, self.schema, self.target, self.questions)
        return Supported(tree, indexed_counts(tree_file.tree, self.schema, self.target))
