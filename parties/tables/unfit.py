"""Rows that are not fit: an error that quotes a cell for who sees the rows anyway, and says the same without it."""

from __future__ import annotations

from smc.errors import InputError


class UnfitError(InputError):
    """Rows are not fit for a job. The text may quote a cell; `loggable`, which may be written down, quotes none."""

    def __init__(self, text: str, loggable: str) -> None:
        super().__init__(text)
        self.loggable = loggable


class NoColumnError(InputError):
    """A table lacks a column."""


def without_cells(error: BaseException) -> str:
    """Return the text of an error as it may be written down."""
    return error.loggable if isinstance(error, UnfitError) else str(error)
