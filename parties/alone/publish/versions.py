"""Several publications of one table: classes of rows that look alike in all of them, checked against the models.

Several publications together may identify a person although each is k-anonymous. For example, a row shares its class
with other rows in each publication, but with none of them in both; or it is the only row that is added or removed. An
attacker may know in which publications a person is, and their quasi-identifiers there. A *group* has the rows that are
in the same class, or absent, in each publication; the owner can match rows of one person, so groups are exact. All rows
of the person's group remain possible for the attacker. No others do if rows can be matched by a column published in
clear; otherwise (as m-invariance assumes: X. Xiao, Y. Tao 2007) more rows may.

The history is a file for its owner only: the rows' classes and sensitive values of each publication. It names rows by
salted hashes, on which a holder of the file can try names.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from parties.alone.publish.cells import Cells, Finder
from parties.alone.publish.hierarchy import Hierarchy
from parties.alone.publish.models.classes import Classes, counted, layout_of
from parties.alone.publish.models.model import PrivacyModel
from parties.alone.publish.reading import Texts, in_order, recode, texts
from parties.alone.publish.recoding.partition import SUPPRESSED, Partition
from parties.base import files
from parties.base.settings import explained
from parties.base.text import quoted
from parties.sources.opened import RowQuery
from parties.tables.delimited import MISSING
from protocols.arrays import Counts
from smc.errors import InputError

FORMAT = 1
NAME_DIGITS = 32  # hexadecimal digits of a row's hash
HierarchyOf: TypeAlias = Callable[[str, Sequence[str]], Hierarchy]  # hierarchy of a sensitive column with these values


class Version(BaseModel):
    """A publication: the hash, class and sensitive values of each row.

    Attributes:
        at: time of publication
        rows: hash of each row's identifier
        classes: class of each row
        sensitive: value of each row, by sensitive column
        signatures: if m-invariant, the sensitive values of each class, including counterfeits
        persons: hash of each row's person, if a person may have several rows
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    at: str
    rows: list[str]
    classes: list[int]
    sensitive: dict[str, list[str]]
    signatures: list[list[str]] = []
    persons: list[str] = []

    @model_validator(mode="after")
    def _fits(self) -> Version:
        persons = [self.persons] if self.persons else []
        if {len(self.classes), *map(len, [*self.sensitive.values(), *persons])} != {len(self.rows)}:
            raise ValueError("must have a class and a value of each sensitive column for each row")
        if len(set(self.rows)) < len(self.rows) or min(self.classes, default=0) < 0:
            raise ValueError("must have each row once, in a class from 0 on")
        if self.signatures and max(self.classes, default=0) >= len(self.signatures):
            raise ValueError("must have a signature for each class")
        return self


@dataclass(frozen=True)
class History:
    """The publications of one table, the oldest first.

    Column `column` identifies rows. If a person may have several rows, column `person` identifies persons.
    """

    path: Path
    column: str
    salt: str
    versions: tuple[Version, ...] = ()
    person: str | None = None
    digest: str = ""  # SHA-256 of the file as read; empty if there was no file

    def name(self, value: str) -> str:
        """Return the keyed hash under which the history stores an identifier."""
        return hashlib.sha256(f"{self.salt}\n{value}".encode()).hexdigest()[:NAME_DIGITS]

    def write(self, over: str, *more: Version) -> str:
        """Write the history with further publications, for its owner only, and return the file's SHA-256.

        Without any publication, the file is removed and the result is empty.

        Args:
            over: SHA-256 of the file to be replaced, empty for no file
            more: the further publications

        Raises:
            InputError: the file has changed: another publication was added and not checked together with this one
        """
        versions = [version.model_dump() for version in (*self.versions, *more)]
        content = {"smc_history": FORMAT, "salt": self.salt, "versions": versions}
        data = f"{json.dumps(content, ensure_ascii=False)}\n".encode()
        with files.held(self.path.parent):
            if _digest(self.path) != over:
                raise InputError(
                    f"{self.path}: another publication was added to this history meanwhile; run the command again"
                )
            if versions:
                files.write_bytes(self.path, data, private=True)
            else:
                self.path.unlink()
        return hashlib.sha256(data).hexdigest() if versions else ""


def _digest(path: Path) -> str:
    return hashlib.sha256(files.read_bytes(path)).hexdigest() if path.exists() else ""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    smc_history: int
    salt: str
    versions: list[Version]


