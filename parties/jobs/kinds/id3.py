"""Learn a decision tree."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.joint import JointTree
from parties.jobs.tree.private import PrivateTree
from parties.tables.schema import Schema


class Id3(JointTree):
    """Learn the decision tree of the rows of both parties. Both learn the tree, and nothing else.

    Two settings reveal more. With --prune holdout both learn the tree before it is pruned; with --support-epsilon also
    noisy row counts of its leaves.
    """

    @classmethod
    @override
    def of(cls, settings: Any, schema: Schema, target: str) -> JointTree:
        if settings.epsilon is not None:
            return PrivateTree(settings, schema, target)
        if settings.prune == "holdout":
            from parties.jobs.tree.holdout import HoldoutTree

            return HoldoutTree(settings, schema, target)
        if settings.support_epsilon is None:
            return ExactTree(settings, schema, target)
        from parties.jobs.tree.supported import SupportedTree

        return SupportedTree(settings, schema, target)
