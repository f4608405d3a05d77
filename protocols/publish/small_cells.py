"""Joint tables of counts: which cells are too small to publish, and masked or noisy sums of the others.

`cell_states`. Ideal functionality. Inputs: each party's own rows in every cell of a table, totals included. Output to
both: for each cell whether it may be published; with `zeros` "shown" also whether it is empty. A cell may be published
if the count that the rule refers to is at least the threshold T. Against the `public` this is the count of both parties
together, against the `peer` the count of each party. With zeros shown the count may also be 0, against the peer at one
party or at both. Leakage: nothing else. A count is never opened: the count of a hidden cell is one of 0 to T - 1, or
with zeros shown one of 1 to T - 1. So the threshold is at least 3.

`masked_sums`. Ideal functionality. Inputs: each party's own integers (a batch) of a public width. Outputs: to each
party its own uniform bits r0 or r1, to both the sums XOR r0 XOR r1. All three parts together give the sums. Each party
lacks the other's part, and so sees uniform bits. Each part is drawn by `Session.contributions`: a repeated step draws
equal parts if the first run has sent anything, and new parts otherwise. Leakage: width, batch.

`noisy_cells`. Ideal functionality. Inputs: each party's own rows and its own numbers in every cell. Output to both: for
each cell whether the rows of both, plus a sample of a public law, are fewer than the threshold. If they are not, also
the sum of both numbers plus a sample of a law; else 0. If the numbers are the rows themselves, both use one sample.
Leakage: nothing else. All outputs follow from noisy numbers, so they are as private as these
(`protocols.release.numbers`). No bit without noise is opened, and neither size nor order of messages depends on a row.

Security is that of the engine. Cost of a cell's state, counts of w bits: against the public 2 w ANDs or less (3 w + 1
with zeros shown) and w input bits of each party; against the peer 1 AND and 1 bit (2 and 2 with zeros shown). A masked
sum takes w ANDs, 2 w + 1 input bits of each party, and opens w + 1 bits. A noisy cell takes a noisy sum, a comparison
and an AND a bit, and a second noisy sum if its numbers are not the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import both_inputs, summands
from protocols.opened import index_below
from protocols.release.laws import Law
from protocols.release.numbers import from_zero_by, noisy_sum
from protocols.rules import Against
from smc.circuit import Builder, Form, Netlist, any_of
from smc.engines import Bits, Engine
from smc.errors import InputError, ProtocolError
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

ENOUGH, FEW, NONE = range(3)  # states of a cell
LEAST = 3  # least threshold: below it, the state of a small cell would reveal its count

Zeros: TypeAlias = Literal["hidden", "shown"]
States: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class CellProblem:
    """Public settings of a table with hidden small cells.

    `cells` is the number of cells, with totals. A cell may be published if it has `threshold` rows or more: of each
    party against the "peer", of both together against the "public". With `zeros` "shown" a count of 0 may be published
    too. `max_rows` is an upper bound on a party's rows. Raise InputError for values out of range.
    """

    cells: int
    max_rows: int
    threshold: int
    against: Against = "peer"
    zeros: Zeros = "hidden"

    def __post_init__(self) -> None:
        if self.cells < 1 or self.max_rows < 1:
            raise InputError("a table needs a cell and room for one row")
        if self.threshold < LEAST:
            raise InputError(
                f"the threshold is {self.threshold}: it must be at least {LEAST}, or a hidden cell would disclose "
                f"its count"
            )
        most = self.max_rows if self.against == "peer" else 2 * self.max_rows
        if self.threshold > most:
            whose = "of a party" if self.against == "peer" else "in all"
            raise InputError(f"the threshold is {self.threshold:,}, but there are at most {most:,} rows {whose}")

    @property
    def width(self) -> int:
        """Bits of a party's count."""
        return self.max_rows.bit_length()

    @property
    def bits(self) -> int:
        """Number of bits that are opened for each cell."""
        return 1 if self.zeros == "hidden" else 2


