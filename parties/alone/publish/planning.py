"""Proposal of a first publish plan for a table, with the columns that make people unique."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import sqlglot.expressions as exp
import tomli_w
from numpy.typing import NDArray

from parties.alone.publish.hierarchy import ValueCodes
from parties.alone.publish.reading import text_of
from parties.alone.publish.rules import DATES, number
from parties.base.text import listed, printable
from parties.sources.mapping import NUMBER
from parties.sources.opened import RowQuery
from parties.sources.settings import SourceSettings
from parties.tables.delimited import MISSING
from parties.tables.texts import encode
from protocols.arrays import Counts
from smc.errors import InputError

K = 5
UNIQUE = 0.9  # a column of text with a greater share of distinct values counts as identifier
LOOKED_AT = 1000  # values from which a rule is guessed; all others are then checked against it
LARGEST = 3  # most columns of a set whose uniqueness is counted
COLUMNS = 20  # columns from which sets are formed
AT_ONCE = 64  # columns whose distinct values are counted in a query: each takes memory of its own
SAMPLE = 1 << 15  # distinct rows from which sets are selected
CHOSEN = 6  # sets of each size that are then counted in all rows
SHOWN = 3  # sets of each size that are reported
MANY = 8  # more quasi-identifiers than this draw a warning: little information is left
WHOLE = "[+-]?[0-9]+"
UNUSED = "# mondrian uses neither max_suppressed nor the widths in ranges; flash, samarati and incognito do.\n"
FEW = 4  # columns with at most this many distinct numbers need no ranges
DIGITS = 1e-10  # least distance between the ends of ranges, as a share of the largest number: labels have 12 digits
SENSITIVE = re.compile(
    r"disease|diagnos|illness|condition|symptom|therap|medic|drug|salary|income|wage|credit|debt|religio|politic"
    r"|orientation|ethnic|criminal|crime|offen[cs]e|convict|genetic|health|disab|(?<![a-z])(race|union|party|hiv)",
    re.IGNORECASE,
)  # names of columns on health, money, and the special categories of data of GDPR art. 9 and 10
PATTERNS = {  # pattern that all values of a column must match, for an engine; the rule itself accepts more
    "iso": r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$",
    "dmy": "|".join(rf"^[0-9]{{1,2}}[{mark}][0-9]{{1,2}}[{mark}][0-9]{{4}}$" for mark in "/.-"),
    "prefixes": r"^[0-9]{4,40}$",
    "ranges": NUMBER,
}


@dataclass(frozen=True)
class Proposal:
    """A publish plan as TOML, and remarks on the table."""

    text: str
    notes: list[str]


@dataclass(frozen=True, eq=False)
class _Sample:
    """A sample of distinct rows.

    Attributes:
        values: distinct values of each column
        codes: index of each row's value, int[rows] for each column
        single: whether the distinct row occurs once in the table, bool[rows]
    """

    values: list[list[str]]
    codes: list[ValueCodes]
    single: NDArray[np.bool_]


def propose(
    rows: RowQuery,
    source: str,
    table: str | None,
    formats: Mapping[str, SourceSettings] = MappingProxyType({}),
    codes: Container[str] = (),
    doing: Callable[[str], object] = lambda step: None,
    is_key: Callable[[str, int, int, float, float], bool] = lambda *_: False,
) -> Proposal:
    """Return a proposed plan: identifiers, by nearly distinct text or `is_key`, all others quasi-identifiers; k is 5.

    A column of decimal numbers counts as a measurement, not as an identifier, however many distinct values it has. The
    proposal cannot know sensitive columns; a remark lists columns with suspicious names. Further remarks list sets of
    up to three columns with the share of rows that are unique in them. These sets are the worst ones among a sample of
    the rows.

    Args:
        rows: The table's rows.
        source: Path or URL of the table, for the plan.
        table: Name of the table in a database, for the plan.
        formats: Spellings of the columns of `rows`, by name.
        codes: Columns whose numbers are texts, such as versions.
        doing: Called with a description before each step.
        is_key: Called with a column's name, rows, distinct values, least and greatest number; returns whether its whole
            numbers identify rows.

    Raises:
        InputError: Every plan would leave out all rows or columns.
    """
    names, left_out = _usable(rows)
    texts = exp.Select().select(*(text_of(rows, name).as_(f"c{i}") for i, name in enumerate(names)))
    cells = [_column(i) for i in range(len(names))]
    # Distinct rows with counts: repetitions take no memory.
    grouped = exp.Select().select(*cells, exp.Count(this=exp.Star()).as_("n")).group_by(*cells)
    distinct_rows = rows.engine.keep(grouped.from_(texts.from_(rows.query.subquery("t")).subquery("r")))
    doing("counting distinct values")
    distinct = list[int]()
    for start in range(0, len(names), AT_ONCE):
        some = range(start, min(start + AT_ONCE, len(names)))
        counted = [exp.Count(this=exp.Distinct(expressions=[_column(i)])) for i in some]
        columns = [count.as_(f"n{i}") for i, count in enumerate([exp.Count(this=exp.Star()), *counted])]
        profile = exp.Select().select(_number(), *columns).from_(distinct_rows.subquery("t"))
        total, lines, *numbers = rows.engine.counts(profile)[0].tolist()
        distinct += numbers
    if total < K:
        raise InputError(f"{rows.engine.place}: {total} rows are too few to publish: a class needs {K}; give more rows")
    doing("looking for rules")
    sample = _sampled(rows, distinct_rows, len(names), lines)
    texts_of_digits = {i for i, name in enumerate(names) if name in codes}
    rules, misfits, reach = _rules(rows, distinct_rows, sample, distinct, texts_of_digits)
    plan: dict[str, Any] = {"source": source} | ({} if table is None else {"table": table})
    plan |= {"max_suppressed": 0.02, "columns": {}, "models": [{"model": "k-anonymity", "k": K}]}
    notes, quasi = [f"{total} rows, {len(rows.types)} columns"], []
    for name in rows.types:
        if name in left_out:
            plan["columns"][name] = {"role": "identifier"}
            notes.append(f"{name}: cells of type {rows.types[name]} cannot be generalised: it will be dropped")
            continue
        i = names.index(name)
        is_identifying = distinct[i] > UNIQUE * total and not {"ranges", "dates"} & rules[i].keys()
        if i in reach and _is_whole(sample.values[i]) and is_key(name, total, distinct[i], *reach[i]):
            plan["columns"][name] = {"role": "identifier"}
            notes.append(
                f"{name}: {distinct[i]} whole numbers, {reach[i][0]:.0f} to {reach[i][1]:.0f}, seem to number rows: "
                'an identifier, it will be dropped; if they measure people, set role = "quasi-identifier" and ranges'
            )
            continue
        if is_identifying and _is_measured(sample.values[i]):
            is_identifying = False
            misfits.setdefault(i, "most of its values are numbers, but not all, so no rule is proposed: write one")
        if is_identifying:
            plan["columns"][name] = {"role": "identifier"}
            notes.append(f"{name}: {distinct[i]} distinct values: an identifier, it will be dropped")
        else:
            plan["columns"][name] = {"role": "quasi-identifier", **rules[i]}
            notes += [f"{name}: {misfits[i]}"] if i in misfits else []
            quasi.append(i)
    for name, own in formats.items():
        if name in plan["columns"]:
            plan["columns"][name]["format"] = own.model_dump(mode="json", exclude_defaults=True)
    if whole := [names[i] for i in quasi if not rules[i]]:
        plan["algorithm"] = "mondrian"
        notes.append(
            f"{listed(whole, SHOWN)}: no hierarchy, so one level for all rows would keep or lose all of a column. "
            'The plan has algorithm = "mondrian", which groups values class by class; '
            "add trees and remove it for one level"
        )
    if not quasi:
        raise InputError(f"{rows.engine.place}: every column identifies nearly all rows; add a column of few values")
    if sounding := [names[i] for i in quasi if SENSITIVE.search(names[i])]:
        notes.append(
            f'{", ".join(sounding)}: the name suggests a sensitive column. If it is one, set role = "sensitive" and '
            "give a model"
        )
    if len(quasi) > MANY:
        notes.append(
            f"{len(quasi)} quasi-identifiers: rows must look alike in all of them, so most information is lost. "
            f"Keep this role for the about {MANY} columns that others may know of people; give the others role = "
            '"other"'
        )
    doing("counting the rows that are alone")
    worst = sorted(quasi, key=lambda i: -distinct[i])[:COLUMNS]
    notes += _singling(rows, distinct_rows, names, _candidates(sample, worst), total)
    return Proposal(UNUSED * bool(whole) + tomli_w.dumps(plan), [printable(note) for note in notes])


def _usable(rows: RowQuery) -> tuple[list[str], set[str]]:
    """Return the columns that can be read as text, and the others. Raise InputError if no column can."""
    place = rows.engine.place
    if not rows.engine.cased:
        lower = [name.lower() for name in rows.types]
        if twins := [name for name in rows.types if lower.count(name.lower()) > 1]:
            raise InputError(f"{place}: rename {listed(twins)}: these names differ only in case")
    left_out = {name for name in rows.types if rows.unfit(name) is not None}
    if names := [name for name in rows.types if name not in left_out]:
        return names, left_out
    raise InputError(f"{place}: no column holds text, numbers or dates: turn one into text or numbers in a view")


def _column(i: int) -> exp.Column:
    return exp.column(f"c{i}")


def _total() -> exp.Expression:
    return exp.Coalesce(this=exp.Sum(this=exp.column("n")), expressions=[exp.Literal.number(0)])


def _number() -> exp.Expr:
    return exp.alias_(exp.cast(_total(), "BIGINT"), "n")


def _sampled(rows: RowQuery, distinct_rows: exp.Select, columns: int, lines: int) -> _Sample:
    """Return all distinct rows if they are few, otherwise a random sample of about `SAMPLE` of these `lines`."""
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
    rows: RowQuery, distinct_rows: exp.Select, sample: _Sample, distinct: Sequence[int], codes: Container[int]
) -> tuple[list[dict[str, Any]], dict[int, str], dict[int, tuple[float, float]]]:
    """Return a generalisation rule for each column, {} if its values do not all fit one, and remarks on misfits.

    The last item has the least and the greatest number of each column with only numbers.

    A remark, by the column's index, counts the values that differ from the form of the column's first values. Columns
    in `codes` get no ranges.
    """
    rules: list[dict[str, Any]] = [{} for _ in distinct]
    misfits: dict[int, str] = {}
    reach: dict[int, tuple[float, float]] = {}
    open_ = {i: _guesses(values, distinct[i]) for i, values in enumerate(sample.values)}
    open_ = {i: [form for form in forms if form != "ranges" or i not in codes] for i, forms in open_.items()}
    while untested := {i: guesses[0] for i, guesses in open_.items() if guesses}:
        for i, (present, fitting, low, high) in _measured(rows, distinct_rows, untested).items():
            form = open_[i].pop(0)
            if present == fitting:
                rules[i], open_[i] = _rule(form, low, high, distinct[i]), []
                misfits.pop(i, None)
                if form == "ranges":
                    reach[i] = low, high
            else:
                kind = {"ranges": "numbers", "prefixes": "codes of digits"}.get(form, "dates")
                misfits[i] = f"{present - fitting} of its rows are no {kind}, so it has no rule: say one"
    return rules, misfits, reach


def _guesses(values: Sequence[str], distinct: int) -> list[str]:
    """Return the forms that a column's first values fit, the most likely first; `distinct` is its number of values."""
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


