"""`smc estimate`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parties import cli
from parties.jobs.inputs import Inputs
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.models.trees.tree import Leaf, TreeFile
from parties.sources.cells import load
from parties.tables import schema
from parties.tables.example import demo
from protocols.counts import RowCounts
from protocols.id3 import id3
from smc.counting.rates import ENGINE_SECONDS, QUERIED_CELL_SECONDS
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session

pytestmark = pytest.mark.slow

DEMO = demo()


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run([str(word) for word in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def estimates(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    code, out, _ = run(capsys, "estimate", *arguments, "--json")
    assert code == 0
    return json.loads(out)["estimates"]


@pytest.mark.parametrize("plain", [False, True])
def test_a_tree_makes_the_estimate_exact(capsys: pytest.CaptureFixture[str], tmp_path: Path, plain: bool) -> None:
    """Of the defaults as of the plain tree: k's gates are counted, and no level below the depth is."""
    how = ["--plain"] if plain else []
    agreed = schema.load(DEMO.schema)
    target = agreed.choose_target()
    own = Id3Settings(max_rows=20, plain=plain)
    task = ExactTree(own, agreed, target)
    problem = task.problem
    costs: dict[int, Any] = {}

    def program(session: Session) -> Any:
        costs[session.party] = session.meter.total
        table = load((DEMO.clinic_a, DEMO.clinic_b)[session.party], agreed, target, own.max_rows)
        return id3(
            engine_of(session, Profile("mixed")),
            problem,
            task.own_rows(RowCounts(task.domains, problem.classes, table.rows, table.classes)),
        )

    tree, _ = run_local(program)
    assert task.state_of(task.tree_file(tree)) == tree
    task.tree_file(tree).dump(tmp_path / "tree.json")
    rows = estimates(capsys, "id3", "--schema", DEMO.schema, "--max-rows", 20, "--tree", tmp_path / "tree.json", *how)
    (mixed,) = [row for row in rows if (row["engine"], row["ot"], row["garbling"]) == ("mixed", "extension", "half")]
    assert mixed["party0_sends"] == costs[0].bytes_sent
    assert mixed["party1_sends"] == costs[1].bytes_sent
    assert (mixed["party0_rounds"], mixed["party1_rounds"]) == (costs[0].rounds, costs[1].rounds)
    assert mixed["messages"] == costs[0].messages
    bound = estimates(capsys, "id3", "--schema", DEMO.schema, "--max-rows", 20, *how)
    (most,) = [row for row in bound if (row["engine"], row["ot"], row["garbling"]) == ("mixed", "extension", "half")]
    assert most["at_most"] >= mixed["party0_sends"] + mixed["party1_sends"]
    assert mixed["at_most"] is None


def test_a_file_without_a_table_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "party.toml"
    config.write_text("[id3]\nplain = true\n")
    told = f"smc: --config: {config} has no table; add one as [tables.NAME]\n"
    assert run(capsys, "estimate", "id3", "--config", config) == (2, "", told)


