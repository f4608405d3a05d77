"""Choose the best of several candidates, with noise.

The mechanism is the exponential mechanism in its permute-and-flip form (`protocols.release.choice`). The utility of a
candidate is a sum over the rows. The contribution of a row is public, given its values: a table of candidates and
values, the price that a buyer would pay, or an expression of columns (`parties.jobs.release.utility`).

**Sensitivity.** Let s be the greatest noisy score of the other candidates minus the candidate's own score. A candidate
wins if and only if its noise is at least s. A row with contributions v moves s by at most max v - min v, up or down: by
its span, not by twice its greatest number. The noise is for the greatest span of any possible row. A replaced row
removes one contribution and adds another, possibly in another group, so its noise is twice as large.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.text import quoted
from parties.jobs.kind import Description
from parties.jobs.kinds.release.top import ChoiceSettings
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Question
from parties.jobs.release.reading import Cells
from parties.jobs.release.utility import parsed
from parties.jobs.release.values import MAX_UNITS, Values, decimal, read
from parties.jobs.settings import Name, public
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows
    from smc.engines import Engine

MOST_CANDIDATES = 1000
Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class ChooseSettings(ChoiceSettings):
    """Settings of `smc release choose`."""

    column: Name | None = public(None, "Column", "Column whose values are scored", column=True, unless="utility")
    scores: Text | None = public(
        None,
        "Scores",
        "Score of each candidate for each value of the column: 'old: low=1, high=-2; new: high=3'",
        none="none",
    )
    prices: Text | None = public(
        None,
        "Prices",
        "Instead of scores: prices as candidates; the best earns most. A row pays each price up to its number",
        none="none",
    )
    utility: Text | None = public(
        None,
        "Utility",
        "Instead of scores and prices, a row's utility of each candidate: 'early: 2 if age = "
        "young; 0.5 * visits | late: 1'",
        none="none",
    )


class Choose(Release):
    """Choose the candidate whose public scores, added up over the rows of both parties, are greatest. Both learn its
    name.

    The choice has noise: better candidates are likelier. No score is opened. Groups (--by) cost no further epsilon.
    """

    name = "release choose"
    about = Description("Choice by scores", "choice", example="--column bid --prices 1,2,3.01 --epsilon 1")
    Settings = ChooseSettings
    streamed = True

    @classmethod
    @override
    def named(cls, settings: Any) -> tuple[str, ...]:
        if settings.utility is None:
            return super().named(settings)
        return settings.by or ()

    @classmethod
    @override
    def asked_columns(cls, settings: Any, schema: Schema) -> tuple[str, ...]:
        if settings.utility is None:
            return super().asked_columns(settings, schema)
        if settings.column is not None:
            raise InputError("column: cannot be combined with utility, which names its own columns; remove column")
        if not (columns := parsed(settings.utility).columns(schema)):
            raise InputError(
                "utility: depends on no column, so the answer is the same for any rows; name a column in it"
            )
        if both := [column for column in columns if column in (settings.by or ())]:
            raise InputError(
                f"by: {quoted(both[0])} is already in utility and cannot form groups; remove it from one of them"
            )
        return (*(settings.by or ()), *columns)

    @classmethod
    @override
    def numbered(cls, settings: Any) -> tuple[str, ...]:
        return super().numbered(settings) if settings.utility is None else parsed(settings.utility).numbers

    @override
    def ask(self) -> Question:
        from protocols.release.choice import check_width, noisy_choice

        groups = Cells(self.schema, self.where, self.settings.by or ())
        columns = self.asked_columns(self.settings, self.schema)
        of = " and ".join(columns[len(groups.by) :])
        cells = self.summed(*columns) if self.settings.utility is None else self.cells(*columns)
        candidates, scores = self._scores(cells, columns[len(groups.by) :])
        from_zero = scores - scores.min()  # subtracts one constant from all candidates of a row, which keeps the choice
        span = int((scores.max(axis=0) - scores.min(axis=0)).max())
        noise = self.noisy_max(max(1, span) * (1 + self.replaced))
        law = None if noise is None else noise.law(len(candidates) * groups.number)
        width = max(1, (self.rows_each * int(from_zero.max())).bit_length())
        check_width(width, law)

        def count(rows: Rows) -> Numbers:
            """Return this party's scores of all candidates in all groups, int64[candidates * groups]."""
            if self.settings.utility is None:
                return cells.sums(rows, *from_zero).reshape(-1)
            last = len(cells.domains[-1])
            together = cells.ranges(rows, np.arange(last), last).reshape(groups.number, -1)
            return (from_zero @ together.T).reshape(-1)

        def opened(engine: Engine, numbers: Numbers) -> list[int]:
            return noisy_choice(engine, numbers.reshape(len(candidates), -1), width, law).tolist()

        return Question(
            f"which of {', '.join(candidates)} is best by its scores for {of}, over the rows of both "
            f"tables{groups.words}",
            len(candidates) * groups.number,
            count,
            opened,
            lambda state: {
                "column": of,
                "by": list(groups.by),
                "numbers": groups.answers({"first": [candidates[index]]} for index in state),
            },
            () if noise is None else (noise,),
            f"choice {'without' if noise is None else 'with'} noise",
            of,
            cells.by[-1],
            bits=groups.number * (len(candidates) - 1).bit_length() if noise is None else None,
        )

    def _scores(self, cells: Cells, columns: tuple[str, ...]) -> tuple[tuple[str, ...], Numbers]:
        """Return the candidates, and the contribution of a row to each of them by its value or values.

        The contributions are int64[candidates, values], in units of the finest decimal.
        """
        table, prices, utility = self.settings.scores, self.settings.prices, self.settings.utility
        if [table, prices, utility].count(None) != 2:
            raise InputError("scores: give one of scores, prices and utility")
        column, values = columns[-1], cells.domains[-1]
        if utility is not None:
            expressions = parsed(utility)
            labels = Cells(self.schema, self.where, columns).labels
            names, rows = expressions.names, expressions.scores(labels, self.schema)
        elif prices is not None:
            numbers = read(column, values, "a price").numbers
            names = tuple(text.strip() for text in prices.split(","))
            amounts = [_number(name, "prices") for name in names]
            rows = [
                [price if bid is not None and bid >= price else Fraction(0) for bid in numbers] for price in amounts
            ]
        else:
            assert table is not None
            names, rows = _read(table, column, values)
        if not 2 <= len(names) <= MOST_CANDIDATES or len(set(names)) < len(names):
            key = "prices" if prices is not None else "scores" if utility is None else "utility"
            raise InputError(f"{key}: name 2 to {MOST_CANDIDATES} candidates, none twice")
        whole = Values(tuple(score for row in rows for score in row)).whole
        if max(map(abs, whole)) > MAX_UNITS:
            raise InputError("scores: have too many digits for exact sums; round them")
        return names, np.array(whole, dtype=np.int64).reshape(len(names), -1)


def _read(table: str, column: str, values: tuple[str, ...]) -> tuple[tuple[str, ...], list[list[Fraction]]]:
    """Return the candidates and their scores for each value, 0 where none is given.

    Raises:
        InputError: The text has a wrong form; the message names the part.
    """
    names, rows = [], []
    for part in filter(str.strip, table.split(";")):
        name, colon, entries = part.partition(":")
        if not colon or not name.strip():
            raise InputError(f"scores: {quoted(part.strip())} must be 'candidate: value=score, ...'")
        row = dict.fromkeys(values, Fraction(0))
        for entry in filter(str.strip, entries.split(",")):
            value, equals, score = (text.strip() for text in entry.rpartition("="))
            if not equals or value not in row:
                raise InputError(f"scores: {quoted(entry.strip())} must be VALUE=SCORE of a value of {quoted(column)}")
            row[value] = _number(score, "scores")
        names.append(name.strip())
        rows.append(list(row.values()))
    return tuple(names), rows


def _number(text: str, key: str) -> Fraction:
    number = decimal(text)
    if number is None:
        raise InputError(f"{key}: {quoted(text)} is not a decimal number; write it as 0.5")
    return number
