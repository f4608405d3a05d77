"""Two processes find one recoding over gRPC, and each publishes its own rows by it; two nodes find the same."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.joint_lattice import lowest, published, recoded
from tests.support.joint_mondrian import classes
from tests.support.nodes import Nodes, job
from tests.support.processes import Done, Processes

AGES, TOWNS, ENDS = [str(n) for n in range(20, 32)], ["north", "mid", "south"], ["good", "bad"]
SCHEMA = f"[attributes]\nage = {AGES}\ntown = {TOWNS}\nend = {ENDS}\n"
NUMBER, K = 150, 4
QUESTION = ["--schema", "schema.toml", "--recode", "age,town", "--keep", "end", "--k", str(K)]


def rows(seed: int) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    return [
        (AGES[rng.binomial(11, 0.3)], TOWNS[rng.integers(3)], ENDS[rng.integers(2)], f"name {i}") for i in range(NUMBER)
    ]


def table(lines: list[tuple[str, ...]]) -> str:
    return "age,town,end,name\n" + "".join(",".join(line) + "\n" for line in lines)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    running = Processes(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.csv").write_text(table(rows(seed)))
    try:
        yield running
    finally:
        running.stop()


def joint(processes: Processes, *more: str) -> tuple[Done, Done]:
    left, right = (
        ["publish", "joint", "--data", f"{n}.csv", *QUESTION, *more, "--out", f"{n}.json", "--report", f"{n}.cost"]
        for n in "ab"
    )
    return processes.pair(left, right)  # type: ignore[arg-type]


def reference(against: str) -> set[Any]:
    parties = [[(AGES.index(a), TOWNS.index(t)) for a, t, *_ in rows(seed)] for seed in (1, 2)]
    return classes((len(AGES), len(TOWNS)), parties, K, against)


@pytest.mark.parametrize("against", ["peer", "public"])
def test_each_party_publishes_its_own_rows_under_one_recoding(processes: Processes, against: str) -> None:
    ends = joint(processes, "--against", against)
    assert [end.code for end in ends] == [0, 0], ends
    assert ends[0].out == ends[1].out
    place = processes.directory
    found = json.loads((place / "a.json").read_text())
    assert found == json.loads((place / "b.json").read_text())
    expected = reference(against)
    assert len(found["boxes"]) == len(expected) > 5
    assert ends[0].out.startswith(f"{len(expected)} classes, each with at least {K} rows")
    sizes: list[Counter[tuple[str, ...]]] = []
    for name in "ab":
        done = processes.here(
            "publish", "apply", "--recoding", f"{name}.json", "--data", f"{name}.csv", "--out", "p.csv"
        )
        assert done.code == 0, done.err
        assert ("not checked: 4-anonymity" in done.err) == (against == "public")
        lines = list(csv.DictReader((place / "p.csv").open()))
        assert len(lines) == NUMBER
        assert lines[0].keys() == {"age", "town", "end"}  # the name is gone
        sizes.append(Counter((row["age"], row["town"]) for row in lines))
        (place / "p.csv").unlink()
    both = sizes[0] + sizes[1]
    assert len(both) == len(expected)
    assert min(both.values()) >= K
    if against == "peer":
        assert min(min(own.values()) for own in sizes) >= K
    estimate = processes.here(
        "estimate", "publish joint", *QUESTION, "--against", against, "--recoding", "a.json", "--json"
    )
    assert estimate.code == 0, estimate.err
    cost = json.loads((place / "a.cost").read_text())["total"]
    assert f"{cost['bytes_sent']}" in estimate.out


def test_each_party_publishes_its_own_rows_at_the_same_levels(processes: Processes) -> None:
    rules = ["--rules", "age ranges 2 4", "--rules", "town tree north < up < *, mid < up < *, south < down < *"]
    lattice = [*QUESTION[:-1], "12", *rules, "--max-suppressed-rows", "12", "--against", "public"]
    ends = processes.pair(
        *(  # type: ignore[arg-type]
            ["publish", "lattice", "--data", f"{n}.csv", *lattice, "--out", f"{n}.json", "--report", f"{n}.cost"]
            for n in "ab"
        )
    )
    assert [end.code for end in ends] == [0, 0], ends
    place = processes.directory
    found = json.loads((place / "a.json").read_text())
    assert found == json.loads((place / "b.json").read_text())
    parties = [[(AGES.index(a), TOWNS.index(t)) for a, t, *_ in rows(seed)] for seed in (1, 2)]
    ages = [[n // width for n in range(20, 32)] for width in (1, 2, 4, 100)]
    trees = [[[value - level[0] for value in level] for level in ages], [[0, 1, 2], [0, 0, 1], [0, 0, 0]]]
    node = tuple(found["joint"]["levels"])
    assert node in lowest(trees, parties, 12, "public", 12)
    assert 0 < sum(node) < 5
    kept = published(trees, node, parties, 12, "public")
    assert len(found["boxes"]) == len({recoded(trees, node, row) for own in kept for row in own})
    for name, own in zip("ab", kept, strict=True):
        done = processes.here(
            "publish", "apply", "--recoding", f"{name}.json", "--data", f"{name}.csv", "--out", f"{name}-out.csv"
        )
        assert done.code == 0, done.err
        assert len(list(csv.DictReader((place / f"{name}-out.csv").open()))) == len(own)
    estimate = processes.here("estimate", "publish lattice", *lattice, "--recoding", "a.json", "--json")
    assert estimate.code == 0, estimate.err
    assert f"{json.loads((place / 'a.cost').read_text())['total']['bytes_sent']}" in estimate.out


def test_rows_that_tell_whose_they_are_are_not_published(processes: Processes) -> None:
    good = [(a, t, "good", n) for a, t, _, n in rows(1)]
    bad = [(a, t, "bad", n) for a, t, _, n in rows(2)]
    for name, lines in (("a", good), ("b", bad)):
        (processes.directory / f"{name}.csv").write_text(table(lines))
    for end in joint(processes):
        assert end.code == 2
        assert "column end would reveal the owner of each row" in end.err
    assert not (processes.directory / "a.json").exists()


def test_too_few_rows_are_not_published(processes: Processes) -> None:
    (processes.directory / "a.csv").write_text(table(rows(1)[:3]))
    for end in joint(processes):
        assert end.code == 2
        assert "fewer than k = 4 rows: nothing can be published" in end.err


def test_two_nodes_find_it_as_a_job(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path)
    nodes.furnish((table(rows(1)), table(rows(2))), SCHEMA, ("", ""))
    try:
        nodes.start()
        asked = {"protocol": "publish joint", "table": "rows", "recode": ["age", "town"], "keep": ["end"], "k": K}
        identifier = nodes.a.client.submit(asked).id
        view = job(nodes.b, identifier)
        assert "No class has fewer than 4 rows of" in view.reveals[-1]
        nodes.b.client.approve(identifier)
        left, right = nodes.finished(identifier)
        assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
        result = nodes.a.client.result(identifier)
        assert result.document == nodes.b.client.result(identifier).document
        assert len(result.document["boxes"]) == len(reference("peer"))
        assert result.opened["whether the rows may be published"] == 4
    finally:
        nodes.close()
