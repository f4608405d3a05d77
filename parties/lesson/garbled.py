"""Yao's garbled circuits: one gate with its labels and table, and the millionaires' circuit."""

from __future__ import annotations

from parties.lesson.view import View, and_gate, bits_text, label_text, require_bits, watched
from protocols.inputs import both_inputs, checked
from protocols.millionaires import NAMES, comparison
from smc.engines import Bits, Engine
from smc.engines.yao import YaoEngine
from smc.ot import Transfers
from smc.primitives.bits import from_integers
from smc.yao.schemes import SCHEMES

WIDTH = 32  # bits of a fortune


def gate(engine: Engine, bit: int) -> View:
    """Watch one garbled AND gate: labels, table, and the label that comes out.

    Args:
        engine: The engine of the run. Party 0 garbles, party 1 evaluates.
        bit: This party's bit; private.
    """
    require_bits(bit, 1)
    view = View()
    with watched(engine.session, view) as (session, channel):
        transfers = Transfers(session)
        yao = YaoEngine(session, transfers)
        inputs = yao.both(from_integers([bit], 1))
        (output,) = yao.run(and_gate(), *inputs)
        rows = channel.last["yao.tables"][-SCHEMES["half"].row_bytes :]
        table = [rows[:16].hex(), rows[16:].hex()]
        if session.party == 0:
            delta = transfers.sender.delta
            pairs = [
                [f"{value}: {label_text(wire.data[0, 0] ^ (delta if value else 0 * delta))}" for value in (0, 1)]
                for wire in (*inputs, output)
            ]
            text = (
                "You garble. Each wire has a label for 0 and one for 1. Their XOR is your secret D, equal for all "
                "wires. The colour of a label is the lowest bit of its first byte."
            )
            view.step(text, a=pairs[0], b=pairs[1], c=pairs[2], D=label_text(delta))
            text = (
                "You send a table of two rows for the gate (half gates). Your own active label needs no message. B's "
                "label goes by oblivious transfer, so you do not see which one it took."
            )
            view.step(text, your_bit=bit, table=table)
        else:
            wires = {name: label_text(wire.data[0, 0]) for name, wire in zip("ab", inputs, strict=True)}
            view.step("You evaluate. You hold one label a wire, and cannot see which value it stands for.", **wires)
            text = "The table and your two labels give one label of the result. The table opens no other label."
            view.step(text, your_bit=bit, table=table, c=label_text(output.data[0, 0]))
        _revealed(yao, view, output)
    return view


def millionaires(engine: Engine, number: int) -> View:
    """Watch the millionaires' comparison: its circuit, its messages and its answer.

    Args:
        engine: The engine of the run. Party 0 garbles, party 1 evaluates.
        number: This party's number, 0 to 2^32 - 1; private.
    """
    netlist = comparison(WIDTH, True)
    view = View()
    require_bits(number, WIDTH)
    view.step("You enter your number. The circuit compares it bit by bit with the other.", your_number=number)
    with watched(engine.session, view) as (session, _):
        yao = YaoEngine(session, Transfers(session))
        (output,) = yao.run(netlist, *both_inputs(yao, checked([number], WIDTH, "the number"), WIDTH))
        text = "The circuit is garbled: XOR gates are free, each AND gate has a table."
        table_bytes = SCHEMES["half"].row_bytes * netlist.and_count
        view.step(text, AND_gates=netlist.and_count, bytes_of_tables=table_bytes, transfers_of_B=WIDTH)
        greater, less = _revealed(yao, view, output)
        view.step(
            "The first bit is 1 if B has more, the second if A has more. 00: the numbers are equal.",
            more=NAMES[1 if greater else 2 if less else 0],
        )
    return view


def _revealed(engine: YaoEngine, view: View, output: Bits) -> list[int]:
    share = engine.shares(output)
    (opened,) = engine.reveal(output)
    text = (
        "For each bit of the result, A's share is the colour of its label for 0. B's share is the colour of the label "
        "that it holds. Both send their shares. Their XOR is the result."
    )
    view.step(text, your_share=bits_text(share), result=bits_text(opened))
    return [int(bit) for bit in opened.reshape(-1)]
