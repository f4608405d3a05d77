"""Puncturable PRFs from OT: one party holds all leaves of a binary tree, the other all but one of its choice.

Construction: Goldreich, Goldwasser, Micali (JACM 1986); punctured with one OT a level as in Roy, "SoftSpokenOT"
(CRYPTO 2022, section 4). A node's children are AES under the node's key of salt and salt ^ 1; the first level is the
pair of keys of the first OT. At every further level the holder offers the xor of all left and of all right children,
under the two keys of that level's OT, and the puncturer, who chose the side its path does *not* take, finds the one
sibling it lacks. Assumption: AES is a PRF.

Salts are public, one a session, tree and level (`tree_salts`), and differ but for a collision of SHA-256 cut to 88
bits. The puncturer lacks one node of a tree and level; so no two keys that it would like to guess, in all sessions that
it ever collects, have encrypted the same block, and one AES tests a guess against one of them: q of them find one with
probability q / 2^128.

Ideal functionality: random 1-out-of-N OT turned around, all-but-one, N = 2^depth. Cost a tree: `depth` OTs and one
message of 32 (depth - 1) bytes from the holder; N - 2 AES keys and 2 N - 4 blocks for either party.

Many trees of one depth at a time. A leaf's value is public to its holder; the puncturer's leaves are numbered by
value xor the punctured value, so number 0 is the one it lacks, and no index or branch depends on the secret.
"""

from __future__ import annotations

import numpy as np

from smc import kernels
from smc.hashing import Blocks
from smc.ot.interface import Choices, masks
from smc.session import Session


def tree_salts(session: Session, name: str, trees: int, depth: int) -> Blocks:
    """Return the blocks uint64[depth, trees, 2] that the session's trees encrypt, one a level and tree.

    Level 0 has no parents: its salts are for what is made of the leaves.
    """
    digests = (session.derive(name, "salt", level, tree) for level in range(depth) for tree in range(trees))
    return np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(depth, trees, 2)


def _double(parents: Blocks, salts: Blocks) -> Blocks:
    """Return the children [trees, nodes, 2 sides, 2] of nodes [trees, nodes, 2], by this level's salts [trees, 2]."""
    children = np.empty((*parents.shape[:2], 2, 2), dtype=np.uint64)
    kernels.ot_double(parents, children, salts, np.empty(22, dtype=np.uint64))
    return children


def full_trees(keys: Blocks, salts: Blocks) -> tuple[Blocks, Blocks]:
    """Return the holder's leaves uint64[trees, 2^depth, 2] by value, and what it sends: uint64[trees, depth - 1, 2, 2].

    `keys` uint64[2, trees, depth, 2] are both keys of the OTs, the first level first; that level's side is the highest
    bit of a value. `salts` uint64[depth, trees, 2], see `tree_salts`.
    """
    sides = np.moveaxis(keys, 0, 2)  # [trees, depth, 2 sides, 2]
    trees, depth = sides.shape[:2]
    nodes = np.ascontiguousarray(sides[:, 0])
    offers = np.empty((trees, depth - 1, 2, 2), dtype=np.uint64)
    for level in range(1, depth):
        children = _double(nodes, salts[level])
        offers[:, level - 1] = np.bitwise_xor.reduce(children, axis=1) ^ sides[:, level]
        nodes = children.reshape(trees, -1, 2)
    return nodes, offers


def punctured_trees(keys: Blocks, points: Choices, offers: Blocks, salts: Blocks) -> Blocks:
    """Return the puncturer's leaves uint64[trees, 2^depth, 2] by value xor punctured value; leaf 0 is zero.

    `points` uint8[trees, depth] are the bits of the punctured values, highest first, and `keys` uint64[trees, depth, 2]
    the keys chosen with their complements.
    """
    trees, depth = points.shape
    swapped = masks(points)[..., None]  # [trees, depth, 1]: all ones where sides change their places
    nodes = np.zeros((trees, 1, 2), dtype=np.uint64)
    for level in range(depth):
        children = np.zeros((trees, 1, 2, 2), dtype=np.uint64)
        sibling = keys[:, level]
        if level:
            mask = swapped[:, level, None]
            children = _double(nodes, salts[level])
            difference = (children[:, :, 0] ^ children[:, :, 1]) & mask
            children ^= difference[:, :, None]
            children[:, 0] = 0  # what was made from the unknown node
            left, right = offers[:, level - 1, 0], offers[:, level - 1, 1]
            offered = right ^ ((left ^ right) & swapped[:, level])  # of the side the path does not take
            sibling = sibling ^ offered ^ np.bitwise_xor.reduce(children[:, :, 1], axis=1)
        children[:, 0, 1] = sibling
        nodes = children.reshape(trees, -1, 2)
    return nodes
