"""Count sets of columns together, for synthetic tables, with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.text import listed
from parties.jobs.kind import Description, Document
from parties.jobs.release import columns, presenting
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Part, Question, own_vector, sums
from parties.jobs.release.reading import MOST_WAYS, marginals
from parties.jobs.release.settings import ApartSettings
from parties.jobs.settings import public
from parties.tables.schema import Schema
from smc.errors import InputError

WAYS = 2
SPELT = 6  # maximum sets listed in a sentence


class MarginalsSettings(columns.SetSettings, ApartSettings):
    """Settings of `smc release marginals`."""

    sets: Annotated[str, Field(max_length=20_000)] | None = public(
        None,
        "Marginals",
        "Columns that are counted together, separated by commas; repeatable",
        none="every set of as many columns as ways states",
        joined="; ",
    )


class Marginals(Release):
    """Count the values of columns together, for many sets of columns. Both learn the counts, with noise.

    Name the sets (--sets age,sex, repeated), or take all sets of --ways columns from --columns. A row counts
    once in each of the m sets. With --delta the noise is Gaussian and grows with the root of m. Without, it is
    Laplace noise of scale m / epsilon, or twice that if neighbouring tables differ by a replaced row. Results
    made from the counts, such as synthetic rows, cost nothing more.
    """

    name = "release marginals"
    about = Description("Noisy marginals", "marginals", example="--ways 2 --epsilon 1 --delta 1e-7")
    streamed = True
    Settings = MarginalsSettings

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Marginals:
        if settings.sets is None:
            chosen = settings.model_copy(update={"columns": columns.ordered(settings.columns, schema)})
            _ = _sets(chosen)
            return super().canonical(chosen, schema)
        if settings.columns is not None or settings.ways is not None:
            raise InputError("sets: name the marginals, or the columns and how many are counted together")
        sets = [columns.ordered(names, schema) for names in _read(settings.sets)]
        if len(set(sets)) < len(sets):
            raise InputError("sets: two sets name the same columns; remove one")
        text = "; ".join(map(",".join, sets))
        return super().canonical(settings.model_copy(update={"sets": text}), schema)

    @classmethod
    @override
    def named(cls, settings: Any) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in _sets(settings) for name in names))

    @override
    def ask(self) -> Question:
        schema, where, sets = self.schema, self.where, _sets(self.settings)
        named, target = self.named(self.settings), self.columns[0]
        columns.check_cells(sets, where, schema)
        self.cells()  # refused here if there are too many
        values = {name: where.values(name, schema) for name in schema.attributes if name in named}
        shapes = [tuple(len(values[name]) for name in names) for names in sets]
        ends = list(accumulate(map(prod, shapes), initial=0))
        noise = self.noise(len(sets) * (2 if self.replaced else 1))  # a row is in one cell of each marginal

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            """Return the counts as opened, in the order of the values."""
            tables = [np.array(state[start:end]) for start, end in pairwise(ends)]
            return {
                "values": {name: list(known) for name, known in values.items()},
                "marginals": [
                    {"columns": list(names), "counts": table.reshape(shape).tolist()}
                    for names, shape, table in zip(sets, shapes, tables, strict=True)
                ],
            }

        what = listed([" and ".join(names) for names in sets])
        if len(sets) > SPELT:
            what = f"{len(sets)} sets of the columns {listed(named)}"
        return sums(
            f"how many rows of both tables have each combination of values of {what}{where.words()}",
            [Part(ends[-1], self.rows_each, False, noise)],
            lambda counts: own_vector(*marginals(counts, schema, target, where, sets)),
            show,
            subject=listed(named),
        )

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        """Return the sizes of the tables; programs read the counts from the document."""
        return [
            f"{' x '.join(map(presenting.shown, table['columns']))}: {np.size(table['counts']):,} cells, "
            f"{np.sum(table['counts']):,} rows"
            for table in document["marginals"]
        ]


def _read(text: str) -> list[tuple[str, ...]]:
    sets = [tuple(name.strip() for name in part.split(",") if name.strip()) for part in text.split(";") if part.strip()]
    for names in sets:
        if not 1 <= len(names) <= MOST_WAYS:
            raise InputError(f"sets: 1 to {MOST_WAYS} columns can be counted together, not {len(names)}")
    if not sets:
        raise InputError("sets: name the columns that are counted together")
    return sets


def _sets(settings: Any) -> list[tuple[str, ...]]:
    if settings.sets is None:
        return columns.subsets(settings.columns, settings.ways or WAYS)
    return _read(settings.sets)