def _is_whole(values: Sequence[str]) -> bool:
    return all(re.fullmatch(WHOLE, value) for value in values if value != MISSING)


def _is_measured(values: Sequence[str]) -> bool:
    """Return True if most of a column's values are numbers, some with decimals: measurements identify nobody."""
    seen = list(islice((value for value in values if value != MISSING), LOOKED_AT))
    numbers = [value for value in seen if number(value) is not None]
    return len(numbers) > len(seen) / 2 and any("." in value for value in numbers)


def _measured(
    rows: RowQuery, distinct_rows: exp.Select, forms: dict[int, str]
) -> dict[int, tuple[int, int, float, float]]:
    """Return, by the column's index, the numbers of distinct rows with a value and with a value of the form.

    The last two items are the least and the greatest number of that form, or length of its text.
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


def _rule(form: str, low: float, high: float, distinct: int) -> dict[str, Any]:
    """Return the rule for values that all have a form; empty if none is suitable.

    Args:
        form: The form.
        low: The least number, or length of a text.
        high: The greatest number, or length of a text.
        distinct: Number of distinct values.
    """
    if form == "prefixes":
        return {"prefixes": list(range(int(low) - 1, 0, -1))} if low == high else {}
    if form != "ranges":
        return {"dates": form}
    width = (high - low) / min(16, distinct - 1)
    if width <= max(abs(low), abs(high)) * DIGITS:
        return {}
    step = 10.0 ** math.floor(math.log10(width))
    step = next(step * factor for factor in (1, 2, 5, 10) if step * factor >= width * (1 - 1e-9))
    widths = [float(f"{step * factor:.12g}") for factor in (1, 2, 4)]
    return {"ranges": [int(width) if width.is_integer() else width for width in widths]}


def _candidates(sample: _Sample, columns: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """Yield, for each number of columns, the sets with the most unique rows in the sample, the worst first."""
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
    """Return the number of rows with a unique key. A row that is not `single` stands for several equal rows."""
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
    """Return remarks on the candidate sets of columns with the most unique rows in the whole table, of `total` rows.

    `distinct_rows` is the query of the distinct rows and the number `n` of each.
    """
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
