"""One rule for missing values of the kinds that count values: left out as R and SciPy do, or a value like others.

The rule is a setting, so it is public and agreed on. Which values are left out follows from the schema alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from parties.base.text import listed
from parties.jobs.release.predicates import Predicate
from parties.jobs.settings import AnyField, public
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from smc.errors import InputError

Missing: TypeAlias = Literal["leave out", "value"]
LEAVE_OUT: Missing = "leave out"


def missing_values(where: str) -> AnyField:
    """Return the setting `missing`; `where` names the columns in its help, such as "in the tested columns"."""
    words = f"Rows with a missing value {where}: leave them out, as R and SciPy do, or take '?' as a value"
    return public(LEAVE_OUT, "Missing values", words, advanced=True)


def known_only(where: Predicate, schema: Schema, columns: Sequence[str]) -> Predicate:
    """Return a predicate that also excludes missing values in some columns.

    Args:
        where: The predicate so far.
        schema: The agreed schema.
        columns: Columns whose missing values are excluded.

    Raises:
        InputError: The predicate permits only missing values of a column.
    """
    wanted = dict(where.wanted)
    for column in columns:
        values = where.values(column, schema)
        if MISSING in values:
            wanted[column] = tuple(value for value in values if value != MISSING)
            if not wanted[column]:
                raise InputError(f"missing: no value of {column!r} remains; set missing to value")
    return Predicate(tuple((column, wanted[column]) for column in schema.attributes if column in wanted))


def with_gaps(schema: Schema, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that list a missing value in the schema, in its order.

    Args:
        schema: The agreed schema.
        columns: Names of the columns to search.
    """
    return tuple(name for name, values in schema.attributes.items() if name in columns and MISSING in values)


def missing_fields(missing: str, columns: Sequence[str]) -> dict[str, object]:
    """Return the fields of a result that state how missing values count; empty if no column lists them.

    Args:
        missing: The setting: how missing values count.
        columns: Columns that list a missing value.
    """
    return {"missing": missing, "with_gaps": list(columns)} if columns else {}


def missing_clause(missing: str, columns: Sequence[str]) -> str:
    """Return the rule for the columns with gaps as the end of a sentence; empty without such a column.

    Args:
        missing: The setting: how missing values count.
        columns: Columns that list a missing value.
    """
    return f"; {missing_in_words(missing, columns)}" if columns else ""


def missing_in_words(missing: str, columns: Sequence[str]) -> str:
    """Return the rule for these columns as part of a sentence; for consent and results.

    Args:
        missing: The setting: how missing values count.
        columns: Columns that list a missing value.
    """
    if missing == LEAVE_OUT:
        return f"missing values of {listed(columns)} are left out"
    return f"missing values of {listed(columns)} count as a value, '?'"
