"""Puncturable PRFs from OT: one party holds all leaves of a binary tree, the other all but one leaf that it chooses.

Construction: Goldreich, Goldwasser, Micali (JACM 1986); punctured with one OT a level as in Roy, "SoftSpokenOT" (CRYPTO
2022, section 4). A node's children are AES under the node's key of salt and salt ^ 1; the first level is the pair of
keys of the first OT. At every further level the holder sends the xor of all left and of all right children, encrypted
under the two keys of that level's OT. The puncturer chooses the side that its path does *not* take, and computes the
one sibling it lacks. Assumption: AES is a PRF.

Salts are public, one for each session, tree and level (`tree_salts`), and differ except for a collision of SHA-256
truncated to 88 bits. The puncturer lacks one node of a tree and level. So no two of the unknown keys, over all sessions
that it ever collects, have encrypted an equal block, and one AES tests a guess against one of them: q AES find one with
probability q / 2^128.

**Check.** A holder that sends wrong sums gives the puncturer wrong leaves that depend on the punctured point. So each
leaf also makes 256 bits: AES of two further salts under the leaf. The holder sends their sum, and a digest of all (Roy,
section 4; Boyle et al., "Efficient Two-Round OT Extension", CCS 2019). The puncturer computes all but one of a tree,
gets that one from the sum, and compares digests. A dishonest holder passes only by guessing points: if it risks s bits
of them, it passes with probability 2^-s.

Ideal functionality: random 1-out-of-N OT turned around, all-but-one, N = 2^depth, against a holder or puncturer that
leaves the protocol, but for that guess. Cost of t trees: `depth` OTs each and one message of 32 t depth + 32 bytes from
the holder; 2 N - 2 AES keys and 4 N - 4 blocks a tree for either party.

The functions grow many trees of one depth at a time. A leaf's value is public to its holder. The puncturer's leaves are
numbered by value xor the punctured value, so it lacks number 0, and no index or branch depends on the secret.
"""

from __future__ import annotations

import hmac

import numpy as np

from smc import kernels
from smc.hashing import Blocks, transcript_digest
from smc.ot.interface import Choices, Packed, failed_check, masks
from smc.session import Session

DIGEST = 32  # bytes of a digest


def tree_salts(session: Session, name: str, trees: int, depth: int) -> Blocks:
    """Return the public salts of the session's trees, one block a level and tree.

    Args:
        session: Its identifier enters every salt.
        name: Name of the trees in the session; unique.
        trees: Number of trees.
        depth: Levels of a tree.

    Returns:
        uint64[depth + 1, trees, 2]. Level 0 has no parents: its salts serve the streams made of the leaves. The last
        ones are for the check.
    """
    digests = (session.derive(name, "salt", level, tree) for level in range(depth + 1) for tree in range(trees))
    return np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(depth + 1, trees, 2)


def message_words(trees: int, depth: int) -> int:
    """Return the words of the holder's message.

    Two blocks a tree and level but the first, two a tree, and a digest.

    Args:
        trees: Number of trees.
        depth: Levels of a tree.
    """
    return 4 * trees * depth + DIGEST // 8


def _double(parents: Blocks, salts: Blocks) -> Blocks:
    """Return the children [trees, nodes, 2 sides, 2] of nodes [trees, nodes, 2], by this level's salts [trees, 2]."""
    children = np.empty((*parents.shape[:2], 2, 2), dtype=np.uint64)
    kernels.ot_double(parents, children, salts, np.empty(22, dtype=np.uint64))
    return children


