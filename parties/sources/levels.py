"""A level of a growing tree as one SQL query, and its answer as counts.

The rows are a query with the columns c0, c1, ... (category indices of the attributes), y (index of the class) and n
(number of equal rows). The position of a row at a depth is the number of the first child of its split plus an offset.
The offset is the row's index of the split's attribute. For an ordered split it is whether the index reaches the edge; a
negative edge stands for a single value. A join with the splits one level up gives all positions. So the query has one
join for each level, with a table of one row for each split. No expression grows with the tree. Rows in leaves drop out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sqlglot.expressions as exp

from protocols.counts import Indices, LevelCounts
from protocols.tree import Open, Split, Tree, open_depth

SETS = 60  # grouping sets in one SELECT: Spark numbers grouping columns by the bits of a word
PLACE, ATTRIBUTE, VALUE, CLASS, ROWS = range(5)  # columns of an answer


@dataclass(frozen=True)
class GrowingTree:
    """A growing tree by depth: `splits` lists (position, attribute, position of the first child, edge) for each depth.

    `open_at`, int64[positions at the last depth], has the number of the open node at each position, -1 for other nodes.
    `path_values` has, for each open node, the attributes whose value is known from its path, and these values.
    """

    splits: list[list[tuple[int, int, int, int]]]
    open_at: Indices
    path_values: list[dict[int, int]]

    @classmethod
    def of(cls, tree: Tree) -> GrowingTree:
        """Return the splits of a tree by depth. All open nodes must have one depth."""
        level: list[tuple[Tree, dict[int, int]]] = [(tree, {})]
        splits: list[list[tuple[int, int, int, int]]] = []
        for _ in range(open_depth(tree) or 0):
            below: list[tuple[Tree, dict[int, int]]] = []
            step: list[tuple[int, int, int, int]] = []
            for place, (node, values) in enumerate(level):
                if isinstance(node, Split):
                    step.append((place, node.attribute, len(below), node.edge))
                    below += [
                        (child, values if node.edge else values | {node.attribute: v})
                        for v, child in enumerate(node.children)
                    ]
            splits.append(step)
            level = below
        is_open = np.array([isinstance(node, Open) for node, _ in level], dtype=bool)
        open_at: Indices = np.where(is_open, np.cumsum(is_open) - 1, -1)
        return cls(splits, open_at, [values for node, values in level if isinstance(node, Open)])

    def varying(self, attributes: int) -> list[int]:
        """Return the attributes that may have several values in an open node."""
        return [a for a in range(attributes) if any(a not in values for values in self.path_values)]

    def query(self, rows: exp.Query, attributes: Sequence[int]) -> exp.Query:
        """Return a query that counts rows by position in the tree, attribute, value and class.

        In its answer, -1 stands for a value that is not in the schema.

        Args:
            rows: Rows with the columns c0, c1, ..., y and n.
            attributes: Numbers of the attributes to count; if empty, rows are counted by position and class only.
        """
        placed = self._placed(rows, attributes)
        blocks = [attributes[i : i + SETS] for i in range(0, max(len(attributes), 1), SETS)]
        parts = [_counted(placed, block) for block in blocks]
        return exp.union(*parts, distinct=False) if len(parts) > 1 else parts[0]

    def _placed(self, rows: exp.Query, attributes: Sequence[int]) -> exp.Select:
        """Return a query for the rows, each with its position p at the last depth of the tree."""
        query = exp.Select().from_(rows.subquery("t"))
        place: exp.Expr = exp.convert(0)
        for depth, step in enumerate(self.splits):
            if depth == 0:
                (_, attribute, _, edge) = step[0]
                place = _answer(attribute, {edge}, exp.convert(edge))
                continue
            table = f"s{depth}"
            known = exp.values(step, alias=table, columns=["place", "attribute", "child", "edge"])
            query = query.join(known, on=exp.column("place", table).eq(place), copy=False)
            cells = exp.Case(this=exp.column("attribute", table))
            edges: dict[int, set[int]] = {}
            for _, attribute, _, edge in step:
                edges.setdefault(attribute, set()).add(edge)
            for attribute in sorted(edges):
                answer = _answer(attribute, edges[attribute], exp.column("edge", table))
                cells = cells.when(exp.convert(attribute), answer, copy=False)
            place = exp.column("child", table) + cells
        return query.select(
            place.as_("p"), *(_cell(attribute) for attribute in attributes), exp.column("y", "t"), exp.column("n", "t")
        )

    def counts(self, answer: Indices, domains: Sequence[int], classes: int, varying: Sequence[int]) -> LevelCounts:
        """Return the counts by class and by each attribute from an answer to `query`.

        Args:
            answer: Lines of the answer, int64[lines, 5].
            domains: Number of values of each attribute.
            classes: Number of classes.
            varying: Attributes that the query counts, see `varying`.
        """
        answer = np.column_stack([self.open_at[answer[:, PLACE]], answer[:, 1:]])
        answer = answer[answer[:, PLACE] >= 0]
        nodes = len(self.path_values)
        tables = {}
        for attribute in varying:
            lines = answer[answer[:, ATTRIBUTE] == attribute]
            tables[attribute] = _table((nodes, domains[attribute], classes), lines, (PLACE, VALUE, CLASS))
        of_classes = tables[varying[0]].sum(axis=1) if varying else _table((nodes, classes), answer, (PLACE, CLASS))
        values = tuple(
            tables[attribute] if attribute in tables else self._fixed(attribute, size, of_classes)
            for attribute, size in enumerate(domains)
        )
        return LevelCounts(of_classes, values)

    def _fixed(self, attribute: int, size: int, of_classes: Indices) -> Indices:
        """Return the counts by an attribute with a single value in each open node, which its path fixes."""
        table = np.zeros((len(of_classes), size, of_classes.shape[1]), dtype=np.int64)
        table[np.arange(len(of_classes)), [values[attribute] for values in self.path_values]] = of_classes
        return table


def _counted(placed: exp.Select, attributes: Sequence[int]) -> exp.Select:
    """Return the query that counts rows by position, attribute, value and class, see `GrowingTree.query`."""
    place, label = exp.column("p"), exp.column("y")
    which: exp.Expr = exp.convert(0)
    value: exp.Expr = exp.convert(0)
    sets = [[place, label]]
    if attributes:
        cells = [exp.column(f"c{attribute}") for attribute in attributes]
        which = exp.Case()
        for attribute, cell in zip(attributes, cells, strict=True):
            is_grouped = exp.Anonymous(this="GROUPING", expressions=[cell]).eq(0)
            which = which.when(is_grouped, exp.convert(attribute), copy=False)
        value = _known(*cells)
        sets = [[place, cell, label] for cell in cells]
    total = exp.cast(exp.Sum(this=exp.column("n")), "BIGINT")
    query = exp.Select().select(_known(place), which, value, _known(label), total).from_(placed.subquery("placed"))
    tuples = [exp.Tuple(expressions=[column.copy() for column in columns]) for columns in sets]
    query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=tuples)]))
    return query


def _cell(attribute: int) -> exp.Column:
    return exp.column(f"c{attribute}", "t")


def _answer(attribute: int, edges: set[int], edge: exp.Expr) -> exp.Expr:
    """Return the SQL of the child that a row goes to; `edge` is the SQL of the split's edge, one of `edges`.

    `protocols.tree.child_of` computes the same number.
    """
    cell = _cell(attribute)
    if edges == {0}:
        return cell
    second: exp.Expr = exp.GTE(this=cell.copy(), expression=edge.copy())
    if min(edges) < 0:
        second = exp.or_(exp.and_(edge.copy() > 0, second), cell.copy().eq(exp.Abs(this=edge.copy())))
    return exp.Case().when(second, exp.convert(1), copy=False).when(cell >= 0, exp.convert(0), copy=False)


def _known(*cells: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=cells[0].copy(), expressions=[*(cell.copy() for cell in cells[1:]), exp.convert(-1)])


def _table(shape: tuple[int, ...], answer: Indices, columns: tuple[int, ...]) -> Indices:
    table: Indices = np.zeros(shape, dtype=np.int64)
    table[tuple(answer[:, column] for column in columns)] = answer[:, ROWS]
    return table
