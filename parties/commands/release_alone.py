"""`smc release alone`: the noisy median of your own numbers, or of a function of blocks of rows, in five ways."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from parties.alone.sensitivity import ways
from parties.alone.sensitivity.blocks import FUNCTIONS, block_table
from parties.alone.sensitivity.draws import private
from parties.alone.sensitivity.median import Table
from parties.base import console
from parties.base.report import Report
from parties.base.text import quoted
from parties.commands.options import Between
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import command, option
from parties.jobs.release.noise import laplace
from parties.jobs.small.programs import load_program
from parties.jobs.spending import YOURS, exact
from parties.sources.cells import cells
from parties.tables import schema
from protocols.release.promise import LEAST_EPSILON, MOST_EPSILON, check_delta
from smc.errors import InputError

WAYS = {  # settings of each way besides epsilon
    "choice": (),
    "global": (),
    "propose": ("delta", "bound"),
    "bound": ("delta",),
    "smooth": ("delta",),
}
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


@command("alone", "smc release alone --data mine.csv --column visits --low 0 --high 30 --epsilon 1")
def alone(
    data: Path = option("Your rows, a CSV file."),
    columns: tuple[str, ...] = option("Column of whole numbers; repeatable.", flag="--column NAME", required=True),
    schema_file: Path | None = option(
        "Public schema, if the column's values are not numbers. A value counts as its position in the schema, from 0."
    ),
    low: int | None = option("Public lower bound; smaller numbers count as this bound  [required]"),
    high: int | None = option("Public upper bound; larger numbers count as this bound  [required]"),
    way: str = option(
        "Method of adding noise, explained above. If in doubt, choice  [choice]",
        click.Choice([*WAYS]),
        default="choice",
    ),
    epsilon: float = option("Privacy loss of a row.", Between(LEAST_EPSILON, MOST_EPSILON)),
    delta: float | None = option(
        "Probability that the guarantee of epsilon fails  [required with propose, bound, smooth; else refused]",
        Between(0, 1, min_open=True, max_open=True),
    ),
    bound: int | None = option("Bound on the local sensitivity; if it fails, no answer  [required with propose]"),
    blocks: int | None = option("Number of blocks that the rows are divided into  [required with --function]"),
    function: str | None = option(f"Function of a block: {', '.join(FUNCTIONS)}, or MODULE:FUNCTION.", "NAME"),
    out: Path | None = option("Write the result as JSON."),
    force: bool = FORCE,
) -> Report:
    """Compute the noisy median of your own numbers, or of a function's values of blocks of rows, without a peer.

    If in doubt, use the way choice, the exponential mechanism. It needs only epsilon, and is the most accurate. The
    other ways scale Laplace noise to a sensitivity of the median: the global one (global), a bound that you propose and
    the rows must pass (propose), a noisy upper bound on the local one (bound), or the smooth one (smooth).

    With --function and --blocks the rows are divided into blocks, and the function is computed on each block. The
    numbers are then these values (sample and aggregate). A row is in one block, so each way protects it. The function
    takes a block int64[rows], or int64[rows, columns] of several columns.

    Neighbouring tables differ by one replaced row. The guarantee covers the whole output. The output includes the exact
    number of rows.
    """
    if low is None or high is None:
        raise InputError("low and high: are missing; take the bounds from general knowledge, not from these rows")
    flags = {"epsilon": epsilon, "delta": delta, "bound": bound, "blocks": blocks, "function": function}
    _check(way, flags)
    if len(columns) > 1 and function is None:
        raise InputError("column: a median is of one column; give --function for several")
    check_new({"--out": out}, [data, schema_file], None, force)
    with console.progress("reading") as status:
        numbers = _numbers(data, columns, schema_file)
        check_delta(delta or 0, max(len(numbers), 2))
        if function is None or blocks is None:
            table = Table(numbers[:, 0], low, high)
        else:
            own = numbers if len(columns) > 1 else numbers[:, 0]
            table = block_table(own, _function(function), blocks, low, high)
        if way == "propose" and not 1 <= (bound or 0) < table.most:
            raise InputError(f"bound: is {bound}, must be from 1 to {table.most - 1}, as the bounds allow")
        status.doing("adding noise")
        answer = _answer(table, way, exact(epsilon), exact(delta or 0), flags)
    about = {name: flags[name] for name in ("bound", "blocks", "function") if flags[name] is not None}
    document = {
        "question": function or "median",
        "column": ", ".join(columns),
        "way": way,
        **about,
        "epsilon": epsilon,
        "delta": delta or 0.0,
        "adjacency": "replace",
        "rows": len(numbers),
        "bounds": [low, high],
        **answer,
    }
    report = Report(document)
    report.save(out)
    report.note(YOURS)
    report.lines((_answered(document), _cost(document)))
    return report


def _check(way: str, flags: Mapping[str, Any]) -> None:
    """Raise InputError for settings that the way lacks or does not use."""
    if (flags["function"] is None) != (flags["blocks"] is None):
        raise InputError("function: is computed on blocks; give --function with --blocks")
    for name in ("delta", "bound"):
        if name in WAYS[way] and flags[name] is None:
            raise InputError(f"{name}: is missing; --way {way} needs it")
        if name not in WAYS[way] and flags[name] is not None:
            raise InputError(f"{name}: --way {way} does not use it; remove it")


def _numbers(data: Path, columns: Sequence[str], schema_file: Path | None) -> NDArray[np.int64]:
    """Return the numbers of all rows, int64[rows, columns]; a category of the schema counts as its index."""
    read, domains = cells(data), {} if schema_file is None else schema.load(schema_file).attributes
    read.require(columns)
    numbers = np.empty((len(read.lines), len(columns)), dtype=np.int64)
    for place, column in enumerate(columns):
        domain = domains.get(column, ())
        indices = {} if all(map(_WHOLE.fullmatch, domain)) else {value: index for index, value in enumerate(domain)}
        for row, cell in enumerate(read.values[column]):
            if cell not in indices and (indices or not _WHOLE.fullmatch(cell)):
                what = "no value of the schema" if indices else "not a whole number"
                raise InputError(f"{read.where(row, column)}: {quoted(cell)} is {what}; correct the cell")
            numbers[row, place] = indices[cell] if indices else int(cell)
    return numbers


def _function(name: str) -> Any:
    if name not in FUNCTIONS and ":" not in name:
        raise InputError(f"function: {quoted(name)} is unknown; give one of {', '.join(FUNCTIONS)}, or MODULE:FUNCTION")
    return FUNCTIONS[name] if name in FUNCTIONS else load_program(name)


def _answer(table: Table, way: str, epsilon: Fraction, delta: Fraction, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer's JSON fields: the noisy value clamped to the bounds; an interval if its width is public."""
    if way == "choice":
        return {"value": int(ways.by_choice(table, epsilon, private)[0])}
    if way == "global":
        return _noisy(
            table, ways.by_global(table, epsilon, private)[0], laplace(epsilon, table.most, "replace").reach()
        )
    if way == "propose":
        passed, answers = ways.by_propose(table, flags["bound"], epsilon, delta, private)
        if not passed[0]:
            return {"passed": False, "value": None}
        reach = laplace(epsilon / 2, flags["bound"], "replace").reach()
        return {"passed": True, **_noisy(table, answers[0], reach)}
    if way == "bound":
        bounds, answers = ways.by_bound(table, epsilon, delta, private)
        reach = laplace(epsilon / 2, int(bounds[0]), "replace").reach()
        return {"sensitivity": int(bounds[0]), **_noisy(table, answers[0], reach)}
    return _noisy(table, ways.by_smooth(table, epsilon, delta, private)[0], None)


def _noisy(table: Table, answer: np.int64, reach: int | None) -> dict[str, Any]:
    def within(number: int) -> int:
        return min(max(number, table.low), table.high)

    noisy = int(answer)
    numbers = {"value": within(noisy), "noisy": noisy}
    if reach is not None:
        numbers |= {"low": within(noisy - reach), "high": within(noisy + reach)}
    return numbers


def _answered(document: Mapping[str, Any]) -> str:
    if document["value"] is None:
        return f"no answer: that one row could move the median by over {document['bound']} was not ruled out"
    what = (
        "median" if "blocks" not in document else f"{document['question']}, the median of {document['blocks']} blocks"
    )
    interval = f"   95 %, noise only: {document['low']} to {document['high']}" if "low" in document else ""
    return f"{what} of {document['column']}   {document['value']}{interval}"


def _cost(document: Mapping[str, Any]) -> str:
    delta = f", delta {document['delta']:g}" if document["delta"] else ""
    return f"way {document['way']}, epsilon {document['epsilon']:g}{delta} (replace), {document['rows']:,} rows"
