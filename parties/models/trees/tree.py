"""Decision trees as results: the model, and its file.

`tree.json` is {"schema_digest": ..., "target": ..., "tolerance": ..., "tree": NODE}, where a NODE is either
{"class": "yes"} or {"attribute": "outlook", "branches": {"sunny": NODE, ...}} with every value of the attribute.
A leaf with noisy counts also has {"counts": {"yes": 12, ...}, "within": {"rows": 4, "right": 3}}.
A tree with noise has {"epsilon": ..., "adjacency": ..., "quality": ...} instead of tolerance (and "at_most" if it
protects people); a forest, whose trees vote, has {"trees": [NODE, ...]} instead of one tree. A split by an edge is a
NODE such as {"attribute": "age", "from": "40 to 64", "branches": {"< 40": NODE, ">= 40": NODE}}: the second branch is
for this value and those after it in "ordered": {"age": ["under 18", "18 to 39", "40 to 64", "65 and over"], ...}, which
stands beside the trees. With "is" instead of "from" the second branch is for this value alone, one between others.
"split", if there, describes the rows that were held out of training (`parties.tables.split`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from parties.base import file_kinds, files
from parties.base.text import printable, quoted
from parties.tables.split import Split as RowSplit
from smc.errors import InputError

MAX_DEPTH = 200  # well below Python's recursion limit for everything here that descends a tree


class NoBranchError(InputError):
    """Error for a row with a value for which the tree has no branch."""


@dataclass(frozen=True)
class Support:
    """Noisy counts of a leaf's rows by class, with 95 % error bounds of their sum and of the leaf's own class."""

    counts: Mapping[str, int]
    rows_within: int
    right_within: int

    def __add__(self, other: Support) -> Support:
        """Return the joint support of two leaves; root sums of squares are valid bounds for sums of such noise."""
        counts = {label: count + other.counts.get(label, 0) for label, count in self.counts.items()}
        rows = math.ceil(math.hypot(self.rows_within, other.rows_within))
        return Support(counts, rows, math.ceil(math.hypot(self.right_within, other.right_within)))

    def words(self, label: str) -> str:
        """Return the description of the number of rows and of the share of the class."""
        rows, right = sum(self.counts.values()), self.counts.get(label, 0)
        about = f"about {max(0, rows):,} rows ± {self.rows_within:,}"
        if rows <= 0:
            return about
        low = min(1.0, max(0, right - self.right_within) / (rows + self.rows_within))
        most = max(0, right + self.right_within) / max(1, rows - self.rows_within)
        share = min(1.0, max(0.0, right / rows))
        return f"{about}, {share:.0%} right ({low:.0%} to {min(1.0, max(most, share)):.0%})"


@dataclass(frozen=True)
class Leaf:
    """A class, with its support if its rows were counted."""

    label: str
    support: Support | None = None

    @property
    def words(self) -> str:
        """Text of the leaf: its class, and the description of its support."""
        return self.label if self.support is None else f"{self.label}, {self.support.words(self.label)}"


@dataclass(frozen=True)
class Split:
    """A question, and the subtree for each value of the attribute, in schema order.

    With an `edge` there are two subtrees: one for the first `edge` values in `order`, one for the others. A negative
    edge separates the value at index -edge, which leads to the second subtree.
    """

    attribute: str
    branches: dict[str, Node]
    order: tuple[str, ...] = ()
    edge: int = 0

    @property
    def values(self) -> tuple[str, ...]:
        """Values of the split's column, each of which leads to a subtree."""
        return self.order or tuple(self.branches)

    @property
    def second(self) -> range:
        """Indices in `order` of the values that lead to the second of two subtrees."""
        return range(self.edge, len(self.order)) if self.edge > 0 else range(-self.edge, 1 - self.edge)

    def below(self, value: str) -> Node:
        """Return the subtree to which a value leads."""
        if not self.edge:
            return self.branches[value]
        first, second = self.branches.values()
        return second if self.order.index(value) in self.second else first

    def statement(self, branch: str) -> str:
        """Return the condition of the rows in a branch, such as `wind = weak` or `age < 40`."""
        return f"{self.attribute} {branch}" if self.edge else f"{self.attribute} = {branch}"


