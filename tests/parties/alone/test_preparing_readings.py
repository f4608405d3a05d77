"""Readings of raw tables: each spelling has its value, one that fits is taken, several are asked for."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot.expressions as exp

from parties.alone.preparing.checking import checked
from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.profile import profile
from parties.alone.preparing.proposing import TableProposal, propose
from parties.alone.preparing.readings import GUESS, REFUSE, Choices, given, readings
from parties.alone.preparing.spellings import DAYS, NO_VALUE, NUMBERS, Spelling
from parties.base import console
from parties.cli import run
from parties.party_file import load as load_party
from parties.sources.expressions import days_in, number_in
from parties.sources.mapping import day_of, number_of
from parties.sources.opening import open_table
from parties.sources.settings import ColumnSettings, FormatSettings, PlaceSettings
from parties.tables import schema as schemas
from parties.tables.types import FlagType, days_of
from smc.errors import InputError

FLAGS = [
    ("Yes", "yes"),
    ("Y", "yes"),
    ("TRUE", "yes"),
    ("t", "yes"),
    ("1", "yes"),
    ("no", "no"),
    ("F", "no"),
    ("0", "no"),
]


def looked(path: Path, content: str | bytes, choices: Choices = REFUSE, target: str | None = None) -> TableProfile:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return profile(PlaceSettings(source=str(path)), target, choices)


def column(table: TableProfile, name: str) -> ColumnProfile:
    return next(column for column in table.columns if column.name == name)


def remarks(proposal: TableProposal, name: str) -> str:
    return "; ".join(next(column for column in proposal.columns if column.name == name).remarks)


def in_sql(number: exp.Expr) -> float | None:
    row = duckdb.sql(exp.Select().select(number).sql("duckdb")).fetchone()
    assert row is not None
    value: float | None = row[0]
    return value


def test_there_are_enough_spellings() -> None:
    assert len(DAYS) + len(NUMBERS) + len(NO_VALUE) + len(FLAGS) >= 60


@pytest.mark.parametrize("spelling", DAYS, ids=lambda spelling: spelling.text)
def test_every_spelling_of_a_day_has_its_value(spelling: Spelling) -> None:
    settings = ColumnSettings.model_validate(spelling.settings).spelling(FormatSettings())
    day = day_of(spelling.text, settings.dates, settings.last_year)
    assert str(day) == spelling.value
    assert day is not None
    assert in_sql(days_in(exp.Literal.string(spelling.text), settings.dates, settings.last_year)) == days_of(day)
    forms = {
        reading.spelling.dates: reading.value(spelling.text) for reading in readings([spelling.text], FormatSettings())
    }
    assert forms[settings.dates] == spelling.value


@pytest.mark.parametrize("spelling", NUMBERS, ids=lambda spelling: spelling.text)
def test_every_spelling_of_a_number_has_its_value(spelling: Spelling) -> None:
    settings = ColumnSettings.model_validate(spelling.settings).spelling(FormatSettings())
    assert number_of(spelling.text, settings) == float(spelling.value)
    assert in_sql(number_in(exp.Literal.string(spelling.text), settings)) == float(spelling.value)
    assert spelling.value in [reading.value(spelling.text) for reading in readings([spelling.text], FormatSettings())]


@pytest.mark.parametrize("word", NO_VALUE)
def test_every_word_means_no_value_among_numbers_and_a_value_among_categories(word: str, tmp_path: Path) -> None:
    """A remark says so; where a word is missing among numbers, it is missing among categories too."""
    proposal = propose(looked(tmp_path / "a.csv", "x,c\n" + f"1,{word}\n2.5,b\n7,b\n3,{word}\n" * 20))
    assert word in proposal.schema.attributes["c"]
    assert f"'{word}': a value like the others" in remarks(proposal, "c")
    table = looked(tmp_path / "a.csv", "x,c\n" + f"1,{word}\n2.5,b\n{word},a\n3,{word}\n" * 20)
    assert column(table, "x").reads == "real"
    assert table.spelling.missing == (word,)
    proposal = propose(table)
    assert "?" in proposal.schema.attributes["x"]
    assert set(proposal.schema.attributes["c"]) == {"a", "b", "?"}
    assert f"'{word}': read as a missing value" in remarks(proposal, "c")


def test_a_number_that_means_no_value_is_named_once(tmp_path: Path) -> None:
    content = "score\n" + "".join(f"{i % 11 if i % 7 else -9}\n" for i in range(240))
    proposal = propose(looked(tmp_path / "a.csv", content, Choices(given(["score=missing:-9"]))))
    assert "?" in proposal.schema.attributes["score"]
    assert remarks(proposal, "score").count("'-9'") == 1


def test_a_minus_beside_a_plus_is_a_value(tmp_path: Path) -> None:
    proposal = propose(looked(tmp_path / "a.csv", "x,c\n" + "1,+\n-,-\n3.5,-\n4,\n" * 20))
    assert set(proposal.schema.attributes["c"]) == {"+", "-", "?"}


@pytest.mark.parametrize(("text", "meaning"), FLAGS)
def test_every_spelling_of_a_flag_has_its_value(text: str, meaning: str) -> None:
    assert FlagType().texts[text] == meaning


def test_marks_that_part_no_groups_of_three_are_no_number() -> None:
    """A thousands mark is dropped only where it parts thousands: 12.5 is not 125."""
    german = FormatSettings(decimal=",", thousands=".")
    for text in ("12.5", "1.23.456", "12.5000", "1.000.00"):
        assert number_of(text, german) is None
        assert in_sql(number_in(exp.Literal.string(text), german)) is None


def test_two_digit_births_after_today_are_of_the_last_century(tmp_path: Path) -> None:
    rows = "".join(f"{i % 28 + 1:02}.{i % 12 + 1:02}.{32 + i % 64},{'ab'[i % 2]}\n" for i in range(240))
    table = looked(tmp_path / "a.csv", "birth;y\n" + rows.replace(",", ";"))
    year = date.today().year
    assert column(table, "birth").high < days_of(date.today())
    proposal = propose(table)
    assert proposal.mapping["birth"] == {"last_year": year}
    assert f"two-digit years are {year - 99} to {year}" in remarks(proposal, "birth")


def test_other_two_digit_days_after_today_are_asked_for(tmp_path: Path) -> None:
    content = "seen;y\n" + "".join(f"{i % 28 + 1:02}.03.{40 + i % 20};{'ab'[i % 2]}\n" for i in range(60))
    with pytest.raises(InputError, match=r"column 'seen': until-20.. .* or until-2068 .*--reading 'seen=until-"):
        looked(tmp_path / "a.csv", content)
    table = looked(tmp_path / "a.csv", content, Choices({"seen": ["until-2068"]}))
    assert column(table, "seen").high > days_of(date(2050, 1, 1))


@pytest.mark.parametrize(("mark", "value"), [("decimal-point", 139261.0), ("decimal-comma", 139.261)])
def test_thousands_or_decimals_are_asked_for(tmp_path: Path, mark: str, value: float) -> None:
    content = "x;y\n" + "".join(f"{139 + i % 9},{261 + i};{'ab'[i % 2]}\n" for i in range(100))
    with pytest.raises(
        InputError, match=r"column 'x': decimal-point .* or decimal-comma .*--reading 'x=decimal-point'"
    ):
        looked(tmp_path / "a.csv", content)
    table = looked(tmp_path / "a.csv", content, Choices({"*": [mark]}))
    assert column(table, "x").low == value
    assert f"read as {mark}" in remarks(propose(table), "x")


def test_other_columns_decide_what_a_mark_means(tmp_path: Path) -> None:
    rows = "".join(f"{12 + i % 9}.{261 + i};{i % 50},{i % 9}5;{'ab'[i % 2]}\n" for i in range(100))
    table = looked(tmp_path / "a.csv", "people;share;y\n" + rows)
    assert column(table, "people").low == 12261
    assert (table.spelling.decimal, table.spelling.thousands) == (",", ".")
    assert "as in other columns" in "".join(column(table, "people").remarks)


def test_columns_of_two_decimal_marks_each_have_their_own(tmp_path: Path) -> None:
    rows = "".join(f"{i % 50}.{i % 9}5;{i % 30},{i % 7}5;{i % 20},{i % 7}5\n" for i in range(100))
    proposal = propose(looked(tmp_path / "a.csv", "a;b;c\n" + rows))
    assert proposal.mapping == {"a": {"decimal": "."}}


def test_day_or_month_first_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw, out = tmp_path / "a.csv", tmp_path / "out"
    raw.write_text("booked,y\n" + "".join(f"{i % 12 + 1:02}/{i % 5 + 1:02}/2024,{'ab'[i % 2]}\n" for i in range(120)))
    words = ["prepare", str(raw), "--out", str(out)]
    assert run(words) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert "'booked': day-first ('" in error
    assert "or month-first ('" in error
    assert "--reading 'booked=day-first', or give --guess" in error
    assert not out.exists()
    assert run([*words, "--reading", "booked=month-first"]) == 0
    assert "read as month-first" in capsys.readouterr().out
    assert load_party(out / "party.toml").tables["a"].format.dates == "%m/%d/%Y"
    assert run([*words, "--guess", "--force"]) == 0
    assert load_party(out / "party.toml").tables["a"].format.dates == "%d/%m/%Y"
    assert run([*words, "--reading", "month-first", "--force"]) == 2
    assert "write COLUMN=READING" in capsys.readouterr().err


def test_one_day_beyond_the_sample_decides(tmp_path: Path) -> None:
    rows = [f"{i % 12 + 1:02}/{i % 11 + 1:02}/2024,{i}\n" for i in range(2000)]
    table = looked(tmp_path / "a.csv", "booked,n\n" + "".join([*rows, "04/25/2024,7\n"]))
    assert table.spelling.dates == "%m/%d/%Y"


def test_a_question_at_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text(
        "booked,y\n" + "".join(f"{i % 12 + 1:02}/01/2024,{'ab'[i % 2]}\n" for i in range(120))
    )
    monkeypatch.setattr(console, "is_asked", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("9\n2\n"))
    assert run(["prepare", str(tmp_path / "a.csv"), "--out", str(tmp_path / "out")]) == 0
    assert "2  month-first: '" in capsys.readouterr().err
    assert load_party(tmp_path / "out" / "party.toml").tables["a"].format.dates == "%m/%d/%Y"


@pytest.mark.parametrize("code", ["-999", "-9", "888", "99999999"])
def test_special_codes_are_asked_for(tmp_path: Path, code: str) -> None:
    content = "income,y\n" + "".join(
        f"{code if i % 9 == 0 else 20000 + i * 37 % 5000},{'ab'[i % 2]}\n" for i in range(300)
    )
    with pytest.raises(InputError, match=f"value .* or missing:{code} "):
        looked(tmp_path / "a.csv", content)
    table = looked(tmp_path / "a.csv", content, Choices(given([f"income=missing:{code}"])))
    assert 20000 <= column(table, "income").low <= column(table, "income").high < 25000
    proposal = propose(table)
    assert proposal.mapping["income"] == {"values": {code: "?"}}
    kept = looked(tmp_path / "a.csv", content, GUESS)
    assert f"'{code}': read as numbers" in remarks(propose(kept), "income")
    assert checked(table, proposal, None) == proposal


@pytest.mark.parametrize(
    ("code", "towns", "asks"),
    [
        ("cp1251", ("Москва", "Казань", "Омск"), False),
        ("cp1252", ("Zürich", "Genève", "Málaga"), False),
        ("cp1250", ("Łódź", "Kraków", "Poznań"), False),
        ("gb18030", ("北京", "上海", "广州"), True),
    ],
)
def test_code_pages_are_found_or_asked_for(tmp_path: Path, code: str, towns: tuple[str, ...], asks: bool) -> None:
    content = ("age;town\n" + "".join(f"{20 + i};{towns[i % 3]}\n" for i in range(60))).encode(code)
    if asks:
        with pytest.raises(InputError, match=rf"{code} \(.*--reading '\*={code}'"):
            looked(tmp_path / "a.csv", content)
    table = looked(tmp_path / "a.csv", content, Choices({"*": [code]}) if asks else REFUSE)
    assert table.spelling.encoding == code
    assert set(propose(table).schema.attributes["town"]) == set(towns)
    assert asks or "read as" in table.remarks[0]


BODY = "".join(f"{20 + i % 60};{('Bern', 'Basel')[i % 2]};{('yes', 'no')[i % 3 % 2]}\n" for i in range(120))
TABLE = "age;town;ill\n" + BODY


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        ("sep=;\n" + TABLE, "names the separator: left out"),
        ("\ufeffsep=;\r\n" + TABLE.replace("\n", "\r\n"), "names the separator: left out"),
        ("Patients of ward 7\nexported 2026-01-02\n\n" + TABLE, "3 lines before the header: left out"),
        (TABLE + TABLE, "1 row with the header again: left out"),
        (TABLE + "Total;;120\n", "a row 'Total' with gaps: left out as a total"),
    ],
)
def test_lines_that_are_no_rows_are_left_out(tmp_path: Path, content: str, remark: str) -> None:
    (tmp_path / "a.csv").write_text(content, newline="")
    rows = 240 if content.count("age") == 2 else 120
    assert run(["prepare", str(tmp_path / "a.csv"), "--target", "ill", "--out", str(tmp_path / "out")]) == 0
    table = load_party(tmp_path / "out" / "party.toml").tables["a"]
    schema = schemas.load(table.schema_file)
    assert set(schema.attributes["town"]) == {"Bern", "Basel"}
    assert set(schema.attributes["ill"]) == {"yes", "no"}
    with open_table(table, schema, "ill") as source:
        assert source.check() == rows
    assert remark in " ".join(profile(PlaceSettings(source=str(tmp_path / "a.csv"))).remarks)


def test_a_header_without_the_column_of_row_names_is_no_title(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: 3 fields, but the header has 2"):
        looked(tmp_path / "a.csv", "a,b\n" + "1,x,2\n2,y,3\n" * 30)


def test_a_person_called_total_is_a_row(tmp_path: Path) -> None:
    assert looked(tmp_path / "a.csv", TABLE.replace("20;Bern", "Total;Bern", 1)).rows == 120


@pytest.mark.parametrize("head", ['"age\n(years)"', '"age\r\n(years)"'])
def test_a_line_break_in_a_header_cell_loses_no_row(tmp_path: Path, head: str) -> None:
    table = looked(tmp_path / "a.csv", (head + ";town;ill\r\n" + BODY.replace("\n", "\r\n")).encode())
    assert table.rows == 120


def test_long_texts_are_no_public_values(tmp_path: Path) -> None:
    pq.write_table(pa.table({"big": ["a" * 40000, "b"] * 60, "y": ["yes", "no", "no"] * 40}), tmp_path / "t.parquet")
    proposal = propose(profile(PlaceSettings(source=str(tmp_path / "t.parquet")), "y"), "y")
    assert "big" not in proposal.schema.attributes


def test_whole_numbers_beyond_64_bits_are_read_back(tmp_path: Path) -> None:
    numbers = pa.array([2**64 - 1 - i % 4 for i in range(240)], pa.uint64())
    pq.write_table(pa.table({"u64": numbers, "y": ["yes", "no"] * 120}), tmp_path / "t.parquet")
    table = profile(PlaceSettings(source=str(tmp_path / "t.parquet")), "y")
    proposal = propose(table, "y")
    assert str(2**64 - 1) in proposal.schema.attributes["u64"]
    assert checked(table, proposal, None) == proposal


def test_a_column_that_cannot_be_read_back_is_named_and_set_aside(tmp_path: Path) -> None:
    table = looked(tmp_path / "a.csv", TABLE, target="ill")
    proposal = propose(table, "ill")
    attributes = {**proposal.schema.attributes, "town": ("Bern", "Genf")}
    broken = checked(table, TableProposal(schemas.Schema(attributes, "ill"), proposal.columns), None)
    assert "town" not in broken.schema.attributes
    assert next(c.aside for c in broken.columns if c.name == "town") == "its cells cannot be read back"


def test_a_second_look_is_at_the_columns_that_have_codes(tmp_path: Path) -> None:
    """And not at those in front of them: one code of the third column, and short years in the last."""
    lines = [f"{'ab'[i % 2]},{i % 40},{i % 30 if i % 5 else 999},{i % 28 + 1:02}.03.{60 + i % 30}" for i in range(300)]
    choices = Choices(given(["age=missing:999", "born=until-2026"]))
    table = looked(tmp_path / "x.csv", "\n".join(["sex,n,age,born", *lines]), choices)
    assert [(found.low, found.high) for found in table.columns[1:3]] == [(0, 39), (1, 29)]
    assert column(table, "age").rows == 300
    assert column(table, "born").high == days_of(max(date(1960 + i % 30, 3, i % 28 + 1) for i in range(300)))
