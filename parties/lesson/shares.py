"""XOR shares of inputs, XOR without a message, and the AND gate by its four-row table."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from parties.lesson.view import View, and_gate, bits_text, require_bits, watched
from smc.circuit import Builder, Netlist
from smc.engines import Bits, Engine
from smc.engines.gmw import GmwEngine
from smc.gmw.gates import TableGates
from smc.ot import Transfers
from smc.ot.interface import Choices
from smc.primitives.bits import BitMatrix, from_integers
from smc.recipes import OTKind

WIDTH = 4  # bits of a number in `shares`
NAMES = "ab"  # the inputs of party 0 and of party 1
FORMULAS = ("c1 + a1 b1", "c1 + a1 (b1 + 1)", "c1 + (a1 + 1) b1", "c1 + (a1 + 1) (b1 + 1)")


class _WatchedTables(TableGates):
    """Four-row tables that keep `rows`: those that party 0 offers, and the number of the one that party 1 chooses."""

    rows: BitMatrix

    @override
    def _offer(self, rows: BitMatrix) -> None:
        self.rows = rows
        super()._offer(rows)

    @override
    def _choose(self, rows: Choices) -> Choices:
        self.rows = rows
        return super()._choose(rows)


def shares(engine: Engine, number: int) -> View:
    """Watch how two numbers are split into XOR shares, and their XOR is computed without a message.

    Args:
        engine: The engine of the run.
        number: This party's number, 0 to 15; private.
    """
    builder = Builder()
    left, right = builder.input(WIDTH), builder.input(WIDTH)
    builder.output([x ^ y for x, y in zip(left, right, strict=True)])
    view = View()
    with watched(engine.session, view) as (session, _):
        shared = GmwEngine(session, TableGates(session, Transfers(session)), splits_inputs=True)
        c = _entered(shared, view, number, WIDTH, builder.build(), "c = a + b")
        text = "Each party adds its shares (XOR, bit by bit). No message is needed."
        view.step(text, **{f"c{engine.party + 1}": bits_text(c)})
        _opened(shared, view, c)
    return view


def conjunction(engine: Engine, bit: int, ot: OTKind = "extension") -> View:
    """Watch an AND gate on XOR shares: the four rows that are offered, and the one that is chosen.

    Args:
        engine: The engine of the run.
        bit: This party's bit; private.
        ot: The kind of oblivious transfer; public.
    """
    view = View()
    with watched(engine.session, view) as (session, _):
        gates = _WatchedTables(session, Transfers(session, ot))
        shared = GmwEngine(session, gates, splits_inputs=True)
        c = _entered(shared, view, bit, 1, and_gate(), "c = a b")
        if session.party == 0:
            table = [
                f"{number}  (a2, b2) = ({number - 1 >> 1}, {number - 1 & 1})   {formula:22} = {int(row[0])}"
                for number, (formula, row) in enumerate(zip(FORMULAS, gates.rows, strict=True), 1)
            ]
            text = "You draw your share c1 of the result, and offer these four rows by oblivious transfer."
            view.step(text, c1=int(c[0, 0]), rows=table)
        else:
            text = "Your shares choose the row. You receive it and no other row; it is your share c2 of the result."
            view.step(text, chosen_row=int(gates.rows[0]) + 1, c2=int(c[0, 0]))
        _opened(shared, view, c)
    return view


def _entered(engine: GmwEngine, view: View, number: int, width: int, netlist: Netlist, formula: str) -> BitMatrix:
    """Split both inputs, note this party's shares, run the circuit and return this party's shares of its outputs.

    Args:
        engine: The engine.
        view: Notes of the steps.
        number: This party's input.
        width: Its number of bits.
        netlist: The circuit.
        formula: What the circuit computes, in words.
    """
    require_bits(number, width)
    own, party = NAMES[engine.party], engine.party + 1
    bits = from_integers([number], width)
    inputs = engine.both(bits)
    mine = {f"{name}{party}": bits_text(engine.shares(part)) for name, part in zip(NAMES, inputs, strict=True)}
    kept = engine.shares(inputs[engine.party])
    split = {own: bits_text(bits), f"{own}{party}": mine[f"{own}{party}"], f"{own}{3 - party}": bits_text(bits ^ kept)}
    text = (
        f"You split your input: {own} = {own}1 + {own}2. You draw {own}{party} at random, keep it and send the other."
    )
    view.step(text, **split)
    view.step(f"You hold one share of each input. The parties compute {formula}.", **mine)
    (outputs,) = engine.run(netlist, *inputs)
    return engine.shares(outputs)


def _opened(engine: GmwEngine, view: View, share: BitMatrix) -> None:
    (result,) = engine.reveal(Bits(share))
    mine = f"c{engine.party + 1}"
    values = {
        mine: bits_text(share),
        f"c{2 - engine.party}": bits_text(np.asarray(share) ^ result),
        "c": bits_text(result),
    }
    view.step("Both parties send their share of c. Their XOR is the result, and nothing else is opened.", **values)
