"""Published tables of counts, read back from what `smc publish table` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.alone.attacks.reconstruction import Count
from parties.alone.attacks.tables import counts_of
from parties.alone.publish.hiding.table_text import as_csv
from smc.errors import InputError


def test_a_crossed_table(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(as_csv("county", ["a", "Total"], ["N", "Total"], [["3", "x"], ["x", "9"]]))
    assert counts_of(["county", "age"], file) == [
        Count((("county", "N"), ("age", "a")), 3),
        Count((("county", "N"),), None),
        Count((("age", "a"),), None),
        Count((), 9),
    ]
    file.write_text(as_csv("county", ["Total"], ["N", "Total"], [["3"], ["9"]]))
    assert counts_of(["county"], file) == [Count((("county", "N"),), 3), Count((), 9)]


def test_a_line_for_every_count(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b,c,count\nx,u,m,2\nx,Total,m,-1\n")
    expected = [Count((("a", "x"), ("b", "u"), ("c", "m")), 2), Count((("a", "x"), ("c", "m")), -1)]
    assert counts_of(["a", "b", "c"], file) == expected
    file.write_text("a,b,count\nx,u,2\n")
    assert counts_of(["a", "b"], file) == [Count((("a", "x"), ("b", "u")), 2)]


@pytest.mark.parametrize(
    ("names", "text", "message"),
    [
        (["b", "a"], "a,u,Total\nx,1,2\n", "not a table of b and a: its first column is 'a'"),
        (["a"], "a,u,v\nx,1,2\n", "not a table of a"),
        (["a", "b", "c"], "a,u,v\nx,1,2\n", "than two columns, write one count on each line"),
        (["a", "b"], "a,u,Total\nx,1.5,2\n", "column 'u': '1.5' is not a number of rows"),
    ],
)
def test_other_files(names: list[str], text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        counts_of(names, file)
