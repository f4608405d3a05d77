"""Reader and writer of circuits in the text formats of Bristol: reads both generations, writes the newer ("Fashion").

Bristol Fashion:                          the older Bristol format:

    gates wires                               gates wires
    inputs width width ...                    width1 width2 output-width
    outputs width width ...                   2 1 left right out AND
    2 1 left right out AND                    1 1 in out INV
    1 1 in out INV                            ...
    ...

Wires are numbered from 0; the inputs are the first wires, the outputs the last. Blank lines and extra spaces are
ignored. The third line that is not blank tells the formats apart: in Fashion it holds numbers alone, in the older
format it is a gate. The first number of Fashion's second line is the number of widths that follow. The older format's
second line has exactly three numbers, and its output is one argument. Input i belongs to party i.

Gates: XOR, AND, INV, EQ (a constant), EQW (a copy), MAND (n ANDs: all left operands, all right operands, all results).
"""

from __future__ import annotations

from pathlib import Path

from smc.circuit.builder import Builder
from smc.circuit.graph import ONE
from smc.circuit.netlist import FIRST_INPUT, Netlist
from smc.circuit.wire import Wire
from smc.errors import InputError

MAX_WIRES = 1 << 22  # ten times the largest published circuit, so a mistyped header cannot exhaust the memory

# Number of operands and results of every gate; a MAND of n ANDs has 2n and n.
SHAPES = {"XOR": (2, 1), "AND": (2, 1), "INV": (1, 1), "EQ": (1, 1), "EQW": (1, 1), "MAND": (0, 0)}


def load(path: str | Path) -> Netlist:
    """Return the netlist of a Bristol file, of either format.

    Raises:
        InputError: The file cannot be read, or is not a correct circuit.
    """
    try:
        text = Path(path).read_text(encoding="ascii")
    except OSError as error:
        raise InputError(f"{path}: cannot read this circuit file: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not a text file; give a circuit in the Bristol format") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> Netlist:
    """Return the netlist of a circuit in either Bristol format.

    Args:
        text: The content of the file.
        name: Name of the circuit in errors, such as the path of its file.

    Raises:
        InputError: The text is not a correct circuit; one line with name and line number.

    Examples:
        >>> parse("1 3\\n2 1 1\\n1 1\\n\\n2 1 0 1 2 AND\\n", "and.txt").input_widths
        (1, 1)
    """
    return _Reader(text, name).netlist()


