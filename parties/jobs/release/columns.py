"""Sets of columns that are counted together: the named ones, or all combinations of a given size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated

from pydantic import Field

from parties.base.text import listed
from parties.jobs.release.predicates import Predicate
from parties.jobs.release.settings import GaussianSettings
from parties.jobs.settings import Columns, check_names, public
from parties.tables.schema import Schema
from smc.errors import InputError

MAX_CELLS = 1 << 16  # of one marginal
MAX_ALL_CELLS = 1 << 20  # of all marginals together

Ways = Annotated[int, Field(strict=True, ge=1, le=3)]


class SetSettings(GaussianSettings):
    """Settings of a question about the joint values of columns."""

    columns: Columns | None = public(
        None, "Columns", "Columns to count, separated by commas", none="all of the schema", column=True
    )
    ways: Ways | None = public(None, "Ways", "Number of columns in each counted set: 1, 2 or 3", none="2")


def ordered(chosen: Columns | None, schema: Schema) -> tuple[str, ...]:
    """Return the chosen columns in the schema's order. Raise InputError for a missing or repeated one.

    Args:
        chosen: Names of the columns; None for all.
        schema: The agreed schema.
    """
    if chosen is None:
        return tuple(schema.attributes)
    check_names("columns", chosen, schema.attributes)
    return tuple(name for name in schema.attributes if name in chosen)


def subsets(columns: Sequence[str], ways: int) -> list[tuple[str, ...]]:
    """Return all combinations of `ways` columns, in order. Raise InputError if there are fewer columns.

    Args:
        columns: Names of the columns.
        ways: Number of columns in each combination.
    """
    if len(columns) < ways:
        raise InputError(f"ways: {len(columns)} columns cannot be counted {ways} together; lower ways")
    return list(combinations(columns, ways))


def check_cells(sets: Sequence[tuple[str, ...]], where: Predicate, schema: Schema) -> None:
    """Raise InputError if a marginal, or all of them together, have too many cells.

    Args:
        sets: Columns of each marginal.
        where: Predicate of the counted rows.
        schema: The schema.
    """
    sizes = {columns: math.prod(len(where.values(name, schema)) for name in columns) for columns in sets}
    largest = max(sizes, key=sizes.__getitem__)
    if sizes[largest] > MAX_CELLS:
        raise InputError(
            f"the marginal of {listed(largest)} has {sizes[largest]:,} cells, more than {MAX_CELLS:,}; leave a "
            f"column out, or map its values to fewer in the schema"
        )
    if (cells := sum(sizes.values())) > MAX_ALL_CELLS:
        raise InputError(
            f"{len(sets):,} marginals have {cells:,} cells, at most {MAX_ALL_CELLS:,} are counted: name fewer columns, "
            "or lower ways"
        )
