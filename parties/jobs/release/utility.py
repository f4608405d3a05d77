"""Utility of public candidates, each an expression of columns: `early: 2 if age = young; 0.5 * visits | late: 1`.

`|` separates candidates, `;` the terms of one. A term is a number, or a number times a numeric column, for the rows
that meet a predicate after `if`, or for all rows. A row adds the sum of its terms to a candidate; a missing number adds
nothing. So a row's addition follows from the values of the named columns, and the schema lists all of those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from parties.base.text import quoted
from parties.jobs.release.predicates import Predicate, parse
from parties.jobs.release.values import decimal, read
from parties.tables.schema import Schema
from smc.errors import InputError

_PIECE = r"""(?:'[^']*'|"[^"]*"|[^'"{sign}])+"""  # a separator in quotes is part of a word
_TERM = re.compile(r"(?P<factor>[+-]?[0-9.]+)(?:\s*\*\s*(?P<column>.+?))?(?:\s+if\s+(?P<where>.+))?", re.DOTALL)


@dataclass(frozen=True)
class Term:
    """A number, times a numeric column if one is named, for the rows that meet a predicate if there is one."""

    factor: Fraction
    column: str | None
    where: str | None

    def value(self, row: Mapping[str, str], predicate: Predicate) -> Fraction:
        """Return the term's value for a row.

        Args:
            row: Value of each column.
            predicate: The parsed predicate of the term.
        """
        if any(row[column] not in values for column, values in predicate.wanted):
            return Fraction(0)
        number = Fraction(1) if self.column is None else decimal(row[self.column])
        return Fraction(0) if number is None else self.factor * number


@dataclass(frozen=True)
class Utility:
    """Parsed utility: the terms of each candidate."""

    candidates: tuple[tuple[str, tuple[Term, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates."""
        return tuple(name for name, _ in self.candidates)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Numeric columns in the terms, each once."""
        terms = (term for _, terms in self.candidates for term in terms)
        return tuple(dict.fromkeys(term.column for term in terms if term.column is not None))

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """Return all columns in the terms, in the schema's order.

        Raise InputError if a column is missing from the schema, or a numeric one is not numeric.
        """
        asked = set(self.numbers)
        for column in self.numbers:
            if column not in schema.attributes:
                raise InputError(f"utility: {quoted(column)} is not an attribute of the schema")
            read(column, schema.attributes[column], "a utility", "utility")
        for predicates in self._predicates(schema):
            asked |= {column for predicate in predicates for column in predicate.columns}
        return tuple(column for column in schema.attributes if column in asked)

    def scores(self, rows: Sequence[Mapping[str, str]], schema: Schema) -> list[list[Fraction]]:
        """Return the value of each row for each candidate, [candidates][rows].

        Args:
            rows: Value of each column, for each row.
            schema: The schema.
        """
        return [
            [
                sum((term.value(row, where) for term, where in zip(terms, wheres, strict=True)), Fraction(0))
                for row in rows
            ]
            for (_, terms), wheres in zip(self.candidates, self._predicates(schema), strict=True)
        ]

    def _predicates(self, schema: Schema) -> list[list[Predicate]]:
        return [[_predicate(term.where, schema) for term in terms] for _, terms in self.candidates]


def parsed(text: str) -> Utility:
    """Return the parsed utility. Raise InputError at the first invalid part."""
    candidates = []
    for part in _split(text, "|"):
        name, colon, terms = part.partition(":")
        if not colon or not name.strip():
            raise InputError(f"utility: {quoted(part)} must be 'candidate: term; term'")
        candidates.append((name.strip(), tuple(map(_term, _split(terms, ";")))))
    return Utility(tuple(candidates))


def _term(text: str) -> Term:
    match = _TERM.fullmatch(text)
    factor = None if match is None else decimal(match["factor"])
    if match is None or factor is None:
        raise InputError(
            f"utility: {quoted(text)} is not a term; write NUMBER or NUMBER * COLUMN, perhaps with 'if' ..."
        )
    return Term(factor, match["column"], match["where"])


def _predicate(text: str | None, schema: Schema) -> Predicate:
    try:
        (predicate,) = parse(text or "", schema)
    except InputError as error:
        raise InputError(f"utility: {str(error).removeprefix('where: ')}") from None
    return predicate


def _split(text: str, sign: str) -> list[str]:
    parts = (part.strip() for part in re.findall(_PIECE.format(sign=re.escape(sign)), text))
    return [part for part in parts if part]
