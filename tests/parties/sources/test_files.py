"""Files and frames: the same rows give the same counts, and what cannot be read is one clear line."""

from __future__ import annotations

import csv
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.sources import ColumnSettings, PlaceSettings, TableSettings, from_frame, open_rows, open_table, opening
from parties.sources.databases import Scratch
from parties.sources.mapping import rules
from parties.sources.source import Source
from parties.tables.schema import Schema
from protocols.tree import Open
from smc.errors import InputError
from tests.support.agreement import SCHEMA, TARGET, Sample, assert_same_counts, reference, tree_of
from tests.support.plain_rows import plain_rows

SMALL = Schema({"a": ("1", "2", "?"), "b": ("x", "y")}, "b")


def arrow(rows: Sample) -> pyarrow.Table:
    """The sample with missing values as NULL; some of its columns as a dictionary."""
    columns = {name: [cell if cell.strip() else None for cell in cells] for name, cells in rows.columns.items()}
    table = pyarrow.table({name: pyarrow.array(cells, pyarrow.string()) for name, cells in columns.items()})
    return table.set_column(0, "y", table["y"].dictionary_encode())


def opened(source: object, schema: Schema = SCHEMA, target: str = TARGET, **more: Any) -> Source:
    table = TableSettings.model_validate({"source": str(source), "schema": "schema.toml", **more})
    return open_table(table, schema, target)


def from_csv(rows: Sample, folder: Path) -> Source:
    return opened(rows.csv)


def from_parquet(rows: Sample, folder: Path) -> Source:
    pyarrow.parquet.write_table(arrow(rows), folder / "it's [1]*.dat")
    return opened(folder / "it's [1]*.dat")


def from_folder(rows: Sample, folder: Path) -> Source:
    """Several folders; the column `n` only stands in their names. Files of an unfinished job do not count."""
    table = arrow(rows)
    for value in SCHEMA.attributes["n"]:
        part = folder / f"n={value}"
        part.mkdir()
        chosen = [cell.strip() == value for cell in rows.columns["n"]]
        pyarrow.parquet.write_table(table.filter(chosen).drop_columns(["n"]), part / "rows.parquet")
    (folder / "_temporary").mkdir()
    pyarrow.parquet.write_table(table, folder / "_temporary" / "rows.parquet")
    return opened(folder)


def from_pattern(rows: Sample, folder: Path) -> Source:
    table = arrow(rows)
    pyarrow.parquet.write_table(table.slice(0, 100), folder / "1.parquet")
    pyarrow.parquet.write_table(table.slice(100), folder / "2.parquet")
    pyarrow.parquet.write_table(table, folder / "old.parquet")
    return opened(folder / "[0-9].parquet")


def from_database(rows: Sample, folder: Path) -> Source:
    table = arrow(rows)
    with duckdb.connect(str(folder / "it's.db")) as database:
        database.register("frame", table)
        database.execute('CREATE SCHEMA "my schema"; CREATE TABLE "my schema"."vis.its" AS FROM frame')
        database.execute("CREATE VIEW other AS SELECT 1")
    return opened(folder / "it's.db", table="my schema.vis.its")


def from_only_table(rows: Sample, folder: Path) -> Source:
    table = arrow(rows)
    with duckdb.connect(str(folder / "one.db")) as database:
        database.register("frame", table)
        database.execute("CREATE TABLE visits AS FROM frame")
    return opened(folder / "one.db")


def from_pandas(rows: Sample, folder: Path) -> Source:
    return from_frame(pandas.DataFrame(rows.columns).set_index("id", drop=False), SCHEMA, TARGET)


def from_polars(rows: Sample, folder: Path) -> Source:
    return from_frame(polars.DataFrame(rows.columns), SCHEMA, TARGET)


def from_arrow(rows: Sample, folder: Path) -> Source:
    return from_frame(arrow(rows), SCHEMA, TARGET)


def from_ibis(rows: Sample, folder: Path) -> Source:
    """An expression over a table of an open DuckDB and a frame in memory."""
    database = duckdb.connect()
    database.register("frame", arrow(rows))
    database.execute("CREATE TABLE visits AS FROM frame")
    connection = ibis.duckdb.from_connection(database)
    known = ibis.memtable({"id": rows.columns["id"]})
    return from_frame(connection.table("visits").semi_join(known, "id"), SCHEMA, TARGET)


