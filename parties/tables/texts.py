"""Columns of text in which each distinct text is stored once: a byte a cell, if a column has 256 texts or fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

PIECE = 1 << 16  # cells that are Python objects at a time


class TextColumn(Sequence[str]):
    """A column's cells: its distinct `texts`, all of which occur, and the index of each cell's text, uint[rows]."""

    def __init__(self, texts: Sequence[str], codes: NDArray[Any]) -> None:
        self.texts, self.codes = texts, codes

    @classmethod
    def of(cls, cells: Iterable[str]) -> TextColumn:
        """Return a column of any form as `TextColumn`."""
        if isinstance(cells, TextColumn):
            return cells
        gathered = Gathered(str)
        gathered.add(cells)
        return gathered.column()

    @classmethod
    def among(cls, texts: Sequence[str], places: NDArray[Any]) -> TextColumn:
        """Return the column of the texts at these places, int[rows]."""
        occurring = np.flatnonzero(np.bincount(places, minlength=len(texts)))
        codes = np.zeros(len(texts), dtype=np.min_scalar_type(max(0, len(texts) - 1)))
        codes[occurring] = np.arange(len(occurring))
        return cls([texts[place] for place in occurring.tolist()], codes[places])

    @override
    def __len__(self) -> int:
        return len(self.codes)

    @override
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self.texts[code] for code in self.codes[place].tolist()]
        return self.texts[self.codes[place]]

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    @override
    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), PIECE):
            yield from map(self.texts.__getitem__, self.codes[start : start + PIECE].tolist())

    def unique(self) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
        """Return the texts in rising order, and the index of each cell's text, as `numpy.unique` does."""
        values, places = np.unique(np.array(self.texts, dtype=object).astype(str), return_inverse=True)
        return values, places.astype(np.int64)[self.codes]


def encode(cells: Any) -> tuple[list[Any], NDArray[np.int32]]:
    """Return a column of an Arrow table as its distinct values, None for NULL, and the index of each row's value."""
    encoded = cells.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)


class Gathered(dict[Any, int]):
    """A column that arrives in pieces: the index of the text of each cell so far. `clean` makes the text of a cell."""

    def __init__(self, clean: Callable[[Any], str]) -> None:
        self._clean = clean
        self._texts: dict[str, int] = {}
        self.pieces: list[NDArray[Any]] = []  # codes of the cells so far

    def __missing__(self, cell: Any) -> int:
        code = self[cell] = self._texts.setdefault(self._clean(cell), len(self._texts))
        return code

    def add(self, cells: Iterable[Any], places: NDArray[Any] | None = None) -> None:
        """Add cells; with `places`, the cells that these indices choose among all distinct `cells`."""
        codes = np.fromiter(map(self.__getitem__, cells), np.int64)
        narrow = codes.astype(np.min_scalar_type(max(0, len(self._texts) - 1)))
        self.pieces.append(narrow if places is None else narrow[places])

    def sort(self, in_order: Callable[[Sequence[str]], list[str]]) -> None:
        """Order the texts by a function that returns distinct texts in order; later cells cannot be added."""
        codes, texts = self._texts, in_order(list(self._texts))
        ranks = np.empty(len(texts), dtype=np.min_scalar_type(max(0, len(texts) - 1)))
        ranks[[codes[text] for text in texts]] = np.arange(len(texts))
        self._texts, self.pieces = dict.fromkeys(texts, 0), [ranks[piece] for piece in self.pieces]

    def column(self) -> TextColumn:
        """Return the whole column."""
        return TextColumn(list(self._texts), np.concatenate([np.zeros(0, dtype=np.uint8), *self.pieces]))
