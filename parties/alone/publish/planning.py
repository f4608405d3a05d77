"""A first plan of a table, proposed from its columns, and which of them single people out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
import pyarrow as pa
import sqlglot.expressions as exp
import tomli_w
from numpy.typing import NDArray

from parties.alone.publish.hierarchy import ValueCodes
from parties.alone.publish.reading import encode, text_of
from parties.alone.publish.rules import DATES, number
from parties.base.arrays import Counts
from parties.base.text import listed, printable
from parties.sources.mapping import NUMBER
from parties.sources.opened import RowQuery
from parties.tables.delimited import MISSING
from smc.errors import InputError

K = 5
UNIQUE = 0.9  # the share of distinct values from which a column is taken for an identifier
LOOKED_AT = 1000  # values that a rule is guessed from; all others are then held against it
LARGEST = 3  # columns of a set whose uniqueness is counted
COLUMNS = 20  # that sets are made of
SAMPLE = 1 << 15  # distinct rows that sets are chosen by
CHOSEN = 6  # sets of each size that are then counted among all rows
SHOWN = 3  # of these
MANY = 8  # quasi-identifiers: of more, little is left
FEW = 12  # numbers so few need no ranges
DIGITS = 1e-10  # how far apart the ends of ranges are at least, as a share of the largest number: labels have 12 digits
SENSITIVE = re.compile(
    r"disease|diagnos|illness|condition|symptom|therap|medic|drug|salary|income|wage|credit|debt|religio|politic"
    r"|orientation|ethnic|criminal|crime|offen[cs]e|convict|genetic|health|disab|(?<![a-z])(race|union|party|hiv)",
    re.IGNORECASE,
)  # health, money, and the special categories of data of GDPR art. 9 and 10, as columns are called
PATTERNS = {  # what all values of a column must be like, for an engine; the rule itself asks no more of them
    "iso": r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$",
    "dmy": "|".join(rf"^[0-9]{{1,2}}[{mark}][0-9]{{1,2}}[{mark}]([0-9]{{2}}|[0-9]{{4}})$" for mark in "/.-"),
    "prefixes": r"^[0-9]{4,40}$",
    "ranges": NUMBER,
}


@dataclass(frozen=True)
class Proposal:
    """The plan as TOML, and what was noticed, a line each."""

    text: str
    notes: list[str]


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some distinct rows: values of each column and places there, int[rows]; `single` bool[rows] if a row is no
    other's equal."""

    values: list[list[str]]
    codes: list[ValueCodes]
    single: NDArray[np.bool_]


def propose(
    rows: RowQuery, source: str, table: str | None, doing: Callable[[str], object] = lambda step: None
) -> Proposal:
    """Propose a plan: columns of (nearly) distinct text are identifiers, all others quasi-identifiers, k is 5.

    Decimal numbers are measured, however many there are.

    What is sensitive, only who knows the table can say; columns are named whose names sound like it. Of sets of up
    to three columns the share of rows is counted that no other row equals there: of those sets that are the worst among
    some of the rows. `doing` is told each step. `InputError` if nothing could be published by a plan of this table.
    """
    names, left_out = _usable(rows)
    texts = exp.Select().select(*(text_of(rows, name).as_(f"c{i}") for i, name in enumerate(names)))
    cells = [_column(i) for i in range(len(names))]
    # Distinct rows and how many are so: what repeats takes no memory.
    grouped = exp.Select().select(*cells, exp.Count(this=exp.Star()).as_("n")).group_by(*cells)
    distinct_rows = rows.engine.keep(grouped.from_(texts.from_(rows.query.subquery("t")).subquery("r")))
    doing("counting distinct values")
    counted = [exp.Count(this=exp.Distinct(expressions=[_column(i)])) for i in range(len(names))]
    columns = [count.as_(f"n{i}") for i, count in enumerate([exp.Count(this=exp.Star()), *counted])]
    profile = exp.Select().select(_number(), *columns).from_(distinct_rows.subquery("t"))
    total, lines, *distinct = rows.engine.counts(profile)[0].tolist()
    if total < K:
        raise InputError(f"{rows.engine.place}: {total} rows are too few to be published: {K} must look alike")
    doing("looking for rules")
    sample = _sampled(rows, distinct_rows, len(names), lines)
    rules, misfits = _rules(rows, distinct_rows, sample, distinct)
    plan: dict[str, Any] = {"source": source} | ({} if table is None else {"table": table})
    plan |= {"max_suppressed": 0.02, "columns": {}, "models": [{"model": "k-anonymity", "k": K}]}
    notes, quasi = [f"{total} rows, {len(rows.types)} columns"], []
    for name in rows.types:
        if name in left_out:
            plan["columns"][name] = {"role": "identifier"}
            notes.append(f"{name}: cells of type {rows.types[name]} cannot be generalised: it will be dropped")
            continue
        i = names.index(name)
        tells_apart = distinct[i] > UNIQUE * total and not {"ranges", "dates"} & rules[i].keys()
        if tells_apart and _is_measured(sample.values[i]):
            tells_apart = False
            misfits.setdefault(i, "most of its values are numbers, and not all, so it has no rule: say one")
        if tells_apart:
            plan["columns"][name] = {"role": "identifier"}
            notes.append(f"{name}: {distinct[i]} distinct values: an identifier, it will be dropped")
        else:
            plan["columns"][name] = {"role": "quasi-identifier", **rules[i]}
            notes += [f"{name}: {misfits[i]}"] if i in misfits else []
            quasi.append(i)
    if not quasi:
        raise InputError(f"{rows.engine.place}: every column tells nearly all rows apart, so none could be published")
    if sounding := [names[i] for i in quasi if SENSITIVE.search(names[i])]:
        notes.append(f'{", ".join(sounding)}: sensitive, by the name? If so, say role = "sensitive" and give a model')
    if len(quasi) > MANY:
        notes.append(
            f"{len(quasi)} quasi-identifiers: rows must look alike in all of them, so most of what they say is lost. "
            f'Keep the role for what others may know of people, about {MANY}; give the others role = "other"'
        )
    doing("counting the rows that are alone")
    worst = sorted(quasi, key=lambda i: -distinct[i])[:COLUMNS]
    notes += _singling(rows, distinct_rows, names, _candidates(sample, worst), total)
    return Proposal(tomli_w.dumps(plan), [printable(note) for note in notes])


