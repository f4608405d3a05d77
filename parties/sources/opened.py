"""Rows that have been found, wherever they are: an engine, the query for them, and the types of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ibis.expr.datatypes as dt
import sqlglot.expressions as exp

from parties.sources.databases import Database


@dataclass(frozen=True, eq=False)
class Rows:
    """`query` gives rows with columns of these types. Whoever has the rows closes the engine."""

    engine: Database
    query: exp.Query
    types: Mapping[str, dt.DataType]
