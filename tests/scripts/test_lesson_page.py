"""docs/lesson.md and docs/lesson-tree.md: what the script writes, commands that exist, and numbers in the texts."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from parties.commands.lesson import TOPICS
from parties.lesson.decision_tree import decision_tree
from parties.lesson.logarithm import DELTA
from parties.tables import example
from protocols.millionaires import comparison
from scripts.lesson_page import PAGES, TEXTS, page, views
from smc.engines import make_engine
from smc.local import run_local
from tests.support.command_lines import spans, unknown
from tests.support.places import ROOT

PAGE = {name: (ROOT / "docs" / name).read_text() for name in PAGES}
TREE = PAGE["lesson-tree.md"]


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_script_writes(name: str) -> None:
    assert page(name) == PAGE[name]
    assert len(PAGE[name].splitlines()) <= 400


def test_each_topic_has_its_place() -> None:
    assert [topic for topics in PAGES.values() for topic in topics] == list(TOPICS)


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_the_page_exist(name: str) -> None:
    commands = set(spans(PAGE[name]))
    assert len(commands) >= 3
    assert not [command for command in commands if unknown(command)]


def test_numbers_in_a_text_are_those_of_the_views() -> None:
    shown = "\n".join(map(str, views("transfer")))
    numbers = re.findall(r"\b\d{5,}\b", TEXTS["transfer"])
    assert len(numbers) >= 4
    assert not [number for number in numbers if number not in shown]
    assert "colour" in str(views("garbled")[1][0]["values"]["a"])
    assert {views("garbled")[1][0]["values"][wire][-1] for wire in "ab"} == {"0"}  # "both colours are 0"


def test_the_error_of_the_logarithm_is_the_proven_one() -> None:
    seen = {name: value for step in views("logarithm")[0] for name, value in step["values"].items()}
    assert float(seen["bound"]) / seen["x"] == pytest.approx(0.000062)
    assert pytest.approx(0.00025) == DELTA / 4
    assert "at most 0.000062" in TEXTS["logarithm"]
    assert "1500 x 0.000062 = 0.093" in TEXTS["logarithm"].replace("\n", " ")


def test_the_picture_has_the_gates_of_a_cell() -> None:
    picture = (ROOT / "docs" / "pictures" / "comparison.svg").read_text()
    gates = re.findall(r'class="gate"[^>]*>(\w+)<', picture)
    assert sorted(gates) == ["AND", "XOR", "XOR", "XOR"]
    netlist = comparison(32, False)
    assert netlist.and_count == gates.count("AND") * 32
    for x, y in itertools.product(range(8), repeat=2):
        b = 0
        for i in range(3):
            b ^= ((x >> i ^ y >> i) & (y >> i ^ b)) & 1
        assert b == (y > x)


def test_the_row_of_the_page_leaves_no_attribute(tmp_path: Path) -> None:
    (row,) = re.findall(r"add the row `([\w,]+)`", TREE)
    left = tmp_path / "left.csv"
    left.write_text(f"{example.demo().clinic_a.read_text().rstrip()}\n{row}\n")
    view, _ = run_local(lambda s: decision_tree(make_engine(s, "yao"), ("" if s.party else str(left))))
    assert "Level 4, step 1: no attribute is left" in str(view)
    assert "temperature = hot your rows: yes 1, no 1      opened: leaf, yes\n" in str(view)