def load(path: Path, column: str, person: str | None = None) -> History:
    """Read a history; an empty one if there is no file yet.

    Args:
        path: the file
        column: column that identifies rows
        person: column that identifies persons, if a person may have several rows

    Raises:
        InputError: the file is not a history, other users may read it, or it was begun with the other choice on persons
    """
    if not path.exists():
        return History(path, column, secrets.token_hex(16), person=person)
    files.ensure_private(path)
    digest, content = _digest(path), files.read_json(path)
    what = f"{path}: not a history that smc publish wrote"
    if not isinstance(content, dict) or content.get("smc_history") != FORMAT:
        raise InputError(what)
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{what}: {explained(error, _File)}") from None
    if any(bool(version.persons) != (person is not None) for version in file.versions if version.rows):
        raise InputError(
            f"{path}: this history was begun {'without' if person else 'with'} --person; "
            f"{'remove it' if person else 'give it'} here too"
        )
    return History(path, column, file.salt, tuple(file.versions), person, digest)


@contextmanager
def published(
    history: History,
    rows: RowQuery,
    cells: Cells,
    partition: Partition,
    models: Sequence[PrivacyModel],
    hierarchy_of: HierarchyOf,
) -> Iterator[list[dict[str, Any]]]:
    """Add a publication to the history around a block that writes its rows; yield the verdicts on all together.

    The history has the publication before its rows are written, so that every later publication is checked against it.

    Args:
        history: the earlier publications
        rows: the source
        cells: its cells
        partition: classes of the cells
        models: the models to be satisfied
        hierarchy_of: function that returns the hierarchy of a sensitive column

    Raises:
        InputError: all publications together fail a model, two rows share an identifier or lack one, or equal rows are
            in different classes; nothing is added
    """
    version = version_of(history, rows, cells, partition)
    verdicts = required(history, version, models, hierarchy_of) if history.versions or version.persons else []
    with put_down(history, version):
        yield verdicts


@contextmanager
def put_down(history: History, version: Version) -> Iterator[None]:
    """Add a publication to the history around a block that writes its rows; remove it if the block fails.

    Args:
        history: The history file and its columns.
        version: The publication to add.
    """
    written = history.write(history.digest, version)
    try:
        yield
    except BaseException:
        with suppress(InputError):  # another publication was added after it, and checked against it: it stays
            history.write(written)
        raise


def rows_by_name(history: History, table: Texts, place: str) -> list[str]:
    """Return the identifier of each row.

    Args:
        history: the history, for the column's name
        table: the rows; the last column has the identifiers
        place: name of the source, for errors

    Raises:
        InputError: an identifier is missing or repeated
    """
    where = f"{place}, column {quoted(history.column)}"
    names = [table.values[-1][code] for code in table.codes[-1]]
    if MISSING in names:
        raise InputError(f"{where}: this column is empty in a row; a history needs the owner of each row")
    if len(set(names)) < len(names) or (table.counts > 1).any():
        raise InputError(
            f"{where}: this column has one value in two rows; a history needs a different value for each row"
        )
    return names


def version_of(history: History, rows: RowQuery, cells: Cells, partition: Partition) -> Version:
    """Return the publication of rows in the classes of a partition.

    Args:
        history: the earlier publications
        rows: the source
        cells: its cells
        partition: classes of the cells

    Raises:
        InputError: a row lacks an identifier or a person, two rows share an identifier, or equal rows are in different
            classes
    """
    if len(np.unique(partition.cells)) < len(partition.cells):
        raise InputError(
            "equal rows are in different classes, so a history cannot match rows to classes; choose another algorithm"
        )
    hierarchies = (*cells.hierarchies, *cells.sensitive_hierarchies)
    extra = [history.column] if history.person is None else [history.person, history.column]
    table = texts(rows, [*(h.column for h in hierarchies), *extra])
    names = rows_by_name(history, table, rows.engine.place)
    people = None if history.person is None else [table.values[-2][code] for code in table.codes[-2]]
    if people is not None and MISSING in people:
        raise InputError(
            f"{rows.engine.place}, column {quoted(str(history.person))}: this column is empty in a row; "
            f"name the person of each row"
        )
    known = slice(len(hierarchies))
    codes = recode(Texts(table.values[known], table.codes[known], table.counts), hierarchies)
    places = Finder([*cells.quasi, *cells.sensitive], [len(h.index) for h in hierarchies]).find(codes)
    class_of_cell = np.full(len(cells.counts), SUPPRESSED, dtype=np.int64)
    class_of_cell[partition.cells] = partition.classes
    classes = class_of_cell[places]
    shown_rows = np.flatnonzero(classes != SUPPRESSED)
    sensitive = {
        h.column: [h.values[code] for code in codes[len(cells.hierarchies) + i, shown_rows]]
        for i, h in enumerate(cells.sensitive_hierarchies)
    }
    persons = [] if people is None else [history.name(people[place]) for place in shown_rows]
    hashes = [history.name(names[place]) for place in shown_rows]
    of_rows = classes[shown_rows].tolist()
    return Version(at=now(), rows=hashes, classes=of_rows, sensitive=sensitive, persons=persons)


