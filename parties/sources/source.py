"""A source of counts: a party's rows where they live, mapped to the public schema."""

from __future__ import annotations

import hashlib
import hmac
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parties.base.text import instead, listed, quoted
from parties.sources.mapping import ColumnRule
from parties.tables.toml_text import toml_key
from parties.tables.unfit import NoColumnError, UnfitError
from protocols.counts import Indices, LevelCounts, Pieces
from protocols.tree import Open, Tree
from smc.errors import InputError


class LeftOut(NamedTuple):
    """Numbers of left-out rows, by the first reason that applies.

    The reasons are, in order: `where`, no consent, an objection, no person, and too many rows of a person.
    """

    where: int = 0
    consent: int = 0
    objections: int = 0
    nobody: int = 0
    beyond: int = 0


class Source(ABC):
    """Counts of a party's rows; implements `protocols.counts.Rows`. Only one thread at a time may use it."""

    names: tuple[str, ...] = ()  # names of all columns of the table, counted or not

    def __init__(self, place: str, rules: Sequence[ColumnRule], max_rows: int, least_rows: int = 0) -> None:
        """Take the `place` for messages and the rules; the last rule maps the target.

        `line_of` may be set later. It maps a column and a text to the first line with this text in a file.
        """
        self._place = place
        self._rules = rules
        self._max_rows = max_rows
        self._least_rows = least_rows
        self._domains = [len(rule.categories) for rule in rules[:-1]]
        self._classes = len(rules[-1].categories)
        self._checked = False
        self.line_of: Callable[[str, str | None], int | None] = lambda column, text: None
        self._pieces = Pieces(self._read_pieces)

    @abstractmethod
    def check(self) -> int:
        """Check the table, and return its number of rows.

        An error names the column and a value, so it is for this party's operator only.

        Raises:
            InputError: The number of rows is outside its bounds, or a value is not in the schema.
        """

    @abstractmethod
    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        """Count the rows at the open nodes of a tree, see `Counts.level`. The first call checks the table, see `check`.

        Args:
            tree: Tree so far, with open nodes at one depth.
            attributes: Whether to count by attributes too, or by class only.
        """

    def distinct(self) -> Indices:
        """Return the distinct rows with their counts, see `protocols.counts.Rows.distinct`."""
        return np.concatenate([np.zeros((0, len(self._rules) + 1), dtype=np.int64), *self.lines()])

    @abstractmethod
    def lines(self) -> Iterator[Indices]:
        """Yield the distinct rows in rising order, see `protocols.counts.Rows.lines`."""

    @abstractmethod
    def baskets(self, key: str) -> Indices:
        """Return the distinct rows of each basket, int64[lines, 1 + columns].

        Rows with equal text in the column `key` are one basket. A line has the basket's number from 0 and the category
        indices of a row. The first call checks the table, see `check`.

        Raises:
            InputError: A row has no value in `key`.
        """

    def left_out(self) -> LeftOut:
        """Return the numbers of left-out rows by reason, for this party's operator only."""
        return LeftOut()

    def batches(self) -> Iterator[Indices]:
        """Yield the rows in pieces, see `protocols.counts.Rows.batches`. Small tables are read once, larger ones by
        each pass.

        The first call checks the table, see `check`.

        Raises:
            InputError: The rows have changed and no longer fit.
        """
        if not self._checked:
            self.check()
        total = 0
        for lines in self._pieces:
            if lines.size and lines.min() < 0:
                raise InputError(
                    f"{self._place}: the rows changed while they were read; try again once nobody changes them"
                )
            total += int(lines[:, -1].sum())
            yield lines
        self._check_rows(total)

    @abstractmethod
    def _read_pieces(self) -> Iterator[Indices]:
        """Yield the pieces of `batches`, read from the file or database; -1 stands for a value that is not in the
        schema."""

    def fingerprint(self, key: bytes) -> bytes:
        """Return HMAC-SHA256 of the schema and of the counts at the root, by every attribute and class.

        Equal rows have equal fingerprints in every engine. A different fingerprint means changed rows. A change that
        keeps all these counts is not detected; it would not change the root of a tree either.
        """
        counts = self.level(Open(), attributes=True)
        schema = json.dumps([[rule.attribute, rule.categories] for rule in self._rules])
        state = hmac.new(key, b"smc counts at the root 1\0", hashlib.sha256)
        for part in (schema.encode(), *(table.astype("<i8").tobytes() for table in (counts.classes, *counts.values))):
            state.update(len(part).to_bytes(8, "little") + part)
        return state.digest()

    def fingerprint_of_rows(self, key: bytes) -> bytes:
        """Return a fingerprint like `fingerprint` that covers whole rows: a change of any row changes it.

        It takes one pass over `batches`. A row's number is the mixed sum modulo 2^64 of keyed pseudorandom numbers of
        its values. The rows' numbers are added, so the order of rows and the engine do not matter. Two different tables
        collide with a probability of about 2^-64.
        """
        sizes = [*self._domains, self._classes]
        numbers = [_numbers(key, place, size) for place, size in enumerate(sizes)]
        total, digest = 0, 0
        for lines in self.batches():
            row = np.zeros(len(lines), dtype=np.uint64)
            for place, number in enumerate(numbers):
                row += number[lines[:, place]]
            digest += int((_mixed(row) * lines[:, -1].astype(np.uint64)).sum())
            total += int(lines[:, -1].sum())
        schema = json.dumps([[rule.attribute, rule.categories] for rule in self._rules])
        data = schema.encode() + total.to_bytes(8, "little") + (digest % (1 << 64)).to_bytes(8, "little")
        return hmac.new(key, b"smc rows 1\0" + data, hashlib.sha256).digest()

    def fingerprint_of_baskets(self, column: str, key: bytes) -> bytes:
        """Return a keyed digest of the baskets, which does not depend on their names or order.

        Args:
            column: Column that names the basket of a row, as for `baskets`.
            key: Secret key of the digest.
        """
        lines = self.baskets(column)
        baskets = np.zeros(int(lines[:, 0].max(initial=-1)) + 1, dtype=np.uint64)
        for place, rule in enumerate(self._rules):
            has = np.unique(lines[:, [0, 1 + place]], axis=0)
            np.add.at(baskets, has[:, 0], _numbers(key, place, len(rule.categories))[has[:, 1]])
        total = int(_mixed(baskets).sum())
        schema = json.dumps([[rule.attribute, rule.categories] for rule in self._rules])
        data = schema.encode() + len(baskets).to_bytes(8, "little") + (total % (1 << 64)).to_bytes(8, "little")
        return hmac.new(key, b"smc baskets 1\0" + data, hashlib.sha256).digest()

    @abstractmethod
    def close(self) -> None:
        """Release the connection and temporary files."""

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_rows(self, total: int) -> None:
        if total > self._max_rows:
            more = f"more than {self._max_rows}, the agreed bound (max_rows)"
            raise UnfitError(f"{self._place}: {total} rows, {more}", loggable=f"{self._place}: the rows are {more}")
        if total < self._least_rows:
            fewer = f"fewer than {self._least_rows}, the public bound (least_rows)"
            raise UnfitError(f"{self._place}: {total} rows, {fewer}", loggable=f"{self._place}: the rows are {fewer}")

    def _unfit(self, rule: ColumnRule, text: str | None, complaint: str, attributes: Sequence[str] = ()) -> UnfitError:
        """Return the error for a text (None: no value) of the rule's column that is not fit; `complaint` tells why."""
        where, line = self._where(rule), self.line_of(rule.column, text)
        kind = "no value, and the schema has no category for that" if text is None else "a value not in the schema"
        there = where if line is None else where.replace(self._place, f"{self._place}, line {line}", 1)
        return UnfitError(f"{there}: {complaint}", f"{where}: {kind}", attributes)

    def _nameless(self, rule: ColumnRule) -> UnfitError:
        return self._unfit(rule, None, "a row has no value here, so it is in no basket: leave it out by `where`")

    def _require(self, rule: ColumnRule, names: Collection[str], folded: Mapping[str, int]) -> None:
        """Raise InputError unless `names` has the rule's column once; `folded` counts the names in lower case."""
        if rule.column not in names:
            remedy = f"; set columns.{toml_key(rule.attribute)}.column in party.toml to its column"
            raise NoColumnError(f"{self._where(rule)}: there is no such column{instead(rule.column, names)}{remedy}")
        if folded.get(rule.column.lower(), 0) > 1:
            twins = [name for name in names if name.lower() == rule.column.lower()]
            raise InputError(f"{self._where(rule)}: rename {listed(twins)}: these names differ only in case")

    def _where(self, rule: ColumnRule) -> str:
        attribute = "" if rule.column == rule.attribute else f" (attribute {quoted(rule.attribute)})"
        return f"{self._place}, column {quoted(rule.column)}{attribute}"


def _numbers(key: bytes, place: int, size: int) -> NDArray[np.uint64]:
    """Return `size` pseudorandom numbers, one for each value of the column with index `place`."""
    digest = hashlib.shake_256(key + b"smc values 1\0" + place.to_bytes(4, "little")).digest(8 * size)
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64)


def _mixed(row: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each 64-bit number's image under a nonlinear permutation (Steele, Lea, Flood, OOPSLA 2014)."""
    row = (row ^ (row >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    row = (row ^ (row >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return row ^ (row >> np.uint64(31))