def _usable(rows: RowQuery) -> tuple[list[str], set[str]]:
    """Return the columns whose cells have a text, and those whose cells have none. `InputError` if none has one."""
    place = rows.engine.place
    if not rows.engine.cased:
        lower = [name.lower() for name in rows.types]
        if twins := [name for name in rows.types if lower.count(name.lower()) > 1]:
            raise InputError(f"{place}: rename {listed(twins)}: they differ only in case")
    left_out = {name for name in rows.types if rows.unfit(name) is not None}
    if names := [name for name in rows.types if name not in left_out]:
        return names, left_out
    raise InputError(f"{place}: no column holds anything that could be generalised")


def _column(i: int) -> exp.Column:
    return exp.column(f"c{i}")


def _total() -> exp.Expression:
    """Return how many rows the distinct ones stand for; 0 without any."""
    return exp.Coalesce(this=exp.Sum(this=exp.column("n")), expressions=[exp.Literal.number(0)])


def _number() -> exp.Expr:
    return exp.alias_(exp.cast(_total(), "BIGINT"), "n")


def _sampled(rows: RowQuery, distinct_rows: exp.Select, columns: int, lines: int) -> _Sample:
    """Return all distinct rows if they are few, otherwise about as many as `SAMPLE`, drawn at random."""
    query = (
        exp.Select().select(*(_column(i) for i in range(columns)), exp.column("n")).from_(distinct_rows.subquery("t"))
    )
    if lines > SAMPLE:
        query = query.where(exp.Rand() < exp.Literal.number(SAMPLE / lines))
    table = pa.concat_tables(rows.engine.batches(query))
    encoded = [encode(table.column(i)) for i in range(columns)]
    single = table.column(columns).combine_chunks().to_numpy(zero_copy_only=False) == 1
    return _Sample([values for values, _ in encoded], [codes for _, codes in encoded], single)


