"""A tree of indices with the schema's names, and the forms in which the result of an `id3` can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parties.jobs.kind import Document, File
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.types import OrderedType, type_of
from smc.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parties.models.trees.tree import Node, Support, TreeFile
    from protocols.edges import Questions
    from protocols.tree import Tree

SHORTER = "(left out: {fewer:,} of {all:,} questions, with answers that all agree; the result as JSON keeps them)\n"


def named(
    tree: Tree, schema: Schema, target: str, questions: Questions, supports: Iterator[Support] | None = None
) -> Node:
    """Return the protocol's tree of questions with the schema's names; with the support of each leaf in reading
    order."""
    from parties.models.trees.tree import Leaf, Split
    from protocols import tree as indices

    if isinstance(tree, indices.Leaf):
        return Leaf(schema.attributes[target][tree.label], None if supports is None else next(supports))
    if isinstance(tree, indices.Open):
        raise ValueError("the tree is not finished")
    column, edge = questions.asked[tree.attribute]
    attribute = schema.features(target)[column]
    values = schema.attributes[attribute]
    words = sides(values, edge) if edge else values
    children = [named(child, schema, target, questions, supports) for child in tree.children]
    return Split(attribute, dict(zip(words, children, strict=True)), tuple(values) if edge else (), edge)


def sides(values: tuple[str, ...], edge: int) -> tuple[str, str]:
    """Return the words for a column's values below an edge, and for the others; a missing value is the last.

    Values without an order are cut in that of the schema; the edge -1 has the second value alone for the others.

    Examples:
        >>> sides(("high", "low", "med"), 1)
        ('is high', 'is not high')
        >>> sides(("high", "low", "med"), -1)
        ('is not low', 'is low')
        >>> from parties.tables.types import Domain, IntegerType
        >>> sides(Domain(IntegerType(low=0, high=99, edges=(18, 65), missing=True)), 2)
        ('< 65', '>= 65 or ?')
    """
    column = type_of(values)
    if not isinstance(column, OrderedType):
        first, rest = " or ".join(values[:edge]), " or ".join(values[edge:] if edge > 0 else [values[-edge]])
        return (f"is {first}", f"is not {first}") if 0 < 2 * edge <= len(values) else (f"is not {rest}", f"is {rest}")
    if edge == len(column.labels):
        return "is known", f"is {MISSING}"
    start = column.starts[edge - 1]
    return f"< {start}", f">= {start}" + (f" or {MISSING}" if len(values) > len(column.labels) else "")


def indexed(tree: Node, schema: Schema, target: str, questions: Questions) -> Tree:
    """Return the inverse of `named`. `InputError` for a name or a question that the job does not have."""
    from parties.models.trees.tree import Leaf
    from protocols import tree as indices

    features = schema.features(target)
    try:
        if isinstance(tree, Leaf):
            return indices.Leaf(schema.attributes[target].index(tree.label))
        values = schema.attributes[tree.attribute]
        words = sides(values, tree.edge) if tree.edge else values
        children = tuple(indexed(tree.branches[word], schema, target, questions) for word in words)
        return indices.Split(questions.asked.index((features.index(tree.attribute), tree.edge)), children)
    except (ValueError, KeyError):
        raise InputError("the tree does not fit the schema and --splits (--plain has multiway)") from None


def indexed_counts(tree: Node, schema: Schema, target: str) -> tuple[tuple[int, ...], ...]:
    """Return the counts of the leaves in reading order, by class. `InputError` if a leaf has none, or of others."""
    from parties.models.trees.tree import Leaf, places

    classes = schema.attributes[target]
    rows = []
    for place in places(tree):
        if isinstance(place.node, Leaf):
            support = place.node.support
            if support is None or set(support.counts) != set(classes):
                raise InputError("the tree has no counts of its leaves for these classes: leave out support_epsilon")
            rows.append(tuple(support.counts[label] for label in classes))
    return tuple(rows)


def text(document: Document) -> str:
    """Return the tree as indented text, and how many questions whose answers all agree are left out of it."""
    from parties.models.trees.reading import asking, simplified
    from parties.models.trees.text import to_text

    whole = _tree_file(document)
    every = _questions(whole)
    left_out = every - _questions(asking(whole))
    return to_text(simplified(whole)) + (SHORTER.format(fewer=left_out, all=every) if left_out else "")


def _questions(tree_file: TreeFile) -> int:
    """Return how many questions the trees of a result ask."""
    from parties.models.trees.tree import size

    return sum(tree.nodes - tree.leaves for tree in map(size, tree_file.trees))


def rules(document: Document) -> str:
    """Return the tree as sentences; of a forest, each tree's after its number."""
    from parties.models.trees.reading import to_rules

    trees = _tree_file(document).trees
    if len(trees) == 1:
        return to_rules(trees[0])
    return "".join(f"tree {number}\n{to_rules(tree)}" for number, tree in enumerate(trees, 1))


def dot(document: Document) -> str:
    """Return the tree in Graphviz's DOT."""
    from parties.models.trees.reading import simplified
    from parties.models.trees.text import to_dot

    tree_file = _tree_file(document)
    return to_dot(simplified(tree_file), tree_file.target)


def picture(document: Document) -> str:
    """Return the tree as an SVG document."""
    from parties.models.trees.drawing import draw_svg
    from parties.models.trees.reading import simplified

    tree_file = _tree_file(document)
    return draw_svg(simplified(tree_file), tree_file.target, f"Decision tree for {tree_file.target}")


FILES = (
    File("tree.txt", "text/plain", text),
    File("rules.txt", "text/plain", rules, "rules"),
    File("tree.dot", "text/vnd.graphviz", dot, "dot", ("graphviz",)),
    File("tree.svg", "image/svg+xml", picture, "svg"),
)


def _tree_file(document: Document) -> TreeFile:
    """Return the checked tree of a result. `InputError` if it cannot be read."""
    from parties.models.trees.tree import TreeFile

    try:
        return TreeFile.parse(document)
    except ValueError as error:
        raise InputError(f"the tree of this job cannot be read: {error}") from None
