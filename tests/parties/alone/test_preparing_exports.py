"""Raw files as exports of other programs are: lines around the table, births before 1927, days as numbers, marks."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.profile import profile
from parties.alone.preparing.proposing import TableProposal, propose
from parties.alone.preparing.readings import REFUSE, Choices, given
from parties.sources.opening import open_table
from parties.sources.settings import PlaceSettings, TableSettings
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
    with pytest.raises(InputError, match="line 122: .* fields, but the header has 3"):
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
