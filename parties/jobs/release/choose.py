"""Which of some public candidates is best for the rows of both parties, by the sum of what every row gives to each.

The exponential mechanism in its best form (`protocols.release.choice`), for any utility that is such a sum. What a row
of some value gives is public: a table of candidates and values, or the price that it would pay.

**Sensitivity** is derived from it. Candidate i wins iff its noise is at least s, which is the greatest score with noise
of the others, less its own score. A row that gives v moves s by max v - min v at most, up or down: by its span, not
by twice its greatest number. So the noise is for the greatest span of all values that a row can have; a row that is
replaced takes one away and brings another, of the same group or not: twice that.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.arrays import Numbers
from parties.base.text import quoted
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Question
from parties.jobs.release.top import ChoiceSettings
from parties.jobs.release.values import MAX_UNITS, Values, decimal, read
from parties.jobs.settings import public
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine

MOST_CANDIDATES = 1000
Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class ChooseSettings(ChoiceSettings):
    """`smc release choose`."""

    scores: Text | None = public(
        None,
        "Scores",
        "What a row gives to each candidate by its value: 'old: low=1, high=-2; new: high=3'",
        none="none",
    )
    prices: Text | None = public(
        None, "Prices", "In place of scores: prices, of which a row pays each that is not above its number", none="none"
    )


class Choose(Release):
    """Which candidate is best for the rows of both parties, by public scores of their values? Both learn the name.

    With noise: the better a candidate, the likelier it is. No score is opened. Groups (--by) cost nothing more.
    """

    name = "release choose"
    title = "Choice by scores"
    Settings = ChooseSettings
    example = "--data mine.csv --schema schema.toml --column bid --prices 1,2,3.01 --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --column bid --prices 1,2,3.01 --epsilon 1 "
    noun = "choice"
    streamed = True

    @override
    def ask(self) -> Question:
        from protocols.release.choice import check_width, noisy_choice

        cells = self.summed(*self.named(self.settings))
        of, groups = cells.by[-1], cells.groups.number
        candidates, scores = self._scores(of, cells.domains[-1])
        from_zero = scores - scores.min()  # the same for all candidates of a row: it changes no choice
        span = int((scores.max(axis=0) - scores.min(axis=0)).max())
        noise = self.noisy_max(max(1, span) * (1 + self.replaced))
        law = None if noise is None else noise.law(len(candidates) * groups)
        width = max(1, (self.settings.max_rows * int(from_zero.max())).bit_length())
        check_width(width, law)

        def opened(engine: Engine, numbers: Numbers) -> list[int]:
            return noisy_choice(engine, numbers.reshape(len(candidates), -1), width, law).tolist()

        return Question(
            f"which of {', '.join(candidates)} is best by its scores for {of}, over the rows of both "
            f"tables{cells.groups.words}",
            len(candidates) * groups,
            lambda rows: cells.sums(rows, *from_zero).reshape(-1),
            opened,
            lambda state: cells.grouped({"first": [candidates[index]]} for index in state),
            () if noise is None else (noise,),
            f"choice {'without' if noise is None else 'with'} noise",
            of,
            of,
            bits=groups * (len(candidates) - 1).bit_length() if noise is None else None,
        )

    def _scores(self, column: str, values: tuple[str, ...]) -> tuple[tuple[str, ...], Numbers]:
        """Return the candidates, and what a row of each value gives to each of them, int64[candidates, values] in
        units."""
        table, prices = self.settings.scores, self.settings.prices
        if (table is None) == (prices is None):
            raise InputError("scores: give either scores of candidates, or prices")
        if prices is not None:
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
            key = "scores" if prices is None else "prices"
            raise InputError(f"{key}: name 2 to {MOST_CANDIDATES} candidates, none twice")
        whole = Values(tuple(score for row in rows for score in row)).whole
        if max(map(abs, whole)) > MAX_UNITS:
            raise InputError("scores: are too many units of their finest decimal: round them")
        return names, np.array(whole, dtype=np.int64).reshape(len(names), -1)


def _read(table: str, column: str, values: tuple[str, ...]) -> tuple[tuple[str, ...], list[list[Fraction]]]:
    """Return candidates and their scores of each value, 0 where none is given. `InputError` names what is wrong."""
    names, rows = [], []
    for part in filter(str.strip, table.split(";")):
        name, colon, entries = part.partition(":")
        if not colon or not name.strip():
            raise InputError(f"scores: {quoted(part.strip())} is no 'candidate: value=score, ...'")
        row = dict.fromkeys(values, Fraction(0))
        for entry in filter(str.strip, entries.split(",")):
            value, equals, score = (text.strip() for text in entry.rpartition("="))
            if not equals or value not in row:
                raise InputError(f"scores: {quoted(entry.strip())} is no VALUE=SCORE of a value of {quoted(column)}")
            row[value] = _number(score, "scores")
        names.append(name.strip())
        rows.append(list(row.values()))
    return tuple(names), rows


def _number(text: str, key: str) -> Fraction:
    number = decimal(text)
    if number is None:
        raise InputError(f"{key}: {quoted(text)} is not a decimal number")
    return number
