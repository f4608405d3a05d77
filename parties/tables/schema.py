"""The public schema: the attributes in their order, and the values of each.

Both parties hold equal copies of `schema.toml`:

    target = "play"                  # optional; --target wins

    [attributes]
    outlook = ["sunny", "overcast", "rain"]
    play = ["yes", "no"]

An attribute may have a type instead of a list, see `parties.tables.types`:

    [attributes.age]
    type = "integer"
    low = 0
    high = 110
    edges = [18, 40, 65]

The order of the attributes decides ties between equally good splits. The order of the target's values decides ties
between equally frequent classes (the first wins). So both orders are part of the agreement.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parties.base import file_kinds, files
from parties.base.settings import at_key, validated
from parties.base.text import did_you_mean, instead, quoted
from parties.tables.delimited import MISSING, Columns, in_words, separating
from parties.tables.toml_text import toml_lines
from parties.tables.types import MOST_IN_ALL, Domain, KeyType, NumberType, read_type, type_of, unusable
from smc.errors import InputError

MAX_PROPOSED_VALUES = 64


@dataclass(frozen=True, eq=False)
class Schema:
    """Public schema: attribute names with their values, both in public order, and the target of the file, if any.

    Values of a typed column are a `Domain`. `keys` are columns that identify rows. They are not attributes and not part
    of the agreement. Schemas with equal digests are the same agreement.
    """

    attributes: dict[str, tuple[str, ...]]
    target: str | None = None
    keys: tuple[str, ...] = ()

    @property
    def has_types(self) -> bool:
        """True if the schema maps raw values of a column to categories."""
        return any(type_of(values) is not None for values in self.attributes.values())

    def choose_target(self, flag: str | None = None) -> str:
        """Return the target column: `flag` if given, else the file's.

        Raises:
            InputError: There is none, or it is not an attribute.
        """
        target = flag if flag is not None else self.target
        if target is None:
            raise InputError("no target: give --target COLUMN, or set target in the schema file")
        if target not in self.attributes:
            there = instead(target, self.attributes)
            raise InputError(f"target {quoted(target)} is not an attribute of the schema{there}")
        return target

    def features(self, target: str) -> tuple[str, ...]:
        """Return the attributes that a tree may split by: all but the target, in public order."""
        return tuple(name for name in self.attributes if name != target)

    def public(self) -> dict[str, object]:
        """Return the agreement as plain JSON, in lists, whose order survives any canonical form.

        The target is not part of it: a target from a flag and one from the file are equal.
        """
        return {"attributes": [{"name": name, **_public(values)} for name, values in self.attributes.items()]}

    @classmethod
    def from_public(cls, value: object) -> Schema:
        """Return the schema of a peer's JSON, the inverse of `public`.

        Raises:
            ValueError: The JSON has a wrong form.
            InputError: A name or value is wrong.
        """
        listed = value.get("attributes") if isinstance(value, dict) else None
        if not isinstance(listed, list) or not listed:
            raise ValueError("the schema lists no attributes")
        attributes: dict[str, tuple[str, ...]] = {}
        for item in listed:
            if isinstance(item, dict) and "type" in item:
                typed, domain = _typed(item)
                if typed in attributes:
                    raise ValueError("the schema names an attribute twice")
                attributes[typed] = domain
                if sum(map(len, attributes.values())) > MOST_IN_ALL:
                    raise ValueError(f"the schema has more than {MOST_IN_ALL} values in all")
                continue
            name, values = (item.get("name"), item.get("values")) if isinstance(item, dict) else (None, None)
            texts = [name, *values] if isinstance(values, list) and values else [None]
            if not all(isinstance(text, str) and unusable(text) is None for text in texts):
                raise ValueError("the schema has an attribute without a usable name or values")
            assert isinstance(values, list)
            if name in attributes or len(set(values)) != len(values):
                raise ValueError("the schema names an attribute or a value twice")
            attributes[str(name)] = tuple(values)
        return cls(attributes)

    def only(self, names: Sequence[str]) -> Schema:
        """Return the schema of some attributes, in this schema's order, with its target and without its keys.

        Raises:
            InputError: An attribute is missing.
        """
        for name in names:
            if name not in self.attributes:
                there = instead(name, self.attributes)
                raise InputError(f"there is no attribute {quoted(name)} in the schema{there}")
        return Schema({name: values for name, values in self.attributes.items() if name in names}, self.target)

    def numeric(self, names: Sequence[str]) -> Schema:
        """Return the schema in which each number of these columns is a value, if the columns have a numeric type.

        Raises:
            InputError: There are too many numbers between the bounds of a column.
        """
        attributes = dict(self.attributes)
        for name in names:
            if isinstance(column := type_of(attributes.get(name, ())), NumberType):
                with at_key(f"schema: {name}"):
                    attributes[name] = Domain(column.numeric())
        return Schema(attributes, self.target, self.keys)

    def with_edges(self, edges: Mapping[str, Sequence[object]]) -> Schema:
        """Return the schema in which these columns of numbers are counted between the given edges.

        Raises:
            InputError: The edges do not fit.
        """
        self.only([*edges])  # all are there
        attributes = dict(self.attributes)
        for name, numbers in edges.items():
            column = type_of(attributes[name])
            if not isinstance(column, NumberType):
                raise InputError(
                    f"{quoted(name)} is not an integer or real column of the schema, so it cannot have edges; "
                    "remove its entry from the result of smc release edges"
                )
            if not numbers:
                raise InputError(
                    f"{quoted(name)} has no edge, because nearly all rows have one value; "
                    "remove its entry from the result of smc release edges"
                )
            fields = column.model_dump(exclude_unset=True, exclude={"edges", "width"})
            with at_key(f"schema: {name}"):
                attributes[name] = Domain(validated(type(column), {**fields, "edges": list(numbers)}))
        return Schema(attributes, self.target, self.keys)

    def misfit(self, required: Schema) -> str | None:
        """Return the reason why a table of this schema does not fit a job of the schema `required`; None if it does."""
        for name, values in required.attributes.items():
            if name not in self.attributes:
                return f"the table has no attribute '{name}'"
            if self.attributes[name] != values:
                return f"the table's attribute '{name}' has other values than the job's"
        return None

    def digest(self) -> str:
        """Return SHA-256 over the canonical JSON of `public()`, in hexadecimal."""
        canonical = json.dumps(self.public(), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def text(self) -> str:
        """Return the schema as the content of a schema file."""
        head = "" if self.target is None else toml_lines({"target": self.target}) + "\n"
        attributes = {name: _saved(values) for name, values in self.attributes.items()}
        keys = {name: {"type": "key"} for name in self.keys}
        return f"{head}[attributes]\n{toml_lines(attributes | keys)}"

    def save(self, path: Path) -> None:
        """Write the schema as TOML.

        Raises:
            InputError: The file cannot be written.
        """
        files.write_text(path, self.text())


def load(path: Path) -> Schema:
    """Read and check a schema file.

    Values are strings. Whole numbers become their decimal digits. Other types are refused, because their spelling in
    the data would be a guess.

    Raises:
        InputError: The file is wrong; the message names the file and the key.
    """
    with file_kinds.expecting(path, (file_kinds.SCHEMA,), "give a TOML file, as smc schema --out writes it"):
        return parsed(files.read_text(path), path)


def parsed(text: str, path: Path) -> Schema:
    """Return the schema that the text of a schema file holds.

    Args:
        text: The content of the file.
        path: The file, for messages.

    Raises:
        InputError: The text is wrong; the message names the file and the key.
    """
    table = files.parse_toml(text, path)
    for key in table:
        if key not in ("target", "attributes"):
            hint = did_you_mean(key, ("target", "attributes"))
            raise InputError(f"{path}: unknown key {quoted(key)}{hint}")
    attributes = table.get("attributes")
    if not isinstance(attributes, dict) or not attributes:
        raise InputError(f"{path}: attributes: must be a table of at least one attribute with its values")
    domains = {_name(path, key): _values(path, key, values) for key, values in attributes.items()}
    keys = tuple(key for key, values in domains.items() if isinstance(type_of(values), KeyType))
    schema = Schema({key: values for key, values in domains.items() if key not in keys}, table.get("target"), keys)
    if not schema.attributes:
        raise InputError(f"{path}: attributes: must list at least one attribute; key columns do not count")
    if schema.target is not None:
        if not isinstance(schema.target, str):
            raise InputError(f"{path}: target: must be the name of an attribute, in quotes")
        if schema.target not in schema.attributes:
            there = instead(schema.target, schema.attributes)
            raise InputError(f"{path}: target: {quoted(schema.target)} is not an attribute{there}")
    return schema


def _public(values: tuple[str, ...]) -> dict[str, Any]:
    column = type_of(values)
    return {"values": list(values)} if column is None else {"type": column.type, "column": column.public()}


def _typed(item: Mapping[str, Any]) -> tuple[str, Domain]:
    """Return the name and values of a typed attribute, the inverse of `_public`.

    Raises:
        ValueError: The JSON is wrong; the message says where.
    """
    name, column = item.get("name"), item.get("column")
    if not isinstance(name, str) or unusable(name) is not None or not isinstance(column, dict):
        raise ValueError("the schema has an attribute without a usable name or type")
    domain = Domain(read_type(column))
    if not domain:
        raise ValueError(f"the schema's attribute {quoted(name)} has no values")
    return name, domain


def _saved(values: tuple[str, ...]) -> Any:
    column = type_of(values)
    if column is None:
        return list(values)
    return {"type": column.type} | column.model_dump(exclude_defaults=True, exclude_none=True)


@dataclass(frozen=True)
class Proposal:
    """A schema made from one party's own file, and remarks for its operator."""

    schema: Schema
    notes: tuple[str, ...]


