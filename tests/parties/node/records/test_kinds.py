"""The kinds of entries, and their fields."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from parties.node.records.kinds import FIELDS, MAX_TEXT, Cancelled, EntryKind, Failed, Interrupted, NotNegative


def test_every_kind_has_its_fields() -> None:
    assert set(FIELDS) == set(get_args(EntryKind))


def test_a_text_of_two_thousand_characters_stays_and_a_longer_one_is_cut() -> None:
    assert MAX_TEXT == 2000
    whole, longer = (Failed(error="E", why="x" * length).why for length in (2000, 2001))
    assert whole == "x" * 2000
    assert longer == "x" * 1999 + "…"


def test_what_an_entry_does_not_say_is_nothing() -> None:
    """Logs have entries from before there were these fields."""
    assert Interrupted(why="", bytes_sent=3, bytes_received=4).depth == 0
    failed = Failed(error="E")
    cancelled = Cancelled(by="us")
    for entry in (failed, cancelled):
        assert (entry.why, entry.bytes_sent, entry.bytes_received) == ("", 0, 0)


@pytest.mark.parametrize(
    "fields", [{"bytes_sent": "3"}, {"bytes_sent": 3.0}, {"bytes_sent": -1}, {"bytes_sent": True}, {"bytes": 3}]
)
def test_sizes_are_whole_numbers_and_nothing_else_has_a_place(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Failed.model_validate({"error": "E", **fields})


@pytest.mark.parametrize("number", [math.inf, math.nan, -0.5])
def test_what_is_spent_is_a_number_from_0_up(number: float) -> None:
    spent = TypeAdapter(NotNegative)
    assert spent.validate_python(0.0) == 0
    with pytest.raises(ValidationError):
        spent.validate_python(number)
