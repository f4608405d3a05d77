"""Find a quantile of a column, such as the median."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Description, Document, exact
from parties.jobs.release import presenting
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Question
from parties.jobs.release.ranges import Ranges, RoundedSettings
from parties.jobs.release.settings import ApartSettings
from parties.jobs.settings import Name, public
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows
    from smc.engines import Engine


OUTER = Fraction(1, 10)  # a quantile nearer to 0 or 1 has few rows beyond it


class QuantileSettings(RoundedSettings, ApartSettings):
    """Settings of `smc quantile`."""

    column: Name | None = public(
        None, "Column of numbers", "Column of numbers; its values in the schema are public", column=True
    )
    at: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = public(
        0.5, "Share", "Share of rows below the quantile: 0.5 = median, 0.9 = ninth decile; at most three digits"
    )


class Quantile(Release):
    """Find a quantile of a column over the rows of both parties. Both learn one of the column's public numbers.

    With epsilon the number is chosen with noise: numbers near the quantile are likelier. With --at 0 or 1 it is near
    the smallest or greatest number, and a few rows lie beyond it. The result states about how many, computed from
    public numbers. With --exact the number is one that some row has, so it reveals something about a person. A rounded
    number reveals less (--round-to). No count of rows is opened. Missing values do not count.
    """

    name, Settings = "quantile", QuantileSettings
    about = Description("Quantile", "quantile", example="--column age --at 0.5 --epsilon 1")
    streamed = True

    @override
    def ask(self) -> Question:
        column = required(self.settings.column, "quantile.column")
        cells = self.summed(column)
        ranges = Ranges.of(column, cells.domains[-1], self.settings.round_to, "a quantile")
        share, bound = exact(self.settings.at), self.rows_each
        if share.denominator > 1000:
            raise InputError(f"at: {self.settings.at} has too many decimals; give at most three")

        def count(rows: Rows) -> Numbers:
            """Return the number of this party's rows in each range, int64[ranges]."""
            return cells.ranges(rows, ranges.range_of, len(ranges))[0]

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            return {"column": column, "at": self.settings.at, **ranges.fields(state[0])}

        learnt = f"the quantile of {self.settings.at:g} of {column} over the rows of both tables{self.where.words()}"
        about: dict[str, Any] = {"target": column}
        if self.exact:
            from protocols.quantile import most_opened

            def found(engine: Engine, numbers: Numbers) -> list[int]:
                from protocols.quantile import quantile

                summed = numbers.cumsum()
                return [quantile(engine, lambda at: summed[at], int(summed[-1]), len(ranges), share, bound)]

            opens, bits = "choice without noise", most_opened(len(ranges))
            return Question(learnt, len(ranges), count, found, show, opens=opens, bits=bits, **about)
        from protocols.release.median import change, extreme, margin, noisy_median, weighed

        ranges.check()
        noise = self.noisy_max(change(share, self.replaced))
        assert noise is not None
        law, width = noise.law(len(ranges)), (change(share, False) * bound).bit_length()
        beyond = margin(noise.scale, len(ranges)) if share in (0, 1) else 0
        if beyond:
            about["noise"] = {"rows_beyond": beyond}
        self._check_extremes(share, len(ranges), beyond)

        def chosen(engine: Engine, numbers: Numbers) -> list[int]:
            rows = numbers.reshape(len(ranges), -1)
            both = extreme(rows, share == 1, beyond, bound) if beyond else weighed(rows, share)
            return noisy_median(engine, *both, width, law).tolist()

        opens = "choice with noise"
        return Question(learnt, len(ranges), count, chosen, show, (noise,), opens, **about)

    def _check_extremes(self, share: Fraction, candidates: int, beyond: int) -> None:
        """Refuse an outer quantile whose noise is larger than the rows beyond it.

        Numbers beyond all rows would win otherwise. Such a number scores worse than the quantile by the rows between
        them: min(s, 1 - s) of the rows. In this unit the noise has scale at most 2 max(s, 1 - s) / epsilon. The
        greatest of n noises reaches about ln(n) times its scale, for n candidates.

        Raises:
            InputError: The quantile is too near to 0 or 1.
        """
        outer, bound = min(share, 1 - share), self.rows_each
        if beyond > bound:
            raise InputError(
                f"at: with this noise about {beyond:,} rows lie beyond an answer at {self.settings.at:g}, more than "
                f"max_rows = {bound:,}: give more epsilon or a quantile nearer to 0.5"
            )
        if beyond or outer >= OUTER:
            return
        epsilon = float(self.settings.epsilon or 1) / (2 if self.replaced else 1)
        rows = 2 * math.log(max(2, candidates)) / epsilon
        if float(outer) * bound < rows:
            nearest = math.ceil(1000 * rows / bound) / 1000
            least = nearest if share < 1 - share else 1 - nearest
            remedy = f"--at {least:g} or nearer to 0.5" if nearest < OUTER else "a quantile nearer to 0.5"
            few = f"at: of {bound:,} rows at most {float(outer) * bound:,.0f} lie beyond {self.settings.at:g}"
            raise InputError(
                f"{few}, but the noise hides {rows:,.0f} rows, so a number beyond all rows could be chosen; "
                f"ask for {remedy}, or give more epsilon"
            )

    @property
    @override
    def exact_effect(self) -> str:
        return "a range that some row is in" if self.settings.round_to else "a number that some row has"

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        line = f"{presenting.shown(document['column'])} at {document['at']:g}: {presenting.value_of(document)}"
        if beyond := document.get("rows_beyond"):
            line += f", with about {beyond:,} rows beyond it (0 to {2 * beyond:,} with 95 %)"
        about = presenting.about({**document, "alone": True})  # exact, it is no sum of two parties' numbers
        return "\n".join([line, *map(presenting.shown, about)]) + "\n"
