"""m-invariant publication of a growing table, consistent with the publications in its history.

The classes are m-invariant: every person's value stays one of at least m.

X. Xiao, Y. Tao, "m-Invariance: towards privacy preserving re-publication of dynamic datasets" (SIGMOD 2007). Every
class has at least m rows, all with different sensitive values, its *signature*. In each publication, a person is in a
class with the signature of all earlier ones. An attacker may compare the publications, and know in which ones a person
is and their quasi-identifiers: the whole signature remains possible. If nobody in a class has a value of its signature
any more, a *counterfeit* row has it. The number of counterfeits in each class is published.

A *bucket* has the rows of one signature. First come earlier rows, by their earlier signatures. Then new rows fill
missing values (balancing; the paper takes none if a value would become too frequent among the others, which have no
counterfeits there). Then come all other new rows, by signatures of the m values with most of them (assignment). Values
that still have fewer rows than others get counterfeits. A bucket is cut into classes of one row of each value, along
one quasi-identifier after the other, by its median (split).

Why it holds: exchange two values of a signature for all rows of its classes, in all publications. Nothing published
changes, so each value of the signature is as possible as the person's own. It is not k-anonymity: the number of people
with given quasi-identifiers is visible, and a class with m - 1 counterfeits concerns one person. An attacker who knows
the program also knows that counterfeits tend to have rare values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from parties.alone.publish.cells import Cells
from parties.alone.publish.protecting.rows import Rows
from parties.alone.publish.reading import Texts, hierarchies, recode, texts
from parties.alone.publish.recoding.anonymising import report
from parties.alone.publish.recoding.partition import Partition, around, numbers_of
from parties.alone.publish.rules import hierarchy
from parties.alone.publish.settings import PublishPlan
from parties.alone.publish.versions import History, Version, now, rows_by_name
from parties.base.text import quoted
from parties.sources.opened import RowQuery
from protocols.arrays import Floats
from smc.errors import InputError

Signature: TypeAlias = tuple[str, ...]  # values, sorted
Class: TypeAlias = dict[str, int | None]  # for each value of its signature the index of a row, None for a counterfeit
_Rows: TypeAlias = dict[str, list[int]]  # row indices by value


def classes_of(
    values: Sequence[str],
    earlier: Sequence[Signature | None],
    places: Floats,
    m: int,
    domain: Sequence[str],
    random: np.random.Generator,
) -> list[Class]:
    """Return m-invariant classes of all rows, in random order.

    Args:
        values: sensitive value of each row
        earlier: sensitive values of the row's class in earlier publications, its signature; None for a new row
        places: position of each row in each quasi-identifier, from 0 to 1, float64[columns, rows]
        m: least number of values in a signature
        domain: values allowed for counterfeits
        random: source of randomness

    Raises:
        ValueError: a row's value is not in its signature, or a signature or all values together are fewer than m
    """
    new: _Rows = defaultdict(list)
    buckets: dict[Signature, _Rows] = {}
    for row in random.permutation(len(values)).tolist():
        value, signature = values[row], earlier[row]
        if signature is None:
            new[value].append(row)
        elif value in signature and len(signature) >= m:
            buckets.setdefault(signature, {known: [] for known in signature})[value].append(row)
        else:
            raise ValueError("a row's value is not in its signature, or the signature has fewer than m values")
    every = sorted({*domain, *new})
    if len(every) < m:
        raise ValueError("the rows and the domain together have fewer than m values")
    for bucket in buckets.values():
        _balance(bucket, new)
    while new:
        frequent = sorted(new, key=lambda value: (-len(new[value]), value))[:m]
        others = [value for value in every if value not in frequent]
        signature = tuple(sorted([*frequent, *random.choice(others, m - len(frequent), replace=False).tolist()]))
        bucket = buckets.setdefault(signature, {value: [] for value in signature})
        for value in frequent:
            bucket[value].append(_taken(new, value))
    divided = [group for bucket in buckets.values() for group in _split(bucket, _most(bucket), places)]
    return [divided[place] for place in random.permutation(len(divided))]


def _balance(bucket: _Rows, new: _Rows) -> None:
    """Move new rows to a bucket until its values have equally many rows, as far as there are new rows.

    Each moved row saves a counterfeit here, and costs at most one counterfeit elsewhere.
    """
    most = _most(bucket)
    for value, rows in bucket.items():
        while len(rows) < most and value in new:
            rows.append(_taken(new, value))


def _taken(new: _Rows, value: str) -> int:
    row = new[value].pop()
    if not new[value]:
        del new[value]
    return row


def _most(bucket: Mapping[str, Sequence[int]]) -> int:
    return max(map(len, bucket.values()))


def _split(bucket: _Rows, number: int, places: Floats) -> list[Class]:
    """Cut a bucket into `number` classes, each time along the column in which its rows have the widest range.

    `places` has the position of each row in each column.

    Some value has a row for each class, so no class consists of counterfeits alone.
    """
    if number == 1:
        return [{value: rows[0] if rows else None for value, rows in bucket.items()}]
    together = [row for rows in bucket.values() for row in rows]
    column = places[int(np.ptp(places[:, together], axis=1).argmax())]
    half, low, high = number // 2, {}, {}
    for value, rows in bucket.items():
        ordered = sorted(rows, key=lambda row: float(column[row]))
        low[value], high[value] = ordered[: len(rows) // 2], ordered[len(rows) // 2 :]
    return _split(low, half, places) + _split(high, number - half, places)


CLASS, COUNTERFEITS = "class", "counterfeits"  # additional published columns


@dataclass(frozen=True, eq=False)
class Publication:
    """Published rows, their entry in the history, the true rows, and the report."""

    rows: Rows
    version: Version
    people: Cells
    report: dict[str, Any]


def publication(plan: PublishPlan, source: RowQuery, history: History, random: np.random.Generator) -> Publication:
    """Return the next m-invariant publication of a table.

    Args:
        plan: the publish plan, with `[history]` and m
        source: the table
        history: the earlier publications
        random: source of randomness

    Raises:
        InputError: the plan or an earlier publication is not suitable for m-invariance, a row's identifier is missing
            or repeated, its value is not in its earlier signature, or there are fewer than m values
    """
    m, quasi, sensitive = _asked_for(plan)
    table = texts(source, [*quasi, sensitive, history.column])
    names = [history.name(name) for name in rows_by_name(history, table, source.engine.place)]
    values = [table.values[-2][code] for code in table.codes[-2]]
    earlier, domain = _known(history, m)
    signatures = [earlier.get(name) for name in names]
    changed = sum(known is not None and value not in known for value, known in zip(values, signatures, strict=True))
    location = f"{source.engine.place}, column {quoted(sensitive)}"
    if changed:
        raise InputError(
            f"{location}: {changed:,} rows have a new sensitive value that is not among the m values of "
            f"their class; keep their earlier value"
        )
    every = sorted({*domain, *values})
    if len(every) < m:
        raise InputError(f"{location}: there are {len(every)} values, fewer than m = {m}; choose a smaller m")
    built = tuple(hierarchies(quasi, dict(plan.columns), table.values[: len(quasi)]))
    codes = recode(Texts(table.values[: len(quasi)], table.codes[: len(quasi)], table.counts), built)
    cells = Cells(built, (), codes, codes[:0], table.counts)
    numbers = numbers_of(cells, [plan.columns[name].numeric or bool(plan.columns[name].ranges) for name in quasi])
    classes = classes_of(values, signatures, _places(cells, numbers), m, every, random)
    true = [[row for row in members.values() if row is not None] for members in classes]
    boxes = [around(cells, np.array(rows), numbers) for rows in true]
    flat = [(place, value, row) for place, members in enumerate(classes) for value, row in members.items()]
    of_class = np.array([place for place, _, _ in flat])
    # A counterfeit has the quasi-identifiers of its class, like any other row of it.
    rows_like = np.array([true[place][0] if row is None else row for place, _, row in flat])
    columns = {
        CLASS: [str(place + 1) for place in of_class],
        **{name: [boxes[place][i].label for place in of_class] for i, name in enumerate(quasi)},
        sensitive: [value for _, value, _ in flat],
        COUNTERFEITS: [str(len(classes[place]) - len(true[place])) for place in of_class],
    }
    texts_of_columns = {name: np.array(column, dtype=object) for name, column in columns.items()}
    rows = Rows(texts_of_columns, tuple(quasi), np.ones(len(flat)), rows_like, source.engine.place)
    published_rows = [(names[row], place, value) for place, value, row in flat if row is not None]
    version = Version(
        at=now(),
        rows=[name for name, _, _ in published_rows],
        classes=[place for _, place, _ in published_rows],
        sensitive={sensitive: [value for _, _, value in published_rows]},
        signatures=[sorted(members) for members in classes],
    )
    of_values = hierarchy(sensitive, plan.columns[sensitive], every)
    each = np.ones(len(flat), dtype=np.int64)
    value_codes = np.array([[of_values.index[value] for _, value, _ in flat]], dtype=np.int32)
    cells_shown = Cells(built, (of_values,), codes[:, rows_like], value_codes, each)
    summary = report(cells_shown, Partition(np.arange(len(flat)), of_class, each, boxes), [])
    known_codes = np.array([[of_values.index[value] for value in values]], dtype=np.int32)
    people = Cells(built, (of_values,), codes, known_codes, table.counts)
    about = _about(summary, classes, len(published_rows), len(history.versions) + 1, m)
    return Publication(rows, version, people, about)


def _asked_for(plan: PublishPlan) -> tuple[int, list[str], str]:
    """Return m, the quasi-identifiers and the sensitive column; raise InputError if the plan is not suitable."""
    if plan.history is None or plan.history.m is None:
        raise InputError("history: m-invariance needs [history] with file, row and m; add them")
    if plan.history.person is not None:
        raise InputError("history: m-invariance needs one row for each person; remove person")
    if plan.models or plan.methods:
        raise InputError("models: m-invariance excludes other models and methods; remove them")
    quasi, sensitive, others = plan.named("quasi-identifier"), plan.named("sensitive"), plan.named("other")
    masked = [name for name, column in plan.columns.items() if column.mask is not None]
    if not quasi or len(sensitive) != 1:
        raise InputError(
            "columns: m-invariance needs exactly one sensitive column, and quasi-identifiers; "
            "set the roles of the columns"
        )
    if wrong := [*others, *masked]:
        raise InputError(
            f"column {quoted(wrong[0])}: a counterfeit row would have no value in this column; leave the column out"
        )
    if wrong := [name for name in (*quasi, *sensitive) if name in (CLASS, COUNTERFEITS)]:
        raise InputError(f"column {quoted(wrong[0])}: the publication adds a column of this name; rename yours")
    return plan.history.m, quasi, sensitive[0]


def _known(history: History, m: int) -> tuple[dict[str, Signature], set[str]]:
    """Return the signature of each published row, and all values of signatures.

    Raises:
        InputError: A publication is not m-invariant, or a signature has fewer than `m` values.
    """
    earlier: dict[str, Signature] = {}
    for version in history.versions:
        if not version.signatures:
            raise InputError(
                f"{history.path}: a publication in this history is not m-invariant; begin a new history file"
            )
        for row, place in zip(version.rows, version.classes, strict=True):
            earlier[row] = tuple(version.signatures[place])
    if least := min((len(known) for known in earlier.values() if len(known) < m), default=0):
        raise InputError(
            f"{history.path}: rows were published with {least} possible values, fewer than m = {m}; set m to {least}"
        )
    return earlier, {value for version in history.versions for known in version.signatures for value in known}


def _places(cells: Cells, numbers: list[np.ndarray | None]) -> Floats:
    """Return the position of rows in each column, from 0 to 1: numbers by size, other values by their order."""
    columns = []
    for h, codes, of_values in zip(cells.hierarchies, cells.quasi, numbers, strict=True):
        positions = np.arange(len(h.values), dtype=np.float64) if of_values is None else of_values
        columns.append(((positions - positions.min()) / max(np.ptp(positions), 1e-300))[codes])
    return np.stack(columns)


def _about(summary: dict[str, Any], classes: list[Class], rows: int, publications: int, m: int) -> dict[str, Any]:
    model = {"model": f"{m}-invariance", "holds": True, "reached": min(map(len, classes))}
    counts = {"rows": rows, "counterfeits": sum(map(len, classes)) - rows, "publications": publications}
    return counts | {name: value for name, value in summary.items() if name not in counts} | {"models": [model]}
