"""Odd tables of kinds that users of data tools report: each is read right, or its reading is asked for."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import pytest

from parties.alone.preparing.checking import checked
from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.profile import profile
from parties.alone.preparing.proposing import TableProposal, propose
from parties.sources.settings import PlaceSettings
from parties.tables.types import days_of
from smc.errors import InputError
from tests.support.places import SHARED

MAKE = SHARED / "data" / "odd" / "make_odd.py"
pytestmark = pytest.mark.skipif(not MAKE.exists(), reason="the odd tables are not here")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("odd")
    subprocess.run([sys.executable, str(MAKE), str(out)], check=True)
    return out


def proposed(path: Path) -> tuple[TableProfile, TableProposal]:
    """Return what is written of a table when nobody is asked."""
    table = profile(PlaceSettings(source=str(path)))
    return table, checked(table, propose(table), None)


def column(table: TableProfile, name: str) -> ColumnProfile:
    return next(column for column in table.columns if column.name == name)


def values(path: Path, name: str) -> list[str]:
    """Return the values that the schema has for a column, without that for missing cells."""
    return [value for value in proposed(path)[1].schema.attributes[name] if value != "?"]


def cells(path: Path, index: int = 0) -> list[str]:
    """Return the cells of a column by Python's reader."""
    text = path.read_text(encoding="utf-8")
    return [row[index] for row in csv.reader(text.splitlines()[1:], delimiter=";" if ";" in text else ",")]


def day(form: str) -> Callable[[str], float]:
    return lambda text: days_of(datetime.strptime(text, form).date())


def birth(text: str) -> float:
    found, month, year = (int(part) for part in text.split("."))
    return days_of(date(1900 + year, month, found))


def number(text: str) -> float:
    bare = re.sub(r"[€% \u00a0()]", "", text).replace("\u2212", "-").replace(",", ".")
    return -float(bare) if "(" in text else float(bare)


@pytest.mark.parametrize(
    ("file", "name", "options"),
    [
        ("02/english/a/t.csv", "income", "decimal-point .*'139,261' is 139261.* or decimal-comma"),
        ("02/german/a/t.csv", "income", "decimal-comma .*'139.261' is 139261.* or decimal-point"),
        ("03/a/t.csv", "booked", "day-first .* or month-first"),
        ("11/gbk.csv", "*", "gb18030 .*北京"),
    ],
)
def test_several_readings_are_asked_for(odd: Path, file: str, name: str, options: str) -> None:
    with pytest.raises(InputError, match=options) as refused:
        profile(PlaceSettings(source=str(odd / file)))
    assert f"--reading '{name}=" in str(refused.value)


@pytest.mark.parametrize(
    ("file", "value"),
    [
        ("01/a/t.csv", birth),
        ("02/both/a/t.csv", lambda text: float(text.replace(".", ""))),
        ("18/iso_z.csv", day("%Y-%m-%dT%H:%M:%SZ")),
        ("18/iso_offset.csv", day("%Y-%m-%dT%H:%M:%S+02:00")),
        ("18/iso_fraction.csv", day("%Y-%m-%d %H:%M:%S.%f")),
        ("18/us_ampm.csv", day("%m/%d/%Y %I:%M:%S %p")),
        ("18/sas.csv", day("%d%b%Y")),
        ("18/mon.csv", day("%d-%b-%Y")),
        ("18/compact.csv", day("%Y%m%d")),
        ("18/zero.csv", day("%Y-%m-%d")),
        *((f"19/{name}.csv", number) for name in ("nbsp", "parens", "unicode_minus", "percent", "currency")),
    ],
)
def test_days_and_numbers_have_their_values(odd: Path, file: str, value: Callable[[str], float]) -> None:
    texts = [text for text in cells(odd / file) if text != "0000-00-00"]
    table, _ = proposed(odd / file)
    first = table.columns[0]
    assert first.reads == ("date" if file[:2] in ("01", "18") else first.reads if first.decimals else "integer")
    assert (first.low, first.high) == (min(map(value, texts)), max(map(value, texts)))
    assert first.low < first.high
    assert set(first.odd) <= {"0000-00-00"}


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("04/a/t.csv", "protein", "+ -"),
        ("06/a/t.csv", "smoker", "0 1"),
        ("06/b/t.csv", "smoker", "0 1"),
        ("06/b/t.csv", "y", "0 1"),
        ("07/a/t.csv", "ill", "yes"),
        ("07/a/crlf_in_header.csv", "town", "Basel Bern"),
        ("07/a/one_quoted.csv", "town", "Basel Bern"),
        ("08/a/t.csv", "outcome", "alive dead"),
        ("10/a/t.csv", unicodedata.normalize("NFC", "città"), unicodedata.normalize("NFC", "Köln Liège Zürich")),
        ("10/b/t.csv", unicodedata.normalize("NFC", "città"), unicodedata.normalize("NFC", "Köln Liège Zürich")),
        ("11/cp1251.csv", "town", "Казань Москва Омск"),
        ("15/t.parquet", "u64", " ".join(str(2**64 - n) for n in (4, 3, 2, 1))),
        ("16/a/t.csv", "rural", "no"),
        ("17/b/t.csv", "relapse", "no"),
        ("23/t.csv", "age", ""),
        *((f"20/{name}.csv", "town", "Bern Genève Zürich") for name in ("title_lines", "header_twice", "total")),
        ("20/sep_line.csv", "town", "Bern Genève Zürich"),
        ("25/100.csv", "c0", "0 1 2 3"),
    ],
)
def test_categories_are_those_of_the_file(odd: Path, file: str, name: str, expected: str) -> None:
    if not (odd / file).exists():
        pytest.skip("pyarrow is not here")
    assert sorted(values(odd / file, name)) == expected.split()


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        *((f"07/a/{name}.csv", 400) for name in ("t", "crlf_in_header", "one_quoted")),
        *((f"20/{name}.csv", 120) for name in ("title_lines", "header_twice", "total", "sep_line")),
    ],
)
def test_every_row_is_read_and_left_out_lines_are_named(odd: Path, file: str, rows: int) -> None:
    table, _ = proposed(odd / file)
    doubled = "header_twice" in file
    assert table.rows == rows * (1 + doubled)
    if file.startswith("20") and "sep" not in file:
        assert "left out" in " ".join(table.remarks)


def test_long_texts_are_set_aside(odd: Path) -> None:
    if not (odd / "22" / "t.parquet").exists():
        pytest.skip("pyarrow is not here")
    assert [*proposed(odd / "22" / "t.parquet")[1].schema.attributes] == ["y"]