KINDS = [from_csv, from_parquet, from_folder, from_pattern, from_database, from_only_table]
KINDS += [from_pandas, from_polars, from_arrow, from_ibis]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_counts_alike(kind: Callable[[Sample, Path], Source], rows: Sample, tmp_path: Path) -> None:
    with kind(rows, tmp_path) as source:
        assert source.check() == len(rows.rows)
        assert_same_counts(source, rows.counts)


def test_the_joint_tree_is_the_same_also_with_cryptography(rows: Sample) -> None:
    expected = tree_of(rows.counts, SCHEMA, TARGET)
    with opened(rows.csv) as source:
        assert tree_of(source, SCHEMA, TARGET, "mixed") == expected


def test_some_columns_in_schema_order(rows: Sample) -> None:
    names = ["n", "c0", TARGET]
    part = Schema({name: SCHEMA.attributes[name] for name in SCHEMA.attributes if name in names})
    table = TableSettings.model_validate({"source": str(rows.csv), "schema": "s"})
    with open_table(table, SCHEMA, TARGET, names) as source:
        assert_same_counts(source, reference(rows.csv, part, TARGET), part)


def test_fingerprints_tell_rows_apart_but_not_kinds(rows: Sample, tmp_path: Path) -> None:
    with from_csv(rows, tmp_path) as one, from_polars(rows, tmp_path) as other:
        assert one.fingerprint(b"key") == other.fingerprint(b"key")
        assert one.fingerprint(b"key") != one.fingerprint(b"another key")
        assert len(one.fingerprint(b"key")) == 32
        known = one.fingerprint(b"key")
    with from_frame(polars.DataFrame(rows.columns).slice(1), SCHEMA, TARGET) as less:
        assert less.fingerprint(b"key") != known


def test_two_sources_read_one_database_at_the_same_time(rows: Sample, tmp_path: Path) -> None:
    with from_only_table(rows, tmp_path) as one, opened(tmp_path / "one.db") as other:
        with duckdb.connect(str(tmp_path / "one.db"), read_only=True) as reader:
            assert reader.execute("SELECT count(*) FROM visits").fetchone() == (len(rows.rows),)
        assert one.check() == other.check()


def test_nothing_is_left_behind(rows: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spill))
    with from_csv(rows, tmp_path) as source:
        source.check()
        assert len(list(spill.iterdir())) == 1
    assert not list(spill.iterdir())


def test_memory_and_threads_are_bounded() -> None:
    engine = Scratch("x", "300MB", 1)
    query = "SELECT current_setting('memory_limit'), current_setting('threads')"
    assert engine.backend.raw_sql(query).fetchone() == ("286.1 MiB", 1)
    engine.close()


def test_a_wide_table_is_read_by_fewer_threads() -> None:
    engine = Scratch("x", "300MB", 8)
    taken = {}
    for columns in (33, 1024, 2048, 10_000):
        engine.plan_for(columns)
        taken[columns] = engine.backend.raw_sql("SELECT current_setting('threads')").fetchone()[0]
    assert taken == {33: 8, 1024: 8, 2048: 4, 10_000: 1}
    engine.close()


def test_too_little_memory_has_a_remedy() -> None:
    engine = Scratch("rows.csv", "20MB", 1)
    engine.plan_for(500)
    columns = ", ".join(f"(i || {place})::VARCHAR AS c{place}" for place in range(500))
    remedy = r"give it more `memory` \(500 columns need about 150MB\), or fewer `threads`"
    with pytest.raises(InputError, match=remedy), engine.reporting():
        engine.backend.raw_sql(f"CREATE TEMPORARY TABLE t AS SELECT {columns} FROM range(5000) AS t(i)")
    engine.close()


