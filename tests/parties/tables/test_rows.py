"""A party's rows as indices into the schema; a bad file is one line with its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from parties.sources import cells
from parties.tables.rows import Table
from parties.tables.schema import Schema
from smc.errors import InputError

AGREED = Schema({"outlook": ("sunny", "overcast", "rain"), "wind": ("weak", "strong", "?"), "play": ("yes", "no")})


def write(directory: Path, text: str | bytes) -> Path:
    path = directory / "mine.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(directory: Path, text: str | bytes, max_rows: int = 100) -> Table:
    return cells.load(write(directory, text), AGREED, "play", max_rows)


def test_rows_become_indices_in_schema_order(tmp_path: Path) -> None:
    table = load(tmp_path, "play,comment,wind,outlook\nno,x,strong,rain\nyes,,weak,sunny\nyes,y,?,overcast\n")
    assert table.rows.tolist() == [[2, 1], [0, 0], [1, 2]]
    assert table.classes.tolist() == [1, 0, 0]
    assert (table.rows.dtype, table.classes.dtype) == (np.int32, np.int32)
    assert table.ignored == ("comment",)


@pytest.mark.parametrize(
    "text",
    [
        "outlook,wind,play\nrain,?,no\nsunny,weak,yes\n",
        "outlook,wind,play\nrain,?,no\nsunny,weak,yes",
        "\ufeffoutlook,wind,play\nrain,?,no\nsunny,weak,yes\n",
        "outlook,wind,play\r\nrain,,no\r\nsunny,weak,yes\r\n",
        "outlook,wind,play\rrain,,no\rsunny,weak,yes\r",
        "\n\noutlook,wind,play\n\nrain,  ,no\n   \nsunny,weak,yes\n\n\n",
        ' outlook , wind,play\t\nrain," ? ",no\n sunny ,"weak",yes \n',
        '"outlook","wind","play"\n"rain","","no"\n"sunny","weak","yes"\n',
        "outlook,wind,play,,\nrain,,no,,\nsunny,weak,yes,,\n",
    ],
)
def test_the_same_rows_in_other_dress(tmp_path: Path, text: str) -> None:
    table = load(tmp_path, text)
    assert table.rows.tolist() == [[2, 2], [0, 0]]
    assert table.classes.tolist() == [1, 0]
    assert table.ignored == ()


def test_a_party_may_have_no_rows(tmp_path: Path) -> None:
    for text in ("outlook,wind,play\n", "outlook,wind,play"):
        table = load(tmp_path, text)
        assert (table.rows.shape, table.classes.shape) == ((0, 2), (0,))


def test_a_schema_may_have_nothing_but_the_target(tmp_path: Path) -> None:
    table = cells.load(write(tmp_path, "play\nyes\n\nno\n"), Schema({"play": ("yes", "no")}), "play", 9)
    assert table.rows.shape == (2, 0)
    assert table.classes.tolist() == [0, 1]


def test_the_bound_on_rows_is_exact(tmp_path: Path) -> None:
    text = "outlook,wind,play\n" + "rain,weak,no\n" * 3
    assert len(load(tmp_path, text, max_rows=3).classes) == 3
    with pytest.raises(InputError, match=r"mine\.csv, line 4: more than 2 rows"):
        load(tmp_path, text, max_rows=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("outlook,wind,play\nrain,weak,no\n\nsunyn,weak,no\n", ", line 4, column 'outlook': 'sunyn' is not in the "
         "schema (did you mean 'sunny'?); allowed: 'sunny', 'overcast', 'rain'"),
        ("outlook,wind,play\nRAIN,weak,no\n", ", line 2, column 'outlook': 'RAIN' is not in the "
         "schema (did you mean 'rain'?); allowed: 'sunny', 'overcast', 'rain'"),
        ('outlook,wind,play,x\nrain,weak,no,"a\nb"\nrain,weak,"x\ny",\n', r", line 4, column 'play': 'x\ny' is not in "
         "the schema; allowed: 'yes', 'no'"),
        ("outlook,wind,play\nrain,weak,\n", ", line 2, column 'play': no value, and the schema does not list '?' "
         "(missing) for this attribute"),
        ("outlook,play\n", ": the header lacks the column 'wind'; there are 'outlook', 'play'"),
        ("Outlook,Wind,play\n", ": the header lacks the columns 'outlook', 'wind' (did you mean 'Outlook'?); "
         "there are 'Outlook', 'Wind', 'play'"),
        ("outlook;wind;play\nrain;weak;no\n", ": the header is one column; ';' seems "
         "to be the separator: smc prepare finds out how a file is spelled, and what it writes is "
         "read by a command's --config, if it has one, as `separator` in a table's format; else write commas"),
        ("outlook,wind,outlook,play\n", ": the column 'outlook' occurs twice in the header; rename one"),
        ("outlook,wind,play\nrain,weak\n", ", line 2: 2 fields, but the header has 3; correct the line"),
        ("outlook,wind,play\nrain,weak,no\na,b,c,d\n", ", line 3: 4 fields, but the header has 3; correct the line"),
        (b"PK\x03\x04\x14\x00\xff", ": this is a spreadsheet or an archive; save the table as CSV or Parquet"),
        ("", ": the file is empty; the first line must name the columns"),
        ("\ufeff\n \n", ": the file is empty; the first line must name the columns"),
        (b"outlook,wind,play\nrain,weak,no\nrain,\xe9,no\n", ", line 3: not UTF-8 (byte 0xe9 at offset 36); "
         "set the right `encoding` in the format of party.toml, or save the file as UTF-8"),
        ("outlook,wind,play\nrain,we\0ak,no\n", ", line 2: a NUL byte; this is not a text file"),
        ('outlook,wind,play\nrain,weak,no\nrain,"weak,no\nrain,weak,no\n', ", line 3: not valid CSV: "
         "unexpected end of data"),
        ('outlook,wind,play\nrain,"we"ak,no\n', ", line 2: not valid CSV: ',' expected after '\"'"),
        ("outlook,wind,play\nrain,weak," + "x" * 200_000, ", line 2: not valid CSV: field larger than field limit "
         "(131072)"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_line_with_its_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'mine.csv'}{message}"


def test_places_that_hold_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.csv: there is no such file"):
        cells.load(tmp_path / "none.csv", AGREED, "play", 9)
    with pytest.raises(InputError, match="there is no Parquet file"):
        cells.load(tmp_path, AGREED, "play", 9)


def test_a_bad_value_far_down_is_found_at_its_line(tmp_path: Path) -> None:
    text = "outlook,wind,play\n" + "rain,weak,no\n" * 40_000 + "rain,weak,maybe\n" + "rain,weak,no\n"
    with pytest.raises(InputError, match="line 40002, column 'play': 'maybe'"):
        load(tmp_path, text, max_rows=10**6)
