"""The kinds of entries, and their fields."""

from __future__ import annotations

from typing import get_args

from parties.node.records.kinds import FIELDS, EntryKind


def test_every_kind_has_its_fields() -> None:
    assert set(FIELDS) == set(get_args(EntryKind))