# CSV, see also test_delimited.


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,x\n2,y\n",
        "b,c,a\r\nx,,1\r\ny,z,2\r\n",
        "\ufeffa,b\n1,x\n",
        '\n\n"a"," b "\n\n"1","x"\n\n',
        "a,b",
        "a,b\n",
        "a,b\n1,x",
        'a,b,"note\nlong"\n1,x,"""so"", he said,\nand left"\n2,y,\n',
        'a,,b,\n "1",k,x,\n'.replace(' "1"', '"1"'),
        'a,b\n"",x\n?,y\n  ,x\n',
        "a,b\r1,x\r2,y\r",
    ],
)
def test_csv_is_read_as_ever(text: str, tmp_path: Path) -> None:
    path = tmp_path / "it's*.csv"
    path.write_text(text, encoding="utf-8", newline="")
    with opened(path, SMALL, "b") as source:
        assert_same_counts(source, reference(path, SMALL, "b"), SMALL, "b")


def test_blank_lines_of_a_single_column_are_no_rows(tmp_path: Path) -> None:
    only = Schema({"b": ("x", "?")}, "b")
    path = tmp_path / "one.csv"
    path.write_text('b\nx\n\n""\n\n')
    with opened(path, only, "b") as source:
        assert source.level(Open(), attributes=True).classes.tolist() == [[1, 1]]
        assert_same_counts(source, reference(path, only, "b"), only, "b")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "the file is empty"),
        (b",\n1,2\n", "the file is empty"),
        (b"A,b,a\n1,x,2\n", "column 'a': rename 'A', 'a': these names differ only in case"),
        (b"a,b,a\n", "the column 'a' occurs twice in the header; rename one"),
        (b"a,bb\n1,x\n", r"column 'b': there is no such column \(did you mean 'bb'\?\)"),
        (b"a,b\n1,x\n2\n", r"line 3: (.*Columns: 2 Found: 1|1 fields, but the header has 2)"),
        (b"a,b\n1,x,3\n", r"line 2: (.*Columns: 2 Found: 3|3 fields, but the header has 2)"),
        (b'a,b\n1,"x\n', r"line 2: .*(quote|unexpected end of data)"),
        (b"a,b\n1,\xff\n", r"line 2: .*(UTF-8|utf-8)"),
        (b"a,b\xff\n", "the header is not utf-8"),
        (b"PK\x03\x04\x14\x00\xff", "this is a spreadsheet or an archive"),
        (b"a,b\n1,z\n", r"line 2, column 'b': 'z' is not in the schema; allowed: 'x', 'y'"),
        (b"a,b\n1,X\n", r"'X' is not in the schema \(did you mean 'x'\?\)"),
        (b"a,b\n1,\n", r"line 2, column 'b': no value, and the schema does not list '\?'"),
        (b'a,b\n1,x\n\n"1", z \n1,z\n', r"line 4, column 'b': 'z' is not in the schema"),
        (b"a,b\n1,x\n2,x\n1,y\n?,y\n", r"4 rows, more than 3, the agreed bound \(max_rows\)"),
    ],
)
def test_what_is_wrong_with_a_csv_file(
    content: bytes, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    for size in (0, 1 << 20):  # by an engine, and in memory
        monkeypatch.setattr(opening, "SMALL", size)
        with pytest.raises(InputError, match=complaint) as caught, opened(path, SMALL, "b", max_rows=3) as source:
            source.check()
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)


CELLS = [
    "x",
    " x\t",
    "\u2003y",
    "X",
    "9",
    " 10 ",
    "+10.0",
    "1e1",
    "20.5",
    ".5",
    "-3",
    "1E+2",
    "1e999",
    "nan",
    "",
    "?",
    " ",
]


@given(
    st.lists(st.sampled_from(CELLS) | st.text("xy019.e+- \u2003?", max_size=4), max_size=8),
    st.sampled_from([(), ("?",), ("unknown",)]),
    st.sampled_from([None, (10, 20.5), ()]),
    st.sampled_from([0, 1 << 20]),
)
@settings(max_examples=60)
def test_cells_are_placed_as_one_by_one(cells: list[str], absent: tuple[str, ...], edges: Any, small: int) -> None:
    """What a cell means, or what is said of the first one that means nothing: by an engine, and in memory."""
    categories = ("x", "y", "9") if edges is None else tuple("abc"[: len(edges) + 1])
    schema = Schema({"a": (*categories, *absent), "b": ("t",)}, "b")
    mapping: dict[str, Any] = {"values": {"9": categories[-1], "1e999": categories[0]}}
    mapping |= {"missing": "unknown"} if absent == ("unknown",) else {}
    mapping |= {} if edges is None else {"edges": edges}

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "SMALL", small)
        path = Path(folder) / "x.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([["a", "b"], *([cell, "t"] for cell in cells)])
        table = TableSettings.model_validate({"source": str(path), "schema": "s.toml", "columns": {"a": mapping}})
        try:
            expected = plain_rows(table, rules(table.columns, schema, ["a", "b"], table.format))
        except InputError as error:
            with pytest.raises(InputError, match=re.escape(str(error))):
                open_table(table, schema, "b")
            return
        if isinstance(expected, str):
            with pytest.raises(InputError) as caught, open_table(table, schema, "b") as source:
                source.check()
            assert str(caught.value).endswith(f", column 'a': {expected}")
        else:
            with open_table(table, schema, "b") as source:
                assert (source.check(), sorted(source.distinct().tolist())) == (len(cells), expected)


