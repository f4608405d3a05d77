"""The union of proposed schemas, with remarks on their differences. All parties compute the same union."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

from parties.base.settings import at_key, validated
from parties.base.text import listed, quoted
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema, value_order
from parties.tables.spellings import canonical, composed, look_alike
from parties.tables.type_merging import merge_types
from parties.tables.types import CategoryType, ColumnType, Domain, FlagType, NumberType, type_of
from smc.errors import InputError

WHOLE = re.compile("0|-?[1-9][0-9]{0,14}")
KEYS = {  # keys of a type, each with the note for two proposals that differ in it
    "type": "whole and decimal numbers: taken as decimal ones",
    "low": "bounds differ: the wider ones are taken",
    "high": "bounds differ: the wider ones are taken",
    "edges": "edges differ: the edges of both are taken, or the shorter list if both together are too many",
    "width": "widths differ: the wider one is taken, or the edges of a schema that has edges",
    "step": "steps differ: the finer one is taken",
    "granularity": "granularities differ: the coarser one is taken",
    "missing": "only one of us has rows without a value",
}


@dataclass(frozen=True)
class Note:
    """A difference between two proposals, as a text for their operators.

    It concerns one `column`, or the whole schema if `column` is empty. Notes of one `kind` can be summarised together.
    """

    kind: str
    text: str
    column: str = ""


@dataclass(frozen=True)
class Merged:
    """Result of a merge: the schema, and the differences of the proposals."""

    schema: Schema
    notes: tuple[Note, ...]

    def summary(self) -> Iterator[str]:
        """Yield one line for each kind of notes: a single note itself; for several notes, the kind and the columns."""
        for kind in dict.fromkeys(note.kind for note in self.notes):
            alike = [note for note in self.notes if note.kind == kind]
            columns = dict.fromkeys(note.column for note in alike)
            if len(alike) == 1:
                yield alike[0].text
            else:
                yield f"{kind}: column{'s' if len(columns) > 1 else ''} {listed(columns)}"


def merge(ours: Schema, theirs: Schema, target: str | None = None) -> Merged:
    """Return a schema of the common columns, each with the values of both; without columns of contradicting types.

    An order of values that no proposal contradicts stays. What it leaves open is decided by size, then letter. If the
    orders contradict each other, all values are sorted. So both parties get one schema and can compare its digest.

    Args:
        ours: This party's proposal.
        theirs: The peer's proposal.
        target: Name of the class column; None for the one in the proposals.

    Raises:
        InputError: No column is left, the targets differ and `target` does not decide, or the target is not left.
    """
    ours, theirs, notes = _canonical(ours, theirs)
    target = None if target is None else composed(target)
    shared = [name for name in ours.attributes if name in theirs.attributes]
    twins = _twins(ours, theirs)
    if not shared:
        hint = f"; {_remedy(twins)}" if twins else ""
        raise InputError(f"the schemas have no column in common: ours has {listed(ours.attributes)}{hint}")
    left_out = [*_left_out("ours", ours, theirs)], [*_left_out("theirs", theirs, ours)]
    notes += [*left_out[0], *left_out[1]]
    if all(left_out):
        what = "if two columns left out are one, one party runs smc prepare RAW --schema FILE, with the other's schema"
        notes.append(Note(what, what))
    if twins:
        notes.append(Note("names that differ in capitals only", _remedy(twins)))
    notes += _named_alike(ours, theirs, twins)
    order = [name for name in theirs.attributes if name in ours.attributes]
    if order != shared:
        what = "the columns stand in another order in theirs: they are sorted by name"
        notes.append(Note(what, what))
        shared = sorted(shared)
    attributes = {}
    for name in shared:
        both = (ours.attributes[name], theirs.attributes[name])
        if isinstance(values := _merged(name, *both), str):
            notes.append(
                Note("left out, because the two schemas disagree", f"left out column {quoted(name)}: {values}", name)
            )
            continue
        attributes[name] = values
        if isinstance(values, Domain):
            notes += _about(name, _differences(*both))
            continue
        attributes[name], agreed = _union(*both, value_order)
        if not agreed:
            what = "the values stand in another order in theirs: they are sorted"
            notes += _about(name, [(what, what)])
        notes += _about(name, _remarks(*both))
    keys = tuple(name for name in ours.keys if name in theirs.keys)
    if not attributes:
        raise InputError("the schemas have no common column of the same type; agree on the types")
    wanted = {target} if target is not None else {ours.target, theirs.target}
    if of_target := [pair for pair in twins if wanted & {*pair}]:
        raise InputError(f"the two targets are different columns: {_remedy(of_target)}")
    return Merged(Schema(attributes, _target(ours, theirs, attributes, target), keys), tuple(notes))


def merge_all(ours: Schema, others: Mapping[str, Schema], target: str | None = None) -> Merged:
    """Return a schema of the columns that all proposals have, equal at all parties, as `merge` does for two.

    The proposals are merged in the order of their digests. The notes compare this party's proposal with each other one.

    Args:
        ours: This party's proposal.
        others: The proposals of the others, by their names.
        target: Name of the class column; None for the one in the proposals.

    Raises:
        InputError: Proposals have no common column, or their targets differ. The message begins with the name of
            the other party if it concerns one.
    """
    if len(others) == 1:
        (theirs,) = others.values()
        return merge(ours, theirs, target)
    notes: list[Note] = []
    shared = set(ours.attributes)
    for name, theirs in others.items():
        with at_key(name):
            pair = merge(ours, theirs, target)
        shared &= pair.schema.attributes.keys()
        notes += [replace(note, kind=f"{name}: {note.kind}", text=f"{name}: {note.text}") for note in pair.notes]
    schema = reduce(
        lambda merged, other: merge(merged, other, target).schema, sorted([ours, *others.values()], key=Schema.digest)
    )
    for column in sorted(shared - schema.attributes.keys()):
        what = "left out, because two other proposals disagree"
        notes.append(Note(what, f"column {quoted(column)}: {what}; merge these two to see them", column))
    return Merged(schema, tuple(notes))


def side_by_side(ours: Schema, theirs: Schema, target: str | None = None) -> Schema:
    """Return the schema of the columns of both proposals, for tables with different columns; equal at both parties.

    Args:
        ours: This party's proposal.
        theirs: The peer's proposal.
        target: Name of the class column; None for the one in the proposals.

    Raises:
        InputError: A column is in both proposals, up to capitals, or their targets differ and `target` does not decide.
    """
    folded = {name.casefold() for name in theirs.attributes}
    if both := [name for name in ours.attributes if name.casefold() in folded]:
        raise InputError(f"columns in both schemas: {listed(both)}; leave each out of one schema (--data, --exclude)")
    first, second = sorted([ours, theirs], key=Schema.digest)
    targets = {target} if target is not None else {ours.target, theirs.target} - {None}
    if len(targets) > 1:
        raise InputError(f"the schemas have different targets, {listed(sorted(map(str, targets)))}; give --target")
    joint = Schema(first.attributes | second.attributes, next(iter(targets), None), (*first.keys, *second.keys))
    if joint.target is not None:
        joint.choose_target()
    return joint


def _canonical(ours: Schema, theirs: Schema) -> tuple[Schema, Schema, list[Note]]:
    """Return both schemas in canonical spelling, see `spellings`, and the changes that this made."""
    names = [{name: composed(name) for name in schema.attributes} for schema in (ours, theirs)]
    names = [
        spelled if len({*spelled.values()}) == len(spelled) else {name: name for name in spelled} for spelled in names
    ]
    columns = [
        {spelled[name]: values for name, values in schema.attributes.items()}
        for spelled, schema in zip(names, (ours, theirs), strict=True)
    ]
    schemas, notes = [], []
    for own, peer, schema, spelled in zip(columns, columns[::-1], (ours, theirs), names, strict=True):
        attributes: dict[str, tuple[str, ...]] = {}
        for name, values in own.items():
            if type_of(values) is not None:
                attributes[name] = values
                continue
            of_peer = peer.get(name, ())
            meant = canonical(values, () if type_of(of_peer) is not None else of_peer)
            attributes[name] = tuple(dict.fromkeys(meant.values()))
            if changed := [value for value in values if meant[value] != value]:
                what = "spellings of one value: the plain one is taken, such as 1 for 1.0 or yes for Yes"
                notes += _about(name, [(what, f"{listed(changed)}: read as {listed([meant[v] for v in changed])}")])
        target = None if schema.target is None else spelled[schema.target]
        schemas.append(Schema(attributes, target, tuple(map(composed, schema.keys))))
    mine, other = schemas
    return _filled(mine, other), _filled(other, mine), notes


def _filled(schema: Schema, peer: Schema) -> Schema:
    """Return the schema; if no column has a value, because the table has no rows, return it with the peer's values."""
    if any(tuple(values) != (MISSING,) for values in schema.attributes.values()):
        return schema
    attributes = {name: peer.attributes.get(name, values) for name, values in schema.attributes.items()}
    return Schema(attributes, schema.target, schema.keys)


