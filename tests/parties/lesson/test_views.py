"""The views of the lessons: each value follows from the other party's view by the notes' own formulas."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from parties.lesson.decision_tree import decision_tree
from parties.lesson.garbled import gate, millionaires
from parties.lesson.logarithm import logarithm
from parties.lesson.shares import conjunction, shares
from parties.lesson.transfer import transfer
from parties.lesson.view import View, rounds_text
from parties.tables import example
from smc.engines import make_engine
from smc.errors import InputError
from smc.local import run_local


def views(program: Callable[..., View], own: tuple[Any, Any], *public: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a lesson at two parties; return the values of all steps by their names. A later step's value stays."""
    pair = run_local(lambda session: program(make_engine(session, "yao"), own[session.party], *public))
    return tuple({name: value for step in view for name, value in step["values"].items()} for view in pair)  # type: ignore[return-value]


def totals(view: dict[str, Any]) -> tuple[int, int]:
    """Return the bytes sent and received, added up over the listed messages."""
    sizes = {"sent": 0, "received": 0}
    for message in view["messages"]:
        direction, _, size, *_ = message.split()
        sizes[direction] += int(size.replace(",", ""))
    return sizes["sent"], sizes["received"]


@pytest.mark.parametrize("pair", [(11, 6), (0, 15), (15, 15), (0, 0)])
def test_shares_add_up_to_inputs_and_to_the_result(pair: tuple[int, int]) -> None:
    a, b = views(shares, pair)
    both = {**a, **b}
    for name, number in zip("ab", pair, strict=True):
        assert int(both[f"{name}1"], 2) ^ int(both[f"{name}2"], 2) == number
    assert int(a["c1"], 2) == int(a["a1"], 2) ^ int(a["b1"], 2)
    assert int(a["c"], 2) == int(b["c"], 2) == pair[0] ^ pair[1]


def test_both_shares_of_an_input_are_random() -> None:
    """Of 64 runs each share of either party is 0 about as often as 1; a share that is the input would always be."""
    seen = [views(conjunction, (1, 1)) for _ in range(64)]
    for name in ("a1", "b1"):
        assert 10 <= sum(int(a[name]) for a, _ in seen) <= 54  # beyond: 2 in 10^8
    for name in ("a2", "b2"):
        assert 10 <= sum(int(b[name]) for _, b in seen) <= 54


@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("kind", ["extension", "iknp", "softspoken8"])
def test_the_four_rows_are_those_of_the_notes(pair: tuple[int, int], kind: str) -> None:
    a, b = views(conjunction, pair, kind)
    a1, b1, c1, a2, b2 = (int(value) for value in (a["a1"], a["b1"], a["c1"], b["a2"], b["b2"]))
    rows = [int(row.split("= ")[-1]) for row in a["rows"]]
    assert rows == [c1 ^ (a1 & b1), c1 ^ (a1 & ~b1 & 1), c1 ^ (~a1 & 1 & b1), c1 ^ (~a1 & ~b1 & 1)]
    assert b["chosen_row"] == 1 + 2 * a2 + b2
    assert int(b["c2"]) == rows[b["chosen_row"] - 1]
    assert int(a["c"]) == int(b["c"]) == c1 ^ int(b["c2"]) == pair[0] & pair[1]


