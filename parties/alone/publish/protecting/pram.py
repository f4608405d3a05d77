"""PRAM, post-randomisation: each value of a category is redrawn by a public matrix of probabilities.

Gouweleeuw, Kooiman, Willenborg, de Wolf, "Post randomisation for statistical disclosure control: theory and
implementation" (1998). An invariant matrix keeps every expected frequency: it is a matrix followed by its own reversal
by Bayes' rule.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from parties.alone.publish.protecting.method import Columns, Method
from parties.alone.publish.protecting.rows import Rows
from parties.base.text import quoted
from parties.tables.delimited import MISSING
from protocols.arrays import Floats
from smc.errors import InputError

Probability = Annotated[float, Field(strict=True, ge=0, le=1)]


class Pram(Method):
    """Redraw categories by probabilities: by `pd`, or by a whole `matrix`.

    In the first stage a value stays with probability `pd`, and all other values are equally likely. If `invariant`, a
    second stage redraws again, so that the expected share of each value is its share in the rows. The matrix has, for
    each value, the probability of each new value; it replaces both stages.
    """

    columns: Columns
    pd: Probability = 0.8
    invariant: bool = True
    matrix: dict[str, dict[str, Probability]] | None = None

    @model_validator(mode="after")
    def _rows_add_up(self) -> Pram:
        for value, line in (self.matrix or {}).items():
            if abs(sum(line.values()) - 1) > 1e-9:
                raise ValueError(
                    f"matrix: the probabilities of {quoted(value)} add up to {sum(line.values()):g}, not 1"
                )
        if self.matrix is not None and self.model_fields_set & {"pd", "invariant"}:
            raise ValueError("matrix already sets all probabilities; remove pd and invariant")
        return self

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with redrawn values, missing ones unchanged; raise InputError if the matrix lacks a value."""
        changed, figures = {}, {}
        for name in self.columns:
            column = rows.column(name).copy()
            present = column != MISSING
            values, codes = np.unique(column[present].astype(str), return_inverse=True)
            if not len(values):
                continue
            names, matrix = self._matrix(values.tolist(), np.bincount(codes) / len(codes), rows.place, name)
            drawn = draw(matrix, codes, random)
            column[present] = np.array(names, dtype=object)[drawn]
            changed[name] = column
            figures[name] = {
                "stay": float(matrix[codes, codes].mean()),
                "matrix": {
                    value: {other: round(float(p), 6) for other, p in zip(names, line, strict=True) if p}
                    for value, line in zip(names, matrix, strict=False)
                },
            }
        return rows.replaced(changed), figures

    def _matrix(self, values: list[str], shares: Floats, place: str, column: str) -> tuple[list[str], Floats]:
        """Return the possible new values, present ones first, and their probabilities, float[values, new values].

        `shares` has the share of each value in the rows; an error message names `place` and `column`.
        """
        if self.matrix is None:
            first = first_stage(len(values), self.pd)
            return values, made_invariant(first, shares) if self.invariant else first
        for value in values:
            if value not in self.matrix:
                raise InputError(f"{place}, column {quoted(column)}: matrix has no line for {quoted(value)}; add it")
        names = list(dict.fromkeys([*values, *(name for value in values for name in self.matrix[value])]))
        return names, np.array([[self.matrix[value].get(name, 0.0) for name in names] for value in values])


def first_stage(number: int, keep: float) -> Floats:
    """Return the matrix float[n, n]: a value stays with probability `keep`, else all others are equally likely.

    Args:
        number: number of values, n
        keep: probability that a value stays
    """
    if number == 1:
        return np.ones((1, 1))
    return np.full((number, number), (1 - keep) / (number - 1)) + np.eye(number) * (keep - (1 - keep) / (number - 1))


def made_invariant(matrix: Floats, shares: Floats) -> Floats:
    """Return a matrix R of the same shape with shares R = shares: the first stage, then its reversal by Bayes' rule.

    Args:
        matrix: matrix of the first stage
        shares: share of each value
    """
    joint = shares[:, None] * matrix
    after = joint.sum(axis=0)
    reversal = np.divide(joint, after, out=np.zeros_like(joint), where=after > 0).T
    return np.asarray(matrix @ reversal)


def draw(matrix: Floats, codes: Any, random: np.random.Generator) -> Any:
    """Return a new code for each row, int64[rows], drawn by the matrix row of its present code.

    Args:
        matrix: probabilities of the new codes, float[codes, new codes]
        codes: present codes, int64[rows]
        random: source of randomness
    """
    bounds = matrix.cumsum(axis=1)
    bounds[:, -1] = np.inf  # rounding must not leave a gap
    drawn, result = random.random(len(codes)), np.zeros(len(codes), dtype=np.int64)
    for value in range(len(matrix)):
        of_value = codes == value
        result[of_value] = np.searchsorted(bounds[value], drawn[of_value], side="right")
    return np.minimum(result, np.array([np.flatnonzero(line).max() for line in matrix])[codes])
