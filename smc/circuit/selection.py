"""Selection circuits: one-hot decoding, leading bit, normalising shift, largest and smallest of a list.

Each function follows the form of its builder; costs are listed for "size", then for "depth".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from smc.circuit.graph import ONE
from smc.circuit.integer import Integer, concatenate, select
from smc.circuit.prefix import clear_above
from smc.circuit.wire import Wire, all_of, any_of, parity

Player = tuple[Integer, Integer]  # a value and its index
Loses = Callable[[Integer, Integer], Wire]  # function: 1 if the second value is better than the first

GROUP = 8  # values compared in all pairs in the form "depth"; a larger group saves little depth for many comparisons


def decode(index: Integer) -> list[Wire]:
    """Return 2^m wires, of which only number `index` is 1, for an index of m bits.

    This takes 2^m - m - 1 ANDs at depth ceil(log2 m), by halves of the index. No circuit takes fewer: the products of
    two or more of the m bits are linearly independent of each other and of the bits, and an AND gate adds one
    dimension.
    """
    if len(index) > 1:
        half = len(index) // 2
        return _products(decode(index[:half]), decode(index[half:]))
    return [~index[0], index[0]] if len(index) else [Wire(index.graph, ONE)]


def _products(low: Sequence[Wire], high: Sequence[Wire]) -> list[Wire]:
    """Return all low[i] & high[j], with i running fastest, of two one-hot tables of at least two wires each.

    A one-hot table has XOR 1. So the product of high[j] with the last wire of `low` is high[j] xor its other products,
    and likewise for the last wire of `high`.
    """
    table = [[x & y for x in low[:-1]] for y in high[:-1]]
    table = [[*row, y ^ parity(row)] for y, row in zip(high, table, strict=False)]
    last = [x ^ parity(column) for x, column in zip(low, zip(*table, strict=True), strict=True)]
    return [wire for row in (*table, last) for wire in row]


def leading_one(x: Integer) -> Integer:
    """Return, as wide as x, only the most significant set bit of x; 0 for 0.

    Size: n - 1 ANDs, depth n - 1. Depth: n/2 log2 n ANDs or less, depth ceil(log2 n), see `prefix.clear_above`.
    """
    clear = Wire(x.graph, ONE)  # 1 while no bit was set
    if x.graph.form == "depth":
        return Integer(x.graph, [before ^ after for before, after in pairwise(clear_above(x.wires, clear))][::-1])
    leading: list[Wire] = []
    for wire in reversed(x.wires):
        leading.append(clear & wire)
        clear = clear ^ leading[-1]
    return Integer(x.graph, leading[::-1])


def normalise(x: Integer) -> tuple[Integer, Integer]:
    """Return x << s with the smallest s that sets the top bit, and s in ceil(log2 n) bits, for n bits of x.

    For x = 0 the shifted value is 0 and every bit of s is 1. Size: for i = k - 1, ..., 0 with k = ceil(log2 n), a step
    tests whether the top 2^i bits are all zero and shifts by 2^i if they are; it takes n + 2^i - 1 ANDs and i + 1
    levels. Depth: s is computed first, then the shifts: kn + n/2 log2 n ANDs or less, depth 2k - 1.
    """
    x = x.as_unsigned()
    steps = max(len(x) - 1, 0).bit_length()
    shift = _leading_zeros(x, steps) if x.graph.form == "depth" else None
    done: list[Wire] = []
    for step in reversed(range(steps)):
        empty = shift[step] if shift else ~any_of(x.wires[-(1 << step) :])
        x = select(empty, x << (1 << step), x)
        done.append(empty)
    return x, Integer(x.graph, done[::-1])


def _leading_zeros(x: Integer, width: int) -> list[Wire]:
    """Return the number of leading zeros of x, extended by zeros below, but at most 2^width - 1."""
    clear = clear_above(x.wires, Wire(x.graph, ONE))
    # If exactly t wires are 0, bit i of t is the parity of the number of multiples of 2^i in 1 .. t.
    counts = [range(1 << i, 1 << width, 1 << i) for i in range(width)]
    return [parity([clear[min(count, len(x))] for count in multiples]) for multiples in counts]


def maximum(values: Sequence[Integer]) -> tuple[Integer, Integer]:
    """Return the largest of n >= 1 values and its index in ceil(log2 n) bits; among equals the lowest index.

    Size: a knock-out tournament of n - 1 comparisons and choices, ceil(log2 n) of them deep. Depth: in groups of up to
    eight values all pairs are compared at once, followed by one choice; the winners form the next groups.
    """
    return _tournament(values, lambda champion, challenger: champion < challenger)


def minimum(values: Sequence[Integer], indices: Sequence[Integer] = ()) -> tuple[Integer, Integer]:
    """Return the smallest of n >= 1 values and its index, as `maximum`: among equals the lowest position.

    Args:
        values: The values.
        indices: An integer for each value, of equal widths. The integer of the smallest value becomes the low bits of
            the index that is returned; the high bits are the value's position. Default: none.
    """
    return _tournament(values, lambda champion, challenger: champion > challenger, indices)


def argmax(values: Sequence[Integer]) -> Integer:
    """Return the index of the largest of n >= 1 values in ceil(log2 n) bits; among equals the lowest index."""
    return maximum(values)[1]


def argmin(values: Sequence[Integer]) -> Integer:
    """Return the index of the smallest of n >= 1 values, as `argmax`.

    Examples:
        >>> from smc.circuit import Builder, evaluate
        >>> from smc.primitives.bits import from_integers, to_integers
        >>> builder = Builder()
        >>> builder.output(argmin([builder.input(4) for _ in range(3)]))
        >>> to_integers(evaluate(builder.build(), [from_integers([value], 4) for value in (9, 2, 5)])[0])
        [1]
    """
    return minimum(values)[1]


def unbeaten(count: int, loses: Callable[[int, int], Wire]) -> list[Wire]:
    """Choose the first best of several candidates, one-hot.

    All count(count - 1)/2 comparisons run at once, then (count - 1)(count - 2) ANDs at depth ceil(log2(count - 1)).

    Args:
        count: Number of candidates, 2 or more.
        loses: loses(i, j), called for i < j only: 1 if candidate j is better than candidate i.

    Returns:
        One wire a candidate: 1 for the first of the best candidates.
    """
    lost = {(i, j): loses(i, j) for j in range(count) for i in range(j)}
    return [all_of([lost[j, i] for j in range(i)] + [~lost[i, j] for j in range(i + 1, count)]) for i in range(count)]


def pick(onehot: Sequence[Wire], values: Sequence[Integer]) -> Integer:
    """Return the one of n >= 1 values that the one-hot wires select.

    This takes n - 1 ANDs a bit at one level, and none for constants.

    Args:
        onehot: One wire a value; exactly one is 1. The first wire is not read.
        values: The values, of any widths and signs.

    Returns:
        Integer wide enough for every value.
    """
    widest = values[0]
    for value in values:
        widest, _ = widest.aligned(value)
    first, *others = (widest.aligned(value)[1] for value in values)
    # Start from the first value and correct it if another one is selected; so the first one-hot wire is not read.
    wires = [
        parity([bit, *(chosen & (value[i] ^ bit) for chosen, value in zip(onehot[1:], others, strict=True))])
        for i, bit in enumerate(first)
    ]
    return Integer(first.graph, wires, first.signed)


def _tournament(values: Sequence[Integer], loses: Loses, indices: Sequence[Integer] = ()) -> Player:
    if not values:
        raise ValueError("there is no largest or smallest of no values")
    row = [*zip(values, indices or [Integer(value.graph, []) for value in values], strict=True)]
    group = GROUP if values[0].graph.form == "depth" else 2
    match = _play_off if values[0].graph.form == "depth" else _duel
    while len(row) > 1:
        row = [match(row[i : i + group], loses) for i in range(0, len(row), group)]
    return row[0]


def _duel(players: Sequence[Player], loses: Loses) -> Player:
    """Return the better one of two players with one more index bit, which tells which; a player alone as it is."""
    if len(players) == 1:
        return players[0]
    (value, index), (other, other_index) = players
    beaten = loses(value, other)
    place = concatenate(select(beaten, other_index, index), beaten)
    return select(beaten, other, value), place


def _play_off(players: Sequence[Player], loses: Loses) -> Player:
    """Return the best of several players, all compared with each other; a player alone as it is.

    The index of the best gets more high bits: its number among them.
    """
    if len(players) == 1:
        return players[0]
    values, indices = zip(*players, strict=True)
    best = unbeaten(len(values), lambda i, j: loses(values[i], values[j]))
    numbers = [Integer.constant(values[0].graph, i) for i in range(len(values))]
    return pick(best, values), concatenate(pick(best, indices), pick(best, numbers))
