"""Pseudonymised columns: written by a plan, and restored by a holder of the keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlglot.expressions as exp

from parties.alone.publish.keys.ciphers import pad, read, spell, unpad
from parties.alone.publish.keys.keyring import HANDLE_BYTES, ColumnKey, Keyring, Subject
from parties.alone.publish.masks import cell
from parties.alone.publish.reading import require, text_of
from parties.alone.publish.settings import PublishPlan
from parties.alone.publish.writing import writer_of
from parties.base import files
from parties.base.randomness import private
from parties.base.text import quoted
from parties.sources.opened import RowQuery
from parties.tables.delimited import MISSING
from parties.tables.texts import encode
from smc.errors import InputError

FEW = 100  # a column with at most this many values can be decoded by frequencies
_ALONE, _OF_A_SUBJECT = b"\0", b"\1"  # first byte of a sealed cell


def pseudonym(key: ColumnKey, value: str, subject: Subject | None = None) -> str:
    """Return the pseudonym of a value; for a subject, sealed first by the subject's key, without which it stays secret.

    Args:
        key: key of the column
        value: the value
        subject: the person that the row is about; None: no key of a subject is used
    """
    if subject is None:
        plain = _ALONE + pad(value)
    else:
        plain = _OF_A_SUBJECT + subject.handle + key.of(subject).seal(pad(value), key.associated)
    return spell(key.version, key.cipher.seal(plain, key.associated))


def value_of(keys: Mapping[int, ColumnKey], text: str, ring: Keyring) -> str | None:
    """Return the value of a pseudonym; None if its subject was forgotten.

    Args:
        keys: versions of the column's key
        text: the pseudonym
        ring: keyring with the subjects' keys

    Raises:
        ValueError: none of the keys made it
    """
    version, sealed = read(text)
    if version not in keys:
        raise ValueError("an unknown version")
    key = keys[version]
    plain = key.cipher.open(sealed, key.associated)
    if plain[:1] == _ALONE:
        return unpad(plain[1:])
    subject = ring.subject(plain[1 : 1 + HANDLE_BYTES])
    return None if subject is None else unpad(key.of(subject).open(plain[1 + HANDLE_BYTES :], key.associated))


class Pseudonyms:
    """Pseudonyms of a plan's columns, batch by batch; missing values stay missing."""

    def __init__(self, plan: PublishPlan, ring: Keyring) -> None:
        self._ring = ring
        self._subject = plan.subject
        self._keys = {
            name: ring.column(column.key or name, column.pseudonym)
            for name, column in plan.columns.items()
            if column.pseudonym is not None
        }

    @property
    def names(self) -> list[str]:
        """Columns that become pseudonyms."""
        return list(self._keys)

    @property
    def needed(self) -> list[str]:
        """Columns whose texts `of` needs: those of `names`, followed by the subjects' column if the plan has one."""
        return [*self._keys, *([] if self._subject is None or not self._keys else [self._subject])]

    def of(self, columns: Sequence[Any], place: str) -> dict[str, pa.Array]:
        """Return the pseudonyms of the next rows, by column.

        Args:
            columns: texts of the columns in `needed`
            place: name of the source, for errors

        Raises:
            InputError: a row has no subject
        """
        subjects = None
        if len(columns) > len(self._keys):
            subject_names, subject_codes = encode(columns[-1])
            if None in subject_names or MISSING in subject_names:
                raise InputError(
                    f"{place}: a row has no person in the subject column {quoted(str(self._subject))}; fill it"
                )
            known = self._ring.subjects(subject_names)
            subjects = [known[subject_names[code]] for code in subject_codes]
        return {
            name: pa.array(_column(key, column, subjects), pa.string())
            for (name, key), column in zip(self._keys.items(), columns, strict=False)
        }

    def guessable(self, rows: RowQuery) -> list[str]:
        """Return a warning for each deterministic column with few values, which frequencies can identify.

        With subjects' keys, only the subjects' own column can be concerned: other pseudonyms differ from subject to
        subject.
        """
        return [warning for name in self.countable for warning in _guessable(rows, name)]

    @property
    def countable(self) -> list[str]:
        """Columns in which equal pseudonyms mean equal values of different subjects."""
        return [n for n, key in self._keys.items() if key.mode == "deterministic" and self._subject in (None, n)]


def _column(key: ColumnKey, column: Any, subjects: Sequence[Subject] | None) -> list[str | None]:
    texts = column.to_pylist()
    row_subjects: Sequence[Subject | None] = [None] * len(texts) if subjects is None else subjects
    if key.mode == "randomised":
        return [_sealed(key, text, subject) for text, subject in zip(texts, row_subjects, strict=True)]
    pairs = list(zip(texts, row_subjects, strict=True))
    sealed = {pair: _sealed(key, *pair) for pair in set(pairs)}
    return [sealed[pair] for pair in pairs]


def _sealed(key: ColumnKey, text: str | None, subject: Subject | None) -> str | None:
    return None if text is None or text == MISSING else pseudonym(key, text, subject)


def _guessable(rows: RowQuery, name: str) -> Iterator[str]:
    text = text_of(rows, name)
    counts = exp.Select().select(exp.Count(this=exp.Star()).as_("n")).from_(rows.query.subquery("t"))
    grouped = counts.where(text.neq(exp.Literal.string(MISSING))).group_by(text.copy()).subquery("g")
    n = exp.column("n")
    sums = [exp.Count(this=exp.Star()), exp.Sum(this=n), exp.Max(this=n.copy())]
    columns = [
        exp.cast(exp.Coalesce(this=total_of, expressions=[exp.convert(0)]), "BIGINT").as_(f"s{i}")
        for i, total_of in enumerate(sums)
    ]
    distinct, total, most = rows.engine.counts(exp.Select().select(*columns).from_(grouped))[0].tolist()
    yield from few(name, distinct, total, most)


