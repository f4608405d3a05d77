"""Errors about unfit rows: a text that quotes cells, for people who may see them, and one without cells, for logs."""

from __future__ import annotations

from collections.abc import Sequence

from smc.errors import InputError


class UnfitError(InputError):
    """Rows are not fit for a job. The text may quote a cell. `loggable` quotes none and may be written to a log.

    `attributes` names the attributes with such cells, if a check of all columns found them.
    """

    def __init__(self, text: str, loggable: str, attributes: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.loggable = loggable
        self.attributes = attributes


class NoColumnError(InputError):
    """A table lacks a column."""


def without_cells(error: BaseException) -> str:
    """Return the text of an error without quoted cells, for logs."""
    return error.loggable if isinstance(error, UnfitError) else str(error)
