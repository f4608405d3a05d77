"""How far targets of shipping are: from the beginning on, each by itself."""

from __future__ import annotations

import sqlite3

from parties.node.records import shipped
from parties.node.records.shipped import Shipped


def test_a_target_is_where_it_was_put_last() -> None:
    connection = sqlite3.connect(":memory:")
    assert shipped.of(connection, "a") == Shipped(0, "", "", ""), "a log from before there were targets"
    connection.execute(shipped.TABLE)
    for at in (Shipped(3, "ab", "2026-03-01", ""), Shipped(4, "cd", "2026-03-02", "nobody answers")):
        shipped.put(connection, "a", at)
        assert shipped.of(connection, "a") == at
    assert shipped.of(connection, "b") == Shipped()