def test_a_table_says_schema_and_bound(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Also one with a budget, which no command reads; a flag wins, and columns are chosen."""
    config = tmp_path / "party.toml"
    place = f'source = "{DEMO.clinic_a}"\nschema = "{DEMO.schema}"\nmax_rows = 30\n'
    config.write_text(f"[tables.a]\n{place}[tables.a.budget]\nepsilon = 1\n[tables.b]\n{place}")
    code, _, error = run(capsys, "estimate", "id3", "--config", config)
    assert (code, "several tables, 'a', 'b'" in error) == (2, True)
    for name in (["id3"], ["release", "count", "--epsilon", "1"]):
        flags = ["--schema", DEMO.schema, "--max-rows", 30]
        assert estimates(capsys, *name, "--config", config, "--table", "a") == estimates(capsys, *name, *flags)
    two = estimates(capsys, "id3", "--config", config, "--table", "b", "--columns", "outlook,wind", "--max-rows", 20)
    kept = [line for line in DEMO.schema.read_text().splitlines() if not line.startswith(("temperature", "humidity"))]
    (tmp_path / "two.toml").write_text("\n".join(kept))
    assert two == estimates(capsys, "id3", "--schema", tmp_path / "two.toml", "--max-rows", 20)


def test_the_quickest_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    rows = estimates(capsys, "millionaires", "--batch", 100_000, "--link", "20mbit,1ms")
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    assert rows[0]["engine"] == "gmw"
    assert estimates(capsys, "millionaires", "--link", "1gbit,200ms")[0]["engine"] == "yao"
    code, out, _ = run(capsys, "estimate", "millionaires", "--link", "wan")
    assert code == 0
    assert "100mbit,40ms" in out
    assert "three-halves" in out


def test_a_question_without_rows_starts_sooner(capsys: pytest.CaptureFixture[str]) -> None:
    assert "in addition, at most: start 0.23 s, counting what suits" in run(capsys, "estimate", "millionaires")[1]


def test_it_says_what_the_work_is_and_what_a_run_takes_besides(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("estimate", "id3", "--schema", DEMO.schema, "--max-rows", 1_000_000, "--plain")
    document = json.loads(run(capsys, *arguments, "--json")[1])
    for row in document["estimates"]:
        assert set(row["work"]) == {"computing", "building circuits", "messages"}
        assert min(row["work"].values()) > 0
        assert row["seconds"] > max(row["work"]["computing"], row["work"]["messages"])
    besides = document["besides"]
    assert list(besides) == ["start", "counting what suits", "opening the table", "counting rows"]
    assert besides["opening the table"] == pytest.approx(ENGINE_SECONDS + 1_000_000 * 5 * QUERIED_CELL_SECONDS)
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "seconds of the first line: " in out
    assert "in addition, at most: start 0.49 s, counting what suits" in out
    assert "memory of a shard" not in out
    code, out, _ = run(capsys, *arguments, "--max-rows", 20, "--shards", 2)
    assert "; memory of a shard: about 120" in out.replace("\n", " ")


@pytest.mark.parametrize("source", ["rows.csv", "rows/*.csv", "postgresql://localhost/rows"])
def test_where_the_rows_are_says_what_opening_them_takes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, source: str
) -> None:
    config = tmp_path / "party.toml"
    table = 'table = "rows"\n' if "//" in source else ""
    config.write_text(f'[tables.a]\nsource = "{source}"\nschema = "{DEMO.schema}"\nmax_rows = 1000\n{table}')
    document = json.loads(run(capsys, "estimate", "release", "count", "--epsilon", 1, "--config", config, "--json")[1])
    opening = document["besides"]["opening the table"]
    assert opening < 0.01 if source == "rows.csv" else opening >= ENGINE_SECONDS


def test_rows_that_are_gone_through_again_and_again_have_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    took = []
    for steps in (2, 4):
        flags = ["--schema", DEMO.schema, "--max-rows", 1000, "--epsilon", 1, "--delta", 1e-9, "--steps", steps]
        flags += ["--method", "gradient", "--columns", "wind,humidity"]
        document = json.loads(run(capsys, "estimate", "regress", "joint", *flags, "--json")[1])
        took.append(document["besides"]["passing over rows"])
    assert took[1] == pytest.approx(2 * took[0])
    assert took[0] > 0


def test_a_circuit_is_estimated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "and.txt"
    file.write_text("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")
    assert {row["and_gates"] for row in estimates(capsys, "circuit", file, "--batch", 7)} == {7}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("millionaires", "--link", "fast"), "the link 'fast' must be"),
        (("millionaires", "--bits", 65), "--bits: must be <= 64, not 65"),
        (("circuit", "nothing.txt"), "nothing.txt"),
        (("id3", "--schema", "nothing.toml"), "nothing.toml"),
        (("id3", "--schema", DEMO.schema, "--tolerance", 2), "--tolerance: must be <= 1"),
        (("id3", "--schema", DEMO.schema, "--tree", DEMO.schema), "this is a schema, not a tree: give"),
        (
            ("run", "protocols.equality:equal", "5"),
            "argument values: 5 is one value, but the program takes a list; add a comma: 5,",
        ),
        (("run", "protocols.equality:equall", "5"), "did you mean 'equal'"),
    ],
)
def test_wrong_input_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[object, ...], complaint: str
) -> None:
    code, _, err = run(capsys, "estimate", *arguments)
    assert code == 2
    assert complaint in err
    assert err.count("\n") == 1


def test_a_tree_of_another_schema_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    TreeFile("ab" * 32, "play", 0.001, Leaf("yes")).dump(tmp_path / "tree.json")
    code, _, err = run(capsys, "estimate", "id3", "--schema", DEMO.schema, "--tree", tmp_path / "tree.json")
    assert code == 2
    assert "another schema" in err


def test_a_tree_has_a_typical_cost_and_a_bound(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("estimate", "id3", "--schema", DEMO.schema, "--max-rows", 200, "--plain")
    said = run(capsys, *arguments)[1]
    assert "typical, for a tree with 1, 2, 4, 6 splits on its levels" in said
    assert "both at most" in said
    for row in json.loads(run(capsys, *arguments, "--json")[1])["estimates"]:
        assert row["party0_sends"] + row["party1_sends"] <= row["at_most"]
    monkeypatch.setattr("parties.jobs.tree.exact.LARGEST_COUNTED", 10)
    assert "both at most" not in run(capsys, *arguments)[1]


def test_a_column_of_many_values_makes_it_too_large() -> None:
    values = [str(number) for number in range(51)]
    wide, few = (schema.Schema({**{f"a{i}": values for i in range(n)}, "class": ["no", "yes"]}) for n in (60, 7))
    assert not ExactTree(Id3Settings(max_rows=2_000_000, plain=True), wide, "class").cost(Inputs()).is_countable
    assert ExactTree(Id3Settings(max_rows=2_000_000, plain=True), few, "class").cost(Inputs()).is_countable, "in parts"
    small = ExactTree(Id3Settings(max_rows=2000), few, "class")
    assert small.cost(Inputs()).most(Profile("mixed")) is not None


def test_a_synthesis_says_what_fitting_models_takes_and_what_bounds_it(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--schema", DEMO.schema, "--max-rows", 100, "--epsilon", 1, "--delta", 1e-9, "--columns", "wind,play"]
    for select, word in (("aim", "typical"), ("mst", "at most")):
        document = json.loads(run(capsys, "estimate", "synthesise", *flags, "--select", select, "--json")[1])
        assert document["estimate"] == word
        assert document["besides"]["fitting models"] > 0
        for row in document["estimates"]:
            counted = row["party0_sends"] + row["party1_sends"]
            assert row["at_most"] is None if select == "mst" else row["at_most"] > counted


def test_holders_are_counted_with_what_each_sends(capsys: pytest.CaptureFixture[str]) -> None:
    job = ("release", "table", "--by", "wind,play", "--epsilon", 1, "--schema", DEMO.schema, "--max-rows", 10)
    for more, same_bound in ((("--holders", 5, "--compute-only"), 25), (("--holders", 4), 30)):
        code, out, _ = run(capsys, "estimate", *job, *more, "--engine", "gmw", "--json")
        assert code == 0
        counted = json.loads(out)
        assert counted["holder"] == {"questions": 1, "party0_gets": 32, "party1_gets": 8 * 4}
        (own,) = estimates(capsys, *job[:-1], same_bound, "--engine", "gmw")
        assert counted["estimates"][0]["and_gates"] > own["and_gates"]  # shares are cut into two numbers
    _, text, _ = run(capsys, "estimate", *job, *more, "--engine", "gmw")
    assert "each holder answers 1 question in that run: it sends 32 bytes to party 0 and 32 bytes to party 1" in text


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--holders", 0, "--plain"), "--holders: must be 1 or more"),
        (("--holders", 1, "--compute-only", "--plain"), "--holders: must be 2 or more with --compute-only"),
        (("--compute-only", "--plain"), "--compute-only: goes with --holders; add --holders 3"),
        (("--holders", 3, "--l", 2), "--holders: l and t against the peer need each party's own rows: give --against"),
        (("--holders", 65, "--plain"), "--holders: 65 are too many; count 64 at most"),
        (("--holders", 64, "--max-rows", 1 << 30, "--plain"), "rows in all; lower it"),
    ],
)
def test_holders_that_cannot_be_counted_are_a_line(
    capsys: pytest.CaptureFixture[str], flags: tuple[object, ...], message: str
) -> None:
    code, _, said = run(capsys, "estimate", "id3", "--schema", DEMO.schema, *flags)
    assert code == 2
    assert message in said
    assert said.count("\n") == 1
