"""Conversion of numbers to categories by public edges: equal for both parties, and not derived from their rows.

Both parties agree on the edges, as on the schema. Equal widths of a public range reveal nothing about the rows.
Quantiles would reveal the rows' distribution before any protocol runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from parties.base.text import quoted
from parties.tables.categories import Column, column, spell
from parties.tables.schema import MAX_PROPOSED_VALUES
from smc.errors import InputError

Edges: TypeAlias = tuple[float, ...]
Bins: TypeAlias = int | Mapping[str, Sequence[float]] | None
BINS = (  # description of the parameter
    'numbers as categories: edges by column, such as `{"age": [40, 65]}` for `< 40`, `40 to 65` (without 65) and '
    "`>= 65`; public, the same for both parties, listed by the schema (`parties.notebook.bin_labels`, `equal_width`). "
    "Alone also the number of bins of equal width."
)


def equal_width(low: float, high: float, number: int) -> Edges:
    """Return the edges between bins of equal width, `number` - 1 of them.

    Args:
        low: Lower end of the range; public.
        high: Upper end of the range, above `low`; public.
        number: Number of bins, 2 at least; public. If in doubt, 5.

    Raises:
        InputError: There are fewer than two bins, or the range is empty or infinite.
    """
    if number < 2 or not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(
            f"bins: {number} bins of equal width from {low} to {high} are impossible; give at least two bins, and "
            f"low < high"
        )
    return tuple(np.linspace(low, high, number + 1)[1:-1].tolist())


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the bins below, between and from the edges, in order; a binned column's schema lists them."""
    texts = [spell(float(edge)) for edge in edges]
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return (f"< {texts[0]}", *between, f">= {texts[-1]}")


def checked(bins: Bins, shared: bool) -> Mapping[str, Edges]:
    """Check the bins and return the edges by column; empty for a number of bins.

    Args:
        bins: Edges by column, a number of bins, or None.
        shared: True if the edges must be public, with a schema or a peer. A number of bins is then an error.

    Raises:
        InputError: The edges of a column do not rise, or a number of bins is below 2 or not allowed.
    """
    if bins is None:
        return {}
    if not isinstance(bins, Mapping):
        if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 2:
            raise InputError("bins: give two bins or more, or edges by column, such as {'age': [40, 65]}")
        if shared:
            raise InputError(
                "bins: a number of bins takes its range from your own rows; with a schema or a peer, give public "
                "edges, equal at both parties, such as {'age': equal_width(0, 100, 5)}"
            )
        return {}
    edges_by_name = {name: tuple(float(edge) for edge in edges) for name, edges in bins.items()}
    for name, edges in edges_by_name.items():
        if not edges or not all(map(math.isfinite, edges)) or any(a >= b for a, b in pairwise(edges)):
            raise InputError(f"bins: the edges of {quoted(str(name))} must be numbers that rise")
    return edges_by_name


def own_edges(columns: Sequence[Column], number: int) -> dict[str, Edges]:
    """Return edges of equal width between the least and the greatest number, for columns of fractions.

    The edges depend on your rows, so use them alone only.

    Args:
        columns: Columns of your rows. Columns without fractions are left out.
        number: Number of bins, 2 at least.
    """
    edges = {}
    for measured in columns:
        if _is_measured(measured):
            finite = [cell for cell in measured.cells if cell is not None and math.isfinite(cell)]
            low, high = min(finite, default=0.0), max(finite, default=0.0)
            edges[measured.name] = equal_width(low, high, number) if low < high else (float(low),)
    return edges


def binned(raw: Column, edges: Edges) -> Column:
    """Return the column with the category of its bin for each number; a missing cell stays missing.

    Args:
        raw: Column of numbers.
        edges: Edges between the bins, rising.

    Raises:
        InputError: A cell is not a number; the message names the row.
    """
    labels = bin_labels(edges)

    def label(row: int, cell: Any) -> str | None:
        if spell(cell) == "?":
            return None
        try:
            return labels[int(np.searchsorted(edges, float(cell), side="right"))]
        except (TypeError, ValueError):
            raise InputError(
                f"{raw.where(row)}: {quoted(spell(cell))} is not a number, so bins do not apply; remove "
                f"bins for this column"
            ) from None

    return column(raw.name, [label(row, cell) for row, cell in enumerate(raw.cells)])


def refuse_measurements(columns: Sequence[Column], known: Mapping[str, Sequence[str]]) -> None:
    """Raise InputError for a column of fractions with too many values for categories.

    Args:
        columns: Columns of your rows.
        known: Values of each column in the schema. A column may have as many values as the schema lists for it.

    Raises:
        InputError: A column has too many values; the message advises bins.
    """
    for each in columns:
        most = max(MAX_PROPOSED_VALUES, len(known.get(each.name, ())))
        if _is_measured(each) and (number := len(set(each.cells))) > most:
            raise InputError(
                f"column {quoted(each.name)}: {number:,} different numbers, and a tree asks for categories: give "
                f"bins={{{each.name!r}: [...]}} with public edges, the same for both parties; alone, bins=5 will do"
            )


def _is_measured(column: Column) -> bool:
    kinds = set(map(type, column.cells)) - {type(None)}
    return bool(kinds) and all(issubclass(kind, float | np.floating) for kind in kinds)
