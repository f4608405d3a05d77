"""The checkpoint of an ID3 job: the tree so far as JSON, and how two nodes find the last level that both have."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from parties.canonical import canonical
from protocols.tree import Leaf, Open, Split, Tree, cut, open_depth, walk
from smc.errors import ProtocolError
from smc.session import Session

ROUNDS, BYTES = 2, 2 * (8 + 32)  # what `common` costs, both ways


def to_json(tree: Tree) -> Any:
    """A tree of indices: null for an open node, a number for a leaf, [attribute, children] for a split."""
    if isinstance(tree, Split):
        return [tree.attribute, [to_json(child) for child in tree.children]]
    return tree.label if isinstance(tree, Leaf) else None


def from_json(value: Any) -> Tree:
    """The inverse of `to_json`."""
    if value is None:
        return Open()
    if isinstance(value, int):
        return Leaf(value)
    attribute, children = value
    return Split(attribute, tuple(from_json(child) for child in children))


def digest(tree: Tree) -> bytes:
    """SHA-256 of the tree."""
    return hashlib.sha256(canonical({"tree": to_json(tree)}).encode()).digest()


def decided(tree: Tree) -> int:
    """How many levels of the tree are decided."""
    depth = open_depth(tree)
    return depth if depth is not None else 1 + max(depth for _, depth in walk(tree))


def common(session: Session, own: Tree) -> Tree:
    """The tree down to the last level that both parties have decided, from which the session goes on.

    `ProtocolError` if the two do not have the same tree there, or are further apart than honest parties can be: each
    has written a level down before the next one is begun. A peer that could go back at will would see several trees.
    """
    levels = decided(own)
    with session.phase("checkpoint"):
        session.send("checkpoint.levels", np.array([levels], dtype=np.int64))
        theirs = int(session.receive("checkpoint.levels", np.int64, (1,))[0])
        if abs(theirs - levels) > 1:
            raise ProtocolError(f"the peer has decided {theirs} levels and this party {levels}: it cannot go on")
        start = cut(own, min(levels, theirs))
        known = digest(start)
        session.send("checkpoint.digest", np.frombuffer(known, dtype=np.uint8))
        if session.receive("checkpoint.digest", np.uint8, (32,)).tobytes() != known:
            raise ProtocolError(f"the two parties' trees differ above level {decided(start)}: the job cannot go on")
    return start