@pytest.mark.parametrize("choice", [1, 2, 3, 4])
@pytest.mark.parametrize("bits", [24, 25, 64])
def test_the_transfer_opens_the_chosen_message(choice: int, bits: int) -> None:
    messages = [10, 20, 30, 255]
    a, b = views(transfer, (messages, [choice]), bits, True)
    modulus = int(a["N"])
    assert modulus.bit_length() == bits
    for i, (drawn, sent) in enumerate(zip(b["drawn"], a["b"], strict=True), 1):
        expected = pow(int(drawn), 65537, modulus) if i == choice else int(drawn)
        assert int(sent) == expected
    for root, sent, mask, hidden, message in zip(a["inverses"], a["b"], a["e"], b["c"], messages, strict=True):
        assert pow(int(root), 65537, modulus) == int(sent)
        assert mask == sha256(int(root).to_bytes((bits + 7) // 8, "little")).digest()[0]
        assert hidden ^ mask == message
    assert b[f"e{choice}"] == a["e"][choice - 1]
    assert b[f"a{choice}"] == messages[choice - 1]


def test_the_transfer_by_a_real_modulus() -> None:
    a, b = views(transfer, ([1, 2, 3, 4], [4]), 2048)
    assert b["a4"] == 4
    assert "digits" in a["N"]


@pytest.mark.parametrize(
    ("own", "public", "problem"),
    [
        (([1, 2, 3, 4], [1]), (1024,), "1024 bits: give 2048 to 8192, or add --toy"),
        (([1, 2, 3, 4], [1]), (23, True), "23 bits: give 24 to 2047"),
        (([1, 2, 3], [1]), (24, True), "--left: give four messages"),
        (([1, 2, 3, 256], [1]), (24, True), "--left: give four messages"),
        (([1, 2, 3, 4], [5]), (24, True), "--right: give one choice"),
        (([1, 2, 3, 4], "x"), (24, True), "--right: give one choice"),
        (([1, 2, 3, 4], [1]), (2048, True), "2048 bits: give 24 to 2047"),
    ],
)
def test_a_transfer_that_cannot_be(own: tuple[Any, Any], public: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        views(transfer, own, *public)


@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_the_evaluators_labels_stand_for_the_inputs_and_the_result(pair: tuple[int, int]) -> None:
    a, b = views(gate, pair)
    for name, value in (("a", pair[0]), ("b", pair[1]), ("c", pair[0] & pair[1])):
        assert a[name][value] == f"{value}: {b[name]}"
    assert a["table"] == b["table"]
    assert int(a["result"]) == int(a["your_share"]) ^ int(b["your_share"]) == pair[0] & pair[1]
    zero, one = (bytes.fromhex(text.split()[1]) for text in a["a"])
    assert bytes(x ^ y for x, y in zip(zero, one, strict=True)).hex() == a["D"].split()[0]


@pytest.mark.parametrize(("pair", "more"), [((5000, 7000), "party1"), ((7, 7), "equal"), ((2**32 - 1, 0), "party0")])
def test_the_millionaires(pair: tuple[int, int], more: str) -> None:
    assert [view["more"] for view in views(millionaires, pair)] == [more, more]


@pytest.mark.parametrize("pair", [(900, 600), (3000, 1), (0, 1), (32767, 32767), (1024, 0)])
def test_the_logarithm_keeps_its_bound(pair: tuple[int, int]) -> None:
    view, _ = views(logarithm, pair)
    x = sum(pair)
    assert view["x"] == x
    assert abs(float(view["x_ln_x"]) - x * math.log(x)) <= float(view["bound"]) + 1e-6
    values = [float(term.split("error")[0].split()[-1]) for term in view["terms"]]
    assert values[-1] * x == pytest.approx(float(view["x_ln_x"]), abs=x * 1e-8 + 1e-6)  # the terms are the protocol's
    errors = [abs(value - math.log(x)) for value in values]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert sum(float(part.split()[0]) for part in view["parts"]) == pytest.approx(float(view["bound"]), rel=0.1)
    assert abs(2 ** view["n"] * (view["c"] + float(view["d"])) - x) < 1e-3


def test_a_tree_to_the_last_attribute(tmp_path: Path) -> None:
    """Where one attribute is left nothing is computed, and where none is left each node is a leaf."""
    header = "outlook,temperature,humidity,wind,play\n"
    rows = ("sunny,hot,high,weak,no\nsunny,hot,high,weak,yes\nrain,mild,high,weak,yes\n", "sunny,hot,high,weak,no\n")
    for name, own in zip("ab", rows, strict=True):
        (tmp_path / name).with_suffix(".csv").write_text(header + own)
    view, _ = run_local(
        lambda session: decision_tree(make_engine(session, "yao"), str(tmp_path / f"{'ab'[session.party]}.csv"))
    )
    texts = [step["text"] for step in view]
    assert any(text.startswith("Level 3, step 3: one attribute is left. Nothing") for text in texts)
    assert any(text.startswith("Level 4, step 1: no attribute is left") for text in texts)


def test_the_entropies_are_those_of_all_rows() -> None:
    """Against the definition, from the rows of both files."""
    bundled = example.demo()
    rows = [line.split(",") for path in (bundled.clinic_a, bundled.clinic_b) for line in path.read_text().split()]
    names = rows.pop(0)[:-1]
    rows.remove([*names, "play"])

    def entropy(classes: list[str]) -> float:
        return -sum(n / len(classes) * math.log2(n / len(classes)) for n in Counter(classes).values())

    def conditional(inside: list[list[str]], column: int) -> float:
        parts = [[row[-1] for row in inside if row[column] == value] for value in {row[column] for row in inside}]
        return sum(len(part) / len(inside) * entropy(part) for part in parts)

    pair = run_local(lambda session: decision_tree(make_engine(session, "yao"), ""))
    for view in pair:
        lines = [line for step in view for line in step["values"].get("entropies", ())]
        assert len(lines) == 3
        for line in lines:
            path, _, numbers = line.partition(": ")
            value = path.partition(" = ")[2]
            inside = [row for row in rows if not value or row[0] == value]
            before, *after = re.findall(r"\d\.\d{3}", numbers)
            expected = [conditional(inside, column) for column in range(1 if value else 0, len(names))]
            assert float(before) == pytest.approx(entropy([row[-1] for row in inside]), abs=5e-4)
            assert [float(number) for number in after] == pytest.approx(expected, abs=5e-4)


def test_two_counts_of_none_have_no_logarithm() -> None:
    with pytest.raises(InputError, match="ln 0"):
        views(logarithm, (0, 0))


def test_the_joint_tree_of_the_weather() -> None:
    """Quinlan's tree: outlook first, then humidity where it is sunny and wind where it rains."""
    a, b = run_local(lambda session: decision_tree(make_engine(session, "yao"), ""))
    texts = [str(view) for view in (a, b)]
    for text in texts:
        lines = [" ".join(line.split()) for line in text.splitlines()]
        assert "splits all rows split by outlook" in lines
        assert "splits outlook = sunny split by humidity" in lines
        assert "outlook = rain split by wind" in lines
        assert any(line.startswith("delta ") and line.endswith(" 0.001") for line in lines)
    assert "your rows: yes 4, no 3 " in texts[0]
    assert "your rows: yes 5, no 2 " in texts[1]
    assert "opened  8 x whether a node is a leaf, 5 x class of a leaf, 3 x attribute of a split" in texts[0]


@pytest.mark.parametrize(
    ("program", "own"),
    [
        (shares, (1, 2)),
        (conjunction, (1, 0)),
        (gate, (1, 1)),
        (millionaires, (3, 4)),
        (logarithm, (9, 6)),
        (decision_tree, ("", "")),
        (lambda engine, own: transfer(engine, own, 24, True), ([1, 2, 3, 4], [2])),
    ],
)
def test_the_messages_are_those_of_the_meter(program: Callable[..., View], own: tuple[Any, Any]) -> None:
    def metered(session: Any) -> tuple[View, Any]:
        return program(make_engine(session, "yao"), own[session.party]), session.meter.total

    for view, total in run_local(metered):
        listed = totals({name: value for step in view for name, value in step["values"].items()})
        assert listed == (total.bytes_sent, total.bytes_received)
        assert f"{total.bytes_sent:,} B sent, {total.bytes_received:,} B received, {rounds_text(total.rounds)}" in str(
            view
        )


@pytest.mark.parametrize(
    ("program", "own"), [(shares, (16, 1)), (conjunction, (2, 1)), (gate, (1, 2)), (logarithm, (1 << 15, 1))]
)
def test_an_input_out_of_range(program: Callable[..., View], own: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="give"):
        views(program, own)
