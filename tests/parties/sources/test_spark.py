"""Spark in this process: its tables and Parquet files are counted as everything else."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from parties.alone.publish import reading
from parties.sources import PlaceSettings, TableSettings, from_frame, open_rows, open_table
from parties.sources.source import Source
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from protocols.tree import Open
from smc.errors import InputError
from tests.support import typed
from tests.support.agreement import SCHEMA, TARGET, Sample, assert_same_level, merged, path, random_tree


def opened(table: object, schema: Schema = SCHEMA, target: str = TARGET, **more: Any) -> Source:
    settings = TableSettings.model_validate(
        {"source": "spark://local", "schema": "schema.toml", "table": str(table), **more}
    )
    return open_table(settings, schema, target)


@pytest.fixture(scope="module")
def parquet(rows: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spark") / "it's rows"
    folder.mkdir()
    columns = {name: [cell if cell.strip() else None for cell in cells] for name, cells in rows.columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "rows.parquet")
    return folder


def test_parquet_files_and_tables_count_the_same(spark: Any, rows: Sample, parquet: Path) -> None:
    location = str(parquet).replace("'", "\\'")
    spark.sql("CREATE DATABASE IF NOT EXISTS clinic")
    spark.sql(f"CREATE TABLE clinic.visits USING parquet LOCATION '{location}'")
    tree = random_tree(random.Random(7), (3, 4, 3, 6, 3, 1), 2, leaves=0.3)
    with opened(parquet) as one, opened("clinic.visits") as other:
        assert_same_level(one, rows.counts, tree)
        assert_same_level(one, rows.counts, Open(), attributes=False)
        assert_same_level(other, rows.counts, Open())
    spark.sql("DROP TABLE clinic.visits")


def test_typed_columns(spark: Any, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(typed.table(typed.every_value()), tmp_path / "typed.parquet")
    columns = {name: column.model_dump(exclude_unset=True) for name, column in typed.COLUMNS.items()}
    with opened(tmp_path / "typed.parquet", typed.SCHEMA, typed.TARGET, columns=columns) as source:
        assert_same_level(source, typed.counts(typed.every_value()), Open())


@pytest.mark.parametrize("few", [0, 1 << 40])
def test_rows_come_in_pieces(spark: Any, tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parties.sources.queried.FEW", few)
    pyarrow.parquet.write_table(typed.table(typed.every_value()), tmp_path / "typed.parquet")
    columns = {name: column.model_dump(exclude_unset=True) for name, column in typed.COLUMNS.items()}
    settings = TableSettings.model_validate(
        {"source": "spark://local", "schema": "s", "table": str(tmp_path / "typed.parquet"), "columns": columns}
    )
    with open_table(settings, typed.SCHEMA, typed.TARGET, streamed=True) as source:
        expected = sorted(typed.counts(typed.every_value()).distinct().tolist())
        assert merged(source.batches()) == expected
        assert merged(source.batches()) == expected


@pytest.mark.campaign
def test_many_attributes_and_levels(spark: Any, tmp_path: Path) -> None:
    """More columns than Spark can group by at once, and a deep tree; over an Ibis table."""
    cells = (np.random.default_rng(3).random((100, 62)) < 0.05).astype(int)
    names = [f"a{i}" for i in range(62)]
    pyarrow.parquet.write_table(pyarrow.table({n: cells[:, i] for i, n in enumerate(names)}), tmp_path / "x.parquet")
    schema = Schema(dict.fromkeys(names, ("0", "1")), names[-1])
    expected = RowCounts((2,) * 61, 2, cells[:, :-1], cells[:, -1])
    table = ibis.pyspark.connect(spark).read_parquet(str(tmp_path / "x.parquet"))
    with from_frame(table, schema, names[-1]) as source:
        assert_same_level(source, expected, Open())
        assert_same_level(source, expected, path(40, 2), attributes=False)
    assert not [view.name for view in spark.catalog.listTables() if view.name.startswith("smc_")]


def test_what_is_wrong_is_one_line(spark: Any, parquet: Path) -> None:
    cases = [
        ("spark://local", None, "name the `table`"),
        ("spark://local", "visits", "there is no such table"),
        ("spark://local", "/nowhere/at/all", "PATH_NOT_FOUND"),
        ("spark://127.0.0.1:1", "visits", "cannot reach the Spark master: Connection refused"),
        ("spark://127.0.0.1", "visits", "must be HOST:PORT"),
    ]
    for source, table, complaint in cases:
        settings = TableSettings.model_validate({"source": source, "schema": "schema.toml", "table": table})
        with pytest.raises(InputError) as caught:
            open_table(settings, SCHEMA, TARGET)
        assert complaint in str(caught.value)
        assert "\n" not in str(caught.value)
    wrong = Schema({**SCHEMA.attributes, "n": ("a", "A")}, TARGET)
    with opened(parquet, wrong) as source, pytest.raises(InputError, match="column 'n': 'b c' is not in the schema"):
        source.check()


def test_rows_come_in_batches(spark: Any, rows: Sample, parquet: Path) -> None:
    """Distinct texts and how often each occurs, as they are read for publishing."""
    found = open_rows(PlaceSettings.model_validate({"source": "spark://local", "table": str(parquet)}))
    name = TARGET
    texts = reading.texts(found, [name])
    counted = Counter(cell.strip() or "?" for cell in rows.columns[name])
    assert dict(zip(map(texts.values[0].__getitem__, texts.codes[0]), texts.counts.tolist(), strict=True)) == counted
    found.engine.close()