Node: TypeAlias = Leaf | Split


@dataclass(frozen=True)
class Size:
    """Size of a tree. `depth` counts the splits on the longest path; `nodes` includes the leaves."""

    nodes: int
    leaves: int
    depth: int


@dataclass(frozen=True)
class Noise:
    """Privacy parameters of a tree with noise: epsilon, adjacency, and the quality measure of splits.

    It protects `at_most` rows of a person together; None means one row.
    """

    epsilon: float
    adjacency: str
    quality: str
    at_most: int | None = None

    def fields(self) -> dict[str, object]:
        """Return the parameters as fields of `tree.json`."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class TreeFile:
    """A tree with the question that it answers: the schema (by digest), the target, and the tolerance or noise.

    A forest has `others` besides the first tree.
    """

    schema_digest: str
    target: str
    tolerance: float | None
    tree: Node
    noise: Noise | None = None
    others: tuple[Node, ...] = ()
    split: RowSplit | None = None  # rows that were held out of training

    @property
    def trees(self) -> tuple[Node, ...]:
        """All trees in the file: one, or those of a forest."""
        return (self.tree, *self.others)

    def fields(self) -> dict[str, Any]:
        """Return the content of `tree.json`."""
        noise = {"tolerance": self.tolerance} if self.noise is None else self.noise.fields()
        trees = [to_json(tree) for tree in self.trees]
        tree_fields = {"trees": trees} if self.others else {"tree": trees[0]}
        splits = [place.node for tree in self.trees for place in places(tree) if isinstance(place.node, Split)]
        orders = {split.attribute: list(split.order) for split in splits if split.edge}
        ordered = {"ordered": orders} if orders else {}
        held_out = self.split.fields() if self.split is not None else {}
        question = {"schema_digest": self.schema_digest, "target": self.target}
        return {**question, **noise, **held_out, **ordered, **tree_fields}

    def dump(self, path: Path) -> None:
        """Write `tree.json`. Raise InputError if the file cannot be written."""
        files.write_json(path, self.fields())

    @classmethod
    def parse(cls, fields: object) -> TreeFile:
        """Return the tree in the content of `tree.json`. Raise ValueError with the JSON path of an error."""
        return _tree_file(fields)

    @classmethod
    def load(cls, path: Path) -> TreeFile:
        """Return the tree in a `tree.json`. Raise InputError with the file and the JSON path of an error."""
        remedy = "give a file that smc id3 --out or smc forest --out wrote"
        with file_kinds.expecting(path, (file_kinds.TREE, file_kinds.FOREST, file_kinds.JSON), remedy):
            try:
                fields = files.read_json(path, object_pairs_hook=_unique, parse_int=float, parse_constant=float)
                return cls.parse(fields)
            except ValueError as error:
                raise InputError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Place:
    """A node in its tree: index of its parent in `places`, value that leads to it, depth."""

    node: Node
    parent: int | None
    value: str | None
    depth: int


def places(tree: Node) -> list[Place]:
    """Return all nodes in reading order: each before its branches, branches in order. The root has no parent."""
    nodes: list[Place] = []
    waiting = [Place(tree, None, None, 0)]
    while waiting:
        place = waiting.pop()
        if isinstance(place.node, Split):
            below = [Place(b, len(nodes), v, place.depth + 1) for v, b in place.node.branches.items()]
            waiting.extend(reversed(below))
        nodes.append(place)
    return nodes


def domains(trees: Sequence[Node]) -> dict[str, tuple[str, ...]]:
    """Return the values of each attribute in the trees, in reading order."""
    values: dict[str, tuple[str, ...]] = {}
    for place in (place for tree in trees for place in places(tree)):
        if isinstance(place.node, Split):
            values.setdefault(place.node.attribute, place.node.values)
    return values


def size(tree: Node) -> Size:
    """Return the numbers of nodes and leaves of a tree, and its depth."""
    nodes = places(tree)
    leaves = sum(isinstance(place.node, Leaf) for place in nodes)
    return Size(len(nodes), leaves, max(place.depth for place in nodes))


def to_json(tree: Node) -> dict[str, Any]:
    """Return a tree in the form of `tree.json`."""
    if isinstance(tree, Leaf):
        if tree.support is None:
            return {"class": tree.label}
        support = tree.support
        within = {"rows": support.rows_within, "right": support.right_within}
        return {"class": tree.label, "counts": dict(support.counts), "within": within}
    edge = {"from" if tree.edge > 0 else "is": tree.order[abs(tree.edge)]} if tree.edge else {}
    return {
        "attribute": tree.attribute,
        **edge,
        "branches": {value: to_json(branch) for value, branch in tree.branches.items()},
    }


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raise ValueError for a repeated key; the standard parser would keep the last one."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {quoted(repeated)} stands twice in one object")
    return fields


def _tree_file(fields: object) -> TreeFile:
    """Parse the outermost object of `tree.json`. Raise ValueError with the JSON path of an error."""
    present = fields if isinstance(fields, dict) else {}
    with_noise = ("epsilon", "adjacency", "quality", *(("at_most",) if "at_most" in present else ()))
    privacy = with_noise if "epsilon" in present else ("tolerance",)
    is_forest = isinstance(fields, dict) and "trees" in fields
    ordered = fields.get("ordered") if isinstance(fields, dict) else None
    orders = _orders(ordered) if ordered is not None else {}
    keys = ("schema_digest", "target", *privacy, "trees" if is_forest else "tree")
    split = RowSplit.parse(fields)
    more = (*(("ordered",) if orders else ()), *(("split",) if split is not None else ()))
    digest, target, *how, content = _fields(fields, "$", keys, more)
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise ValueError("$.schema_digest: must be 64 hexadecimal digits")
    noise = _noise(*how) if len(how) > 1 else None
    tolerance = None if noise else how[0]
    if noise is None and (not isinstance(tolerance, float) or not 0 < tolerance <= 1):
        raise ValueError("$.tolerance: must be a number > 0 and <= 1")
    target = _text(target, "$.target")
    if is_forest and (not isinstance(content, list) or len(content) < 2):
        raise ValueError("$.trees: must be a list of two trees or more")
    parser, places = (
        _Parser(target, orders),
        [f"$.trees[{i}]" for i in range(len(content))] if is_forest else ["$.tree"],
    )
    trees = [
        parser.node(tree, place, ()) for tree, place in zip(content if is_forest else [content], places, strict=True)
    ]
    return TreeFile(digest, target, tolerance, trees[0], noise, tuple(trees[1:]), split)


def _orders(value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        raise ValueError("$.ordered: must be an object with the values of a column at least")
    orders: dict[str, tuple[str, ...]] = {}
    for name, values in value.items():
        where = f"$.ordered{_key(name)}"
        if not isinstance(values, list) or len(values) < 2:
            raise ValueError(f"{where}: must be a list of two values or more")
        orders[name] = tuple(_text(text, where) for text in values)
        if len(set(values)) < len(values):
            raise ValueError(f"{where}: a value stands twice")
    return orders


def _noise(epsilon: object, adjacency: object, quality: object, at_most: object = None) -> Noise:
    if not isinstance(epsilon, int | float) or isinstance(epsilon, bool) or not 0 < epsilon < math.inf:
        raise ValueError("$.epsilon: must be a number > 0")
    if at_most is not None and not (isinstance(at_most, int | float) and at_most >= 1 and at_most == int(at_most)):
        raise ValueError("$.at_most: must be a whole number from 1 up")
    rows = None if at_most is None else int(at_most)
    return Noise(float(epsilon), _text(adjacency, "$.adjacency"), _text(quality, "$.quality"), rows)


class _Parser:
    """Parser of nodes that also checks that an attribute has equal values throughout the tree."""

    def __init__(self, target: str, orders: dict[str, tuple[str, ...]]) -> None:
        self._target = target
        self._orders = orders
        self._domains: dict[str, tuple[str, ...]] = {}

    def node(self, fields: object, where: str, above: tuple[tuple[str, int], ...]) -> Node:
        """Return the node at the JSON path `where`, below splits by the attributes and edges `above`.

        Args:
            fields: The JSON value.
            where: JSON path of the value.
            above: Attributes and edges on the path from the root.

        Raises:
            ValueError: The value is not a valid node; the message has the JSON path.
        """
        if isinstance(fields, dict) and "class" in fields:
            if "counts" not in fields:
                (label,) = _fields(fields, where, ("class",))
                return Leaf(_text(label, f"{where}.class"))
            label, counts, within = _fields(fields, where, ("class", "counts", "within"))
            return Leaf(_text(label, f"{where}.class"), _support(counts, within, where))
        by_edge = tuple(key for key in ("from", "is") if isinstance(fields, dict) and key in fields)
        attribute, branches, *start = _fields(fields, where, ("attribute", "branches", *by_edge[:1]))
        attribute = _text(attribute, f"{where}.attribute")
        order, edge = self._edge(attribute, by_edge[0], start[0], where) if by_edge else ((), 0)
        if attribute == self._target or any(a == attribute and e in (0, edge) for a, e in above):
            reason = "is the target" if attribute == self._target else "was asked before on this path"
            raise ValueError(f"{where}.attribute: {quoted(attribute)} {reason}")
        if len(above) == MAX_DEPTH:
            raise ValueError(f"{where[:60]}…: more than {MAX_DEPTH} levels")
        if not isinstance(branches, dict) or not branches:
            raise ValueError(f"{where}.branches: must be an object with a node for every value")
        words = tuple(_text(value, f"{where}.branches") for value in branches)
        if by_edge and len(words) != 2:
            kind = "below and from" if edge > 0 else "other than and for"
            raise ValueError(f"{where}.branches: must be two, {kind} {quoted(order[abs(edge)])}{' on' * (edge > 0)}")
        values = order or words
        if self._domains.setdefault(attribute, values) != values:
            raise ValueError(f"{where}.branches: {quoted(attribute)} has other values elsewhere in the tree")
        path = (*above, (attribute, edge))
        nodes = {v: self.node(n, f"{where}.branches{_key(v)}", path) for v, n in branches.items()}
        return Split(attribute, nodes, order, edge)

    def _edge(self, attribute: str, key: str, start: object, where: str) -> tuple[tuple[str, ...], int]:
        """Parse a split in two: return the ordered values of its column, and the edge; see `Split`.

        `start` is the value under the node's `key`, which is `from` or `is`.
        """
        order = self._orders.get(attribute, ())
        if start not in (order[1:] if key == "from" else order[1:-1]):
            which = "not the first" if key == "from" else "neither the first nor the last"
            raise ValueError(f"{where}.{key}: must be a value of {quoted(attribute)} in $.ordered, and {which}")
        return order, order.index(str(start)) * (1 if key == "from" else -1)


def _support(counts: object, within: object, where: str) -> Support:
    """Parse the noisy counts of a leaf and their error bounds `within`; `where` is the leaf's path in the JSON file."""
    if not isinstance(counts, dict) or not counts or not all(map(_is_whole, counts.values())):
        raise ValueError(f"{where}.counts: must be an object with a whole number for every class")
    bounds = _fields(within, f"{where}.within", ("rows", "right"))
    if not all(_is_whole(bound) and bound >= 0 for bound in bounds):
        raise ValueError(f"{where}.within: must be whole numbers from 0 up")
    named = {_text(label, f"{where}.counts"): int(count) for label, count in counts.items()}
    return Support(named, *map(int, bounds))


def _is_whole(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()


def _fields(fields: object, where: str, keys: tuple[str, ...], more: tuple[str, ...] = ()) -> list[Any]:
    """Return the values of `keys` of a JSON object. Raise ValueError unless its keys are these and `more`."""
    if not isinstance(fields, dict) or set(fields) != {*keys, *more}:
        raise ValueError(f"{where}: must be an object with {' and '.join(keys)}, and nothing else")
    return [fields[key] for key in keys]


def _text(value: object, where: str) -> str:
    """Return a name, value or class, at path `where`. Raise ValueError unless it is one line of text."""
    if not isinstance(value, str) or not value or printable(value) != value:
        raise ValueError(f"{where}: must be a line of text")
    return value


def _key(value: str) -> str:
    return f".{value}" if value.isidentifier() else f"[{quoted(value)}]"
