"""docs/lesson.md and docs/lesson-tree.md: what the script writes, commands that exist, and numbers in the texts."""

from __future__ import annotations

import itertools
import math
import re
from functools import partial

import numpy as np
import pytest

from parties.commands.lesson import TOPICS
from parties.lesson.decision_tree import MAX_ROWS
from parties.lesson.logarithm import BOUND, DELTA
from parties.tables import example
from protocols.counts import RowCounts
from protocols.id3 import Leaf, Problem, id3
from protocols.millionaires import comparison
from protocols.precision import derive
from protocols.tree import Tree
from scripts.lesson_page import EXTRA_ROW, PAGES, TEXTS, exhausted, page, views
from smc.engines import make_engine
from smc.local import run_local
from smc.session import Session
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
    assert {views("garbled")[1][0]["values"][wire][-1] for wire in "ab"} == {"1"}  # "both colours are 1"


def test_shares_look_random() -> None:
    shown = [step["values"] for view in views("shares") for step in view[:-1]]
    shares = {name: value for values in shown for name, value in values.items() if name[1:]}
    assert len(shares) == 6
    assert len({*shares.values()}) >= 5
    assert not {*shares.values()} & {"0000", "1111"}  # the other share would be the secret, or its opposite


def test_the_error_of_the_logarithm_is_the_proven_one() -> None:
    precision, smaller = derive(DELTA, BOUND), derive(DELTA, 2 * MAX_ROWS)
    text = TEXTS["logarithm"].replace("\n", " ")
    assert pytest.approx(0.00025) == DELTA / 4
    assert (1 << precision.cells, precision.terms) == (1 << smaller.cells, smaller.terms) == (8, 2)
    assert f"{precision.fraction} fraction bits in place of {smaller.fraction}" in text
    assert f"{precision.digits[0]} binary digits after the point, the inner d has {precision.digits[1]}." in text
    for number in (precision.error, *precision.error_parts):
        assert f"{float(number):.6f}" in text
    assert f"1500 x 0.000196 = {1500 * round(float(precision.error), 6):.3f}" in text
    errors = re.findall(r"error \S(\S+)", str(views("logarithm")[0]))
    assert [float(error) for error in errors[:3]] == [0.019, 0.00018, 0.0000084]


def test_the_answers_of_step_2() -> None:
    """The right answer of each row of the table is that of the protocol."""
    rows = re.findall(r"^\| (yes, \w+) \| ([\w, ]+) \|.* \| ([\w ]+) \|$", TREE, re.MULTILINE)
    assert len(rows) == 4
    problem = Problem(domains=(2,), classes=2, max_rows=4)

    def program(session: Session, own: tuple[list[str], list[str]]) -> Tree:
        labels = np.array([label == "yes" for label in own[session.party] if label != "none"], dtype=np.int64)
        return id3(make_engine(session, "clear"), problem, RowCounts((2,), 2, labels.reshape(-1, 1), labels))

    for left, right, answer in rows:
        tree, _ = run_local(partial(program, own=(left.split(", "), right.split(", "))))
        assert (tree == Leaf(1)) == (answer == "leaf yes")


def test_the_sums_of_the_entropies() -> None:
    formula, number = re.findall(r"^    (5 ln 5.*) = ([\d.]+)$", TREE, re.MULTILINE)[0]
    added, _, taken = formula.partition(" - ")
    value, less = (sum(int(x) * math.log(int(x)) for x in re.findall(r"(\d) ln", part)) for part in (added, taken))
    assert f"{value - less:.3f}" == number
    before = -sum(n / 14 * math.log2(n / 14) for n in (9, 5))
    after = (value - less) / 14 / math.log(2)
    assert f"{before:.5f} - {after:.5f} = {before - after:.5f}" in TREE
    assert re.search(rf"^\| outlook .* {number} \|$", TREE, re.MULTILINE)
    assert f"{14 * 0.6935 * 0.6931:.2f}" == number[:4]


def test_each_message_of_the_shares_has_a_check() -> None:
    sizes = [int(message.split()[2]) for message in views("shares")[0][-1]["values"]["messages"]]
    assert sizes == [16 + 1] * 4
    assert "34 bytes below are two messages" in TEXTS["shares"]


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


def test_the_row_of_the_page_leaves_no_attribute() -> None:
    """The page holds the program's output: its row makes three equal days of two classes."""
    assert f"Add the row `{EXTRA_ROW}` twice" in TREE
    days = [path.read_text() for path in (example.demo().clinic_a, example.demo().clinic_b)]
    assert f"{EXTRA_ROW.removesuffix('yes')}no" in days[0]
    assert TREE.count("Level 4, step 1: no attribute is left") == 2
    for text, added in ((TREE, 2), (exhausted(1), 1)):  # yes 0 + 2 and no 1 + 0; then a tie
        for rows in ("yes 0, no 1", f"yes {added}, no 0"):
            assert f"temperature = hot your rows: {rows}      opened: leaf, yes\n" in text
