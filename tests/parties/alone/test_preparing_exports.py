"""Raw files as exports of other programs are: lines around the table, births before 1927, days as numbers, marks."""

from __future__ import annotations

import unicodedata
from datetime import date
from pathlib import Path

import pytest

from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.profile import profile
from parties.alone.preparing.proposing import TableProposal, propose
from parties.alone.preparing.readings import REFUSE, Choices, given
from parties.sources.opening import open_table
from parties.sources.settings import DerivedSettings, PlaceSettings, TableSettings
from parties.tables.schema import Schema
from parties.tables.types import days_of
from smc.errors import InputError

BODY = "".join(f"{20 + i % 60};{('Bern', 'Basel')[i % 2]};{('yes', 'no')[i % 3 % 2]}\n" for i in range(120))


def looked(path: Path, content: str | bytes, *readings: str) -> TableProfile:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return profile(PlaceSettings(source=str(path)), None, Choices(given(readings), REFUSE.ask))


def column(table: TableProfile, name: str) -> ColumnProfile:
    return next(column for column in table.columns if column.name == name)


def remarks(proposal: TableProposal, name: str) -> str:
    return "; ".join(next(column for column in proposal.columns if column.name == name).remarks)


def rows_read(table: TableProfile, proposal: TableProposal) -> int:
    """The rows that every command reads with what is written."""
    settings = TableSettings.model_validate(
        {"source": table.place.source, "schema": "schema.toml", "columns": proposal.mapping},
        context={"directory": Path()},
    )
    settings = settings.model_copy(update={"format": table.spelling})
    with open_table(settings, proposal.schema, next(iter(proposal.schema.attributes))) as source:
        return source.check()


@pytest.mark.parametrize(
    ("before", "header", "after", "dropped"),
    [
        ("Register;;\n", 'age;"home\ntown";ill\n', "", ()),
        ("Register;2026-01-01;\nward 7;;\n\n", "age;home town;ill\n", "", ()),
        ("", "age;home town;ill\n", "End of report\n", ("End of report",)),
        ("", "age;home town;ill\n", "\n(120 rows affected)\n", ("(120 rows affected)",)),
        ("", "age;home town;ill\n", "Total;;120\nSource: own data\n", ("Source: own data", "Total")),
    ],
)
def test_lines_around_the_table_are_no_rows(
    tmp_path: Path, before: str, header: str, after: str, dropped: tuple[str, ...]
) -> None:
    table = looked(tmp_path / "a.csv", before + header + BODY + after)
    assert [column.name for column in table.columns] == ["age", "home town", "ill"]
    assert (table.rows, table.spelling.drop_rows) == (120, dropped)
    assert rows_read(table, propose(table)) == 120
    assert "left out" in " ".join(table.remarks) or not (before + after)


@pytest.mark.parametrize("end", ["21;Ber", "21", "Bern"])
def test_a_line_that_was_cut_off_is_refused(tmp_path: Path, end: str) -> None:
    with pytest.raises(InputError, match=r"line 122: .* fields, but the header has 3"):
        looked(tmp_path / "a.csv", "age;town;ill\n" + BODY + end)


def births(first: int, last: int, seen: int) -> str:
    rows = "".join(f"03.04.{(first + i % (last - first + 1)) % 100:02};05.06.{seen}\n" for i in range(300))
    return "birth;seen\n" + rows


def test_births_of_two_digits_are_before_all_other_days(tmp_path: Path) -> None:
    """Patients of 1990, born from 1898 on: 12 is 1912."""
    table = looked(tmp_path / "a.csv", births(1898, 1968, 1990))
    birth = column(table, "birth")
    assert (birth.low, birth.high) == (days_of(date(1898, 4, 3)), days_of(date(1968, 4, 3)))
    assert "two-digit years are 1869 to 1968" in remarks(propose(table), "birth")


def test_births_of_two_digits_that_fit_two_centuries_are_asked_for(tmp_path: Path) -> None:
    content = births(1910, 1960, 2026)
    with pytest.raises(
        InputError, match=r"until-20.. \(births of 1927 to 20..\) or until-1960 \(births of 1910 to 1960"
    ):
        looked(tmp_path / "a.csv", content)
    birth = column(looked(tmp_path / "a.csv", content, "birth=until-1960"), "birth")
    assert (birth.low, birth.high) == (days_of(date(1910, 4, 3)), days_of(date(1960, 4, 3)))