def _rules(
    rows: RowQuery, distinct_rows: exp.Select, sample: _Sample, distinct: Sequence[int]
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Return a rule a column that all its values fit, none if a tree would have to be written; and why the rest of a
    column does not fit what its first values look like, by its number."""
    rules: list[dict[str, Any]] = [{} for _ in distinct]
    misfits: dict[int, str] = {}
    open_ = {i: _guesses(values, distinct[i]) for i, values in enumerate(sample.values)}
    while wanted := {i: guesses[0] for i, guesses in open_.items() if guesses}:
        for i, (present, fitting, low, high) in _measured(rows, distinct_rows, wanted).items():
            form = open_[i].pop(0)
            if present == fitting:
                rules[i], open_[i] = _rule(form, low, high), []
                misfits.pop(i, None)
            else:
                kind = {"ranges": "numbers", "prefixes": "codes of digits"}.get(form, "dates")
                misfits[i] = f"{present - fitting} of its rows are no {kind}, so it has no rule: say one"
    return rules, misfits


def _guesses(values: Sequence[str], distinct: int) -> list[str]:
    """Return the forms that the first of a column's values have, the best first."""
    seen = list(islice((value for value in values if value != MISSING), LOOKED_AT))
    if not seen:
        return []
    for form in ("iso", "dmy"):
        if all(re.fullmatch(DATES[form], value) for value in seen):
            return [form]
    coded = len({len(value) for value in seen}) == 1 and len(seen[0]) > 3
    coded = coded and all(value.isascii() and value.isdigit() for value in seen)
    ranged = distinct > FEW and all(number(value) is not None for value in seen)
    return ["prefixes"] * coded + ["ranges"] * ranged


def _is_measured(values: Sequence[str]) -> bool:
    """Return whether most of a column's values are numbers, some with decimals: these name nobody."""
    seen = list(islice((value for value in values if value != MISSING), LOOKED_AT))
    numbers = [value for value in seen if number(value) is not None]
    return len(numbers) > len(seen) / 2 and any("." in value for value in numbers)


def _measured(
    rows: RowQuery, distinct_rows: exp.Select, forms: dict[int, str]
) -> dict[int, tuple[int, int, float, float]]:
    """Count, by the number of a column, the distinct rows with a value, and those where it has the form.

    Beside them the least and the greatest number there, or the number of digits. One query.
    """
    cells, aggregates = [], []
    for i, form in forms.items():
        present = _column(i).neq(exp.Literal.string(MISSING))
        fits = exp.RegexpLike(this=_column(i), expression=exp.Literal.string(PATTERNS[form]))
        size = exp.Length(this=_column(i)) if form != "ranges" else _column(i)
        cells.append(exp.case().when(present, exp.Literal.number(1)).as_(f"p{i}"))
        cells.append(exp.case().when(fits, exp.cast(size, "DOUBLE")).as_(f"x{i}"))
        x = exp.column(f"x{i}")
        aggregates += [exp.Count(this=exp.column(f"p{i}")).as_(f"p{i}"), exp.Count(this=x).as_(f"f{i}")]
        aggregates += [exp.Min(this=x).as_(f"l{i}"), exp.Max(this=x).as_(f"h{i}")]
    inner = exp.Select().select(*cells).from_(distinct_rows.subquery("t"))
    line = pa.concat_tables(rows.engine.batches(exp.Select().select(*aggregates).from_(inner.subquery("s"))))
    answer = line.to_pylist()[0]
    return {i: (answer[f"p{i}"], answer[f"f{i}"], answer[f"l{i}"] or 0.0, answer[f"h{i}"] or 0.0) for i in forms}


def _rule(form: str, low: float, high: float) -> dict[str, Any]:
    """Return the rule of values that all have a form; none if there is none for them after all."""
    if form == "prefixes":
        return {"prefixes": list(range(int(low) - 1, 0, -1))} if low == high else {}
    if form != "ranges":
        return {"dates": form}
    width = (high - low) / 16
    if width <= max(abs(low), abs(high)) * DIGITS:
        return {}
    step = 10.0 ** math.floor(math.log10(width))
    step = next(step * factor for factor in (1, 2, 5, 10) if step * factor >= width * (1 - 1e-9))
    widths = [float(f"{step * factor:.12g}") for factor in (1, 2, 4)]
    return {"ranges": [int(width) if width.is_integer() else width for width in widths]}


def _candidates(sample: _Sample, columns: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """Yield, for each size, the sets of columns that leave most of some rows alone, the worst first."""
    keys: dict[tuple[int, ...], Counts] = {(): np.zeros(len(sample.single), dtype=np.int64)}
    for size in range(1, min(LARGEST, len(columns)) + 1):
        sets: list[tuple[int, tuple[int, ...]]] = []
        longer: dict[tuple[int, ...], Counts] = {}
        for chosen in combinations(columns, size):
            joined = keys[chosen[:-1]] * len(sample.values[chosen[-1]]) + sample.codes[chosen[-1]]
            sets.append((_alone(joined, sample.single), chosen))
            if size < LARGEST:
                longer[chosen] = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        keys = longer
        yield [chosen for _, chosen in sorted(sets, key=lambda pair: -pair[0])[:CHOSEN]]


def _alone(keys: Counts, single: NDArray[np.bool_]) -> int:
    """Return how many rows no other equals by its key; where `single` is False, a row stands for several."""
    packed = np.sort(keys << 1 | ~single)
    differs = np.concatenate([[True], packed[1:] >> 1 != packed[:-1] >> 1, [True]])
    return int((differs[1:] & differs[:-1] & (packed & 1 == 0)).sum())


def _singling(
    rows: RowQuery,
    distinct_rows: exp.Select,
    names: Sequence[str],
    candidates: Iterator[list[tuple[int, ...]]],
    total: int,
) -> list[str]:
    """Return which sets of columns make most rows unique, the worst of each size."""
    notes = []
    for sets in candidates:
        unique = []
        for chosen in sets:
            keys = [_column(i) for i in chosen]
            alone = _total().eq(exp.Literal.number(1))
            groups = exp.Select().select(*keys).from_(distinct_rows.subquery("t")).group_by(*keys).having(alone)
            query = exp.Select().select(exp.Count(this=exp.Star()).as_("n")).from_(groups.subquery("g"))
            unique.append((int(rows.engine.counts(query)[0, 0]), [names[i] for i in chosen]))
        for count, of in sorted(unique, key=lambda pair: -pair[0])[:SHOWN]:
            if count:
                notes.append(f"{', '.join(of)}: {count / total:.1%} of the rows are alone with their values")
    return notes
