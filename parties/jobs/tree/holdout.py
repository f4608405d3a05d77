"""Exact tree that is pruned with held-out rows after growth: each further step judges one level, the deepest first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Bits, Counted, Disclosure, OnStep, State, States, Step
from parties.jobs.tree.exact import ExactTree
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols.counts import Rows
    from protocols.holdout import Parts, Verdicts
    from protocols.tree import Forest, Tree
    from smc.counting import CountingEngine, Program
    from smc.engines import Engine, Profile

JUDGED, LABEL = "whether a split becomes a leaf", "class of a split that becomes a leaf"
LARGEST_PART = 1 << 13  # counts of one part in a forecast


@dataclass(frozen=True)
class Judged:
    """A tree; once finished, also the decisions on its splits (keep or prune) by level, the deepest first."""

    tree: Tree
    levels: tuple[Verdicts, ...] = ()


class HoldoutTree(ExactTree):
    """Task of `protocols.id3`, then `protocols.holdout`."""

    specified = (*ExactTree.specified, "holdout")

    @override
    def check_noise(self) -> None:
        """Also reject settings that cannot be combined with held-out rows."""
        from protocols.holdout import MOST_ROWS

        super().check_noise()
        if self.settings.support_epsilon is not None:
            raise InputError("support_epsilon cannot be combined with prune holdout; remove one of them")
        if self.settings.max_rows > MOST_ROWS:
            raise InputError(
                f"max_rows: prune holdout takes at most {MOST_ROWS:,} rows; lower max_rows or remove prune holdout"
            )

    @property
    @override
    def disclosure(self) -> Disclosure:
        """The openings of the tree, and of each split whether it becomes a leaf, and its class."""
        from protocols import cost_model
        from protocols.openings import index_width
        from protocols.tree import decided_levels, open_depth

        of_tree, of_split = super().disclosure, 1 + index_width(self.classes)

        def reveals(peer: str) -> list[str]:
            first, *rest = of_tree.reveals(peer)
            grown = (
                "It is grown on some of these rows, and opened whole before it is pruned: then both learn which of its "
                f"branches do no better than a leaf on the other {self.settings.holdout:.0%}, which each holds out of "
                "its own rows in secret, and the classes of such leaves."
            )
            return [first, grown, *rest]

        def opened(state: Judged, step: int | None = None) -> dict[str, int]:
            first = 0 if step is None else step - decided_levels(state.tree)
            last = len(state.levels) if step is None else first + 1
            labels = [label for level in state.levels[max(0, first) : max(0, last)] for label in level]
            judged = {JUDGED: len(labels), LABEL: sum(label is not None for label in labels)}
            return {**of_tree.opened(state.tree, step), **judged}

        def bits(step: Step) -> int:
            return step.size * of_split if open_depth(step.state.tree) is None else of_tree.bits.of_step(step)

        grown = self.bits_of_nodes(cost_model.most_nodes(self.problem))
        most = grown + sum(cost_model.most_splits(self.problem)) * of_split
        question = f"{of_tree.question}, then pruned by rows held out"
        return replace(of_tree, reveals=reveals, opened=opened, bits=Bits(bits, most), question=question)

    # Cost and execution.

    @property
    @override
    def without_holders(self) -> str | None:
        return "--prune holdout judges the rows that each party holds out by itself"

    def _count(self, engine: CountingEngine, levels: list[int]) -> None:
        """Count the steps that judge these numbers of splits, large ones in parts."""
        from protocols.holdout import verdicts

        engine.answers = None
        for splits in levels:
            times = -(-splits * self.classes // LARGEST_PART)
            zeros = np.zeros((-(-splits // times), self.classes), dtype=np.int64)
            with engine.repeated(times):
                verdicts(engine, self.problem, zeros, zeros)

    @override
    def typical_cost(self) -> Counted:
        from protocols import cost_model
        from smc.counting import forecast

        tree = super().typical_cost()
        levels = [splits for splits in cost_model.typical_splits(self.problem) if splits]

        def program(engine: CountingEngine) -> None:
            tree.program(engine)
            self._count(engine, levels[::-1])

        def most(profile: Profile) -> int | None:
            if (tree_bytes := tree.most(profile)) is None:
                return None
            splits = cost_model.most_splits(self.problem)
            return tree_bytes + forecast(lambda engine: self._count(engine, splits), profile).bytes

        return replace(tree, program=program, most=most)

    @override
    def with_result(self, state: State) -> Program:
        tree = super().with_result(state.tree)

        def program(engine: CountingEngine) -> None:
            tree(engine)
            self._count(engine, [len(level) for level in state.levels])

        return program

    @override
    def own_rows(self, source: Rows, secret: bytes = b"") -> Parts:
        """Hold out some rows, drawn with `secret`."""
        from protocols.holdout import Parts, parted

        parts = parted(self.domains, self.classes, source, self.settings.holdout, secret)
        return Parts(*map(self.by_questions, parts))

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        from protocols.holdout import heights, prune
        from protocols.tree import decided_levels, open_depth

        tree = start.tree
        if open_depth(tree) is not None:
            tree = super().run(engine, data.growing, tree, on_step)

        def on_level(levels: tuple[Verdicts, ...], splits: int) -> None:
            depth = heights(tree) - 1 - len(levels)
            description = f"pruning level {depth} with {splits:,} {'split' if splits == 1 else 'splits'}"
            on_step(Step(decided_levels(tree) + len(levels), splits, Judged(tree, levels), description))

        return Judged(tree, prune(engine, self.problem, data, tree, start.levels, on_level))

    @override
    def reached(self, trees: Forest) -> State:
        (tree,) = trees
        return Judged(tree)

    # States.

    @property
    @override
    def states(self) -> States:
        """Levels of the tree, then judged levels."""
        from protocols.holdout import heights

        trees = super().states

        def cut(state: Judged, steps: int) -> Judged:
            levels = trees.steps(state.tree)
            return Judged(trees.cut(state.tree, min(steps, levels)), state.levels[: max(0, steps - levels)])

        return States(
            beginning := Judged(trees.beginning),
            lambda state: trees.steps(state.tree) + len(state.levels),
            lambda state: trees.is_done(state.tree) and len(state.levels) == heights(state.tree),
            cut,
            lambda state: (
                None
                if state == beginning
                else {"tree": trees.encode(state.tree), "levels": [list(level) for level in state.levels]}
            ),
            lambda value: (
                beginning if value is None else Judged(trees.decode(value["tree"]), tuple(map(tuple, value["levels"])))
            ),
        )

    @override
    def tree_file(self, state: State) -> TreeFile:
        from protocols.holdout import pruned

        return super().tree_file(pruned(state.tree, state.levels))

    @override
    def state_of_trees(self, tree_file: TreeFile) -> State:
        raise InputError("--tree: a pruned tree does not show its cost; remove --tree")