def propose(
    table: Columns,
    target: str | None = None,
    exclude: Sequence[str] = (),
    limit: int = MAX_PROPOSED_VALUES,
    numbers: Mapping[str, range] | None = None,
) -> Proposal:
    """Return a schema with the columns of a table, for the operators to compare and agree on.

    Values are sorted: numbers by size, `?` for missing values last. In a file without rows each column has only the
    value `?`.

    Args:
        table: The cells of the file.
        target: Name of the class column; None to leave it open.
        exclude: Names of columns to leave out.
        limit: Maximum number of values. A column of more values is left out with a note, because it looks like an
            identifier or a measurement.
        numbers: Public numbers of some columns. All of them are values of the column, whichever occur.

    Raises:
        InputError: A named column is missing or does not fit, or no column is left.
    """
    from parties.tables.texts import TextColumn  # loads slowly

    numbers = {} if numbers is None else numbers
    path = table.path
    if mark := separating([*table.values]):
        raise InputError(f"{path}: {in_words(mark)}")
    for name in (*exclude, *numbers, *([] if target is None else [target])):
        if name not in table.values and name not in table.unfit:
            there = instead(name, table.values)
            raise InputError(f"{path}: there is no column {quoted(name)}{there}")
    if target is not None and target in table.unfit:
        raise InputError(f"{path}, column {quoted(target)}: {table.unfit[target]}")
    if target is not None and target in exclude:
        raise InputError(f"column {quoted(target)} cannot be the target and be left out; remove one of the two")
    attributes: dict[str, tuple[str, ...]] = {}
    notes = [f"left out columns without a name: {table.unnamed}"] if table.unnamed else []
    notes += [] if table.lines else ["there is no row: smc schema --merge takes the peer's values"]
    notes += [f"left out column {quoted(n)}: {problem}" for n, problem in table.unfit.items() if n not in exclude]
    for name, column in table.values.items():
        if name in exclude:
            continue
        distinct = sorted(TextColumn.of(column).texts, key=value_order) if table.lines else [MISSING]
        if name in numbers:
            attributes[name] = _numbers(f"{path}, column {quoted(name)}", numbers[name], distinct)
            continue
        problem = _unsuited(name, distinct, limit)
        if problem is None:
            attributes[name] = tuple(distinct)
        elif name == target:
            raise InputError(f"{path}: column {quoted(name)} cannot be the target: it has {problem}")
        else:
            notes.append(f"left out column {quoted(name)}: it has {problem}")
    if not attributes:
        raise InputError(f"{path}: no remaining column can be an attribute; leave out fewer columns")
    if target is not None and table.lines and MISSING in attributes[target]:
        count = table.values[target].count(MISSING)
        notes.append(f"target {quoted(target)} is missing in {count} rows: '?' is a class of its own")
    return Proposal(Schema(attributes, target), tuple(notes))


