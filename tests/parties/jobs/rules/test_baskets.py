"""Rules of baskets: against counting by hand and mlxtend, from files and databases, with noise of a whole basket."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mlxtend.frequent_patterns import apriori, association_rules

from parties import cli
from parties.jobs import kinds
from parties.jobs.execution.local_run import run_alone
from parties.notebook import JointRules
from parties.sources import TableSettings, from_frame, open_table
from parties.sources.in_memory import InMemory
from parties.sources.source import Source
from parties.tables.schema import Schema
from protocols.baskets import Baskets
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session

SCHEMA = Schema({"item": ("milk", "bread", "beer", "eggs"), "shop": ("north", "south")}, None, ("receipt",))
ITEMS = [f"{column}={value}" for column, values in SCHEMA.attributes.items() for value in values]
Line = tuple[int, str, str]
LINES = st.lists(
    st.tuples(st.integers(0, 5), *(st.sampled_from(values) for values in SCHEMA.attributes.values())), max_size=12
)


def task_of(**said: Any) -> Any:
    kind = kinds.find("rules")
    fields = {"max_rows": 1000, "transaction": "receipt", "show": "all", "k": 1, **said}
    return kind.canonical(kind.Settings.model_validate(fields), SCHEMA)  # type: ignore[attr-defined]


def frame_of(lines: list[Line]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=["receipt", "item", "shop"], dtype=str)


def in_memory(frame: pd.DataFrame, folder: Path) -> Source:
    """The rows as a small CSV file."""
    frame.to_csv(folder / "rows.csv", index=False)
    table = TableSettings.model_validate({"source": str(folder / "rows.csv"), "schema": "s.toml"})
    opened = open_table(table, SCHEMA, "shop")
    assert isinstance(opened, InMemory)
    return opened


def baskets_of(lines: list[Line]) -> list[set[str]]:
    baskets: dict[int, set[str]] = {}
    for receipt, item, shop in lines:
        baskets.setdefault(receipt, set()).update((f"item={item}", f"shop={shop}"))
    return list(baskets.values())


class Lines:
    """Baskets in memory, as a source gives them."""

    def __init__(self, task: Any, lines: list[Line]) -> None:
        order = [*task.schema.features(task.target), task.target]
        names = {name: number for number, name in enumerate(dict.fromkeys(line[0] for line in lines))}
        cells = [dict(zip(("receipt", "item", "shop"), line, strict=True)) for line in lines]
        self.lines = np.array(
            [
                [names[cell["receipt"]], *(task.schema.attributes[n].index(cell[n]) for n in order)]  # type: ignore[index]
                for cell in cells
            ],
            dtype=np.int64,
        ).reshape(len(lines), 1 + len(order))

    def baskets(self, key: str) -> Any:
        assert key == "receipt"
        return self.lines


def document_of(task: Any, sides: Any, profile: str = "clear") -> Any:
    def party(session: Session) -> Any:
        own = task.own_rows(Lines(task, sides[session.party]))
        return task.run(engine_of(session, Profile(profile)), own, task.states.beginning, lambda step: None)  # type: ignore[arg-type]

    one, other = run_local(party)
    assert one == other
    return task.document(one)


def told(document: Any) -> Any:
    rules = {(frozenset(rule["if"]), frozenset(rule["then"])) for rule in document["rules"]}
    return {frozenset(items) for items in document["sets"]}, rules


def by_mlxtend(baskets: list[set[str]], support: float, confidence: float, lift: float) -> Any:
    table = pd.DataFrame([[item in basket for item in ITEMS] for basket in baskets], columns=ITEMS, dtype=bool)
    frequent = apriori(table, min_support=support - 1e-12, use_colnames=True, max_len=4)
    if frequent.empty:
        return set(), set()
    rules = association_rules(frequent, metric="confidence", min_threshold=confidence - 1e-12)
    rules = rules[rules["lift"] >= lift - 1e-12]
    return set(frequent["itemsets"]), set(zip(rules["antecedents"], rules["consequents"], strict=True))


@settings(max_examples=40)
@given(LINES, LINES, st.sampled_from([0.1, 0.4, 1.0]), st.sampled_from([0.5, 1.0]), st.sampled_from([0.0, 1.0]))
@example([(0, "milk", "north"), (0, "milk", "south")], [(0, "milk", "north"), (1, "bread", "north")], 0.4, 0.5, 0.0)
def test_they_are_those_of_mlxtend(
    one: list[Line], other: list[Line], support: float, confidence: float, lift: float
) -> None:
    """Of any rows: one key at both parties is two baskets, and an item twice in a basket is there once."""
    baskets = [*baskets_of(one), *baskets_of(other)]
    task = task_of(support=support, confidence=confidence, lift=lift)
    document = document_of(task, (one, other))
    if baskets:
        assert told(document) == by_mlxtend(baskets, support, confidence, lift)
    assert document["transaction"] == "receipt"


def test_a_party_without_rows_has_no_basket() -> None:
    """It is the peer of a run alone, and a party that only computes with the rows of holders."""
    lines: list[Line] = [(0, "milk", "north"), (0, "bread", "north"), (1, "milk", "south")]
    task = task_of(support=0.5, confidence=0.5, lift=0.0)
    alone = run_alone(task, task.own_rows(Lines(task, lines)))
    assert told(task.document(alone)) == told(document_of(task, (lines, [])))


@given(st.integers(1, 200), st.integers(0, 99))
def test_baskets_are_counted_by_words(number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = np.column_stack([rng.integers(0, number, 300), rng.integers(0, 3, 300), rng.integers(0, 4, 300)])
    lines = np.concatenate([np.column_stack([np.arange(number), np.zeros((number, 2), dtype=np.int64)]), lines])
    of = [set() for _ in range(number)]  # type: list[set[int]]
    for basket, first, second in lines.tolist():
        of[basket] |= {first, 3 + second}
    sets = [(0,), (6,), (0, 1), (1, 4), (3, 6), (0, 3, 5), (1, 2, 4, 6)]
    baskets = Baskets.of(lines, [3, 4])
    assert baskets.number == number
    assert baskets.count(sets).tolist() == [sum(set(items) <= basket for basket in of) for items in sets]
    assert Baskets.of(lines[:0], [3, 4]).count(sets).tolist() == [0] * len(sets)


def test_a_source_collects_them(tmp_path: Path) -> None:
    """Whatever the order of rows and the type of the key; their fingerprint is of what is together, and of nothing
    else."""
    rng = np.random.default_rng(5)
    lines = [(int(r), str(i), str(s)) for r, i, s in zip(
        rng.integers(0, 30, 90), rng.choice(SCHEMA.attributes["item"], 90),
        rng.choice(SCHEMA.attributes["shop"], 90), strict=True)]  # fmt: skip
    prints, key = [], os.urandom(32)
    expected = sorted(sorted(basket) for basket in baskets_of(lines))
    frame = frame_of(lines)
    shuffled = frame.sample(frac=1, random_state=1)
    named = shuffled.assign(receipt=[f"r-{name}" for name in shuffled["receipt"]])
    as_numbers = frame.assign(receipt=frame["receipt"].astype(int))
    sources = [from_frame(rows, SCHEMA, "shop") for rows in (frame, shuffled, named, as_numbers)]
    for opened in (*sources, in_memory(named, tmp_path)):
        with opened as source:
            collected = source.baskets("receipt")
            prints.append(source.fingerprint_of_baskets("receipt", key))
        of: dict[int, set[str]] = {}
        for basket, item, shop in collected.tolist():
            of.setdefault(basket, set()).update((ITEMS[item], ITEMS[4 + shop]))
        assert sorted(of) == list(range(len(expected)))
        assert sorted(sorted(basket) for basket in of.values()) == expected
    assert len(set(prints)) == 1
    first = next(other for other in lines if other[0] != lines[0][0])
    moved = frame_of([(first[0], *lines[0][1:]), *lines[1:]])
    with from_frame(moved, SCHEMA, "shop") as source:
        assert source.fingerprint_of_baskets("receipt", key) != prints[0]


@pytest.mark.parametrize(
    ("rows", "key", "why"),
    [
        ([("1", "milk", "north"), (None, "milk", "north")], "receipt", "column 'receipt': a row has no value here"),
        ([("1", "milk", "north"), ("", "milk", "north")], "receipt", "so it is in no basket"),
        ([("1", "milk", "north")], "receipts", r"there is no such column \(did you mean 'receipt'\?\)"),
    ],
)
def test_rows_without_a_basket_are_refused(tmp_path: Path, rows: list[Any], key: str, why: str) -> None:
    frame = frame_of(rows)
    for opened in (from_frame(frame, SCHEMA, "shop"), in_memory(frame, tmp_path)):
        with opened as source, pytest.raises(InputError, match=why):
            source.baskets(key)


@pytest.mark.parametrize(
    ("adjacency", "people", "noise"),
    [("add-remove", None, 4), ("replace", None, 4), ("replace", 2, 8), ("add-remove", 2, 8)],
)
def test_noise_hides_a_basket_or_a_person(adjacency: str, people: int | None, noise: int) -> None:
    """By half of epsilon: three sets, and the number of baskets, which a row that is replaced may change, too."""
    task = task_of(epsilon=1.0, first=3, adjacency=adjacency, at_most=people)
    choice, numbers = task.mechanisms
    assert numbers.loss.epsilon == Fraction(1, 2)
    assert numbers.scale == 2 * noise
    assert choice.loss.epsilon == Fraction(1, 2)
    text = " ".join(task.disclosure.reveals("bob"))
    assert "baskets" in text
    hides = "whether one basket, or one row, is there" if adjacency == "add-remove" else "one basket, or one row, says"
    assert (hides in text.lower()) == (people is None)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"transaction": "shop"}, "transaction: 'shop' is an attribute of the schema: give it the type key"),
        ({"transaction": None, "columns": ("item",)}, r"name at least two, or give --transaction"),
        ({"transaction": ""}, "transaction"),
    ],
)
def test_wrong_questions_are_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises((InputError, ValueError), match=why):
        task_of(**said)


def test_many_items_are_refused_with_their_pairs() -> None:
    wide, kind = Schema({"item": tuple(map(str, range(1500)))}), kinds.find("rules")
    said = kind.Settings.model_validate({"transaction": "receipt"})
    with pytest.raises(InputError, match="columns: their values make 1,124,250 pairs"):
        kind.canonical(said, wide)  # type: ignore[attr-defined]


def test_a_notebook_has_them_and_rows_are_not_judged_by_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    lines = [(int(r), str(i), "north") for r, i in zip(
        rng.integers(0, 40, 90), rng.choice(SCHEMA.attributes["item"], 90), strict=True)]  # fmt: skip
    made = JointRules(SCHEMA, ["item"], transaction="receipt", support=0.2, confidence=0.3, lift=0, k=1, show="all")
    made.fit(frame_of(lines))
    only = [{item for item in basket if item.startswith("item=")} for basket in baskets_of(lines)]
    assert told(made.document_) == by_mlxtend(only, 0.2, 0.3, 0)
    with pytest.raises(InputError, match="these rules are for baskets"):
        made.transform(frame_of(lines))
    Path("rules.json").write_text(json.dumps(made.document_))
    frame_of(lines).to_csv("rows.csv", index=False)
    assert cli.run(["predict", "--rules", "rules.json", "--data", "rows.csv"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "these rules are for baskets of several rows" in line
    SCHEMA.save(Path("schema.toml"))
    alone = ["rules", "--alone", "--data", "rows.csv", "--schema", "schema.toml", "--transaction", "receipt"]
    assert cli.run(alone) == 0
    assert "ignored" not in capsys.readouterr().err  # the basket's column is read
