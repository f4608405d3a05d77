"""Normal forms of keys."""

from __future__ import annotations

import pytest

from protocols.alignment.forms import Form, UnreadableError, normal_column
from smc.errors import InputError


@pytest.mark.parametrize(
    ("form", "cells", "normal"),
    [
        ("case", ["ZOE", "zoe", "Zoe "], "zoe"),
        ("accents+case", ["Zoë", "Zoe\u0308", "ZOE"], "zoe"),  # both forms of the letter
        ("case", ["Straße", "STRASSE"], "strasse"),
        ("spaces+case", ["Ada  Lovelace", "ada\u00a0lovelace"], "ada lovelace"),
        ("letters+case", ["O'Neil-Smith", "oneil smith"], "oneilsmith"),
        ("digits", ["756.1234.5678.97", "756 1234567897", "٧٥٦1234567897"], "7561234567897"),
        ("digits+zeros", ["0012-3", "123"], "123"),
        ("initials+case", ["Ada King Lovelace", "a. k. l."], "akl"),
        ("date:dmy", ["1.2.1990", "01/02/1990", "1990-02-01", "01021990", "1990-2-1"], "1990-02-01"),
        ("date:mdy", ["2/1/1990", "02-01-1990", "1990-02-01"], "1990-02-01"),
        ("date:ymd", ["19900201", "1990.2.1"], "1990-02-01"),
        ("case", ["Ирина", "ИРИНА"], "ирина"),
        ("case", ["王芳", " 王芳 "], "王芳"),
    ],
)
def test_spellings_of_one_key_are_one_text(form: str, cells: list[str], normal: str) -> None:
    assert {Form.of(form).normal(cell) for cell in cells} == {normal}


def test_telephone_numbers_are_in_the_form_of_e164() -> None:
    pytest.importorskip("phonenumbers")
    form = Form.of("phone:CH")
    assert {form.normal(cell) for cell in ("079 123 45 67", "+41 79 123 45 67", "0041791234567")} == {"+41791234567"}
    with pytest.raises(UnreadableError):
        form.normal("none")


@pytest.mark.parametrize("cell", [None, "", " ", "?"])
def test_a_cell_without_value_is_missing(cell: str | None) -> None:
    assert Form.of("case").normal(cell) is None
    assert Form.of("digits").normal("none") is None


@pytest.mark.parametrize(("form", "cell"), [("date:dmy", "31.2.1990"), ("date:dmy", "1.2.90"), ("date:ymd", "May 1")])
def test_a_date_is_not_guessed(form: str, cell: str) -> None:
    with pytest.raises(UnreadableError):
        Form.of(form).normal(cell)


def test_a_column_counts_the_cells_that_it_cannot_read() -> None:
    assert normal_column(Form.of("date:dmy"), ["x", "1.2.1990", None, "x"]) == ([None, "1990-02-01", None, None], 2)


@pytest.mark.parametrize(
    ("form", "problem"),
    [("cases", "there is no step 'cases'"), ("date", "write date as date:dmy"), ("phone:ch", "write phone as phone:C")],
)
def test_a_step_that_does_not_exist_is_refused(form: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Form.of(form)
