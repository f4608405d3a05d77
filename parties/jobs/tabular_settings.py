"""Settings common to kinds on rows: private files, bounds on rows and on rows per person, and column names."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

from pydantic import Field

from parties.base.settings import LocalPath
from parties.base.text import instead, listed, quoted
from parties.jobs.settings import MAX_ROWS, AnyField, KindSettings, own_file, public
from parties.sources.settings import TableSettings
from smc.errors import InputError

Name = Annotated[str, Field(min_length=1, max_length=200)]
Columns = Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]
MOST_ROWS = 2**31  # largest bound on a party's rows
RowBound = Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)]


class TabularSettings(KindSettings):
    """Settings for a party's own rows. A kind adds `max_rows` at the position it wants."""

    data: LocalPath | None = own_file("Rows", "Your rows, a CSV or Parquet file; private.", data=True)
    schema_file: LocalPath | None = own_file("Schema", "The agreed schema.", alias="schema")  # `schema` is pydantic's
    own_table: TableSettings | None = None  # table of party.toml with the rows; it has no flag
    own_max_rows: int | None = None  # bound on own rows where `max_rows` is half of all holders' rows; it has no flag

    @property
    def together(self) -> int:
        """Number of rows that noise hides together: the used rows of a person, or 1."""
        return getattr(self, "at_most", None) or 1


def file_of(path: Path | None, key: str) -> Path:
    """Return the file in the setting `key`, `data` or `schema`. Raise InputError with the remedy if it is missing.

    Args:
        path: The value of the setting; None if it is missing.
        key: Name of the setting, data or schema.
    """
    if path is None:
        note = " (with --data its schema is not read)" if key == "schema" else ""
        raise InputError(f"--{key} is missing: give the flag, or your rows as [tables.NAME] in --config{note}")
    return path


def own_table(settings: TabularSettings) -> TableSettings:
    """Return the file in the settings as a table."""
    data, schema_file = file_of(settings.data, "data"), file_of(settings.schema_file, "schema")
    return TableSettings.model_construct(source=str(data), schema_file=schema_file)


def row_bound() -> AnyField:
    """Return the field `max_rows`."""
    return public(MAX_ROWS, "Row bound", "Maximum rows of a party, public", advanced=True)


def check_names(key: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise InputError if setting `key` names a column twice or one that the schema lacks.

    Args:
        key: Name of the setting, for the message.
        names: Columns in the setting.
        known: Columns of the schema.
    """
    for name in names:
        if name not in known:
            raise InputError(f"{key}: {quoted(name)} is not an attribute of the schema{instead(name, known)}")
    if len(set(names)) < len(names):
        raise InputError(f"{key}: name each column once, not {listed(names)}")
