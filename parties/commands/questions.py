"""`smc millionaires` and `smc circuit`: the small questions."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties import console
from parties.commands.options import FILE, engine_options, json_option, link_options, settings
from parties.jobs.running import Connection, circuit_specification, millionaires_specification
from parties.settings import required
from smc.errors import InputError

if TYPE_CHECKING:  # protocols and engines take their time to load: better while the peer is on its way
    from smc.counting import Program
    from smc.engines import Engine
    from smc.primitives.bits import BitMatrix


@click.command(epilog="Example:  smc millionaires --value 1000000 --config party.toml")
@click.option("--value", metavar="NUMBER", help="Own number, private; '-' reads it from standard input.")
@click.option("--bits", type=int, help="Public width of both numbers, up to 64  [32]")
@engine_options("yao", "gmw")
@link_options
@json_option
def millionaires(config_file: Path | None, as_json: bool, value: str | None, **flags: Any) -> None:
    """Who has more? Both learn party0, party1 or equal, and nothing else.

    A value on the command line can be seen by other users of this machine: prefer '-' or the configuration file.
    """
    link, own = settings(lambda file: file.millionaires, config_file, {**flags, "value": _number(value)})
    amount = required(own.value, "millionaires.value")
    if amount >> own.bits:
        raise InputError(f"--value does not fit {own.bits} bits: it must be from 0 to 2^{own.bits} - 1")
    connection = Connection(link)

    def program(engine: Engine) -> str:
        from protocols.millionaires import three_way

        return three_way(engine, [amount], own.bits)[0]

    def forecast() -> Program:
        from parties.jobs.planner import millionaires_program

        return millionaires_program(own.bits)

    with console.progress("starting") as progress:
        result, report = connection.run(millionaires_specification(own), program, progress, forecast)
    if as_json:
        console.print_json({"result": result, "cost": report["total"]})
        return
    names = {"equal": "both have the same", f"party{connection.party}": "this party has more"}
    console.out.print(f"{result}: {names.get(result, 'the peer has more')}")
    console.show(console.cost_table(report), console.err)


@click.command(epilog="Example:  smc circuit adder64.txt --input 0x2a --config party.toml")
@click.argument("file", type=FILE, required=False)
@click.option("--input", "input_", metavar="BITS|0xHEX", help="Own input, private; '-' reads it from standard input.")
@engine_options("yao", "gmw")
@link_options
@json_option
def circuit(config_file: Path | None, as_json: bool, input_: str | None, **flags: Any) -> None:
    """Evaluate a Bristol circuit FILE: party 0 has its first input, party 1 the second; both learn the outputs.

    Bit i of a hexadecimal number is wire i; BITS is the same number in binary, one digit for every wire.
    """
    from protocols.circuit import evaluate
    from smc.circuit import load
    from smc.primitives import bits as bitpack

    link, own = settings(lambda file: file.circuit, config_file, {**flags, "input": _from_stdin(input_)})
    if own.file is None:
        raise InputError("FILE is missing: name a circuit file, or set file under [circuit] in --config")
    netlist = load(own.file)
    connection = Connection(link)
    bits = parse_bits(own.input, netlist.input_widths, connection.party)

    def forecast() -> Program:
        from parties.jobs.planner import circuit_program

        return circuit_program(netlist)

    with console.progress("starting") as progress:
        outputs, report = connection.run(
            circuit_specification(own, netlist), lambda engine: evaluate(engine, netlist, bits), progress, forecast
        )
    shown = [f"0x{bitpack.to_integers(output)[0]:0{(len(output) + 3) // 4}x}" for output in outputs]
    if as_json:
        console.print_json({"outputs": shown, "cost": report["total"]})
        return
    for output in shown:
        console.out.print(output)
    console.show(console.cost_table(report), console.err)


def parse_bits(text: str | None, widths: tuple[int, ...], party: int) -> BitMatrix | None:
    """A party's input uint8[width, 1] from 0xHEX or binary digits; None if the circuit has no input for it."""
    from smc.primitives import bits as bitpack

    if len(widths) > 2:
        raise InputError(f"the circuit has {len(widths)} inputs; two parties can hold one or two")
    if party >= len(widths):
        if text is not None:
            raise InputError(f"--input: the circuit has no input for party {party}")
        return None
    width = widths[party]
    if text is None:
        raise InputError(f"--input is missing: party {party}'s input of the circuit has {width} bits")
    if re.fullmatch("0[xX][0-9a-fA-F]+", text):
        value = int(text, 16)
        if value >> width:
            raise InputError(f"--input: {value.bit_length()} bits, but party {party}'s input has {width}")
    elif re.fullmatch("[01]*", text):
        if len(text) != width:
            raise InputError(f"--input: {len(text)} binary digits, but party {party}'s input has {width}")
        value = int(text or "0", 2)
    else:
        raise InputError("--input: must be binary digits or a hexadecimal number 0x...")
    return bitpack.from_integers([value], width)


def _from_stdin(text: str | None) -> str | None:
    if text != "-":
        return text
    line = sys.stdin.readline().strip() if sys.stdin is not None else ""
    if not line:
        raise InputError("standard input is empty or closed, but '-' says to read the private input there")
    return line


def _number(text: str | None) -> int | None:
    line = _from_stdin(text)
    if line is None:
        return None
    if not re.fullmatch("[0-9]+", line):
        raise InputError("--value: must be a whole number from 0 up")
    return int(line)