@lru_cache(maxsize=32)
def public_netlist(width: int, threshold: int, zeros: Zeros, form: Form = "size") -> Netlist:
    """Build a circuit that returns a cell's state against the public: a bit "too few rows"; with zeros shown, a second
    bit "no row".

    With zeros shown, an empty cell sets the second bit alone. The inputs are the rows of party 0 and of party 1.

    Args:
        width: Bits of a party's count.
        threshold: Fewest rows of both parties in a cell that may be published.
        zeros: Whether empty cells are "hidden" or "shown".
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    rows = builder.input(width).wide_add(builder.input(width))
    few = ~(rows >= threshold)
    if zeros == "hidden":
        builder.output([few])
    else:
        some = any_of(rows.wires)
        builder.output([some & few, ~some])
    return builder.build()


@lru_cache(maxsize=32)
def peer_netlist(zeros: Zeros, form: Form = "size") -> Netlist:
    """Build a circuit that returns the state of a cell against the peer, from the bits of both parties.

    Each party enters a bit "too few rows"; with zeros shown, a second bit "no row". The cell has too few rows if either
    party has, and no row if both parties have none.

    Args:
        zeros: Whether empty cells are "hidden" or "shown".
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    (few, *none), (other_few, *other_none) = (builder.input(1 if zeros == "hidden" else 2).wires for _ in (0, 1))
    builder.output([few | other_few, *(a & b for a, b in zip(none, other_none, strict=True))])
    return builder.build()