def test_days_that_excel_counted_are_days_by_a_choice(tmp_path: Path) -> None:
    """36526 is the first of January 2000; the fraction is the time of the day."""
    rows = "".join(f"{36526 + i}.25;{36526 + 3 * i};{36526 + i % 90}\n" for i in range(200))
    with pytest.raises(
        InputError, match=r"column 'seen_date': decimal-point \(.*\) or excel \('36706.25' is 2000-06-29"
    ):
        looked(tmp_path / "a.csv", "seen_date;end;price\n" + rows)
    given_here = "seen_date=excel", "end=excel"
    table = looked(tmp_path / "a.csv", "seen_date;end;price\n" + rows, *given_here)
    assert column(table, "seen_date").low == column(table, "end").low == days_of(date(2000, 1, 1))
    assert column(table, "end").high == days_of(date(2000, 1, 1)) + 3 * 199
    proposal = propose(table)
    assert rows_read(table, proposal) == 200
    assert "--reading price=excel" in remarks(proposal, "price")


def test_a_frequent_code_among_plausible_numbers_is_asked_for(tmp_path: Path) -> None:
    rows = "".join(f"{9999 if i % 9 == 0 else 5000 + i * 37 % 9000};{i % 2}\n" for i in range(400))
    with pytest.raises(InputError, match=r"value .* or missing:9999 "):
        looked(tmp_path / "a.csv", "income;y\n" + rows)


def test_a_question_names_a_cell_on_which_the_readings_differ(tmp_path: Path) -> None:
    rows = "".join(f"{i % 200};{i % 2}\n" for i in range(3000)) + '"1,004";1\n'
    with pytest.raises(InputError, match=r"decimal-point \('1,004' is 1004\) or decimal-comma \('1,004' is 1.004\)"):
        looked(tmp_path / "a.csv", "pgr;y\n" + rows)


def test_numbers_beyond_a_limit_are_asked_for(tmp_path: Path) -> None:
    rows = "years;y\n" + "".join(f"{'10+' if i % 3 == 0 else i % 10};{i % 2}\n" for i in range(300))
    with pytest.raises(InputError, match=r"missing:10\+ .* or number \('10\+' is 10\) or text"):
        looked(tmp_path / "a.csv", rows)
    table = looked(tmp_path / "a.csv", rows, "years=number")
    assert (column(table, "years").high, column(table, "years").rows) == (10, 300)
    assert rows_read(table, propose(table)) == 300
    assert column(table, "years").odd == ()
    assert column(looked(tmp_path / "a.csv", rows, "years=missing:10+"), "years").high == 9
    assert column(looked(tmp_path / "a.csv", rows, "years=text"), "years").reads == "text"


def test_versions_are_asked_for(tmp_path: Path) -> None:
    rows = "version;y\n" + "".join(f"1.{i % 12};{i % 2}\n" for i in range(300))
    with pytest.raises(InputError, match=r"number \('1.1', '1.10' are one number\) or text"):
        looked(tmp_path / "a.csv", rows)
    assert "1.10" in propose(looked(tmp_path / "a.csv", rows, "version=text")).schema.attributes["version"]


@pytest.mark.parametrize("form", ["days in out", "age born in"])
def test_a_time_that_runs_backwards_is_remarked(tmp_path: Path, form: str) -> None:
    rows = "".join(f"{1850 + i % 50}-03-04;2024-03-{i % 28 + 1:02};2024-03-{(i + 9) % 28 + 1:02}\n" for i in range(200))
    (tmp_path / "a.csv").write_text("born;in;out\n" + rows)
    name, *columns = form.split()
    derived = {"span": DerivedSettings.model_validate({name: columns})}
    table = profile(PlaceSettings(source=str(tmp_path / "a.csv")), None, REFUSE, derived)
    assert "are days and months swapped" in remarks(propose(table), "span")


