"""AND gates and levels of operators and library circuits, in the form "size", beside the least that is published.

A line is what the circuit computes, its AND gates and depth here, the least published AND gates and where. "optimal"
says that no circuit has fewer. Ours may be below what is published, never above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from smc.circuit import (
    Builder,
    Integer,
    decode,
    fraction,
    leading_one,
    maximum,
    minimum,
    multiply,
    normalise,
    quotient,
    select,
    total,
)
from smc.circuit.library import aes128, sha256_compression
from smc.circuit.library.aes import substitute

BPP = "Boyar, Peralta, Pochuev 2000; optimal"
BP = "Boyar, Peralta 2008; optimal"
KSS = "Kolesnikov, Sadeghi, Schneider 2009"
BRISTOL = "Bristol Fashion circuits (KU Leuven), 2020"
DEGREE = "degree of the polynomial less one; optimal"
DIMENSION = "dimension of the minterms beyond linear ones; optimal"
TEXTBOOK = "Henecka et al., TASTY, 2010: the textbook method"
RESTORING = "restoring division, a subtraction and a choice a bit"

BIT = (1, False)


def word(n: int, signed: bool = False) -> tuple[int, bool]:
    return n, signed


Line = tuple[str, Callable[..., Any], Sequence[tuple[int, bool]], int, int, int, str]

LINES: list[Line] = [
    ("a + b", lambda a, b: a + b, [word(64)] * 2, 63, 63, 63, BPP),
    ("a + b with its carry", lambda a, b: a.wide_add(b), [word(64)] * 2, 64, 64, 64, BPP),
    ("a - b", lambda a, b: a - b, [word(64)] * 2, 63, 63, 63, BRISTOL),
    ("-a", lambda a: -a, [word(64)], 62, 62, 62, BRISTOL),
    ("a < b", lambda a, b: a < b, [word(32)] * 2, 32, 32, 32, KSS),
    ("a < b, signed", lambda a, b: a < b, [word(32, True)] * 2, 32, 32, 32, KSS),
    ("a == b", lambda a, b: a == b, [word(64)] * 2, 63, 6, 63, DEGREE),
    ("c ? a : b", lambda c, a, b: select(c[0], a, b), [BIT, word(32), word(32)], 32, 1, 32, KSS),
    ("a << s", lambda a, s: a << s, [word(32), word(5)], 160, 5, 160, "a choice for each bit of s"),
    ("bits that are 1", lambda a: total([a[i : i + 1] for i in range(256)], 9), [word(256)], 255, 8, 255, BP),
    ("of 255 bits", lambda a: total([a[i : i + 1] for i in range(255)], 8), [word(255)], 247, 7, 247, BP),
    ("16 numbers' sum", lambda *v: total(v, 36), [word(32)] * 16, 480, 35, 519, "15 adders as wide as need be"),
    ("a b modulo 2^64", lambda a, b: multiply(a, b, 64), [word(64)] * 2, 4033, 63, 4033, BRISTOL),
    ("a b, 16 bits", lambda a, b: a * b, [word(16)] * 2, 496, 31, 496, TEXTBOOK),
    ("a b, 32 bits", lambda a, b: a * b, [word(32)] * 2, 1698, 63, 2016, TEXTBOOK),
    ("a b, 64 bits", lambda a, b: a * b, [word(64)] * 2, 5525, 127, 8128, BRISTOL),
    ("a b, 64 bits, signed", lambda a, b: a * b, [word(64, True)] * 2, 5751, 127, 8128, TEXTBOOK),
    ("a a, 16 bits", lambda a: a * a, [word(16)], 240, 30, 496, TEXTBOOK),
    ("a a, 64 bits", lambda a: a * a, [word(64)], 2969, 126, 8128, TEXTBOOK),
    ("a / b, 64 bits", lambda a, b: quotient(a, b, 64), [word(64)] * 2, 4096, 4096, 4285, BRISTOL),
    ("a / b, 32 bits", lambda a, b: quotient(a, b, 32), [word(32)] * 2, 1024, 1024, 2047, RESTORING),
    ("2^16 a / b", lambda a, b: fraction(a, b, 16), [word(16)] * 2, 272, 272, 543, RESTORING),
    ("one of 64 wires", decode, [word(6)], 57, 3, 57, DIMENSION),
    ("leading one", leading_one, [word(64)], 63, 63, 63, DEGREE),
    ("shifted until the top bit is 1", lambda a: list(normalise(a)), [word(32)], 186, 15, 186, "by halves"),
    ("the largest of 8, and its place", maximum, [word(32)] * 8, 452, 99, 457, KSS),
    ("the least of 100, and its place", minimum, [word(16)] * 100, 3263, 119, 3269, KSS),
    ("S-box of AES", substitute, [word(8)], 32, 6, 32, "Boyar, Peralta 2010"),
]  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_and_gates_beside_the_least_published(line: Line) -> None:
    _, program, types, gates, depth, published, _ = line
    builder = Builder()
    inputs = [builder.input(width, signed) for width, signed in types]
    made = program(inputs) if program in (maximum, minimum) else program(*inputs)
    for output in [made] if isinstance(made, Integer) or not isinstance(made, list | tuple) else made:
        builder.output(output)
    netlist = builder.build()
    assert (netlist.and_count, netlist.depth) == (gates, depth)
    assert gates <= published


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 31, 100, 256])
def test_counting_bits_takes_as_many_gates_as_the_proven_least(n: int) -> None:
    builder = Builder()
    bits = builder.input(n)
    builder.output(total([bits[i : i + 1] for i in range(n)], n.bit_length()))
    assert builder.build().and_count == n - n.bit_count()


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("n", [1, 4, 13])
def test_sums_take_no_more_than_one_adder_after_the_other(n: int, m: int) -> None:
    builder, chained = Builder(), Builder()
    width = n + m.bit_length()
    builder.output(total([builder.input(n) for _ in range(m)], width))
    first, *more = (chained.input(n).resize(width) for _ in range(m))
    for value in more:
        first = first + value
    chained.output(first)
    assert builder.build().and_count <= chained.build().and_count


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("n", "m"), [(20, 20), (20, 47), (21, 31), (33, 33), (32, 64)])
def test_products_of_halves_take_no_more_than_the_textbook(n: int, m: int, signed: bool) -> None:
    builder = Builder()
    builder.output(builder.input(n, signed) * builder.input(m, signed))
    assert builder.build().and_count < 2 * n * m - max(n, m)


def test_published_ciphers() -> None:
    assert (aes128().and_count, aes128().depth) == (6400, 60)  # Bristol Fashion: 6,400
    assert sha256_compression().and_count == 22573  # Bristol Fashion: 22,573
