"""How many rows of both parties have each combination of values, for many small sets of columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.text import listed
from parties.jobs.kind import Document
from parties.jobs.release import columns, presenting
from parties.jobs.release.count import check_delta, vector_noise
from parties.jobs.release.kind import Numbers
from parties.jobs.release.reading import Question, marginals
from parties.jobs.release.sums import Part, Sums, own_vector
from parties.jobs.settings import public
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts

WAYS, MOST_WAYS = 2, 3
SPELT = 6  # sets that are named in a sentence


class MarginalsSettings(columns.SetSettings):
    """`smc release marginals`."""

    sets: Annotated[str, Field(max_length=20_000)] | None = public(
        None,
        "Marginals",
        "Columns that are counted together, with commas between them",
        none="every one of so many columns",
        joined="; ",
    )


class Marginals(Sums):
    """Count values of some columns together, for many sets of columns. Both learn the counts with noise.

    Sets are named (--sets age,sex, repeated), or they are all pairs (--ways) of --columns. A row counts once in each of
    m marginals: with --delta the noise is Gaussian and grows with the root of m; without, it is Laplace of the scale
    m / epsilon. What is made of the counts afterwards costs nothing: synthetic rows, for one.
    """

    name = "release-marginals"
    title = "Noisy marginals"
    Settings = MarginalsSettings
    example = "--data mine.csv --schema schema.toml --ways 2 --epsilon 1 --delta 1e-7 --config party.toml"
    estimate_example = "--schema schema.toml --epsilon 1 --delta 1e-7 "
    noun = "marginals"
    settings: MarginalsSettings

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Marginals:
        """See `Release.canonical`: sets and columns in the schema's order."""
        if settings.sets is None:
            chosen = settings.model_copy(update={"columns": columns.ordered(settings.columns, schema)})
            _ = _sets(chosen)
            return super().canonical(chosen, schema)
        if settings.columns is not None or settings.ways is not None:
            raise InputError("sets: name the marginals, or the columns and how many are counted together")
        sets = [columns.ordered(one, schema) for one in _read(settings.sets)]
        if len(set(sets)) < len(sets):
            raise InputError("sets: the same columns are named twice")
        text = "; ".join(",".join(one) for one in sets)
        return super().canonical(settings.model_copy(update={"sets": text}), schema)

    @classmethod
    @override
    def named(cls, settings: Any) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in _sets(settings) for name in one))

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """The columns of each marginal."""
        return _sets(self.settings)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The values of each marginal's columns."""
        return [tuple(len(self.where.values(name, self.schema)) for name in one) for one in self.sets]

    @override
    def check(self) -> None:
        columns.check_cells(self.sets, self.where, self.schema)
        Question(self.where).check(self.schema)
        check_delta(self.settings)
        self.check_sizes()

    @property
    @override
    def subject(self) -> str:
        return listed(self.named(self.settings))

    @cached_property
    @override
    def parts(self) -> tuple[Part, ...]:
        """See `Sums.parts`: a row is in one cell of each marginal."""
        changed = len(self.sets) * (2 if self.replaced else 1)
        noise = None if self.exact else vector_noise(self.settings, changed)
        return (Part(sum(map(prod, self.shapes)), self.settings.max_rows, False, noise),)

    @property
    @override
    def learnt(self) -> str:
        what = listed([" and ".join(one) for one in self.sets]) if len(self.sets) <= SPELT else f"{len(self.sets)} sets"
        if len(self.sets) > SPELT:
            what += f" of the columns {listed(self.named(self.settings))}"
        return f"how many rows of both tables have each combination of values of {what}{self.where.words()}"

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        return own_vector(*marginals(counts, self.schema, self.target, self.where, self.sets))

    @override
    def found(self, state: Sequence[int]) -> Document:
        """See `Release.found`: the counts as they were opened, the values in their order."""
        ends = [0, *accumulate(map(prod, self.shapes))]
        return {
            "values": {
                name: list(self.where.values(name, self.schema))
                for name in self.schema.attributes
                if name in self.named(self.settings)
            },
            "marginals": [
                {"columns": list(one), "counts": np.array(state[start:end]).reshape(shape).tolist()}
                for one, shape, (start, end) in zip(self.sets, self.shapes, pairwise(ends), strict=True)
            ],
        }

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        """See `Kind.text`: their sizes; the counts are for programs."""
        lines = [
            f"{' x '.join(map(presenting.shown, one['columns']))}: {np.size(one['counts']):,} cells, "
            f"{np.sum(one['counts']):,} rows"
            for one in document["marginals"]
        ]
        return "\n".join([*lines, *map(presenting.shown, presenting.about(document))]) + "\n"


def _read(text: str) -> list[tuple[str, ...]]:
    """Sets of columns: names with commas between them, sets with semicolons."""
    sets = [tuple(name.strip() for name in one.split(",") if name.strip()) for one in text.split(";") if one.strip()]
    for one in sets:
        if not 1 <= len(one) <= MOST_WAYS:
            raise InputError(f"sets: 1 to {MOST_WAYS} columns are counted together, not {len(one)}")
    if not sets:
        raise InputError("sets: name the columns that are counted together")
    return sets


def _sets(settings: Any) -> list[tuple[str, ...]]:
    """Return the sets of settings in canonical form."""
    if settings.sets is None:
        return columns.subsets(settings.columns, settings.ways or WAYS)
    return _read(settings.sets)
