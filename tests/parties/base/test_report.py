"""A report: one document, printed as text, JSON, CSV and as a page."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.base.report import Report
from parties.base.text import csv_text
from smc.errors import InputError

DATA = {"rows": 12345, "right": 0.5, "names": ["a", "b"], "none": None, "part": {"sent": 1_400_000}}


def test_facts_are_templates_over_the_document_and_aligned() -> None:
    report = Report(DATA, width=8)
    report.facts({"rows": "{rows:,}", "right of them": "{right:.1%}"})
    report.facts({"names": "{names:list}", "sent": "{part[sent]:size}", "none": "{none}"})
    assert report.text() == (
        "rows          12,345\nright of them 50.0%\nnames         a, b\nsent          1.4 MB\nnone          -\n"
    )


def test_a_fact_may_be_missing_only_if_it_says_so() -> None:
    report = Report(DATA)
    report.facts({"left out": "?{nothing:,}", "rows": "?{rows}"})
    assert report.text() == "rows 12345\n"
    with pytest.raises(KeyError):
        report.facts({"typed wrongly": "{row:,}"})


def test_all_fields_of_a_document_are_facts() -> None:
    report = Report({"cells": 12, "by_the_rules": 3, "names": ["a", "b"]}, width=20)
    report.all_facts()
    assert report.text().splitlines() == [
        "cells                12",
        "by the rules         3",
        "names                a, b",
    ]


@dataclass
class Engine:
    name: str
    sent: int | None


def a_table() -> Report:
    report = Report([])
    rows = [Engine("yao", 1400), Engine("gmw", None)]
    report.table({"engine": "{name}", "sent": ">{sent:size}"}, rows, "costs", strong=lambda row: row.name == "gmw")
    return report


def test_a_table_takes_rows_as_objects_mappings_or_cells() -> None:
    lines = a_table().text().splitlines()
    assert [line.split() for line in lines] == [["costs"], ["engine", "sent"], ["yao", "1.4", "KB"], ["gmw"]]
    assert lines[1].rstrip().endswith("sent")
    assert len({len(line) for line in lines[1:3]}) == 1, "numbers end where their heading does"
    report = Report()
    report.table([("", ""), ("number", ">"), ("", ">")], [("a", 1, "x"), ("b", 20, "y")])
    assert [line.split() for line in report.text().splitlines()] == [["number"], ["a", "1", "x"], ["b", "20", "y"]]
    report.table({"key": "{key}"}, [{"key": "of a mapping"}])
    assert "of a mapping" in report.text()


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))), min_size=2, max_size=2)))
def test_a_table_is_read_back_from_csv(rows: list[list[str]]) -> None:
    report = Report()
    report.table({"a": "", "b": ">"}, rows)
    assert list(csv.reader(io.StringIO(report.csv(), newline=""))) == [["a", "b"], *rows]
    assert csv_text([[None, 1]]) == ",1\n"


@pytest.mark.parametrize(
    ("is_foreign", "text", "shown"),
    [(False, "\x1b[2J\u00e9", "\\x1b[2J\u00e9"), (True, "\x1b[2J\u202ea", "\\x1b[2J\\u202ea")],
)
def test_nothing_steers_the_terminal(
    is_foreign: bool, text: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report({"text": text}, is_foreign=is_foreign)
    report.line(text)
    report.fact(text, text)
    report.facts({"text": "{text}"})
    report.table({text: "{text}"}, [report.data], text)
    report.note(text)
    report.show(as_json=False)
    out, err = capsys.readouterr()
    assert not {"\x1b", "\u202e"} & {*out, *err}
    assert out.count(shown) == 7
    assert err == f"{shown}\n"
    report.section(text, text)
    report.heading(text, text)
    assert not {"\x1b", "\u202e"} & {*report.html(text)}


def test_json_is_the_document_and_notes_stay(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(DATA, exit_code=1)
    report.line("for people")
    report.note("always")
    report.note("for people only", always=False)
    report.written("a.json", None, "b.csv")
    report.written(None)
    assert report.show(as_json=True) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == DATA
    assert err == "always\nwritten: a.json, b.csv\n"
    assert report.show(as_json=False) == 1
    assert capsys.readouterr() == ("for people\n", "always\nfor people only\nwritten: a.json, b.csv\n")


def test_what_others_wrote_is_ascii_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    Report({"purpose": "é\x9b"}, is_foreign=True).show(as_json=True)
    assert capsys.readouterr().out.isascii()
    Report({"purpose": "é"}).show(as_json=True)
    assert "é" in capsys.readouterr().out


@pytest.mark.parametrize("as_json", [True, False])
def test_a_failure_comes_after_all_else(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    report = Report({"ok": False}, failure=InputError("the records are not whole"))
    report.line("a problem")
    with pytest.raises(InputError, match="not whole"):
        report.show(as_json)
    assert ("ok" if as_json else "a problem") in capsys.readouterr().out


def test_a_listing_without_rows_is_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    for as_json, shown in ((False, ("", "nobody\n")), (True, ("[]\n", ""))):
        report = Report([])
        report.listing({"name": "{name}"}, report.data, "nobody")
        report.show(as_json)
        assert capsys.readouterr() == shown


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.cells: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells and data.strip():
            self.cells[-1] += data.strip()


def test_a_page_escapes_all_but_its_pictures() -> None:
    report = Report({"<b>": "<script>"})
    report.line("<i>before</i>")
    report.section("<u>", "<s>", "first")
    report.heading("<em>", "<q>")
    report.all_facts()
    report.table({"<tt>": "", "": "|", "verdict": ""}, [("<a>", "25.0%", "fails")])
    report.picture("<?xml?><svg><g/></svg>", '"<p>')
    page = report.html("<h6>", is_wide=True)
    tags = Tags(page)
    assert not {"b", "i", "u", "s", "em", "q", "tt", "a", "script", "h6", "link", "img"} & {*tags.opened}
    assert "<?xml" not in page
    assert [tag for tag in tags.opened if tag in ("svg", "g")] == ["svg", "g"]
    assert tags.cells[:2] == ["<b>", "<script>"]
    assert tags.cells[5:] == ["<a>", "", "fails"]
    assert "width: 25.0%" in page
    assert '<section id="first">' in page
    assert '<td class="bad">fails</td>' in page
