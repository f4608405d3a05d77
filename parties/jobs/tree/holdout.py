"""Exact tree that is pruned with held-out rows after growth: each further step judges one level, the deepest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Bits, Disclosure, OnStep, State, Step
from parties.jobs.tree.staged import LARGEST_PART, Staged, StagedTree
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols.counts import Rows
    from protocols.holdout import Parts, Verdicts
    from protocols.tree import Tree
    from smc.counting import CountingEngine
    from smc.engines import Engine

JUDGED, LABEL = "whether a split becomes a leaf", "class of a split that becomes a leaf"


class HoldoutTree(StagedTree):
    """Task of `protocols.id3`, then `protocols.holdout`; a stage is the decisions (keep or prune) on the splits of a
    level, the deepest level first.
    """

    key = "levels"
    specified = (*StagedTree.specified, "holdout")

    @override
    def check_noise(self) -> None:
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

        def opened(state: Staged, step: int | None = None) -> dict[str, int]:
            first = 0 if step is None else step - decided_levels(state.tree)
            last = len(state.after) if step is None else first + 1
            labels = [label for level in state.after[max(0, first) : max(0, last)] for label in level]
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

    @property
    @override
    def sizes(self) -> tuple[Sequence[int], Sequence[int]]:
        from protocols import cost_model

        typical = [splits for splits in cost_model.typical_splits(self.problem) if splits]
        return typical[::-1], cost_model.most_splits(self.problem)

    @override
    def count_stages(self, engine: CountingEngine, sizes: Sequence[int], largest: int = LARGEST_PART) -> None:
        from protocols.holdout import verdicts

        engine.answers = None
        for splits in sizes:
            times = -(-splits * self.classes // largest)
            zeros = np.zeros((-(-splits // times), self.classes), dtype=np.int64)
            with engine.repeated(times):
                verdicts(engine, self.problem, zeros, zeros)

    @override
    def own_rows(self, source: Rows, secret: bytes = b"") -> Parts:
        """Return the counts of the rows to learn from and of those held out; `secret` keys the draw."""
        from protocols.holdout import Parts, parted

        parts = parted(self.domains, self.classes, source, self.settings.holdout, secret)
        return Parts(*map(self.by_questions, parts))

    @override
    def growing(self, data: Any) -> Any:
        return data.growing

    @override
    def stages(self, tree: Tree) -> int:
        from protocols.holdout import heights

        return heights(tree)

    @override
    def run_stages(self, engine: Engine, data: Any, state: Staged, on_step: OnStep) -> tuple[Any, ...]:
        from protocols.holdout import prune
        from protocols.tree import decided_levels

        tree, stages = state.tree, self.stages(state.tree)

        def on_level(levels: tuple[Verdicts, ...], splits: int) -> None:
            description = f"pruning level {stages - 1 - len(levels)} with {splits:,} "
            description += "split" if splits == 1 else "splits"
            on_step(Step(decided_levels(tree) + len(levels), splits, Staged(tree, levels), description))

        return prune(engine, self.problem, data, tree, state.after, on_level)

    # Results.

    @override
    def file_of(self, state: State) -> TreeFile:
        from protocols.holdout import pruned

        return super().file_of(pruned(state.tree, state.after))

    @override
    def state_of_trees(self, tree_file: TreeFile) -> State:
        raise InputError("--tree: a pruned tree does not show its cost; remove --tree")