def full_trees(session: Session, name: str, keys: Blocks, message: Packed, salts: Blocks) -> Blocks:
    """Grow the holder's trees, and write its message.

    Args:
        session: Its identifier goes into the digest.
        name: Name of the trees in the session.
        keys: Both keys of the OTs, uint64[2, trees, depth, 2]; the first level's side is the highest bit of a value.
        message: Filled in, uint64[`message_words`].
        salts: Public blocks of the levels, from `tree_salts`.

    Returns:
        The leaves by value, uint64[trees, 2^depth, 2].
    """
    sides = np.moveaxis(keys, 0, 2)  # [trees, depth, 2 sides, 2]
    trees, depth = sides.shape[:2]
    nodes = np.ascontiguousarray(sides[:, 0])
    offers, sums, digest = _parts(message, trees, depth)
    for level in range(1, depth):
        children = _double(nodes, salts[level])
        offers[:, level - 1] = np.bitwise_xor.reduce(children, axis=1) ^ sides[:, level]
        nodes = children.reshape(trees, -1, 2)
    tags = _double(nodes, salts[depth])
    np.bitwise_xor.reduce(tags, axis=1, out=sums)
    digest[:] = _digest(session, name, tags)
    return nodes


def _parts(message: Packed, trees: int, depth: int) -> tuple[Blocks, Blocks, Packed]:
    """Return the parts of a message: offers [trees, depth - 1, 2, 2], sums of tags [trees, 2, 2], their digest."""
    offers, sums = 4 * trees * (depth - 1), 4 * trees * depth
    return (
        message[:offers].reshape(trees, depth - 1, 2, 2),
        message[offers:sums].reshape(trees, 2, 2),
        message[sums:],
    )


def _digest(session: Session, name: str, tags: Blocks) -> Packed:
    return np.frombuffer(transcript_digest(session, tags, name, "trees", size=DIGEST), dtype=np.uint64)


def punctured_trees(
    session: Session, name: str, keys: Blocks, points: Choices, message: Packed, salts: Blocks
) -> Blocks:
    """Grow the puncturer's trees from the holder's message, and check them.

    Args:
        session: Its identifier goes into the digest.
        name: Name of the trees in the session.
        keys: The keys chosen with the complements of `points`, uint64[trees, depth, 2].
        points: The bits of the punctured values, highest first, uint8[trees, depth].
        message: The holder's, uint64[`message_words`].
        salts: Public blocks of the levels, from `tree_salts`.

    Returns:
        The leaves by value xor punctured value, uint64[trees, 2^depth, 2]; leaf 0 is zero.

    Raises:
        ProtocolError: The message is not that of trees grown from the keys.
    """
    trees, depth = points.shape
    offers, sums, digest = _parts(message, trees, depth)
    swapped = masks(points)[..., None]  # [trees, depth, 1]: all ones where the sides are exchanged
    nodes = np.zeros((trees, 1, 2), dtype=np.uint64)
    for level in range(depth):
        children = np.zeros((trees, 1, 2, 2), dtype=np.uint64)
        sibling = keys[:, level]
        if level:
            mask = swapped[:, level, None]
            children = _double(nodes, salts[level])
            difference = (children[:, :, 0] ^ children[:, :, 1]) & mask
            children ^= difference[:, :, None]
            children[:, 0] = 0  # the children of the unknown node
            left, right = offers[:, level - 1, 0], offers[:, level - 1, 1]
            offered = right ^ ((left ^ right) & swapped[:, level])  # the sum of the side that the path does not take
            sibling = sibling ^ offered ^ np.bitwise_xor.reduce(children[:, :, 1], axis=1)
        children[:, 0, 1] = sibling
        nodes = children.reshape(trees, -1, 2)
    tags = _double(nodes, salts[depth])
    tags[:, 0] = sums ^ np.bitwise_xor.reduce(tags[:, 1:], axis=1)
    if not hmac.compare_digest(_digest(session, name, _by_value(tags, swapped)).tobytes(), digest.tobytes()):
        raise failed_check(f"{name}.trees")
    return nodes


def _by_value(tags: Blocks, swapped: Blocks) -> Blocks:
    """Return tags [trees, leaves, 2, 2] ordered by value; the argument is ordered by value xor punctured value.

    `swapped` [trees, depth, 1]: the bits of the punctured values as masks, under which halves are exchanged.
    """
    trees, depth = swapped.shape[:2]
    for level in range(depth):
        halves = tags.reshape(trees, 1 << level, 2, -1)
        difference = (halves[:, :, 0] ^ halves[:, :, 1]) & swapped[:, level, None]
        halves ^= difference[:, :, None]
    return tags