def first(path: Path, cells: list[str], *readings: str) -> tuple[ColumnProfile, str]:
    """Return the profile and the remarks of a column of these cells."""
    rows = "".join(f"{cell};{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    table = looked(path / "a.csv", "x;y\n" + rows, *readings)
    return column(table, "x"), remarks(propose(table), "x")


def test_a_number_below_one_has_no_thousands(tmp_path: Path) -> None:
    found, _ = first(tmp_path, [f"0.{i + 1:03}" for i in range(120)])
    assert (found.reads, found.low, found.high) == ("real", 0.001, 0.12)


@pytest.mark.parametrize(("last", "reads"), [(23, "time"), (30, "text")])
def test_a_duration_is_no_time_of_the_day(tmp_path: Path, last: int, reads: str) -> None:
    assert first(tmp_path, [f"{i % (last + 1):02}:{i % 4}5" for i in range(240)])[0].reads == reads


def test_99_as_the_most_frequent_age_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"value .* or missing:99 "):
        first(tmp_path, ["99" if i % 9 == 0 else f"{20 + i % 79}" for i in range(400)])


def test_cells_that_begin_with_an_apostrophe_are_not_quoted(tmp_path: Path) -> None:
    found, _ = first(tmp_path, [f"'{i % 20:03}" for i in range(240)])
    assert (found.reads, found.distinct) == ("text", 20)


@pytest.mark.parametrize(
    ("cells", "remark"),
    [
        ([f"{i % 28 + 1:02}.{i % 12 + 1:02}" for i in range(240)], "has a leading zero: are these numbers, or days"),
        ([f"{i}.5" if i % 2 else f"{i},5" for i in range(240)], "read as texts, such as"),
    ],
)
def test_doubts_are_remarked(tmp_path: Path, cells: list[str], remark: str) -> None:
    assert remark in first(tmp_path, cells)[1]


def test_mapped_values_are_those_of_composed_and_decomposed_letters(tmp_path: Path) -> None:
    cells = [unicodedata.normalize(form, "Hypothèque") for form in ("NFC", "NFD")] * 60
    table = looked(tmp_path / "a.csv", "home;y\n" + "".join(f"{cell};{i % 2}\n" for i, cell in enumerate(cells)))
    schema = Schema({"home": ("own", "rent")}, None)
    for form in ("NFC", "NFD"):
        mapping = {"home": {"values": {unicodedata.normalize(form, "Hypothèque"): "own"}}}
        assert rows_read(table, TableProposal(schema, (), mapping=mapping)) == 120


@pytest.mark.parametrize(("name", "is_key"), [("N° prêt", True), ("prix", False)])
def test_numbers_called_numero_are_a_key(tmp_path: Path, name: str, is_key: bool) -> None:
    table = looked(tmp_path / "a.csv", f"{name};y\n" + "".join(f"{i * i % 99991};{i % 2}\n" for i in range(200)))
    assert (name in propose(table).schema.keys) == is_key


def test_numbers_with_the_other_decimal_mark_are_asked_for(tmp_path: Path) -> None:
    """0.500 among 1.234,5 may be 0.5, 500 or a fault; 1,5 among 2.5 likewise."""
    comma = "dose;y\n" + "".join(
        f"{'0.500' if i % 50 == 7 else f'{i}.{i * 7 % 1000:03},5'};{i % 2}\n" for i in range(1, 99)
    )
    point = "dose;y\n" + "".join(f"{'1,5' if i % 50 == 7 else f'{i % 9}.5'};{i % 2}\n" for i in range(1, 99))
    for content, odd in ((comma, "0.500"), (point, "1,5")):
        with pytest.raises(InputError, match=rf"column 'dose': number \('{odd}': missing, .*\) or text .*dose=number"):
            looked(tmp_path / "a.csv", content)
        dose = column(looked(tmp_path / "a.csv", content, "dose=number"), "dose")
        assert (dose.reads, dose.odd, dose.spelling.missing) == ("real", (odd,), (odd,))
        assert "read as missing, " in "; ".join(dose.remarks)
        assert column(looked(tmp_path / "a.csv", content, "dose=text"), "dose").reads == "text"
