"""Several trees that grow together: a state is a tuple of trees so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.jobs.kind import State
from parties.jobs.tree.joint import JointTree
from parties.jobs.tree.result import indexed, named

if TYPE_CHECKING:
    from parties.models.trees.tree import Node, TreeFile


class SeveralTrees(JointTree):
    """As many trees as `settings.trees` says."""

    @property
    @override
    def beginning(self) -> State:
        from protocols.tree import Open

        return (Open(),) * self.settings.trees

    @override
    def steps(self, state: State) -> int:
        """See `Kind.steps`: as many as the deepest tree has."""
        from protocols.tree import decided_levels

        return max(map(decided_levels, state))

    @override
    def is_done(self, state: State) -> bool:
        from protocols.tree import open_depth

        return all(open_depth(tree) is None for tree in state)

    @override
    def cut(self, state: State, steps: int) -> State:
        from protocols.tree import cut

        return tuple(cut(tree, min(steps, self.steps(state))) for tree in state)

    @override
    def encode(self, state: State) -> Any:
        """See `Kind.encode`: a list of trees, null for the beginning."""
        from protocols.tree import encode

        return None if state == self.beginning else [encode(tree) for tree in state]

    @override
    def decode(self, value: Any) -> State:
        from protocols.tree import decode

        return self.beginning if value is None else tuple(map(decode, value))

    def named(self, state: State) -> list[Node]:
        """Return the trees with the schema's names."""
        return [named(tree, self.schema, self.target, self.questions) for tree in state]

    def indexed(self, tree_file: TreeFile) -> State:
        """Return the inverse of `named`."""
        return tuple(indexed(tree, self.schema, self.target, self.questions) for tree in tree_file.trees)