def _numbers(where: str, among: range, distinct: Sequence[str]) -> tuple[str, ...]:
    """Return the public numbers `among` as the values of a column, and "?" if the column has it.

    Raises:
        InputError: The column has another value.
    """
    known = dict.fromkeys(map(str, among))
    for value in distinct:
        if value not in known and value != MISSING:
            raise InputError(f"{where}: {quoted(value)} is no whole number from {among[0]} to {among[-1]}")
    return (*known, *([MISSING] if MISSING in distinct else []))


def _unsuited(name: str, distinct: Sequence[str], limit: int) -> str | None:
    """Return the reason why a column with these values cannot be an attribute, or None.

    More than `limit` values are such a reason.
    """
    if len(distinct) > limit:
        return (
            f"{len(distinct)} different values, more than {limit}; it looks like an identifier or a number "
            "(--numeric lists whole numbers between public bounds; others can be grouped into ranges)"
        )
    for text in (name, *distinct):
        if problem := unusable(text):
            return f"the name or value {quoted(text)}, which {problem}"
    return None


def value_order(value: str) -> tuple[bool, float, str]:
    """Return a sort key: numbers by size, then words, then the mark for a missing value."""
    number = re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", value)
    return value == MISSING, float(value) if number else float("inf"), value


def _name(path: Path, name: str) -> str:
    """Return the name of an attribute of the file `path`. Raise InputError unless it can be one."""
    if problem := unusable(name):
        raise InputError(f"{path}: attributes: the name {quoted(name)} {problem}")
    return name


def _values(path: Path, name: str, values: object) -> tuple[str, ...]:
    """Return the checked values of one attribute, whole numbers as strings."""
    where = f"{path}: attributes.{name}"
    if isinstance(values, dict) and values:
        with at_key(where):
            return Domain(read_type(values))
    if not isinstance(values, list) or not values:
        raise InputError(f"{where}: must be a list of at least one value, or a table with a type")
    checked: dict[str, None] = {}
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise InputError(f"{where}: {value} must be in quotes, spelled as in the data")
        text = str(value)
        if problem := unusable(text):
            raise InputError(f"{where}: the value {quoted(text)} {problem}")
        if text in checked:
            raise InputError(f"{where}: the value {quoted(text)} is listed twice; remove one")
        checked[text] = None
    return tuple(checked)
