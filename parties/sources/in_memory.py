"""A small CSV file in memory, counted without an engine: loading an engine takes longer than reading such a file.

Each distinct text of a column is mapped once, by its rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from typing_extensions import override

from parties.sources.mapping import ColumnRule
from parties.sources.source import Source
from protocols.counts import Indices, LevelCounts, RowCounts
from protocols.tree import Tree


class InMemory(Source):
    """Counts of the cells of a file."""

    def __init__(
        self,
        place: str,
        cells: Mapping[str, Sequence[str]],
        rules: Sequence[ColumnRule],
        max_rows: int,
        least_rows: int = 0,
    ) -> None:
        """Take the cells of each column as text. Raise InputError if a column is missing."""
        super().__init__(place, rules, max_rows, least_rows)
        self.names = tuple(cells)
        self._cells = cells
        self._rows: RowCounts | None = None
        folded = Counter(map(str.lower, cells))
        for rule in rules:
            self._require(rule, cells, folded)

    @override
    def check(self) -> int:
        total = len(self._cells[self._rules[-1].column])
        if self._rows is not None:
            return total
        self._check_rows(total)
        columns, unfit = [], list[tuple[ColumnRule, list[str]]]()
        for rule in self._rules:
            texts = self._cells[rule.column]
            index = {text: rule.code(text.strip()) for text in set(texts)}
            if unknown := [text for text, code in index.items() if code is None]:
                unfit.append((rule, unknown))
            else:
                columns.append(np.fromiter(map(index.__getitem__, texts), np.int64, total))
        if unfit:
            rule, unknown = unfit[0]
            text = min((text.strip() for text in unknown if text), default=None)
            raise self._unfit(rule, text, rule.complaint(text), [rule.attribute for rule, _ in unfit])
        rows = np.array(columns[:-1], dtype=np.int64).reshape(len(self._domains), total).T
        self._rows = RowCounts(self._domains, self._classes, rows, columns[-1])
        self._checked = True
        return total

    @override
    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        return self._counted.level(tree, attributes)

    @override
    def lines(self) -> Iterator[Indices]:
        return self._counted.lines()

    @override
    def baskets(self, key: str) -> Indices:
        rows = np.concatenate([np.zeros((0, len(self._rules) + 1), np.int64), *self._counted.batches()])[:, :-1]
        rule = ColumnRule(key, key)
        self._require(rule, self.names, Counter(map(str.lower, self.names)))
        texts = [text.strip() for text in self._cells[key]]
        if "" in texts:
            raise self._nameless(rule)
        number = np.unique(np.array(texts, dtype=object), return_inverse=True)[1]
        return np.unique(np.column_stack([number, rows]), axis=0)

    @override
    def _read_pieces(self) -> Iterator[Indices]:
        return self._counted.batches()

    @override
    def close(self) -> None:
        """Do nothing: no resource is held."""

    @property
    def _counted(self) -> RowCounts:
        if self._rows is None:
            self.check()
        assert self._rows is not None
        return self._rows
