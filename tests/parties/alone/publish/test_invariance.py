"""Growing tables published again: what any join of publications leaves of a person, in all possible worlds."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parties.alone.publish.republishing import Class, Signature, classes_of
from tests.support.patients import smc, written

Seen = tuple[list[str], int, Signature]  # of a class: who is there, how many counterfeits, which values


def possible(publications: Sequence[Sequence[Seen]], values: Sequence[str]) -> dict[str, set[str]]:
    """Whose value can be which, if all that is published is true: every world is tried.

    The reader knows in which class of each publication everybody is; a person's value stays the same.
    """
    people = sorted({person for seen in publications for members, _, _ in seen for person in members})
    left: dict[str, set[str]] = {person: set() for person in people}
    for world in product(values, repeat=len(people)):
        value = dict(zip(people, world, strict=True))
        if all(
            len({value[person] for person in members} & set(signature)) == len(members) == len(signature) - counterfeits
            for seen in publications
            for members, counterfeits, signature in seen
        ):
            for person in people:
                left[person].add(value[person])
    return left


def seen(classes: Sequence[Class], names: Sequence[str]) -> list[Seen]:
    return [
        (
            [names[row] for row in members.values() if row is not None],
            sum(row is None for row in members.values()),
            tuple(sorted(members)),
        )
        for members in classes
    ]


def republished(
    versions: Sequence[Sequence[str]], value: dict[str, str], m: int, domain: str, seed: int
) -> list[list[Seen]]:
    """The classes of each version, a list of who is in it."""
    earlier: dict[str, Signature] = {}
    publications = []
    random = np.random.default_rng(seed)
    for names in versions:
        values = [value[name] for name in names]
        places = random.random((2, len(names)))
        classes = classes_of(values, [earlier.get(name) for name in names], places, m, list(domain), random)
        assert sorted(row for members in classes for row in members.values() if row is not None) == [*range(len(names))]
        assert all(values[row] == known for members in classes for known, row in members.items() if row is not None)
        publications.append(seen(classes, names))
        earlier |= {name: signature for members, _, signature in publications[-1] for name in members}
    return publications


@st.composite
def growing(draw: st.DrawFn) -> tuple[list[list[str]], dict[str, str], int]:
    """Up to four versions of up to five people, their values, and m."""
    people = "pqrst"[: draw(st.integers(1, 5))]
    some = st.lists(st.sampled_from(people), min_size=1, unique=True)
    return draw(st.lists(some, min_size=1, max_size=4)), {p: draw(st.sampled_from("abcd")) for p in people}, 3


@settings(max_examples=30)
@given(growing(), st.integers(0, 2))
@example(([["p", "q", "r"], ["p"], ["q"], ["p", "q", "r", "s", "t"]], dict(zip("pqrst", "aabbb", strict=True)), 2), 0)
def test_no_join_of_publications_leaves_fewer_than_m_values(made: Any, seed: int) -> None:
    versions, value, m = made
    publications = republished(versions, value, m, "abcd", seed)
    for published in publications:
        assert all(len(signature) >= m and members for members, _, signature in published)
    left = possible(publications, "abcd")
    assert all(len(values) >= m and value[person] in values for person, values in left.items())


def test_the_attack_that_it_is_against() -> None:
    """Two tables, each of two values a class: who is in both, with other neighbours, has the one that both have."""
    left = possible(
        [[(["ann", "bob"], 0, ("flu", "ulcer"))], [(["ann", "cas"], 0, ("asthma", "flu"))]], ["asthma", "flu", "ulcer"]
    )
    assert left["ann"] == {"flu"}
    kept = possible(
        [[(["ann", "bob"], 0, ("flu", "ulcer"))], [(["ann"], 1, ("flu", "ulcer"))]], ["asthma", "flu", "ulcer"]
    )
    assert kept["ann"] == {"flu", "ulcer"}


def test_the_hospital_of_the_paper() -> None:
    """The first publication of its table 2, and the second microdata: two counterfeits, as there."""
    before = {
        "Bob": "bronchitis dyspepsia",
        "David": "flu gastritis",
        "Gary": "flu gastritis",
        "Jane": "dyspepsia flu gastritis",
        "Linda": "dyspepsia flu gastritis",
        "Steve": "dyspepsia gastritis",
    }
    rows = {"Bob": "dyspepsia", "David": "gastritis", "Emily": "flu", "Jane": "dyspepsia", "Linda": "gastritis"}
    rows |= {"Gary": "flu", "Mary": "gastritis", "Ray": "dyspepsia", "Steve": "gastritis", "Tom": "gastritis"}
    rows |= {"Vince": "flu"}
    earlier = [tuple(before[name].split()) if name in before else None for name in rows]
    places = np.random.default_rng(1).random((2, len(rows)))
    for seed in range(5):
        classes = classes_of([*rows.values()], earlier, places, 2, [], np.random.default_rng(seed))
        assert sum(row is None for members in classes for row in members.values()) == 2


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=5), st.integers(2, 3))
def test_few_counterfeits_where_no_value_is_too_frequent(counts: list[int], m: int) -> None:
    values = [f"v{i}" for i, number in enumerate(counts) for _ in range(number)]
    random = np.random.default_rng(1)
    classes = classes_of(values, [None] * len(values), random.random((1, len(values))), m, [], random)
    counterfeits = sum(row is None for members in classes for row in members.values())
    eligible = max(counts) * m <= sum(counts)
    assert counterfeits < m if eligible else counterfeits >= max(counts) * m - sum(counts)


def test_new_people_fill_the_places_of_those_who_left() -> None:
    """One of a class of three is there still, one of another: of five new ones three take places, and two are left."""
    values = ["a", "d", "b", "c", "e", "f", "g"]
    earlier = [("a", "b", "c"), ("c", "d", "e"), *[None] * 5]
    for seed in range(5):
        classes = classes_of(values, earlier, np.zeros((1, 7)), 3, [], np.random.default_rng(seed))
        assert sum(row is None for members in classes for row in members.values()) == 2
        assert len(classes) == 3


def test_near_rows_are_in_one_class() -> None:
    places = np.array([[0.0, 0.9, 0.1, 1.0], [0.5, 0.5, 0.5, 0.5]])
    classes = classes_of(["a", "a", "b", "b"], [None] * 4, places, 2, [], np.random.default_rng(1))
    assert sorted(tuple(members[value] for value in "ab") for members in classes) == [(0, 2), (1, 3)]


def test_what_cannot_be() -> None:
    random, places = np.random.default_rng(1), np.zeros((1, 1))
    for value, signature, message in (
        ("c", ("a", "b"), "not in its"),
        ("a", ("a",), "not in its"),
        ("a", None, "fewer"),
    ):
        with pytest.raises(ValueError, match=message):
            classes_of([value], [signature], places, 2, [], random)


PLAN = """
source = "people.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
ranges = [10]
[columns.zip]
role = "quasi-identifier"
[columns.disease]
role = "sensitive"
[history]
file = "people.history"
row = "name"
m = 2
"""
PEOPLE = [
    ("ann", "31", "A", "flu"),
    ("bob", "32", "A", "ulcer"),
    ("cas", "55", "B", "flu"),
    ("dan", "58", "B", "asthma"),
]


def people(rows: Sequence[Sequence[str]]) -> None:
    with Path("people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("name", "age", "zip", "disease"), *rows])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("growing.toml").write_text(PLAN)
    people(PEOPLE)


def published(*more: str) -> int:
    return smc("invariant", "--plan", "growing.toml", "--out", "out.csv", "--force", *more)


@pytest.mark.usefixtures("folder")
def test_a_table_that_grows_and_shrinks(capsys: Any) -> None:
    assert published("--json", "--page", "report.html") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["models"] == [{"model": "2-invariance", "holds": True, "reached": 2}]
    assert (told["rows"], told["counterfeits"], told["classes"], told["publications"]) == (4, 0, 2, 1)
    rows = written(Path("out.csv"))
    assert list(rows[0]) == ["class", "age", "zip", "disease", "counterfeits"]
    assert Counter(row["disease"] for row in rows) == {"flu": 2, "ulcer": 1, "asthma": 1}
    signature = {row["class"]: {other["disease"] for other in rows if other["class"] == row["class"]} for row in rows}
    assert sorted(map(sorted, signature.values())) == [["asthma", "flu"], ["flu", "ulcer"]]
    history = Path("people.history").read_text()
    assert Path("people.history").stat().st_mode & 0o077 == 0
    assert "ann" not in history
    people([PEOPLE[0], PEOPLE[2], ("eve", "33", "A", "asthma")])  # bob and dan have gone
    assert published("--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["publications"]) == (3, 2)
    rows = written(Path("out.csv"))
    assert Counter(row["class"] for row in rows).most_common()[-1][1] == 2
    assert len(rows) == 3 + told["counterfeits"] == 3 + sum(int(row["counterfeits"]) for row in rows) / 2
    before = Path("people.history").read_text()
    signatures: dict[str, set[tuple[str, ...]]] = {}
    for version in json.loads(before)["versions"]:
        for name, place in zip(version["rows"], version["classes"], strict=True):
            signatures.setdefault(name, set()).add(tuple(version["signatures"][place]))
    assert len(signatures) == 5
    assert all(len(known) == 1 for known in signatures.values())
    people([(*PEOPLE[0][:3], "measles")])
    assert published() == 2
    refusal = (
        "1 rows have a new sensitive value that is not among the m values of their class; keep their earlier value"
    )
    assert refusal in capsys.readouterr().err
    assert Path("people.history").read_text() == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("m = 2\n", "", "history: m-invariance needs [history] with file, row and m; add them"),
        ("m = 2\n", "m = 4\n", "column 'disease': there are 3 values, fewer than m = 4"),
        ('role = "identifier"', 'role = "other"', "column 'name': a counterfeit row would have no value"),
        ('role = "sensitive"', 'role = "quasi-identifier"', "needs exactly one sensitive column"),
        ("[history]", '[[models]]\nmodel = "k-anonymity"\nk = 2\n[history]', "excludes other models and methods"),
        ('row = "name"', 'row = "zip"', "column 'zip': this column has one value in two rows"),
    ],
)
def test_one_line_for_what_is_wrong(old: str, new: str, message: str, capsys: Any) -> None:
    Path("growing.toml").write_text(PLAN.replace(old, new))
    assert published() == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert not Path("out.csv").exists()
    assert not Path("people.history").exists()


@pytest.mark.usefixtures("folder")
def test_histories_do_not_mix(capsys: Any) -> None:
    assert published() == 0
    Path("growing.toml").write_text(PLAN.replace("m = 2", "m = 3"))
    assert published() == 2
    assert "rows were published with 2 possible values, fewer than m = 3" in capsys.readouterr().err
    Path("people.history").unlink()
    models = '[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    Path("plan.toml").write_text(PLAN.replace("m = 2\n", models))
    assert smc("anonymise", "--plan", "plan.toml", "--out", "out.csv", "--force") == 0
    Path("growing.toml").write_text(PLAN)
    assert published() == 2
    assert "is not m-invariant; begin a new history file" in capsys.readouterr().err
