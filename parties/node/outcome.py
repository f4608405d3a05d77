"""What a finished job has brought: the result that both parties sign, and what was opened for it."""

from __future__ import annotations

import hashlib
from typing import Any

from parties.canonical import canonical
from parties.jobs.running import named
from parties.node.proposal import Proposal
from parties.trees.tree import TreeFile
from protocols.tree import Leaf, Split, Tree, walk
from smc.meter import Cost

TRAFFIC = ("bytes_sent", "bytes_received", "rounds")
OPENED = ("whether a node is a leaf", "class of a leaf", "attribute of a split")


def tree_file(job: Proposal, tree: Tree) -> TreeFile:
    """The tree with the schema's names, and what it is the answer to."""
    return TreeFile(job.agreed.digest(), job.target, job.settings.delta, named(tree, job.agreed, job.target))


def opened(job: Proposal, tree: Tree, depth: int | None = None) -> dict[str, int]:
    """How many values of each kind the protocol opens for a tree, or for one level: what the tree says, nothing else.

    Nothing is opened for a target of one class, and no attribute where only one is left.
    """
    if job.problem.classes == 1:
        return dict.fromkeys(OPENED, 0)
    nodes = [(node, at) for node, at in walk(tree) if depth is None or at == depth]
    leaves = sum(isinstance(node, Leaf) for node, _ in nodes)
    last = len(job.problem.domains) - 1  # at that depth one attribute is left
    chosen = sum(isinstance(node, Split) and at < last for node, at in nodes)
    return dict(zip(OPENED, (len(nodes), leaves, chosen), strict=True))


def result(job: Proposal, tree: Tree) -> dict[str, Any]:
    """What both parties sign: the job, the digest of its tree.json, and what was opened."""
    fields = tree_file(job, tree).fields()
    return {
        "job": job.id,
        "digest": job.digest,
        "tree": hashlib.sha256(canonical(fields).encode()).hexdigest(),
        "opened": opened(job, tree),
    }


def traffic(total: Cost) -> dict[str, int]:
    """Of a session's cost, what the records keep."""
    return {name: getattr(total, name) for name in TRAFFIC}


def added(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    """The traffic of both."""
    return {name: left.get(name, 0) + right.get(name, 0) for name in TRAFFIC}
