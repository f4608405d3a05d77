"""Rows of people on a list of objections are no part of a table, whatever other reasons there are to leave one out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.sources import open_table
from parties.sources.settings import MOST_OBJECTIONS, TableSettings
from parties.sources.source import LeftOut
from parties.tables.schema import Schema
from smc.errors import InputError

SCHEMA = Schema({"sex": ("f", "m"), "y": ("a", "b")}, "y")
FRAME = pandas.DataFrame(
    {
        "who": ["7", "8", "7", "08", None, "o'neil", "9"],
        "agreed": ["yes", "yes", "no", "yes", "yes", "yes", "no"],
        "sex": ["f", "m", "f", "m", "f", "m", "f"],
        "y": ["a", "a", "b", "a", "b", "b", "a"],
    }
)


def table(folder: Path, lines: str, **more: Any) -> TableSettings:
    FRAME.to_csv(folder / "x.csv", index=False)
    (folder / "objections.txt").write_text(lines)
    objections = {"column": "who", "file": str(folder / "objections.txt")}
    schema = {"schema": str(folder / "schema.toml")}
    return TableSettings.model_validate({"source": str(folder / "x.csv"), "objections": objections, **schema, **more})


def counted(of: TableSettings) -> tuple[int, LeftOut]:
    with open_table(of, SCHEMA, "y", ["sex", "y"]) as source:
        return source.check(), source.left_out()


def test_whoever_is_on_the_list_is_not_counted(tmp_path: Path) -> None:
    """To the letter; empty lines, remarks and space around a name do not count; a row that is nobody's stays."""
    assert counted(table(tmp_path, "# asked by letter\n\n 7 \no'neil\n")) == (4, LeftOut(objections=3))
    assert counted(table(tmp_path, "# nobody yet\n")) == (7, LeftOut())


def test_a_row_is_left_out_for_the_first_reason(tmp_path: Path) -> None:
    found = counted(table(tmp_path, "7\n9\n", where="sex = 'f' OR who = 'o''neil'", consent="agreed"))
    assert found == (2, LeftOut(where=2, consent=2, objections=1))


def test_a_line_of_the_list_ends_with_a_line_feed_alone(tmp_path: Path) -> None:
    """Else a name with another mark in it would be two, and whoever has it would stay counted."""
    listed = table(tmp_path, "").objections
    assert listed is not None
    listed.file.write_bytes("a\u2028b\x1cc\r\n7\n".encode())
    assert listed.people() == ("7", "a\u2028b\x1cc")
    listed.file.write_bytes(b"7\n8\r9\n")
    with pytest.raises(InputError, match="line 2 has a carriage return in it"):
        listed.people()


@settings(deadline=None, max_examples=20)
@given(listed=st.sets(st.sampled_from(["7", "8", "08", "o'neil", "9", "nobody", "%", "a\\b", 'x"y'])))
def test_any_list(tmp_path_factory: pytest.TempPathFactory, listed: set[str]) -> None:
    left = FRAME["who"].isin(listed).sum()
    found = counted(table(tmp_path_factory.mktemp("any"), "\n".join(listed)))
    assert found == (len(FRAME) - left, LeftOut(objections=left))


def test_an_objection_acts_when_the_table_is_next_opened_and_is_another_version(tmp_path: Path) -> None:
    of = table(tmp_path, "7\n", version="1")
    before, state = counted(of), of.state
    (tmp_path / "objections.txt").write_text("7\n9\n")
    assert (counted(of)[0], before[0]) == (4, 5)
    assert (then := of.state) != state
    (tmp_path / "objections.txt").write_text("# in another order\n9\n7\n")
    assert (counted(of)[0], of.state) == (4, then)


def test_a_list_that_cannot_be_is_told_in_a_line(tmp_path: Path) -> None:
    of = table(tmp_path, "\n".join(map(str, range(MOST_OBJECTIONS + 1))))
    with pytest.raises(InputError, match=r"10,001 people, more than the 10,000.*name the column as `consent`"):
        counted(of)
    (tmp_path / "objections.txt").unlink()
    with pytest.raises(InputError, match=r"objections\.txt: there is no such file; make an empty one .*touch"):
        counted(of)
    assert of.state == of.state
    wrong = of.model_copy(update={"objections": of.objections.model_copy(update={"column": "whom"})})  # type: ignore[union-attr]
    (tmp_path / "objections.txt").write_text("7\n")
    with pytest.raises(InputError, match=r"objections: there is no column 'whom' \(did you mean 'who'\?\)"):
        counted(wrong)
