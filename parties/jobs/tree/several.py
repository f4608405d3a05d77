"""Trees that grow together: the state is a tuple of unfinished trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from parties.jobs.kind import State, States
from parties.jobs.tree.joint import JointTree
from parties.jobs.tree.result import indexed, named

if TYPE_CHECKING:
    from parties.models.trees.tree import Node, TreeFile


class SeveralTrees(JointTree):
    """Base class of tasks with `settings.trees` trees."""

    @property
    @override
    def states(self) -> States:
        """States with as many steps as the deepest tree has levels."""
        from protocols.tree import Open, cut, decided_levels, decode, encode, open_depth

        beginning = (Open(),) * self.settings.trees
        return States(
            beginning,
            lambda trees: max(map(decided_levels, trees)),
            lambda trees: all(open_depth(tree) is None for tree in trees),
            lambda trees, steps: tuple(cut(tree, min(steps, max(map(decided_levels, trees)))) for tree in trees),
            lambda trees: None if trees == beginning else [encode(tree) for tree in trees],
            lambda value: beginning if value is None else tuple(map(decode, value)),
        )

    def named(self, state: State) -> list[Node]:
        """Return the trees with the schema's names."""
        return [named(tree, self.schema, self.target, self.questions) for tree in state]

    def indexed(self, tree_file: TreeFile) -> State:
        """Return the inverse of `named`."""
        return tuple(indexed(tree, self.schema, self.target, self.questions) for tree in tree_file.trees)
