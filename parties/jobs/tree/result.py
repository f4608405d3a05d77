"""Conversion of trees between indices and the schema's names, and the file forms of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parties.jobs.kind import SVG, Document, File
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.types import OrderedType, type_of
from smc.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parties.models.trees.tree import Node, Support, TreeFile
    from protocols.edges import Questions
    from protocols.tree import Tree

SHORTER = "(not shown: {fewer:,} of {all:,} splits, below which all leaves have one class; the JSON result has them)\n"


def named(
    tree: Tree, schema: Schema, target: str, questions: Questions, supports: Iterator[Support] | None = None
) -> Node:
    """Return the protocol's tree with the schema's names.

    Args:
        tree: The tree of indices, without open nodes.
        schema: The schema.
        target: Column of the classes.
        questions: Questions that a node can ask.
        supports: Noisy counts of the leaves, in reading order; None without counts.
    """
    from parties.models.trees.tree import Leaf, Split
    from protocols import tree as indices

    if isinstance(tree, indices.Leaf):
        return Leaf(schema.attributes[target][tree.label], None if supports is None else next(supports))
    if isinstance(tree, indices.Open):
        raise ValueError("the tree is not finished")
    column, edge = questions.asked[tree.attribute]
    attribute = schema.features(target)[column]
    values = schema.attributes[attribute]
    labels = sides(values, edge) if edge else values
    children = [named(child, schema, target, questions, supports) for child in tree.children]
    return Split(attribute, dict(zip(labels, children, strict=True)), tuple(values) if edge else (), edge)


def sides(values: tuple[str, ...], edge: int) -> tuple[str, str]:
    """Return the labels of the column's values below an edge and of the others; a missing value comes last.

    Values without an order are cut in the schema's order. The edge -1 separates the second value from the others.

    Args:
        values: Values of the column.
        edge: Number of values below the edge; negative: the index of a single value, times -1.

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
    """Return the tree of indices for a tree of names. Raise InputError for a name or question that the job lacks.

    Args:
        tree: Tree with the schema's names.
        schema: The schema.
        target: Column of the classes.
        questions: Questions that a node can ask.
    """
    from parties.models.trees.tree import Leaf
    from protocols import tree as indices

    features = schema.features(target)
    try:
        if isinstance(tree, Leaf):
            return indices.Leaf(schema.attributes[target].index(tree.label))
        values = schema.attributes[tree.attribute]
        labels = sides(values, tree.edge) if tree.edge else values
        children = tuple(indexed(tree.branches[word], schema, target, questions) for word in labels)
        return indices.Split(questions.asked.index((features.index(tree.attribute), tree.edge)), children)
    except (ValueError, KeyError):
        raise InputError("the tree has other splits; give the --splits of its job (--plain has multiway)") from None


def indexed_counts(tree: Node, schema: Schema, target: str) -> tuple[tuple[int, ...], ...]:
    """Return the counts of the leaves in reading order, by class. Raise InputError if a leaf lacks them.

    Args:
        tree: Tree with the schema's names.
        schema: The schema.
        target: Column of the classes.
    """
    from parties.models.trees.tree import Leaf, places

    classes = schema.attributes[target]
    rows = []
    for place in places(tree):
        if isinstance(place.node, Leaf):
            support = place.node.support
            if support is None or set(support.counts) != set(classes):
                raise InputError(
                    f"the tree has a leaf without counts of the values of {target}; "
                    "give a tree grown with --support-epsilon, or remove --support-epsilon"
                )
            rows.append(tuple(support.counts[label] for label in classes))
    return tuple(rows)


def text(document: Document) -> str:
    """Return the tree as indented text, and the number of omitted questions, whose answers all agree."""
    from parties.models.trees.reading import asking, simplified
    from parties.models.trees.text import to_text

    whole = tree_file(document)
    question_count = _questions(whole)
    left_out = question_count - _questions(asking(whole))
    return to_text(simplified(whole)) + (SHORTER.format(fewer=left_out, all=question_count) if left_out else "")


def _questions(tree_file: TreeFile) -> int:
    from parties.models.trees.tree import size

    return sum(tree.nodes - tree.leaves for tree in map(size, tree_file.trees))


def rules(document: Document) -> str:
    """Return the tree as sentences; each tree of a forest follows its number."""
    from parties.models.trees.reading import to_rules

    trees = tree_file(document).trees
    if len(trees) == 1:
        return to_rules(trees[0])
    return "".join(f"tree {number}\n{to_rules(tree)}" for number, tree in enumerate(trees, 1))


def dot(document: Document) -> str:
    """Return the simplified tree in Graphviz's DOT."""
    from parties.models.trees.reading import simplified
    from parties.models.trees.text import to_dot

    whole = tree_file(document)
    return to_dot(simplified(whole), whole.target)


def picture(document: Document) -> str:
    """Return the simplified tree as an SVG document."""
    from parties.models.trees.drawing import draw_svg
    from parties.models.trees.reading import simplified

    whole = tree_file(document)
    return draw_svg(simplified(whole), whole.target, f"Decision tree for {whole.target}")


FILES = (
    File("tree.txt", "text/plain", text),
    File("rules.txt", "text/plain", rules, "rules"),
    File("tree.dot", "text/vnd.graphviz", dot, "dot", ("graphviz",)),
    File("tree.svg", SVG, picture, "svg"),
)


def tree_file(document: Document) -> TreeFile:
    """Return the checked tree of a result. Raise InputError if it cannot be read."""
    from parties.models.trees.tree import TreeFile

    try:
        return TreeFile.parse(document)
    except ValueError as error:
        raise InputError(f"the tree of this job cannot be read: {error}") from None