def _named_alike(ours: Schema, theirs: Schema, twins: Sequence[tuple[str, str]]) -> Iterator[Note]:
    pairs = look_alike(
        [name for name in ours.attributes if name not in theirs.attributes],
        [name for name in theirs.attributes if name not in ours.attributes],
    )
    for name, other in pairs:
        if (name, other) not in twins:
            yield Note(
                "names that look alike: are they one column?",
                f"{quoted(name)} (ours) and {quoted(other)} (theirs) look alike: if they are one column, one party "
                "prepares anew, by smc prepare RAW --schema FILE, where FILE is the other's schema",
                name,
            )


def _twins(ours: Schema, theirs: Schema) -> list[tuple[str, str]]:
    """Return pairs of names, ours and the peer's, that differ in capitals only; these columns are left out."""
    alone = [name for name in theirs.attributes if name not in ours.attributes]
    return [
        (name, other)
        for name in ours.attributes
        if name not in theirs.attributes
        for other in alone
        if name.casefold() == other.casefold()
    ]


def _remedy(twins: Sequence[tuple[str, str]]) -> str:
    """Return the remedy for names that differ in capitals only: one party prepares its schema anew."""
    pairs = [f"{quoted(name)} (ours) and {quoted(other)} (theirs)" for name, other in twins]
    more = f", … ({len(pairs)} in all)" if len(pairs) > 8 else ""
    return (
        f"{', '.join(pairs[:8])}{more} differ in capitals only: if they are one, one party prepares anew, by "
        "smc prepare RAW --schema FILE --out DIR --force, where FILE is the other's schema"
    )