def test_no_level_is_counted_with_values_that_the_schema_lacks(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,z\n")
    with opened(path, SMALL, "b") as source, pytest.raises(InputError, match="'z'"):
        source.level(Open(), attributes=False)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for name, complaint in [
        ("nothing.csv", "there is no such file"),
        ("*.parquet", "there is no Parquet file"),
        ("", "there is no Parquet file"),
    ]:
        with pytest.raises(InputError, match=complaint):
            opened(tmp_path / name, SMALL, "b")


def test_files_that_are_broken(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and nothing more")
    (tmp_path / "x.db").write_bytes(b"12345678DUCK and nothing more")
    (tmp_path / "x.csv").write_text("a,b\n")
    for name in ("x.parquet", "x.db"):
        with pytest.raises(InputError, match=name) as caught:
            opened(tmp_path / name, SMALL, "b")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="`table` names a table of a database"):
        opened(tmp_path / "x.csv", SMALL, "b", table="t")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch(mode=0)
    with pytest.raises(InputError, match="Permission denied"):
        opened(tmp_path / "x.csv", SMALL, "b")


def test_tables_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with duckdb.connect(str(path)), pytest.raises(InputError, match=r"conflict|lock"):
        opened(path, SMALL, "b", table="t")
    with pytest.raises(InputError, match="table 't': there is no such table; there is none"):
        opened(path, SMALL, "b", table="t")
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE visits (a INT); CREATE SCHEMA s; CREATE TABLE s.stays (a INT)")
    with pytest.raises(InputError, match=r"table 'visit': there is no such table \(did you mean 'visits'\?\)"):
        opened(path, SMALL, "b", table="visit")
    with pytest.raises(InputError, match=r"several tables; name one as `table` \('visits', 's.stays'\)"):
        opened(path, SMALL, "b")
    with pytest.raises(InputError, match=r"column 'b': there is no such column.*there are 'a'"):
        opened(path, SMALL, "b", table="s.stays")


def test_objects_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the frame: cannot be read as a table"):
        from_frame(object(), SMALL, "b")
    mixed = pandas.DataFrame({"a": [1, "x", 2.5], "b": ["x", "y", "x"]})
    with pytest.raises(InputError, match="the frame: "), from_frame(mixed, SMALL, "b") as source:
        source.check()
    with pytest.raises(InputError, match="must be of DuckDB, PostgreSQL or Spark, not polars"):
        from_frame(ibis.polars.connect({"t": polars.DataFrame({"a": [1]})}).table("t"), SMALL, "b")


def test_a_frame_with_mapped_columns() -> None:
    frame = pandas.DataFrame({"A": [1.0, None, 2.0], "b": ["X", "y", "y"]})
    mapping = {"a": ColumnSettings(column="A"), "b": ColumnSettings(values={"X": "x"})}
    with from_frame(frame, SMALL, "b", mapping=mapping) as source:
        assert source.level(Open(), attributes=True).values[0].tolist() == [[[1, 0], [0, 1], [0, 1]]]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("x.parquet", b"PAR1" + b"x" * 2000, "this is no Parquet file, or it was cut short"),
    ],
)
def test_damage_is_told_in_our_words(name: str, content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)

    def read() -> None:
        rows = open_rows(PlaceSettings(source=str(tmp_path / name)))
        list(rows.engine.batches(rows.select(["a"])))

    with pytest.raises(InputError) as caught:
        read()
    assert str(caught.value) == f"{tmp_path / name}: {complaint}"
