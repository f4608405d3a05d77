"""Several trees that grow together: from any level on they end as they would have, each node after its parent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.edges import Run, remaining
from protocols.grower import Grower, Level
from protocols.tree import Forest, Leaf, Open, Split, Tree, cut, decided_levels

DOMAINS, RUNS = (2, 3, 2, 2, 2, 2, 2), (Run(2, 4), Run(4, 7, True))


@st.composite
def trees(draw: st.DrawFn, left: tuple[int, ...] = tuple(range(7))) -> Tree:
    question = draw(st.sampled_from((None, *left)))
    if question is None:
        return Leaf(draw(st.integers(0, 2)))
    below = (remaining(RUNS, left, question, answer) for answer in range(DOMAINS[question]))
    return Split(question, tuple(draw(trees(rest)) for rest in below))


@given(forest=st.lists(trees(), min_size=1, max_size=3).map(tuple), data=st.data())
def test_a_forest_goes_on_from_any_level(forest: Forest, data: st.DataObject) -> None:
    depth = data.draw(st.integers(0, max(map(decided_levels, forest))))
    start = tuple(cut(tree, depth) for tree in forest)
    grower = Grower(DOMAINS, RUNS, start)
    ahead = [node for tree in forest for node in at(tree, depth)]
    parents = [1 + i for i in range(len(ahead))] if depth == 0 else numbered(forest, depth)
    seen: list[Level] = []
    for level in grower.levels(seen.append):
        assert level.trees == tuple(cut(tree, level.depth) for tree in forest)
        assert [parent - grower.parents[0] for parent in grower.parents] == [p - parents[0] for p in parents]
        for node, decided in zip(grower.nodes, ahead, strict=True):
            if isinstance(decided, Leaf):
                node.label = decided.label
            else:
                assert isinstance(decided, Split)
                assert decided.attribute in node.attributes
                node.attribute = decided.attribute
        splits = [node for node in ahead if isinstance(node, Split)]
        ahead = [child for node in splits for child in node.children]
        parents = [i for i, node in enumerate(splits) for _ in node.children]
    assert grower.trees == forest
    assert all(one is other for one, other in zip(grower.trees, grower.trees, strict=True)), "they are not made anew"
    assert [level.depth for level in seen] == list(range(depth, depth + len(seen)))


def at(tree: Tree, depth: int) -> list[Tree]:
    """The nodes at a depth."""
    if depth == 0:
        return [tree]
    return [node for child in tree.children for node in at(child, depth - 1)] if isinstance(tree, Split) else []


def numbered(forest: Forest, depth: int) -> list[int]:
    """The number of the parent of each node at a depth."""
    above = [node for tree in forest for node in at(tree, depth - 1) if isinstance(node, Split)]
    return [i for i, node in enumerate(above) for _ in node.children]


def test_open_nodes_lie_at_one_depth() -> None:
    with pytest.raises(ValueError, match=r"one depth, not \[0, 1\]"):
        Grower(DOMAINS, RUNS, (Open(), Split(0, (Open(), Leaf(0)))))