def now() -> str:
    """Return the present time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def grouped(versions: Sequence[Version]) -> tuple[list[str], Counts, int]:
    """Return all rows, the group of each one, int64[rows], and the number of groups.

    Rows of a group are in the same class of each publication, or absent from it.
    """
    places: dict[str, int] = {}
    for version in versions:
        for row in version.rows:
            places.setdefault(row, len(places))
    classes = np.full((len(versions), len(places)), SUPPRESSED, dtype=np.int64)
    for number, version in enumerate(versions):
        classes[number, [places[row] for row in version.rows]] = version.classes
    groups, numbers = np.unique(classes, axis=1, return_inverse=True)
    return list(places), numbers.reshape(-1).astype(np.int64), groups.shape[1]


def together(
    versions: Sequence[Version], models: Sequence[PrivacyModel], hierarchy_of: HierarchyOf
) -> list[dict[str, Any]]:
    """Return a verdict for each model: whether the groups satisfy it, its measure, and the rows in failing groups.

    Each publication's own sensitive values are counted. Models with a public table, and those of columns in no
    publication, are left out.

    Args:
        versions: the publications
        models: the models
        hierarchy_of: function that returns the hierarchy of a sensitive column
    """
    rows, numbers, count = grouped(versions)
    places = {row: place for place, row in enumerate(rows)}
    model_columns = {model.column for model in models if model.column is not None}
    every = [
        _classes(version, model_columns, numbers[[places[row] for row in version.rows]], count, hierarchy_of)
        for version in versions
    ]
    verdicts = []
    together_words = f", of {len(versions)} publications together" if len(versions) > 1 else ""
    by_person = ", by person" if any(version.persons for version in versions) else ""
    for model in models:
        held = [
            classes
            for classes, version in zip(every, versions, strict=True)
            if version.rows and (model.column is None or model.column in version.sensitive)
        ]
        if model.needs_public or not held:
            continue
        fits = np.logical_and.reduce([model.fits(classes) for classes in held])
        reached = [model.reached(classes) for classes in held]
        verdicts.append(
            {
                "model": f"{model.words}{together_words}{by_person}",
                "holds": bool(fits.all()),
                "reached": min(reached) if model.larger else max(reached),
                "rows_below": int((~fits)[numbers].sum()),
            }
        )
    return verdicts


def _classes(
    version: Version, model_columns: Set[str], numbers: Counts, count: int, hierarchy_of: HierarchyOf
) -> Classes:
    """Return groups of persons as classes of one publication's rows, with the sensitive values in `model_columns`.

    `numbers` has the group of each row, below `count`. Each person counts once in a group, and once for each distinct
    sensitive value of their rows.
    """
    sensitive = {column: values for column, values in version.sensitive.items() if column in model_columns}
    hierarchies = [hierarchy_of(column, in_order(values)) for column, values in sensitive.items()]
    codes = np.zeros((len(hierarchies), len(version.rows)), dtype=np.int32)
    for i, (h, values) in enumerate(zip(hierarchies, sensitive.values(), strict=True)):
        codes[i] = [h.code(value) for value in values]
    each = np.ones(len(version.rows), dtype=np.int64)
    cells = Cells((), tuple(hierarchies), np.zeros((0, len(version.rows)), dtype=np.int32), codes, each)
    classes = counted(cells, layout_of(cells), numbers, count)
    if version.persons:
        persons = np.unique(np.array(version.persons), return_inverse=True)[1]
        classes.counts[:, 0] = _distinct(numbers, persons, count)
        for h, of_column in zip(hierarchies, codes, strict=True):
            place = classes.layout.place(h.column).start
            for code in range(len(h.values)):
                have = of_column == code
                classes.counts[:, place + code] = _distinct(numbers[have], persons[have], count)
    return classes


def _distinct(numbers: Counts, persons: Counts, count: int) -> Counts:
    """Return the number of different persons in each group, int64[count]."""
    pairs = np.unique(np.stack([numbers, persons]), axis=1)
    return np.bincount(pairs[0], minlength=count).astype(np.int64)


def required(
    history: History, version: Version, models: Sequence[PrivacyModel], hierarchy_of: HierarchyOf
) -> list[dict[str, Any]]:
    """Return one verdict for each model, on all publications together. Raise InputError if rows fail a model.

    Args:
        history: the earlier publications
        version: the new publication
        models: the models
        hierarchy_of: function that returns the hierarchy of a sensitive column
    """
    verdicts = together([*history.versions, version], models, hierarchy_of)
    if failed := [verdict for verdict in verdicts if not verdict["holds"]]:
        words = "; ".join(f"{v['model']} (reached: {v['reached']:.4g}, rows below: {v['rows_below']})" for v in failed)
        raise InputError(
            f"{history.path}: together with earlier publications, these rows fail: {words}; nothing was written: "
            "keep earlier rows in their earlier classes, and publish later rows separately once there are enough of "
            "them"
        )
    return verdicts