def few(name: str, distinct: int, total: int, most: int) -> Iterator[str]:
    """Yield a warning if a column has few values in many rows.

    Args:
        name: the column
        distinct: number of its values
        total: number of rows with a value
        most: rows with the most frequent value
    """
    if 0 < distinct <= FEW and total >= 2 * distinct:
        yield (
            f"{name}: only {distinct} values in {total} rows, the most frequent in {most / total:.0%} of them: "
            "knowledge of their frequencies identifies them; use randomised pseudonyms"
        )


@dataclass(frozen=True)
class Written:
    """Number of written rows, and number of restored cells left empty because their subject was forgotten."""

    rows: int
    forgotten: int = 0


def write(rows: RowQuery, plan: PublishPlan, ring: Keyring | None, out: Path, escape_formulas: bool = False) -> Written:
    """Write the plan's columns as pseudonyms, masked or in clear, and return the number of rows.

    Other identifiers are dropped. Rows are permuted within each batch. New keys are stored before the file is in its
    place. If something fails before, neither the file nor keys are written.

    Args:
        rows: the source
        plan: the plan
        ring: the keys; None: columns with pseudonyms are dropped
        out: the file
        escape_formulas: escape cells that a spreadsheet would compute

    Raises:
        InputError: the plan leaves no column, or a column or subject is missing
    """
    pseudonyms = None if ring is None else Pseudonyms(plan, ring)
    needed = [] if pseudonyms is None else pseudonyms.needed
    made_of_keys = set() if pseudonyms is None else set(pseudonyms.names)
    require(rows, [*plan.columns, *needed])
    texts = {name: text_of(rows, name) for name in dict.fromkeys(needed)}
    masks = {name: column.mask for name, column in plan.columns.items()}
    open_ones = [name for name, column in plan.columns.items() if column.shown]
    in_clear = {name: cell(rows, name, masks[name]) for name in rows.types if name in open_ones}
    order = [name for name in rows.types if name in in_clear or name in made_of_keys]
    if not order:
        raise InputError('the plan drops every column; give one a pseudonym, or role = "other" to write it unchanged')
    selected = [text.as_(f"c{i}") for i, text in enumerate(texts.values())]
    selected += [column.as_(f"o{i}") for i, column in enumerate(in_clear.values())]
    query = exp.Select().select(*selected).from_(rows.query.subquery("t"))
    places = {name: i for i, name in enumerate(texts)}
    mixed, written = private(), 0
    with files.replacing(out) as stream, writer_of(out, stream, order, escape_formulas) as writer:
        for batch in rows.engine.batches(query):
            columns = {}
            if pseudonyms is not None:
                columns = pseudonyms.of([batch.column(places[name]) for name in needed], rows.engine.place)
            columns |= {name: batch.column(len(texts) + i) for i, name in enumerate(in_clear)}
            permutation = pa.array(mixed.permutation(batch.num_rows))
            writer.write(pa.table([columns[name] for name in order], names=order).take(permutation))
            written += batch.num_rows
        if ring is not None:
            ring.commit()
    return Written(written)


def restore(rows: RowQuery, columns: Mapping[str, str], ring: Keyring, out: Path, purpose: str, by: str) -> Written:
    """Write rows with the original values of pseudonyms, and return the counts.

    Cells of forgotten subjects are empty. The record of it is stored before the file is in its place. Nothing is
    written if something fails before.

    Args:
        rows: rows with pseudonyms
        columns: name of the key of each pseudonymised column
        ring: the keys
        out: the file
        purpose: purpose of the restoration, for the record
        by: the person who restores, for the record

    Raises:
        InputError: a cell is not a pseudonym of its column's key
    """
    keys = {name: ring.versions(key) for name, key in columns.items()}
    texts = {name: text_of(rows, name) for name in columns}
    order = list(rows.types)
    selected = [texts.get(name, exp.column(name, quoted=True)).as_(f"c{i}") for i, name in enumerate(order)]
    query = exp.Select().select(*selected).from_(rows.query.subquery("t"))
    written = forgotten = 0
    with files.replacing(out) as stream, writer_of(out, stream, order) as writer:
        for batch in rows.engine.batches(query):
            cells = []
            for i, name in enumerate(order):
                column = batch.column(i)
                if name in columns:
                    column, lost = restored(keys[name], column, ring, f"{rows.engine.place}, column {quoted(name)}")
                    forgotten += lost
                cells.append(column)
            writer.write(pa.table(cells, names=order))
            written += batch.num_rows
        done = {"source": rows.engine.place, "columns": dict(columns), "rows": written, "purpose": purpose, "by": by}
        ring.record("pseudonyms restored", **done)
        ring.commit()
    return Written(written, forgotten)


def restored(keys: Mapping[int, ColumnKey], column: Any, ring: Keyring, place: str) -> tuple[pa.Array, int]:
    """Return a column's values, null for forgotten subjects and missing cells; and the number of forgotten cells.

    Args:
        keys: versions of the column's key
        column: the pseudonyms
        ring: keyring with the subjects' keys
        place: name of the source and column, for errors

    Raises:
        InputError: A cell is not a pseudonym of this key.
    """
    texts, codes = encode(column)
    values: list[str | None] = []
    for text in texts:
        try:
            values.append(None if text is None or text == MISSING else value_of(keys, text, ring))
        except ValueError:
            raise InputError(f"{place}: {quoted(text, 24)} is not a pseudonym of this key; give its key") from None
    lost = np.array([v is None and t not in (None, MISSING) for v, t in zip(values, texts, strict=True)], dtype=bool)
    return pa.array(values, pa.string()).take(pa.array(codes)), int(lost[codes].sum())
