"""A first plan of a table, proposed from its columns, and which of them single people out."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import sqlglot.expressions as exp
import tomli_w

from parties.alone.publish.reading import in_order, text_of
from parties.alone.publish.rules import number
from parties.base.text import printable
from parties.sources.opened import RowQuery
from parties.tables.delimited import MISSING

UNIQUE = 0.9  # the share of distinct values from which a column is taken for an identifier
LOOKED_AT = 1000  # values that a rule is guessed from
LARGEST = 3  # columns of a set whose uniqueness is counted
COLUMNS = 20  # that sets are made of
SHOWN = 3  # sets of each size
FEW = 12  # numbers so few need no ranges
SENSITIVE = re.compile(
    r"disease|diagnos|illness|condition|symptom|therap|medic|drug|salary|income|wage|credit|debt|religio|politic"
    r"|orientation|ethnic|criminal|crime|offen[cs]e|convict|genetic|health|disab|(?<![a-z])(race|union|party|hiv)",
    re.IGNORECASE,
)  # health, money, and the special categories of data of GDPR art. 9 and 10, as columns are called
_DATES = {"iso": r"\d{4}-\d\d?-\d\d?", "dmy": r"\d\d?[/.-]\d\d?[/.-](\d{2}|\d{4})"}


@dataclass(frozen=True)
class Proposal:
    """The plan as TOML, and what was noticed, a line each."""

    text: str
    notes: list[str]


def propose(rows: RowQuery, source: str, table: str | None) -> Proposal:
    """Propose a plan: columns of (nearly) distinct text are identifiers, all others quasi-identifiers, k is 5.

    What is sensitive, only who knows the table can say; columns are named whose names sound like it. Of each set of up
    to three columns the share of rows is counted that no other row equals there; one query a set.
    """
    names = list(rows.types)
    texts = exp.Select().select(*(text_of(rows, name).as_(f"c{i}") for i, name in enumerate(names)))
    cells = [exp.column(f"c{i}") for i in range(len(names))]
    # Distinct rows and how many are so: what repeats takes no memory.
    grouped = exp.Select().select(*cells, exp.Count(this=exp.Star()).as_("n")).group_by(*cells)
    table_rows = rows.engine.keep(grouped.from_(texts.from_(rows.query.subquery("t")).subquery("r")))
    counted = [exp.Count(this=exp.Distinct(expressions=[exp.column(f"c{i}")])) for i in range(len(names))]
    columns = [count.as_(f"n{i}") for i, count in enumerate(counted)]
    total, *distinct = rows.engine.counts(exp.Select().select(_number(), *columns).from_(table_rows.subquery("t")))[
        0
    ].tolist()
    plan: dict[str, Any] = {"source": source} | ({} if table is None else {"table": table})
    plan |= {"max_suppressed": 0.02, "columns": {}, "models": [{"model": "k-anonymity", "k": 5}]}
    notes, quasi = [f"{total} rows, {len(names)} columns"], []
    for i, name in enumerate(names):
        rule = _rule(_values(rows, table_rows, i))
        if distinct[i] > UNIQUE * total and "ranges" not in rule and "dates" not in rule:
            plan["columns"][name] = {"role": "identifier"}
            notes.append(f"{name}: {distinct[i]} distinct values: an identifier, it will be dropped")
        else:
            plan["columns"][name] = {"role": "quasi-identifier", **rule}
            quasi.append(i)
    if sounding := [names[i] for i in quasi if SENSITIVE.search(names[i])]:
        notes.append(f'{", ".join(sounding)}: sensitive, by the name? If so, say role = "sensitive" and give a model')
    notes += _singling(rows, table_rows, names, sorted(quasi, key=lambda i: -distinct[i])[:COLUMNS], total)
    return Proposal(tomli_w.dumps(plan), [printable(note) for note in notes])


def _total() -> exp.Expression:
    """Count the rows that the distinct ones stand for; 0 without any."""
    return exp.Coalesce(this=exp.Sum(this=exp.column("n")), expressions=[exp.Literal.number(0)])


def _number() -> exp.Expr:
    return exp.alias_(exp.cast(_total(), "BIGINT"), "n")


def _values(rows: RowQuery, table_rows: exp.Select, i: int) -> list[str]:
    """Read some of a column's values."""
    query = exp.Select().select(exp.column(f"c{i}")).distinct().from_(table_rows.subquery("t")).limit(LOOKED_AT)
    texts = [value for batch in rows.engine.batches(query) for value in batch.column(0).to_pylist()]
    return [value for value in in_order(texts) if value != MISSING]


def _rule(values: Sequence[str]) -> dict[str, Any]:
    """Return a rule that all these values fit; none if a tree would have to be written."""
    for form, pattern in _DATES.items():
        if values and all(re.fullmatch(pattern, value) for value in values):
            return {"dates": form}
    lengths = {len(value) for value in values}
    if len(lengths) == 1 and min(lengths) > 3 and all(value.isdigit() for value in values):
        length = lengths.pop()
        return {"prefixes": list(range(length - 1, 0, -1))}
    numbers = [x for x in map(number, values) if x is not None]
    if len(numbers) == len(values) > FEW and (width := (max(numbers) - min(numbers)) / 16) > 0:
        step = 10 ** math.floor(math.log10(width))
        step = next(step * factor for factor in (1, 2, 5, 10) if step * factor >= width * (1 - 1e-9))
        widths = [float(f"{step * factor:.12g}") for factor in (1, 2, 4)]
        return {"ranges": [int(size) if size.is_integer() else size for size in widths]}
    return {}


def _singling(
    rows: RowQuery, table_rows: exp.Select, names: Sequence[str], columns: Sequence[int], total: int
) -> list[str]:
    """Return which sets of columns make most rows unique, the worst of each size."""
    notes = []
    for size in range(1, min(LARGEST, len(columns)) + 1):
        counts = []
        for chosen in combinations(columns, size):
            keys = [exp.column(f"c{i}") for i in chosen]
            alone = _total().eq(exp.Literal.number(1))
            groups = exp.Select().select(*keys).from_(table_rows.subquery("t")).group_by(*keys).having(alone)
            query = exp.Select().select(exp.Count(this=exp.Star()).as_("n")).from_(groups.subquery("g"))
            counts.append((int(rows.engine.counts(query)[0, 0]), [names[i] for i in chosen]))
        for count, of in sorted(counts, key=lambda pair: -pair[0])[:SHOWN]:
            if count:
                notes.append(f"{', '.join(of)}: {count / total:.1%} of the rows are alone with their values")
    return notes
