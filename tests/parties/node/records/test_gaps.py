"""What was received of a log: repeats, any order and other words are no matter; what lacks or differs is told."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from parties.node.records import reading
from parties.node.records.chain import EMPTY, Row
from parties.node.records.database import rows, signed_head
from parties.node.records.export import line, to_lines
from parties.node.records.gaps import Received, read


@pytest.fixture(scope="module")
def entries(kept: Path) -> list[Row]:
    with reading(kept) as connection:
        return list(rows(connection))


def received(tmp_path: Path, lines: list[str], first: int | None = None) -> Received:
    path = tmp_path / "received"
    path.write_text("\n".join(lines) + "\n")
    found = read([path]) if first is None else read([path], first)
    found.problems[:] = [problem.replace(f"{path}, ", "") for problem in found.problems]
    return found


def test_repeats_in_any_order_behind_a_servers_words_are_the_log(entries: list[Row], tmp_path: Path) -> None:
    lines = [f'<134>1 2026-03-01T00:00:00Z a smc - - {{"at": {line(row)} ' for row in 2 * entries]
    random.Random(1).shuffle(lines)
    found = received(tmp_path, ["", *lines, "  "])
    assert (found.problems, found.repeats, found.empty) == ([], len(entries), 0)
    assert found.rows == {row.number: row for row in entries}


def test_the_head_behind_an_exports_entries_is_none_of_them(entries: list[Row], kept: Path, tmp_path: Path) -> None:
    with reading(kept) as connection:
        lines = to_lines(rows(connection), signed_head(connection)).splitlines()
    assert lines[-1].startswith('{"head":')
    assert received(tmp_path, lines).problems == []
    assert received(tmp_path, [*lines[:2], *lines[3:]]).problems == ["entry 3 is missing"]


@pytest.mark.parametrize("number", [1, 4])
def test_an_entry_that_lacks_is_told(entries: list[Row], tmp_path: Path, number: int) -> None:
    found = received(tmp_path, [line(row) for row in entries if row.number != number])
    assert found.problems == [f"entry {number} is missing"]


def test_what_is_before_the_first_in_question_may_lack(entries: list[Row], tmp_path: Path) -> None:
    lines = [line(row) for row in entries[2:]]
    assert received(tmp_path, lines, 3).problems == []
    assert received(tmp_path, lines[1:], 3).problems == ["entry 3 is missing"]
    assert received(tmp_path, lines, 20).problems == ["there is no entry from 20 on"]
    assert received(tmp_path, []).problems == ["there is no entry"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("}", ""), (",", ", "), ('"number":3', '"number":"3"'), ('"previous":', '"before":'), ('"hash":"', '"hash":["')],
)
def test_a_line_that_was_changed_is_told_by_its_number(entries: list[Row], tmp_path: Path, old: str, new: str) -> None:
    lines = [line(row) for row in entries]
    lines[2] = lines[2].replace(old, new)
    told = ["line 3: not an entry, or it was cut or changed", "entry 3 is missing"]
    assert received(tmp_path, lines).problems == told


def test_a_hash_that_is_no_text_is_no_entrys(entries: list[Row], tmp_path: Path) -> None:
    row = entries[2]._replace(hash=3)  # type: ignore[arg-type]
    told = ["line 1: not an entry, or it was cut or changed", "there is no entry"]
    assert received(tmp_path, [line(row)]).problems == told


@pytest.mark.parametrize("after", [False, True])
def test_two_entries_of_one_number_contradict_each_other(entries: list[Row], tmp_path: Path, after: bool) -> None:
    """And the one that is whole counts, in whatever order they came."""
    forged = line(entries[2]._replace(fields='{"forged":1}'))
    lines = [line(row) for row in entries]
    found = received(tmp_path, [*lines, forged] if after else [forged, *lines])
    places = (10, 3) if after else (1, 4)
    assert found.problems == [f"line {places[0]}: entry 3 differs from the entry 3 in line {places[1]}"]
    assert found.rows[3] == entries[2]


@pytest.mark.parametrize("after", [False, True])
def test_one_that_came_without_its_content_contradicts_nothing(entries: list[Row], tmp_path: Path, after: bool) -> None:
    row = next(row for row in entries if row.job)
    empty, lines = line(row._replace(fields=EMPTY)), [line(other) for other in entries]
    found = received(tmp_path, [*lines, empty] if after else [empty, *lines])
    assert (found.problems, found.empty, found.repeats) == ([], 0, 1)
    assert found.rows[row.number] == row
    alone = received(tmp_path, [empty if other == row else line(other) for other in entries])
    assert (alone.empty, alone.rows[row.number].fields) == (1, EMPTY)
