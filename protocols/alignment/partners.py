"""Best partners one to one: a pair stays if it is the best of its row and of its column, and not 0.

Among equal pairs the one with the lower place is better. Each line of a table of numbers holds a knock-out tournament;
then the winners are traced back to their places. Each tournament has one winner, so ties never leave two pairs in a row
or a column.

ANDs of m numbers of w bits in the form "size": (m - 1) (2 w + 1).
"""

from __future__ import annotations

import numpy as np

from protocols.alignment.keys import Rows
from smc.circuit import Builder, Form, Netlist, any_of, select
from smc.circuit.kept import kept
from smc.engines import Bits, Engine


@kept
def _match(width: int, form: Form) -> Netlist:
    """Build the circuit of one match: the larger number, and whether it is the second."""
    builder = Builder(form)
    first, second = builder.input(width), builder.input(width)
    is_second = first < second
    builder.output(select(is_second, second, first))
    builder.output(is_second)
    return builder.build()


@kept
def _traced(form: Form) -> Netlist:
    """Build the circuit that passes a winner on to the first or the second player."""
    builder = Builder(form)
    winner, is_second = builder.input(1), builder.input(1)
    second = winner[0] & is_second[0]
    builder.output(winner[0] ^ second)
    builder.output(second)
    return builder.build()


@kept
def _mutual(width: int, form: Form) -> Netlist:
    builder = Builder(form)
    number, row, column = builder.input(width), builder.input(1), builder.input(1)
    builder.output(any_of(number.wires) & row[0] & column[0])
    return builder.build()


def best(engine: Engine, numbers: Bits, lines: Rows) -> Bits:
    """Return for each number whether it is the first largest of its line.

    Args:
        engine: The engine of this session.
        numbers: Secret unsigned numbers.
        lines: Public indices of the numbers of each line, int64[lines, members]; each number is in one line.
    """
    flags = _winners(engine, numbers.take(lines.T.reshape(-1)), lines.shape[1], lines.shape[0])
    order = np.empty(lines.size, dtype=np.intp)
    order[lines.T.reshape(-1)] = np.arange(lines.size)
    return flags.take(order)


def _winners(engine: Engine, numbers: Bits, members: int, lines: int) -> Bits:
    """Return which of the numbers win, for `members` numbers of each line: the first of all lines, the second, ..."""
    if members == 1:
        return engine.constant(np.ones((1, lines), dtype=np.uint8))
    at = np.arange(members * lines).reshape(members, lines)
    pairs = members // 2 * 2
    first, second, odd = (at[part].reshape(-1) for part in (slice(0, pairs, 2), slice(1, pairs, 2), slice(pairs, None)))
    larger, is_second = engine.run(_match(numbers.width, engine.form), numbers.take(first), numbers.take(second))
    won = _winners(engine, Bits.join([larger, numbers.take(odd)]), -(-members // 2), lines)
    split = engine.run(_traced(engine.form), won.take(slice(0, len(first))), is_second)
    flags = Bits.join([*split, won.take(slice(len(first), None))])
    return flags.take(np.argsort(np.concatenate([first, second, odd])))


def partners(engine: Engine, numbers: Bits, rows: int, columns: int) -> Bits:
    """Return for each pair whether both are each other's best partner and its weight is not 0: secret, [1, pairs].

    Args:
        engine: The engine of this session.
        numbers: Secret weights of pairs, 0 for no match: table by table, row by row.
        rows: Rows of a table.
        columns: Columns of a table.
    """
    at = np.arange(numbers.batch).reshape(-1, rows, columns)
    of_row = best(engine, numbers, at.reshape(-1, columns))
    of_column = best(engine, numbers, at.transpose(0, 2, 1).reshape(-1, rows))
    (stays,) = engine.run(_mutual(numbers.width, engine.form), numbers, of_row, of_column)
    return stays