@lru_cache(maxsize=32)
def sum_netlist(width: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns the sum of two integers, width + 1 bits.

    Args:
        width: Bits of each integer.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output(builder.input(width).wide_add(builder.input(width)))
    return builder.build()


def cell_states(engine: Engine, problem: CellProblem, counts: NDArray[Any]) -> States:
    """Return the state of every cell, int64[cells], opened to both parties: `ENOUGH`, `FEW`, with zeros shown `NONE`.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem: cells, bound on rows and threshold.
        counts: This party's rows in each cell, int[cells]; private.

    Raises:
        InputError: The counts have another shape, or one is above the agreed bound.
        ProtocolError: The opened number is not a state.

    Examples:
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> problem = CellProblem(cells=2, max_rows=9, threshold=3)
        >>> counts = np.array([5, 1]), np.array([4, 6])  # the second cell has fewer than 3 of party 0's rows
        >>> def program(session):
        ...     return cell_states(make_engine(session, "yao"), problem, counts[session.party])
        >>> run_local(program)[0].tolist()
        [0, 1]
    """
    if counts.shape != (problem.cells,):
        raise InputError(f"own counts have shape {counts.shape}, expected {problem.cells} cells")
    if not engine.masked_numbers and counts.max() > problem.max_rows:
        raise InputError(
            f"a cell has {counts.max()} rows, more than the agreed maximum of {problem.max_rows}; raise max_rows at "
            "both parties"
        )
    with engine.session.phase("small cells"):
        if problem.against == "public":
            inputs = both_inputs(engine, summands(engine, counts, problem.width, "the count"), problem.width)
            netlist = public_netlist(problem.width, problem.threshold, problem.zeros, engine.form)
        else:
            few, none = counts < problem.threshold, counts == 0
            states = few[None] if problem.zeros == "hidden" else np.stack([few & ~none, none])
            inputs = engine.both(states.astype(np.uint8))
            netlist = peer_netlist(problem.zeros, engine.form)
        (opened,) = engine.reveal(*engine.run(netlist, *inputs))
    return index_below(opened, 1 << problem.bits if problem.bits == 1 else 3, "a cell's state")


def chosen(engine: Engine, states: States, hidden: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return party 0's hidden cells at both parties, bool[cells]; party 0 sends them to party 1.

    They follow from public facts. But two versions of the solver may choose different sets, so one party's set is used.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        states: State of each cell: `ENOUGH`, `FEW` or `NONE`, int64[cells]; public.
        hidden: Cells to hide, bool[cells], at party 0; None at party 1.

    Raises:
        ProtocolError: The peer's cells lack one that must be hidden.
    """
    with engine.session.phase("hidden cells"):
        if hidden is not None:
            engine.session.send("hidden", hidden.astype(np.uint8))
            return hidden
        received = engine.session.receive("hidden", np.uint8, states.shape)
    if received.max(initial=0) > 1 or not received[states == FEW].all():
        raise ProtocolError("the peer's hidden cells lack one that must be hidden: the peer's messages are wrong")
    return received.astype(np.bool_)


def masked_sums(engine: Engine, numbers: NDArray[Any], width: int) -> tuple[BitMatrix, BitMatrix]:
    """Return the masked sums, opened to both, and this party's part of the mask, uint8[width + 1, batch] each.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        numbers: This party's integers, int[batch], from 0 to 2^width - 1; private.
        width: Bits of an integer, at most 62; public.

    Returns:
        The masked sums, and this party's part of the mask. Keep that part private.

    Raises:
        InputError: An integer does not fit the width.
    """
    with engine.session.phase("masked sums"):
        left, right = both_inputs(engine, summands(engine, numbers, width, "the number"), width)
        (sums,) = engine.run(sum_netlist(width, engine.form), left, right)
        mine = engine.session.contributions.bits(width + 1, len(numbers))
        masks = engine.both(mine)
        (opened,) = engine.reveal(_masked(sums, *masks))
    return opened, mine


@lru_cache(maxsize=32)
def noisy_cell_netlist(
    width: int, law: Law, threshold: int, rows: tuple[int, Law] | None, form: Form = "size"
) -> Netlist:
    """Build a circuit that returns a noisy cell: a bit "too few rows"; then the output of `noisy_sum_netlist`, or zeros
    if that bit is 1.

    The inputs are both parties' numbers and uniform bits; with `rows`, then both parties' rows and uniform bits.

    Args:
        width: Bits of a party's number.
        law: Law of the noise on the sum.
        threshold: Fewest noisy rows of a cell that is shown.
        rows: Bits of a party's rows, and law of their noise; None if the numbers are the rows.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    number = noisy_sum(builder, width, law)
    of, counted = (law, number) if rows is None else (rows[1], noisy_sum(builder, *rows))
    enough = counted >= threshold + from_zero_by(of)
    builder.output([~enough])
    builder.output([wire & enough for wire in number.wires])
    return builder.build()


def noisy_cells(
    engine: Engine, values: NDArray[Any], width: int, law: Law, threshold: int, rows: tuple[int, Law] | None
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which cells have too few rows, bool[cells], and the noisy numbers of the other cells, int64[others].

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        values: This party's rows and numbers of each cell, int[2, cells]; private.
        width: Bits of a party's number; public.
        law: Law of the noise on a number; public.
        threshold: Fewest noisy rows of a cell that is shown; public.
        rows: Bits of a party's rows, and law of their noise; None if the numbers are the rows. Public.

    Raises:
        InputError: A number does not fit its width.
        ProtocolError: A hidden cell was opened.
    """
    with engine.session.phase("noisy cells"):
        netlist = noisy_cell_netlist(width, law, threshold, rows, engine.form)
        inputs: list[Bits] = []
        for numbers, (bits, of) in zip(values[::-1], [(width, law), *([] if rows is None else [rows])], strict=False):
            inputs += both_inputs(engine, summands(engine, numbers, bits, "the number"), bits)
            inputs.append(engine.random(of.bits, values.shape[1]))
        few, opened = engine.reveal(*engine.run(netlist, *inputs))
    hidden: NDArray[np.bool_] = few[0].astype(np.bool_)
    if opened[:, hidden].any():
        raise ProtocolError(
            "the peer's messages are wrong: a cell with too few rows was opened with a number other than 0, "
            "so there is no result"
        )
    return hidden, bitpack.to_words(opened).astype(np.int64)[~hidden] - from_zero_by(law)


def _masked(sums: Bits, left: Bits, right: Bits) -> Bits:
    return sums ^ left ^ right