def _about(name: str, remarks: Iterable[tuple[str, str]]) -> list[Note]:
    return [Note(kind, f"column {quoted(name)}: {text}", name) for kind, text in remarks]


def _merged(name: str, ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...] | str:
    """Return the values of a column that both proposals have, or the reason why no type fits both.

    If a proposal has a type, these are the merged typed domain. Two lists give our list: the caller unites them.
    """
    columns = [type_of(values) for values in (ours, theirs)]
    if columns == [None, None]:
        return ours
    a, b = (
        column if column is not None else _listed_as(other, values)
        for column, other, values in zip(columns, columns[::-1], (ours, theirs), strict=True)
    )
    try:
        merged = Domain(merge_types(a, b))
    except InputError as error:
        return str(error)
    if isinstance(merged.column, CategoryType) and not merged.column.groups:
        prefix = merged.column.prefix
        first, second = (
            tuple(dict.fromkeys(text[:prefix] for text in column.values)) if isinstance(column, CategoryType) else ()
            for column in (a, b)
        )
        ordered, _ = _union(first, second, value_order)
        values = tuple(value for value in ordered if value != merged.column.other)
        merged = Domain(merged.column.model_copy(update={"values": values}))
    return merged


def _listed_as(other: ColumnType | None, values: Sequence[str]) -> ColumnType:
    """Return a type for listed values: that of the other proposal if it can hold them, else categories."""
    words = [value for value in values if value != MISSING]
    missing = MISSING in values
    if other is not None and (not words or (isinstance(other, FlagType) and {*words} <= other.texts.keys())):
        return validated(type(other), other.model_dump(exclude_unset=True) | {"missing": missing})
    if isinstance(other, NumberType) and all(map(WHOLE.fullmatch, words)):
        bounds = {"low": min(other.low, *map(int, words)), "high": max(other.high, *map(int, words))}
        return validated(type(other), other.model_dump(exclude_unset=True) | bounds | {"missing": missing})
    return CategoryType(values=tuple(words), missing=missing)


