"""Evaluation of any Boolean circuit on two private inputs.

Ideal functionality. Inputs: party 0 holds the circuit's first input, party 1 the second (a circuit with one input
takes it from party 0). Output to both: all outputs. Leakage: the circuit. Security is that of the engine.
"""

from __future__ import annotations

from smc.circuit import Netlist
from smc.engines import Engine
from smc.errors import InputError
from smc.primitives.bits import BitMatrix


def evaluate(engine: Engine, netlist: Netlist, bits: BitMatrix | None) -> list[BitMatrix]:
    """Evaluate a circuit on both parties' inputs and open its outputs.

    Args:
        engine: The engine of this session.
        netlist: The circuit, with one or two inputs; public.
        bits: This party's input, uint8[width, batch]; private. A party without an input passes None, for a batch of 1.

    Returns:
        All outputs of the circuit, uint8[width, batch] each; both parties learn them.

    Raises:
        InputError: The circuit has no input or more than two, or this party's input is missing or has another width.

    Examples:
        >>> from smc.circuit import Builder
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> from smc.primitives.bits import from_integers, to_integers
        >>> builder = Builder()
        >>> builder.output(builder.input(8) + builder.input(8))
        >>> netlist, values = builder.build(), ([20], [22])
        >>> def program(session):
        ...     return evaluate(make_engine(session, "yao"), netlist, from_integers(values[session.party], 8))
        >>> to_integers(run_local(program)[0][0])
        [42]
    """
    if not 1 <= len(netlist.input_widths) <= 2:
        raise InputError(f"the circuit has {len(netlist.input_widths)} inputs; two parties can hold one or two")
    batch = 1 if bits is None else bits.shape[1]
    inputs = []
    for owner, width in enumerate(netlist.input_widths):
        mine = engine.party == owner
        if mine and (bits is None or bits.shape[0] != width):
            got = "nothing" if bits is None else f"{bits.shape[0]} bits"
            raise InputError(f"party {owner}'s input of the circuit has {width} bits, got {got}")
        inputs.append(engine.input(owner, bits if mine else None, width, batch))
    return engine.reveal(*engine.run(netlist, *inputs))
