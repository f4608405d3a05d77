"""A mapped table in an engine. One query counts a level of a tree."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import ibis.expr.datatypes as dt
import numpy as np
import pyarrow as pa
import sqlglot.expressions as exp
from typing_extensions import override

from parties.sources.databases import WIDE, Database
from parties.sources.expressions import Cell
from parties.sources.levels import GrowingTree
from parties.sources.mapping import ColumnRule
from parties.sources.source import LeftOut, Source
from protocols.counts import Indices, LevelCounts, added
from protocols.tree import Tree
from smc.errors import InputError

PIECE = 1 << 14  # streamed rows at a time, which fit into a processor's cache
HEAD = 1 << 16  # first rows, by which the number of repetitions is estimated
REPEATED = 8  # average repetitions, from which on equal rows are grouped before their categories are computed
RARE = 1 << 10  # equal rows are not grouped if at most one in this many of the first rows is a repetition
VAST = 512  # most columns whose categories one query computes; DuckDB plans it in time quadratic in the expressions
CELL = f"cell_{secrets.token_hex(8)}"  # placeholder for a column's name in the SQL of several columns; no value has it
FEW = 1 << 20  # streamed rows are grouped nevertheless if their columns have at most this many combinations of values


class QueriedSource(Source):
    """Counts by queries. Nothing is written to the party's database.

    Files, Spark and MySQL tables are read once, by the first query; PostgreSQL counts its current rows each time.
    `streamed` rows are read in each pass, so memory does not grow with their number, unless columns have few values.
    """

    def __init__(
        self,
        engine: Database,
        table: exp.Query,
        types: Mapping[str, dt.DataType],
        rules: Sequence[ColumnRule],
        max_rows: int,
        least_rows: int = 0,
        left_out: exp.Select | None = None,
        streamed: bool = False,
    ) -> None:
        """Take a `table` with columns of the given types; the last rule maps the target.

        `left_out` is a query for the numbers of left-out rows. Set `streamed` if `batches` will read the rows.

        Raises:
            InputError: A column is missing, or its type holds no categories.
        """
        super().__init__(engine.place, rules, max_rows, least_rows)
        self.names = tuple(types)
        self._engine = engine
        self._table = table
        self._left_out = left_out
        self._types = types
        self._folded = Counter() if engine.cased else Counter(map(str.lower, types))
        self._cells = [self._cell(rule, types) for rule in rules]
        self._texts: dict[tuple[Any, ...], str] = {}  # SQL of indices, by `Cell.meaning`
        self._names = [*(f"c{i}" for i in range(len(self._domains))), "y"]
        self._sizes = [*self._domains, self._classes]
        # a wide table has few equal rows, and a query of all its columns takes long to plan: it is streamed too
        is_wide = engine.lists and len(self._names) > WIDE
        self._is_vast = engine.lists and len(self._names) > VAST
        self._streamed = self._is_vast or ((streamed or is_wide) and math.prod(self._sizes) > FEW)
        self._kept: exp.Select | None = None
        self._is_grouped = True  # the kept rows
        self._unplaced: exp.Select | None = None  # streamed rows, with numbers not yet mapped to categories

    @override
    def check(self) -> int:
        total, is_known = self._checked_pieces() if self._streamed else self._checked_counts()
        self._check_rows(total)
        unfit = [
            (rule, cell) for rule, cell, known in zip(self._rules, self._cells, is_known, strict=True) if not known
        ]
        if unfit:
            rule, cell = unfit[0]
            text = self._first_unknown(cell)
            raise self._unfit(rule, text, cell.complaint(text), [rule.attribute for rule, _ in unfit])
        self._checked = True
        return total

    def _checked_pieces(self) -> tuple[int, Sequence[bool]]:
        total, least = 0, np.zeros(len(self._names), dtype=np.int64)
        for lines in self._pieces:
            total += int(lines[:, -1].sum())
            least = np.minimum(least, lines[:, :-1].min(axis=0, initial=0))
        return total, (least >= 0).tolist()

    def _checked_counts(self) -> tuple[int, Sequence[bool]]:
        rows = exp.cast(exp.Coalesce(this=exp.Sum(this=exp.column("n")), expressions=[exp.convert(0)]), "BIGINT")
        known = [exp.Count(this=exp.column(name)) for name in self._names]
        query = exp.Select().select(rows, exp.Count(this=exp.Star()), *known).from_(self._rows().subquery("t"))
        total, lines, *with_index = self._engine.counts(query)[0]
        return int(total), [count == lines for count in with_index]

    def _index_of(self, cell: Cell) -> exp.Expr:
        """Return the SQL of a cell's index. In DuckDB, columns with equal `Cell.meaning` share one generated text."""
        if not self._engine.lists:
            return cell.index
        meaning = cell.meaning
        if (text := self._texts.get(meaning)) is None:
            text = self._texts[meaning] = self._engine.sql(cell.named(CELL).index)
        return exp.var(text.replace(f'"{CELL}"', _quoted(cell.column.name)))

    @override
    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        """Count with one query; see `Counts.level`. The first call checks the table, see `check`."""
        if not self._checked:
            self.check()
        if self._streamed:
            return added(self._domains, self._classes, self.batches(), tree, attributes)
        plan = GrowingTree.of(tree)
        domains = self._domains if attributes else []
        varying = plan.varying(len(domains))
        answer: Indices = np.zeros((0, 5), dtype=np.int64)
        if plan.path_values:
            answer = self._engine.counts(plan.query(self._rows(), varying))
        if (answer < 0).any():
            self.check()  # its error names the value
            raise InputError(
                f"{self._place}: the rows changed while they were counted; try again once nobody changes them"
            )
        return plan.counts(answer, domains, self._classes, varying)

    @override
    def lines(self) -> Iterator[Indices]:
        if not self._checked:
            self.check()
        for lines in self._grouped(exp.Order(expressions=[exp.Ordered(this=exp.column(n)) for n in self._names])):
            if (lines < 0).any():
                raise InputError(
                    f"{self._place}: the rows changed while they were read; try again once nobody changes them"
                )
            yield lines

    def _grouped(self, order: exp.Order | None = None) -> Iterator[Indices]:
        """Yield rows with their counts: distinct rows in the given order; without an order, rows may repeat."""
        columns, rows = [exp.column(name) for name in self._names], self._rows().subquery("t")
        query = exp.Select().select(*columns).from_(rows)
        if order is None or self._is_grouped:
            query = query.select("n")
        else:
            query = query.select(_total().as_("n")).group_by(*columns)
        query.set("order", order)
        for batch in self._engine.batches(query):
            yield np.column_stack([column.to_numpy() for column in batch.columns]).astype(np.int64)

    @override
    def baskets(self, key: str) -> Indices:
        if not self._checked:
            self.check()
        rule = ColumnRule(key, key)
        name = self._cell(rule, self._types).text
        nameless = exp.Or(this=name.is_(exp.Null()), expression=exp.EQ(this=name.copy(), expression=exp.convert("")))
        rows = self._table.subquery("t")
        count = exp.Select().select(exp.Count(this=exp.Star())).from_(rows).where(nameless)
        if self._engine.counts(count)[0, 0]:
            raise self._nameless(rule)
        order = exp.Order(expressions=[exp.Ordered(this=name.copy())])
        number = exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order).as_("basket")
        cells = [_or_unknown(cell.index).as_(column) for cell, column in zip(self._cells, self._names, strict=True)]
        lines = [
            np.column_stack([column.to_numpy() for column in batch.columns]).astype(np.int64)
            for batch in self._engine.batches(exp.Select().select(number, *cells).from_(rows.copy()).distinct())
        ]
        whole = np.concatenate([np.zeros((0, 1 + len(cells)), dtype=np.int64), *lines])
        if (whole < 0).any():
            raise InputError(
                f"{self._place}: the rows changed while they were read; try again once nobody changes them"
            )
        whole[:, 0] -= 1  # ranks begin with 1
        return whole

    @override
    def left_out(self) -> LeftOut:
        return LeftOut() if self._left_out is None else LeftOut(*self._engine.counts(self._left_out)[0].tolist())

    @override
    def _read_pieces(self) -> Iterator[Indices]:
        """Yield the pieces. The categories of streamed numbers, and of texts of a vast table, are computed here, faster
        than in SQL."""
        if not self._streamed:
            yield from self._grouped()
            return
        raw = [cell.raw_text if self._is_vast and cell.raw_text is not None else cell.number for cell in self._cells]
        if self._unplaced is None:
            cells = [
                _or_unknown(self._index_of(cell)) if own is None else own
                for cell, own in zip(self._cells, raw, strict=True)
            ]
            cells = [exp.alias_(cell, name, copy=False) for cell, name in zip(cells, self._names, strict=True)]
            rows = exp.Select().select(*cells, copy=False).from_(self._table.subquery("t"))
            self._unplaced = self._engine.keep(rows) if self._engine.reads_slowly and not self._is_vast else rows
        query = exp.Select().select(*map(exp.column, self._names)).from_(self._unplaced.subquery("t"))
        for batch in chain.from_iterable(table.to_batches(PIECE) for table in self._engine.batches(query)):
            lines = np.empty((batch.num_rows, len(self._names) + 1), dtype=np.int64, order="F")
            lines[:, -1] = 1
            for place, (column, own, rule) in enumerate(zip(batch.columns, raw, self._rules, strict=True)):
                if pa.types.is_string(column.type):
                    lines[:, place] = _codes(column, rule)
                    continue
                values = column.to_numpy(zero_copy_only=False)
                if own is None:
                    lines[:, place] = values
                else:
                    rule.place(values, lines[:, place])
            yield lines

    def close(self) -> None:
        """Release the connection and temporary files. A shared Spark session stays open."""
        self._engine.close()

    def _rows(self) -> exp.Select:
        """Return the query for the rows as category indices with their counts n, see `levels`.

        Equal rows are one line, unless hardly any of the first rows repeat. NULL means a value outside the schema.
        """
        if self._kept is None:
            columns = [exp.column(name) for name in self._names]
            placed = self._placed_rows()
            number: exp.Expr = exp.Count(this=exp.Star())
            if (head := self._repetitions()) is not None:
                distinct, seen = head
                self._is_grouped = seen < HEAD or RARE * (seen - distinct) > seen
                if REPEATED * distinct <= seen:
                    placed, number = self._counted_first()
            rows = exp.Select().select(*columns).from_(placed.subquery("rows"))
            if self._is_grouped:
                rows = rows.select(number.as_("n")).group_by(*columns)
            else:
                rows = rows.select(exp.convert(1).as_("n"))
            self._kept = self._engine.keep(rows)
        return self._kept

    def _placed_rows(self) -> exp.Select:
        indices = [self._index(cell, size).as_(name) for cell, name, size in self._columns()]
        return exp.Select().select(*indices).from_(self._table.subquery("t"))

    def _repetitions(self) -> tuple[int, int] | None:
        """Return the numbers of distinct rows and of rows among the first ones.

        None if the engine is not DuckDB, or the query has a window function, which needs all rows even for a few.
        """
        if not self._engine.lists or self._table.find(exp.Window) is not None:
            return None
        first = exp.Select().select("*").from_(self._table.subquery("t")).limit(HEAD)
        seen = exp.Coalesce(this=_total(), expressions=[exp.convert(0)])
        query = exp.Select().select(exp.Count(this=exp.Star()), seen)
        distinct, rows = self._engine.counts(query.from_(self._exact_counts(first).subquery("t")))[0].tolist()
        return distinct, rows

    def _counted_first(self) -> tuple[exp.Select, exp.Expr]:
        """Return a query that groups equal raw rows before it maps them to indices and n, and the sum of n."""
        placed = [self._index(cell.named(name), size).as_(name) for cell, name, size in self._columns()]
        counted = self._exact_counts(self._table)
        return exp.Select().select(*placed, exp.column("n")).from_(counted.subquery("t")), _total()

    def _exact_counts(self, table: exp.Query) -> exp.Select:
        columns = [exp.column(name) for name in self._names]
        rows = exp.Select().select(*(cell.exact.as_(name) for cell, name, _ in self._columns()))
        counted = exp.Select().select(*columns, exp.Count(this=exp.Star()).as_("n")).group_by(*columns)
        return counted.from_(rows.from_(table.subquery("t")).subquery("rows"))

    def _index(self, cell: Cell, size: int) -> exp.Expr:
        """Return the SQL of the index of a cell's category, of an integer type that fits `size` categories."""
        is_tiny = self._engine.lists and size < 1 << 7  # DuckDB has integers of one byte
        return exp.cast(cell.index, "TINYINT" if is_tiny else "SMALLINT" if size < 1 << 15 else "INT")

    def _columns(self) -> Iterator[tuple[Cell, str, int]]:
        return zip(self._cells, self._names, self._sizes, strict=True)

    def _first_unknown(self, cell: Cell) -> str | None:
        """Return the least text outside the schema, in the engine's order; None if only missing values are."""
        query = exp.Select().select(exp.Min(this=cell.text)).from_(self._table.subquery("t"))
        return self._engine.text(query.where(cell.index.is_(exp.Null())))

    def _cell(self, rule: ColumnRule, types: Mapping[str, dt.DataType]) -> Cell:
        self._require(rule, types, self._folded)
        try:
            return Cell(rule, types[rule.column], self._engine.lists)
        except InputError as error:
            raise InputError(f"{self._where(rule)}: {error}") from None


def _total() -> exp.Expr:
    """Return the SQL of the sum of n."""
    return exp.cast(exp.Sum(this=exp.column("n")), "BIGINT")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _or_unknown(index: exp.Expr) -> exp.Coalesce:
    return exp.Coalesce(this=index, expressions=[exp.Paren(this=exp.convert(-1))])


def _codes(texts: pa.Array, rule: ColumnRule) -> Indices:
    """Return the category index of each text, -1 for a text outside the schema. Each distinct text is mapped once."""
    distinct = texts.dictionary_encode()
    found = [rule.code(text.strip()) for text in (*distinct.dictionary.to_pylist(), "")]
    table = np.array([-1 if code is None else code for code in found], dtype=np.int64)
    return table[distinct.indices.fill_null(len(table) - 1).to_numpy()]
