"""The settings that kinds on rows share: own files, the bounds on rows and on those of a person, names of columns."""

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
RowBound = Annotated[int, Field(strict=True, ge=1, le=2**31)]


class TabularSettings(KindSettings):
    """The settings of one's own rows. A kind adds `max_rows`, where it wants it to stand."""

    data: LocalPath | None = own_file("Rows", "Your rows, a CSV or Parquet file; private.", data=True)
    schema_file: LocalPath | None = own_file("Schema", "The agreed schema.", alias="schema")  # `schema` is pydantic's
    own_table: TableSettings | None = None  # of party.toml, that the rows are in; no flag says it

    @property
    def together(self) -> int:
        """How many rows noise hides together: all of a person that take part, or one."""
        return getattr(self, "at_most", None) or 1


def file_of(path: Path | None, key: str) -> Path:
    """Return a file of the settings, under `data` or `schema`. `InputError` says how to name it, if nothing does."""
    if path is None:
        beside = " (with --data its schema is not read)" if key == "schema" else ""
        raise InputError(f"--{key} is missing: give the flag, or your rows as [tables.NAME] in --config{beside}")
    return path


def own_table(settings: TabularSettings) -> TableSettings:
    """Return the file in the settings as a table."""
    data, schema_file = file_of(settings.data, "data"), file_of(settings.schema_file, "schema")
    return TableSettings.model_construct(source=str(data), schema_file=schema_file)


def row_bound() -> AnyField:
    """Return the field `max_rows`."""
    return public(MAX_ROWS, "Row bound", "Maximum rows of a party, public", advanced=True)


def check_names(key: str, names: Collection[str], known: Collection[str]) -> None:
    """`InputError` for a column in the setting `key` that the schema does not have, or that is named twice."""
    for name in names:
        if name not in known:
            raise InputError(f"{key}: {quoted(name)} is not an attribute of the schema{instead(name, known)}")
    if len(set(names)) < len(names):
        raise InputError(f"{key}: name each column once, not {listed(names)}")
