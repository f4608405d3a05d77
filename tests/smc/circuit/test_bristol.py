from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.circuit import Builder, dump, evaluate, load, parse, save
from smc.errors import InputError
from smc.primitives.bits import from_integers, to_integers

FULL_ADDER = """5 8
3 1 1 1
2 1 1

2 1 0 1 3 XOR
2 1 1 2 4 XOR
2 1 3 4 5 AND
2 1 3 2 6 XOR
2 1 5 1 7 XOR
"""

HALF_ADDER_OLD = """3 5
1 1 2

2 1 0 1 2 AND
2 1 0 1 3 XOR
1 1 2 4 INV
"""


def table(netlist):
    """The outputs as ints over all inputs."""
    count = sum(netlist.input_widths)
    bits = from_integers(range(1 << count), count)
    split = np.split(bits, np.cumsum(netlist.input_widths))[:-1]
    return [to_integers(rows) for rows in evaluate(netlist, split)]


def test_fashion():
    netlist = parse(FULL_ADDER, "adder")
    assert (netlist.input_widths, netlist.output_widths) == ((1, 1, 1), (1, 1))
    assert table(netlist) == [[i.bit_count() & 1 for i in range(8)], [int(i.bit_count() > 1) for i in range(8)]]


def test_old_format():
    netlist = parse(HALF_ADDER_OLD, "old")
    assert (netlist.input_widths, netlist.output_widths) == ((1, 1), (2,))
    assert table(netlist) == [[(a ^ b) | (1 - (a & b)) << 1 for b in (0, 1) for a in (0, 1)]]


def test_old_format_whose_header_could_be_fashion():
    """`2 1 1` could announce two inputs; the third line settles it."""
    netlist = parse("2 5\n2 1 1\n2 1 0 1 3 AND\n2 1 2 3 4 XOR\n", "old")
    assert (netlist.input_widths, netlist.output_widths) == ((2, 1), (1,))
    assert table(netlist) == [[(i & i >> 1 & 1) ^ i >> 2 for i in range(8)]]


def test_old_format_with_one_party_and_without_gates():
    assert parse("0 2\n2 0 1\n", "old").input_widths == (2, 0)
    assert table(parse("0 2\n2 0 1\n", "old")) == [[0, 0, 1, 1]]


def test_every_gate():
    text = """7 13
1 4
1 8
1 1 0 4 EQ
1 1 1 5 EQ
1 1 3 6 EQW
1 1 0 7 INV
2 1 0 1 8 AND
2 1 0 1 9 XOR
6 3 0 1 2 1 2 3 10 11 12 MAND
"""
    netlist = parse(text.replace("1 8\n", "1 9\n", 1), "gates")
    bits = [[i >> k & 1 for k in range(4)] for i in range(16)]
    expected = [(0, 1, d, 1 - a, a & b, a ^ b, a & b, b & c, c & d) for a, b, c, d in bits]
    assert table(netlist) == [[sum(bit << k for k, bit in enumerate(row)) for row in expected]]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "  \n\n"),
        lambda text: "\n\n" + text.replace(" ", "\t"),
        lambda text: text.strip(),
        lambda text: text.replace("\n\n", "\n") + "\n \n",
    ],
)
@pytest.mark.parametrize("text", [FULL_ADDER, HALF_ADDER_OLD])
def test_stray_white_space(text, change):
    assert parse(change(text), "spaces").digest() == parse(text, "plain").digest()


def test_constants_are_folded_on_import():
    netlist = parse("3 4\n1 1\n1 1\n1 1 1 1 EQ\n2 1 0 1 2 AND\n2 1 2 2 3 AND\n", "folded")
    assert netlist.gate_count == 0
    assert table(netlist) == [[0, 1]]


FASHION = "2 5\n2 1 2\n1 1\n2 1 0 1 3 XOR\n2 1 2 3 4 AND\n"

