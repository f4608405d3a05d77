"""Joint levels as a task: what its file makes of rows, how a plan is taken, what operators may ask."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.alone.publish.recoding.recoding import load
from parties.cli import run
from parties.jobs.kind import digest
from parties.jobs.kinds.publish.lattice import LatticeSettings, PublishLattice
from parties.tables.schema import Schema
from protocols.publish.lattice import levels
from protocols.publish.lattice_search import Found
from smc.engines import Profile, engine_of
from smc.local import run_local
from tests.support.refused import refused

AGES, TOWNS, ENDS = tuple(str(n) for n in range(20, 32)), ("north", "mid", "south"), ("good", "bad", "worse")
SCHEMA = Schema({"age": AGES, "end": ENDS, "town": TOWNS})
RULES = "town tree north < up < *, mid < up < *, south < down < *; age ranges 2 4"


def task(**fields: object) -> PublishLattice:
    settings = LatticeSettings.model_validate(
        {"recode": ("town", "age"), "keep": ("end",), "k": 4, "rules": RULES, **fields}
    )
    return PublishLattice.canonical(settings, SCHEMA)


def rows(seed: int) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(seed)
    return [(AGES[rng.binomial(11, 0.3)], TOWNS[rng.integers(3)], ENDS[rng.integers(3)]) for _ in range(60)]


def found_by(one: PublishLattice, tables: list[list[tuple[str, str, str]]]) -> Found:
    def both(session: Any) -> Found:
        numbers = Counter((AGES.index(a), TOWNS.index(t), ENDS.index(e)) for a, t, e in tables[session.party])
        own = np.array([(*row, n) for row, n in numbers.items()])
        return levels(engine_of(session, Profile("clear")), one.full_domain, own)

    return run_local(both)[0]


def test_columns_and_rules_stand_in_the_schemas_order() -> None:
    found = task()
    assert found.columns == ("age", "town", "end")
    assert found.settings.rules == "age ranges 2 4; town tree north < up < *, mid < up < *, south < down < *"
    assert [h.height for h in found.hierarchies] == [3, 2]
    assert [h.height for h in task(rules=None).hierarchies] == [1, 1]


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({"against": "public"}, None),
        ({"against": "peer"}, None),
        ({"against": "peer", "sensitive": "end", "l": 2, "keep": None}, 2),
    ],
)
def test_applying_the_file_leaves_out_what_the_protocol_counted(
    fields: dict[str, Any], model: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, tables = task(max_suppressed_rows=9, **fields), [rows(1), rows(2)]
    found = found_by(one, tables)
    assert found.node is not None
    assert 0 < sum(found.node) < 5
    file = tmp_path / "recoding.json"
    file.write_text(json.dumps(one.document(found)))
    assert (load(file).levels is None) == (fields["against"] == "public")
    published: list[list[dict[str, str]]] = []
    for i, own in enumerate(tables):
        (tmp_path / f"{i}.csv").write_text("age,town,end\n" + "".join(",".join(row) + "\n" for row in own))
        out = tmp_path / f"out{i}.csv"
        assert (
            run(["publish", "apply", "--recoding", str(file), "--data", str(tmp_path / f"{i}.csv"), "--out", str(out)])
            == 0
        )
        told = capsys.readouterr().err
        assert ("recoded, but not checked: 4-anonymity" in told) == (fields["against"] == "public")
        published.append(list(csv.DictReader(out.open())))
    assert 0 < 120 - sum(map(len, published)) <= 9
    classes = [Counter((row["age"], row["town"]) for row in own) for own in published]
    for sizes in [classes[0] + classes[1]] if fields["against"] == "public" else classes:
        assert min(sizes.values()) >= 4
    if model is not None:
        for own in published:
            values = {(row["age"], row["town"]): set() for row in own}  # type: dict[Any, set[str]]
            for row in own:
                values[row["age"], row["town"]].add(row["end"])
            assert min(map(len, values.values())) >= model
    if found.published is not None:
        assert sum(found.published) == len(classes[0] + classes[1])
    text = one.text(one.document(found), 0)
    assert text.startswith("classes at these levels, each with at least 4 rows of")
    assert f"level {found.node[0]} of 3" in text


def test_states_are_kept_and_cut() -> None:
    found = task(against="public")
    state = Found((True, False), (1, 0), (True, False))
    assert found.states.decode(json.loads(json.dumps(found.states.encode(state)))) == state
    assert found.states.decode(found.states.encode(found.states.beginning)) == found.states.beginning
    assert [found.states.steps(found.states.cut(state, n)) for n in range(6)] == [0, 1, 2, 3, 4, 4]
    assert [found.states.is_done(found.states.cut(state, n)) for n in range(5)] == [False, False, False, False, True]
    assert len({digest(found, found.states.cut(state, n)) for n in range(5)}) == 5


def test_what_a_plan_says_is_taken(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("north,up,*\nmid,up,*\nsouth,down,*\n")
    plan = tmp_path / "publish.toml"
    plan.write_text(
        'source = "rows.csv"\n[columns.age]\nrole = "quasi-identifier"\nranges = [2, 4]\n'
        '[columns.town]\nrole = "quasi-identifier"\ntree = "town.csv"\n[columns.end]\nrole = "sensitive"\n'
    )
    SCHEMA.save(tmp_path / "schema.toml")
    given: dict[str, Any] = {"schema": tmp_path / "schema.toml", "plan": plan, "k": 4}
    assert PublishLattice.planned(LatticeSettings.model_validate(given)).specification() == task().specification()
    diverse = PublishLattice.planned(LatticeSettings.model_validate({**given, "l": 2, "rules": "age ranges 6"}))
    assert (
        diverse.specification()
        == task(keep=None, sensitive="end", l=2, rules=RULES.replace("2 4", "6")).specification()
    )


WRONG = [
    ("--recode age", "k: is missing"),
    ("--k 4", "--recode is missing"),
    ("--recode age --k 4 --rules", "rules: 'town' is not a column to recode"),
    ("--recode town --k 4 --rules", "rules: 'age' is not a column to recode"),
    ("--recode age --k 4 --max-suppressed-rows 0.02", "--max-suppressed-rows"),
    ("--recode age --k 4 --max-suppressed-rows 200000", "max_suppressed_rows is 200,000: it must be from 0 to 131,070"),
    ("--recode age --k 4 --sensitive end --t 0.2 --max-suppressed-rows 3", "max_suppressed_rows must be 0 with t"),
    ("--recode age --k 4 --sensitive end --l 2 --against public", "l and t need against = peer here"),
    ("--recode age --k 4 --sensitive end", "sensitive: 'end' needs l or t"),
    ("--recode age --k 4 --l 2", "sensitive: is missing"),
    ("--recode age --k 4 --plan no.toml", "no.toml"),
    ("--recode age --k 4 --max-classes 0", "--max-classes: must be >= 1"),
]


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_what_is_wrong_is_a_line(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    SCHEMA.save(tmp_path / "schema.toml")
    (tmp_path / "mine.csv").write_text("age,end,town\n20,bad,mid\n30,good,mid\n")
    words = [word for part in line.split() for word in ((part, RULES) if part == "--rules" else (part,))]
    common = ["--data", "mine.csv", "--schema", "schema.toml", "--listen", "127.0.0.1:0"]
    assert message in refused(["publish", "lattice", *words, *common], capsys)
