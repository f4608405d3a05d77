"""Rows as categories for a model: a value that the schema lacks is told as a job tells it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parties.sources.labels import labelled
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType
from parties.tables.unfit import UnfitError

SCHEMA = Schema({"Rings": Domain(IntegerType(low=0, high=30, edges=(9,))), "Sex": ("F", "M")}, "Sex")


def refused(path: Path) -> UnfitError:
    table = TableSettings(source=str(path), schema=path.parent / "schema.toml", max_rows=1, least_rows=1)
    with pytest.raises(UnfitError) as caught:
        labelled(table, SCHEMA, ["Sex", "Rings"])
    return caught.value


def test_a_bad_cell_has_its_line_and_what_is_wrong(tmp_path: Path) -> None:
    """Of a table with more rows than a job may have, which no model minds."""
    path = tmp_path / "np.csv"
    path.write_text("Sex,Rings\n" + "F,3\n" * 18 + "F,abc\nM,12\n")
    error = refused(path)
    assert str(error) == f"{path}, line 20, column 'Rings': 'abc' is not a number"
    assert error.loggable == f"{path}, column 'Rings': a value not in the schema"


def test_a_table_without_lines_has_a_row(tmp_path: Path) -> None:
    path = tmp_path / "np.parquet"
    pq.write_table(pa.table({"Rings": ["3", "abc"], "Sex": ["F", "M"]}), path)
    assert str(refused(path)) == f"{path}, column 'Rings': 'abc' is not a number (first in row 2)"
