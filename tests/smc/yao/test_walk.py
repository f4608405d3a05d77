"""A program is worked on whole and in order, in pieces that a message can carry."""

from __future__ import annotations

import pytest

from smc.circuit import Builder, Netlist
from smc.yao.walk import LIVE_LABELS, chunks, pieces


@pytest.fixture(scope="module")
def netlist() -> Netlist:
    """The product of two numbers of 32 bits."""
    builder = Builder()
    builder.output(builder.input(32) * builder.input(32))
    return builder.build()


@pytest.mark.parametrize("instances", [1, 3, 100, 1 << 15])
def test_pieces_are_the_program_and_none_has_more_than_two_to_the_fifteen_rows(
    netlist: Netlist, instances: int
) -> None:
    found = list(pieces(netlist, instances))
    assert [piece.start for piece in found] == [0, *(piece.stop for piece in found[:-1])]
    assert found[-1].stop == len(netlist.program)
    assert sum(piece.ands for piece in found) == netlist.and_count
    assert all(piece.rows <= 1 << 15 for piece in found)
    assert max(piece.rows for piece in found) == min(netlist.and_count, (1 << 15) // instances) * instances


@pytest.mark.parametrize("batch", [0, 1, 1000, 100_000])
def test_chunks_are_the_batch_and_their_labels_fit(netlist: Netlist, batch: int) -> None:
    found = list(chunks(netlist, batch))
    assert [i for part in found for i in range(part.start, part.stop)] == list(range(batch))
    assert all((part.stop - part.start) * netlist.slots <= LIVE_LABELS for part in found)
