"""Graphs of two parties' edges: drawn, counted by matrices, and given to a program of an engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from protocols.release.triangles import Edges
from smc.engines import Profile, engine_of
from smc.local import run_local


def expected(first: Edges, second: Edges, vertices: int) -> tuple[int, int]:
    """Most common neighbours, and triangles, of the edges of both."""
    matrix = np.zeros((vertices, vertices), dtype=np.int64)
    matrix[np.triu_indices(vertices, 1)] = first | second
    matrix += matrix.T
    square = matrix @ matrix
    return int((square - np.diag(np.diag(square))).max()), int(np.trace(square @ matrix)) // 6


def drawn(seed: int, vertices: int, share: float) -> tuple[Edges, Edges]:
    rng = np.random.default_rng(seed)
    pairs = vertices * (vertices - 1) // 2
    first, second = ((rng.random(pairs) < share).astype(np.uint8) for _ in range(2))
    return first, second


def played(edges: tuple[Edges, Edges], program: Any, profile: Profile) -> Any:
    def party(session: Any) -> Any:
        return program(engine_of(session, profile), edges[session.party])

    one, other = run_local(party)
    assert one == other
    return one