class _Reader:
    """Parser of one file: the current position, and the node of every wire defined so far."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = [(i, tokens) for i, line in enumerate(text.split("\n"), 1) if (tokens := line.split())]
        self.last_line = text.rstrip().count("\n") + 1
        self.builder = Builder()
        self.nodes: dict[int, int] = {}
        self.wires = 0

    def netlist(self) -> Netlist:
        """Return the netlist of the whole file."""
        gates, inputs, outputs, body = self.header()
        for width in inputs:
            for bit in self.builder.input(width):
                self.nodes[len(self.nodes)] = bit.node
        if len(body) != gates:
            where = body[gates][0] if len(body) > gates else self.last_line
            raise self.error(where, f"the header announces {gates} gates, the file has {len(body)}")
        for line, tokens in body:
            self.gate(line, tokens)
        first = self.wires - sum(outputs)
        for wire in range(first, self.wires):
            if wire not in self.nodes:
                raise self.error(self.last_line, f"no gate defines the output wire {wire}")
        for width in outputs:
            nodes = [self.nodes[wire] for wire in range(first, first + width)]
            self.builder.output([Wire(self.builder.graph, node) for node in nodes])
            first += width
        return self.builder.build()

    def header(self) -> tuple[int, list[int], list[int], list[tuple[int, list[str]]]]:
        """Read gate count, input widths, output widths and the gate lines; set `wires`."""
        if len(self.lines) < 2:
            raise self.error(self.last_line, "this is no Bristol circuit: the header is incomplete")
        (line, counts), (second, widths), *rest = self.lines
        if len(counts) != 2:
            raise self.error(line, "the first line must be two numbers, gates and wires")
        gates, self.wires = self.numbers(line, counts)
        numbers = self.numbers(second, widths)
        if rest and all(token.isdecimal() for token in rest[0][1]):
            inputs = self.counted(second, numbers)
            outputs = self.counted(rest[0][0], self.numbers(*rest[0]))
            rest = rest[1:]
        elif len(numbers) == 3:
            inputs, outputs = numbers[:2], numbers[2:]
        else:
            raise self.error(rest[0][0] if rest else self.last_line, "the line of output widths is missing")
        if self.wires > MAX_WIRES:
            raise self.error(line, f"{self.wires} wires are more than the {MAX_WIRES} this program takes")
        if max(sum(inputs), sum(outputs)) > self.wires:
            raise self.error(line, f"{self.wires} wires do not hold {sum(inputs)} inputs, {sum(outputs)} outputs")
        return gates, inputs, outputs, rest

    def gate(self, line: int, tokens: list[str]) -> None:
        """Add the gate of one line (the n gates of a MAND) and define its results.

        Args:
            line: Number of the line, for messages.
            tokens: Words of the line.

        Raises:
            InputError: The line is not a gate.
        """
        *head, kind = tokens
        shape, wires = self.numbers(line, head[:2]), self.numbers(line, head[2:])
        if kind not in SHAPES:
            raise self.error(line, f"unknown gate {kind[:40]!r}")
        half = len(wires) // 3
        fan_in, fan_out = (2 * half, half) if kind == "MAND" else SHAPES[kind]
        if not wires or shape != [fan_in, fan_out] or len(wires) != fan_in + fan_out:
            raise self.error(line, f"wrong number of wires for {kind}")
        graph = self.builder.graph
        if kind == "EQ":
            if wires[0] > 1:
                raise self.error(line, f"EQ assigns 0 or 1, not {wires[0]}")
            results = wires[:1]  # constants are nodes already
        else:
            operands = [self.read(line, wire) for wire in wires[:fan_in]]
            if kind == "XOR":
                results = [graph.xor(*operands)]
            elif kind == "INV":
                results = [graph.xor(operands[0], ONE)]
            elif kind == "EQW":
                results = operands
            else:
                results = [graph.conjoin(operands[i], operands[i + fan_out]) for i in range(fan_out)]
        for wire, node in zip(wires[fan_in:], results, strict=True):
            self.define(line, wire, node)

    def read(self, line: int, wire: int) -> int:
        """Return the node of a wire.

        Args:
            line: Number of the line, for messages.
            wire: Number of the wire.

        Raises:
            InputError: No gate has defined the wire.
        """
        if wire not in self.nodes:
            raise self.error(line, f"wire {wire} is used before it is defined")
        return self.nodes[wire]

    def define(self, line: int, wire: int, node: int) -> None:
        """Map a wire to its node.

        Args:
            line: Number of the line, for messages.
            wire: Number of the wire.
            node: Node of the graph.

        Raises:
            InputError: The wire is defined already, or out of range.
        """
        if wire in self.nodes:
            raise self.error(line, f"wire {wire} is defined twice")
        if wire >= self.wires:
            raise self.error(line, f"wire {wire} is out of range, the header announces {self.wires} wires")
        self.nodes[wire] = node

    def numbers(self, line: int, tokens: list[str]) -> list[int]:
        """Return words of a line as integers of 0 or more.

        Args:
            line: Number of the line, for messages.
            tokens: The words.

        Raises:
            InputError: A word is not such a number.
        """
        for token in tokens:
            if not token.isdecimal() or len(token) > 18:
                raise self.error(line, f"expected a number, found {token[:40]!r}")
        return [int(token) for token in tokens]

    def counted(self, line: int, numbers: list[int]) -> list[int]:
        """Return the widths in a list that begins with its own length.

        Args:
            line: Number of the line, for messages.
            numbers: The length, then the widths.

        Raises:
            InputError: The length is wrong.
        """
        count, *widths = numbers
        if count != len(widths):
            raise self.error(line, f"{count} widths announced, {len(widths)} found")
        return widths

    def error(self, line: int, what: str) -> InputError:
        """Return an error that names the file and the line.

        Args:
            line: Number of the line.
            what: The fact.
        """
        return InputError(f"{self.name}, line {line}: {what}")


def save(netlist: Netlist, path: str | Path) -> None:
    """Write a netlist as a Bristol Fashion file.

    Args:
        netlist: The circuit.
        path: The file; an existing one is replaced.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        Path(path).write_text(dump(netlist), encoding="ascii")
    except OSError as error:
        raise InputError(f"{path}: cannot write this circuit file: {error.strerror or error}") from error


def dump(netlist: Netlist) -> str:
    """Return the netlist in Bristol Fashion: one wire for every gate, inputs first, outputs last.

    EQ and EQW gates produce the outputs that are inputs, constants or repetitions.

    Examples:
        >>> from smc.circuit import Builder
        >>> builder = Builder()
        >>> x, y = builder.input(1), builder.input(1)
        >>> builder.output(x[0] & y[0])
        >>> print(dump(builder.build()))
        1 3
        2 1 1
        1 1
        <BLANKLINE>
        2 1 0 1 2 AND
        <BLANKLINE>
    """
    inputs = sum(netlist.input_widths)
    gates: list[tuple[str, list[int]]] = []  # gate i defines wire inputs + i
    wires = {FIRST_INPUT + wire: wire for wire in range(inputs)}  # the wire whose value each slot holds at the moment

    def make(kind: str, *operands: int) -> int:
        gates.append((kind, list(operands)))
        return inputs + len(gates) - 1

    def wire(slot: int) -> int:
        if slot not in wires:  # first use of a constant
            wires[slot] = make("EQ", slot)
        return wires[slot]

    for layer in netlist.layers:
        for out, left, right in layer.xors.tolist():
            wires[out] = make("INV", wire(right)) if left == ONE else make("XOR", wire(left), wire(right))
        ands = [(out, make("AND", wire(left), wire(right))) for out, left, right in layer.ands.tolist()]
        wires.update(ands)
    results: dict[int, None] = {}
    for slot in netlist.outputs.tolist():
        result = wire(slot)
        results[make("EQW", result) if result < inputs or result in results else result] = None

    total = inputs + len(gates)
    inner = (number for number in range(inputs, total) if number not in results)
    number = {old: new for new, old in enumerate((*range(inputs), *inner, *results))}
    lines = [f"{len(gates)} {total}"]
    lines += [" ".join(map(str, (len(widths), *widths))) for widths in (netlist.input_widths, netlist.output_widths)]
    lines.append("")
    for i, (kind, operands) in enumerate(gates):
        sources = operands if kind == "EQ" else [number[operand] for operand in operands]
        lines.append(" ".join(map(str, (len(operands), 1, *sources, number[inputs + i], kind))))
    return "\n".join(lines) + "\n"