MALFORMED = [
    ("", "line 1: .*header"),
    ("3 4\n", "line 1: .*header"),
    ("2 5 1\n2 1 2\n1 1\n", "line 1: .*two numbers"),
    ("two 5\n2 1 2\n1 1\n", "line 1: .*'two'"),
    ("2 -5\n2 1 2\n1 1\n", "line 1: .*'-5'"),
    ("2 5_0\n2 1 2\n1 1\n", "line 1: .*'5_0'"),
    ("2 " + "9" * 5000 + "\n2 1 2\n1 1\n", "line 1: expected a number"),
    ("0 99999999999\n1 99999999999\n1 1\n", "line 1: .*more than"),
    (FASHION.replace("2 1 2\n", "3 1 2\n", 1), "line 2: 3 widths announced, 2 found"),
    (FASHION.replace("2 1 2\n", "2 1 x\n", 1), "line 2: .*'x'"),
    (FASHION.replace("\n1 1\n", "\n2 1\n", 1), "line 3: 2 widths announced, 1 found"),
    ("2 5\n1 3\n2 1 0 1 3 XOR\n", "line 3: the line of output widths is missing"),
    (FASHION.replace("2 1 2\n", "2 1 9\n", 1), "line 1: 5 wires do not hold 10 inputs"),
    (FASHION.replace("\n1 1\n", "\n1 9\n", 1), "line 1: .*9 outputs"),
    (FASHION.replace("2 5", "3 5", 1), "line 5: .*announces 3 gates, the file has 2"),
    (FASHION.replace("2 5", "1 5", 1), "line 5: .*announces 1 gates, the file has 2"),
    (FASHION[:-8], "line 5: "),
    (FASHION.replace("AND", "NAND"), "line 5: unknown gate 'NAND'"),
    (FASHION.replace("AND", "and"), "line 5: unknown gate 'and'"),
    (FASHION.replace("2 1 2 3 4 AND", "2 1 2 3 4"), "line 5: unknown gate '4'"),
    (FASHION.replace("2 1 2 3 4", "2 1 2 3.0 4"), "line 5: .*'3.0'"),
    (FASHION.replace("2 1 2 3 4", "2 1 2 4"), "line 5: wrong number of wires for AND"),
    (FASHION.replace("2 1 2 3 4", "3 1 2 3 0 4"), "line 5: wrong number of wires for AND"),
    (FASHION.replace("2 1 2 3 4 AND", "3 1 2 3 0 4 MAND"), "line 5: wrong number of wires for MAND"),
    (FASHION.replace("2 1 2 3 4 AND", "0 0 MAND"), "line 5: wrong number of wires for MAND"),
    (FASHION.replace("2 1 2 3 4 AND", "1 1 2 4 AND"), "line 5: wrong number of wires for AND"),
    (FASHION.replace("2 1 2 3 4 AND", "AND"), "line 5: wrong number of wires for AND"),
    (FASHION.replace("2 1 2 3 4 AND", "1 1 2 4 EQ"), "line 5: EQ assigns 0 or 1, not 2"),
    (FASHION.replace("2 1 2 3 4", "2 1 2 4 4"), "line 5: wire 4 is used before it is defined"),
    (FASHION.replace("2 1 0 1 3", "2 1 0 7 3"), "line 4: wire 7 is used before it is defined"),
    (FASHION.replace("2 1 2 3 4", "2 1 2 3 3"), "line 5: wire 3 is defined twice"),
    (FASHION.replace("2 1 2 3 4", "2 1 2 3 1"), "line 5: wire 1 is defined twice"),
    (FASHION.replace("2 1 2 3 4", "2 1 2 3 5"), "line 5: wire 5 is out of range"),
    (FASHION.replace("2 5", "2 6", 1), "line 5: no gate defines the output wire 5"),
    ("\x00\x01\x02", "line 1: "),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_malformed_files(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse(text, "bad.txt")
    assert str(caught.value).startswith("bad.txt, line ")
    assert "\n" not in str(caught.value)


def test_every_truncation_is_an_error():
    text = FASHION.rstrip()
    for length in range(len(text)):
        with pytest.raises(InputError):
            parse(text[:length], "cut")


def test_unreadable_files(tmp_path):
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    for name, message in (("absent", "No such file"), (".", "directory"), ("binary", "not a text file")):
        with pytest.raises(InputError, match=message) as caught:
            load(tmp_path / name)
        assert str(tmp_path) in str(caught.value)
    with pytest.raises(InputError, match="cannot write"):
        save(Builder().build(), tmp_path / "absent" / "file.txt")


@settings(max_examples=100)
@given(data=st.data())
def test_round_trip(data, programs):
    program = data.draw(programs)
    netlist = program.build()
    text = dump(netlist)
    back = parse(text, "round trip")
    assert (back.input_widths, back.output_widths) == (netlist.input_widths, netlist.output_widths)
    assert (back.and_count, back.xor_count, back.depth) == (netlist.and_count, netlist.xor_count, netlist.depth)
    inputs = program.inputs()
    for got, want in zip(evaluate(back, inputs), program.run(inputs), strict=True):
        np.testing.assert_array_equal(got, want)
    gates, wires = map(int, text.splitlines()[0].split())
    assert gates == len(text.split("\n\n")[1].splitlines()) == wires - sum(netlist.input_widths)


def test_export_of_inputs_constants_and_repetitions():
    builder = Builder()
    x = builder.input(2)
    both = x[0] & x[1]
    builder.output([x[0], both, both])
    builder.output(builder.constant(2, 2))
    text = dump(builder.build())
    assert text.splitlines()[1:3] == ["1 2", "2 3 2"]
    assert table(parse(text, "copies")) == [[0, 1, 0, 7], [2, 2, 2, 2]]


def test_files_round_trip(tmp_path):
    builder = Builder()
    builder.output(builder.input(5, signed=True) * builder.input(4))
    netlist = builder.build()
    save(netlist, tmp_path / "product.txt")
    assert table(load(tmp_path / "product.txt")) == table(netlist)


def words(*values):
    return from_integers(list(values), 64)


EDGES = [0, 1, 2, 0xFFFFFFFF, 1 << 32, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF]


@pytest.mark.parametrize(("name", "operation", "ands"), [("adder64", int.__add__, 63), ("mult64", int.__mul__, 4033)])
def test_published_arithmetic(bristol_files, name, operation, ands):
    netlist = load(bristol_files / f"{name}.txt")
    pairs = [(a, b) for a in EDGES for b in EDGES]
    result = evaluate(netlist, [words(*column) for column in zip(*pairs, strict=True)])[0]
    assert to_integers(result) == [operation(a, b) & (1 << 64) - 1 for a, b in pairs]
    assert netlist.and_count == ands


def test_published_zero_test(bristol_files):
    netlist = load(bristol_files / "zero_equal.txt")
    assert to_integers(evaluate(netlist, [words(*EDGES)])[0]) == [int(x == 0) for x in EDGES]
    assert netlist.and_count == 63