def _differences(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    sides = [{} if (column := type_of(values)) is None else column.public() for values in (ours, theirs)]
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        if key in ("values", "groups") or sides[0].get(key) == sides[1].get(key):
            continue
        ours_says, theirs_says = (side.get(key, "nothing") for side in sides)
        yield KEYS.get(key, f"{key} differs"), f"{key}: ours says {ours_says}, theirs {theirs_says}"
    if set(ours) != set(theirs) and "values" in sides[0]:
        yield from _remarks(ours, theirs)


def _left_out(whose: str, schema: Schema, other: Schema) -> Iterator[Note]:
    for name in schema.attributes:
        if name not in other.attributes:
            yield Note(
                f"left out, for only {whose} lists them", f"left out column {quoted(name)}: only {whose} lists it", name
            )


def _remarks(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield possible misunderstandings between two lists of values: kind and description."""
    for whose, more in (("ours", set(ours) - set(theirs)), ("theirs", set(theirs) - set(ours))):
        if more:
            yield f"values that only {whose} has", f"only {whose} has {listed(sorted(more, key=value_order))}"
    folded = {value.casefold(): value for value in ours}
    for value in theirs:
        twin = folded.get(value.casefold())
        if twin is not None and twin != value:
            yield (
                "values that differ in capitals only: are they one?",
                f"{quoted(twin)} (ours) and {quoted(value)} (theirs) differ in capitals only: is it one value?",
            )
    others = [value for value in theirs if value not in ours and value.casefold() not in folded]
    for own, other in look_alike([value for value in ours if value not in theirs], others):
        yield (
            "values that look alike: are they one?",
            f"{quoted(own)} (ours) and {quoted(other)} (theirs) look alike: is it one value?",
        )


def _target(ours: Schema, theirs: Schema, attributes: dict[str, Any], chosen: str | None) -> str | None:
    named = {target for target in (ours.target, theirs.target) if target is not None}
    if chosen is None and len(named) > 1:
        raise InputError(
            f"the targets differ: {quoted(str(ours.target))} is ours, {quoted(str(theirs.target))} theirs; "
            "agree on one, and give it by --target"
        )
    target = chosen if chosen is not None else next(iter(named), None)
    return None if target is None else Schema(attributes).choose_target(target)


def _union(first: Sequence[str], second: Sequence[str], key: Callable[[str], Any]) -> tuple[tuple[str, ...], bool]:
    """Return all values, and whether an order exists that neither list contradicts.

    If both lists leave the order open, `key` decides. If there is no such order, all values are sorted by `key`.
    """
    before: dict[str, set[str]] = {value: set() for value in (*first, *second)}
    for values in (first, second):
        for earlier, later in pairwise(values):
            before[later].add(earlier)
    free = [(key(value), value) for value, needed in before.items() if not needed]
    heapq.heapify(free)
    order: list[str] = []
    while free:
        value = heapq.heappop(free)[1]
        order.append(value)
        for later, needed in before.items():
            if value in needed:
                needed.remove(value)
                if not needed:
                    heapq.heappush(free, (key(later), later))
    agreed = len(order) == len(before)
    return (tuple(order) if agreed else tuple(sorted(before, key=key))), agreed
