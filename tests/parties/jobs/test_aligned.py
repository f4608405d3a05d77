"""The file of aligned rows, and own columns in its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.jobs.aligned import AlignedRows, owners, row_column
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType
from smc.errors import InputError

ALIGNED = "tax,name,row of 00ff\n2,Bob,1\n,Cid,2\n007,Zoe,3\n"
TABLE = "name,tax,age,sex\nZoe,007,30,f\nDan,9,99,m\nBob,2,40,m\nBob,2,50,f\nCid,,20,m\n"
SCHEMA = Schema({"sex": ("f", "m"), "far": ("1", "2"), "age": Domain(IntegerType(low=0, high=120, edges=(25, 35, 45)))})


def aligned(directory: Path, text: str = ALIGNED) -> AlignedRows:
    return AlignedRows.parsed(text, str(directory / "aligned.csv"))


def table(directory: Path, text: str = TABLE, **more: object) -> TableSettings:
    (directory / "own.csv").write_text(text)
    fields = {"source": str(directory / "own.csv"), "schema": directory / "schema.toml", "max_rows": 9, **more}
    return TableSettings.model_validate(fields)


def test_own_columns_stand_in_the_order_of_the_alignment_and_of_doubles_the_first(tmp_path: Path) -> None:
    rows = aligned(tmp_path)
    assert (rows.alignment, rows.columns, rows.keys[1]) == ("00ff", ("tax", "name"), ("", "Cid"))
    assert rows.cells_in(table(tmp_path), SCHEMA, ["age", "sex"])[0].tolist() == [[2, 1], [0, 1], [1, 0]]
    renamed = table(tmp_path, TABLE.replace("age", "years"), columns={"age": {"column": "years"}})
    cells, unread = rows.cells_in(renamed, SCHEMA, ["age"])
    assert (cells.tolist(), unread) == ([[2], [0], [1]], ["sex"])


def test_the_name_of_the_column_of_numbers_names_the_alignment() -> None:
    assert row_column(bytes(range(32))) == "row of 0001020304050607"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "its last column is not named 'row of ...'; give the file of smc align exact or hidden"),
        ("tax\n1\n", "its last column is not named 'row of ...'"),
        ("row of ab\n1\n", "its last column is not named 'row of ...'"),
        ("tax,row of ab\n", "no row is aligned; align by other keys"),
        ("tax,row of ab\n5,2\n4,1\n", "row 1 is missing or moved; keep all rows in their order"),
        ("tax,row of ab\n5,1\n4\n", "row 2 is missing or moved"),
        (f"tax,row of ab\n{'x' * 200_000},1\n", "is no CSV file"),
    ],
)
def test_another_file_is_a_line(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(InputError) as error:
        aligned(tmp_path, text)
    assert f"aligned.csv: {line}" in str(error.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TABLE.replace("Cid", "Cyd"), "own.csv: lacks 1 of the keys in"),
        (
            TABLE.replace("sex", "gender"),
            "there are 'name', 'tax', 'age', 'gender'; set columns.sex.column in party.toml to its column",
        ),
        (TABLE.replace("tax", "ssn"), "own.csv: there is no column 'tax'"),
        (TABLE.replace("40,m", "40,q"), "own.csv, line 4, column 'sex': 'q' is not"),
        (TABLE + "Eve,3,1,f\n" * 9, "own.csv"),
    ],
)
def test_a_table_that_does_not_fit_is_a_line(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(InputError) as error:
        aligned(tmp_path).cells_in(table(tmp_path, text), SCHEMA, ["sex", "age"])
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_each_party_has_a_column() -> None:
    assert owners(SCHEMA, ["far"]) == {"sex": 1, "far": 0, "age": 1}
    for names in ([], [*SCHEMA.attributes]):
        with pytest.raises(InputError, match="the job reads 'sex', 'far', 'age', columns of one party"):
            owners(SCHEMA, names)
