"""Alignment of two tables: by hand between two processes, and by two nodes with a rule, consent and records."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.jobs.kinds.align.exact import AlignExact
from tests.support.nodes import Nodes, cost_as_predicted, job
from tests.support.processes import Processes, here
from tests.support.waiting import eventually

BANK = """tax,name,born,play
1,Zoë Müller,1.2.1990,yes
2,Bob Smith,3.4.1980,no
,Cid King,5.6.1970,yes
4,Dan,7.8.1960,no
"""
SHOP = """tax,name,born,play
9,CID KING,1970-06-05,no
1,zoe muller,01.02.1990,yes
,Bob Smith,3.4.1980,no
5,Dan,7.8.1960,yes
"""
KEYS = ["--by", "tax,name+born", "--forms", "name=accents+case,born=date:dmy"]
MATCHED = {("Zoë Müller", "zoe muller"), ("Bob Smith", "Bob Smith"), ("Cid King", "CID KING")}
SCHEMA = 'target = "play"\n[attributes]\nplay = ["yes", "no"]\n'
RULE = """max_rows = {rows}

[[policy]]
name = "few"
effect = "permit"
protocol = "align exact"
keys.at_most = 20
listener_keys.at_most = 20
purpose = "research"
"""


def names(path: Path) -> list[str]:
    with path.open(newline="") as file:
        return [row["name"] for row in csv.DictReader(file)]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    (tmp_path / "bank.csv").write_text(BANK)
    (tmp_path / "shop.csv").write_text(SHOP)
    started = Processes(tmp_path)
    yield started
    started.stop()


@pytest.mark.parametrize("method", ["dh", "fast"])
def test_by_hand_each_party_has_its_matched_rows_in_one_order(
    processes: Processes, tmp_path: Path, method: str
) -> None:
    words = ["align", "exact", *KEYS, "--keys", "20", "--method", method, "--json"]
    estimates = json.loads(here(tmp_path, "estimate", *words[:-1], "--json").out)["estimates"]
    done = processes.pair(
        [*words, "--data", "bank.csv", "--aligned", "0.csv", "--out", "0.json", "--unmatched", "not0.csv"],
        [*words, "--data", "shop.csv", "--aligned", "1.csv", "--unmatched", "not1.csv"],
    )
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    left, right = (json.loads(one.out) for one in done)
    assert left["matched"] == right["matched"] == 3
    assert set(zip(names(tmp_path / "0.csv"), names(tmp_path / "1.csv"), strict=True)) == MATCHED
    for party, rest in enumerate((["tax,name,born", "4,Dan,7.8.1960"], ["tax,name,born", "5,Dan,7.8.1960"])):
        assert (tmp_path / f"not{party}.csv").read_text().splitlines() == rest
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("0.csv", "not0.csv")} == {0o600}
    for text in (done[0].out, (tmp_path / "0.json").read_text()):
        assert "Bob" not in text
        assert "Dan" not in text
        assert "--aligned" in json.loads(text)["keys"]
    assert left["cost"]["bytes_sent"] == estimates[0]["party0_sends"]
    assert right["cost"]["bytes_sent"] == estimates[0]["party1_sends"]


def test_only_the_number_for_one_party(processes: Processes) -> None:
    words = ["align", "exact", "--by", "tax", "--opens", "number", "--learns", "dialler"]
    done = processes.pair([*words, "--data", "bank.csv", "--json"], [*words, "--data", "shop.csv", "--json"])
    left, right = (json.loads(one.out) for one in done)
    assert (left["matched"], left["reason"]) == (None, "only the dialling party learns it")
    assert right["matched"] == 1
    assert "reason" not in right
    assert AlignExact.text(left, 0) == "matched: only the dialling party learns it\n"
    assert AlignExact.text(right, 1) == "matched: 1 row\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["--by", "play"],
            "key play: rows with the key of an earlier row: 2; remove them, or agree on duplicates = first",
        ),
        (["--by", "born", "--forms", "born=date:ymd"], "column born: cells that its normal form cannot read: 4"),
        (["--by", "word"], "column word: cells that look like a missing value: 1; list the words that mean one as"),
        (["--by", "tax", "--keys", "3"], "4 rows, more than the agreed 3 (keys)"),
        (["--by", "ssn"], "there is no column 'ssn'"),
        (["--by", "tax+"], "'tax+' is no list of columns; write it as name+born"),
        (["--by", "tax", "--forms", "name=case"], "'name' is no key column; by has 'tax': correct one"),
        (["--by", "tax,born", "--opens", "number"], "by: several keys need opens = rows and learns = both"),
        (["--by", "tax,born", "--learns", "dialler"], "by: several keys need opens = rows and learns = both"),
        (
            ["--by", "tax", "--method", "fast", "--opens", "number"],
            "its matched rows; for opens = number, set method = dh",
        ),
        (["--by", "tax", "--at-least", "1"], "--at-least: goes with opens = at-least and learns = both; set all three"),
        (["--by", "tax", "--opens", "at-least"], "at_least: goes with opens = at-least and learns = both"),
        (
            ["--by", "tax", "--keys", "9", "--opens", "at-least", "--at-least", "10"],
            "--at-least: 10 rows never match, with at most 9 keys; lower it",
        ),
        (
            ["--by", "tax", "--method", "fast", "--opens", "at-least", "--at-least", "1"],
            "its matched rows; for opens = at-least, set method = dh",
        ),
        (["--by", "tax", "--learns", "dialler", "--aligned", "x.csv"], "this party learns no rows; remove it"),
        (["--by", "tax", "--opens", "number", "--unmatched", "x.csv"], "--unmatched: this party learns no rows"),
    ],
)
def test_a_table_that_cannot_take_part_is_a_line(tmp_path: Path, words: list[str], line: str) -> None:
    (tmp_path / "bank.csv").write_text(BANK if words[1] != "word" else "word\nn/a\n")
    done = here(tmp_path, "align", "exact", "--data", "bank.csv", "--listen", "127.0.0.1:0", *words)
    assert done.code == 2
    assert line in done.err
    assert len(done.err.splitlines()) == 1


def test_a_party_sees_its_keys_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "bank.csv").write_text(BANK)
    shown = json.loads(here(tmp_path, "align", "check", "bank.csv", *KEYS, "--json").out)
    assert (shown["rows"], shown["rows_without_key"], shown["problems"]) == (4, 0, [])
    first = {"value": ["1"], "rows": 1}, {"value": ["zoe muller", "1990-02-01"], "rows": 1}
    assert shown["keys"] == [
        {"key": "tax", "rows": 3, "doubles": 0, "double_rows": [], "most_frequent": first[0]},
        {"key": "name+born", "rows": 4, "doubles": 0, "double_rows": [], "most_frequent": first[1]},
    ]
    assert shown["columns"][1]["normal"] == ["zoe muller", "bob smith", "cid king"]
    done = here(tmp_path, "align", "check", "bank.csv", "--by", "play")
    assert done.code == 2
    assert "refused: key play: rows with the key of an earlier row: 2" in done.out
    assert "only 4 rows have a key" in done.out
    assert "doubles of key play, the first row is 1: row 3 as 1, 4 as 2\n" in done.out


@pytest.mark.parametrize(
    ("settings", "rows", "keyless", "problem"),
    [
        ("", 4, 0, "refused: column tax: cells that look like a missing value: 3"),
        ('missing = ["n/a", "Unknown", "-"]', 1, 3, ""),
        ("missing = []", 4, 0, ""),  # they are keys
    ],
)
def test_words_for_a_missing_value_are_no_keys_unless_the_table_says_so(
    tmp_path: Path, settings: str, rows: int, keyless: int, problem: str
) -> None:
    (tmp_path / "bank.csv").write_text("tax\n1\nn/a\nUnknown\n-\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "party.toml").write_text(
        f'[tables.bank]\nsource = "bank.csv"\nschema = "schema.toml"\nmax_rows = 9\n[tables.bank.format]\n{settings}\n'
    )
    words = ["--by", "tax", "--config", "party.toml"]
    shown = json.loads(here(tmp_path, "align", "check", "bank.csv", *words, "--json").out)
    assert (shown["keys"][0]["rows"], shown["rows_without_key"]) == (rows, keyless)
    done = here(tmp_path, "align", "check", "bank.csv", *words)
    assert (done.code, problem in done.out) == (2 * bool(problem), True)
    assert ("column tax: looks like a missing value: 'n/a' (1)" in done.out) == (rows == 4)
    run = here(tmp_path, "align", "exact", *words, "--table", "bank", "--keys", "3", "--listen", "127.0.0.1:0")
    assert "4 rows, more than the agreed 3" in run.err


def test_at_most_twenty_doubles_are_listed(tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text("tax\n1\n" + "2\n" * 24)
    (key,) = json.loads(here(tmp_path, "align", "check", "many.csv", "--by", "tax", "--json").out)["keys"]
    assert key["doubles"] == 23
    assert key["double_rows"] == [{"row": row, "earlier": 2} for row in range(3, 23)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("alignment"))
    nodes.furnish((BANK, SHOP), SCHEMA, (RULE.format(rows=10), RULE.format(rows=10)))
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


def test_by_nodes_under_a_rule_that_bounds_the_keys(pair: Nodes) -> None:
    fields = {"protocol": "align exact", "table": "rows", "by": ["tax", "name+born"]}
    fields |= {"forms": ["name=accents+case", "born=date:dmy"], "purpose": "research"}
    identifier = pair.a.client.submit(fields).id
    left, right = pair.finished(identifier)
    assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
    assert right.ours.by == "rule few"
    found = []
    for node in (pair.a, pair.b):
        result = node.client.result(identifier)
        assert result.document["matched"] == 3
        assert "own" not in result.document
        assert result.opened == {"whether a key is common": 40}
        assert "whole" in here(node.directory, "audit", "verify").out
        assert here(node.directory, "align", "rows", identifier[:8], "--out", "aligned.csv").code == 0
        found.append(names(node.directory / "aligned.csv"))
        latest = here(node.directory, "align", "rows", "latest")
        assert latest.out, latest.err
        assert latest.out == (node.directory / "aligned.csv").read_text()
        kept = node.directory / "state" / "aligned" / f"{identifier}.csv"
        assert kept.stat().st_mode & 0o777 == 0o600
    assert set(zip(*found, strict=True)) == MATCHED
    cost_as_predicted(pair.a, left)
    pair.a.client.withdraw(identifier, "wrong keys")
    assert not (pair.a.directory / "state" / "aligned" / f"{identifier}.csv").exists()


def test_more_keys_than_a_rule_permits_wait_for_consent_that_names_membership(pair: Nodes) -> None:
    fields = {"protocol": "align exact", "table": "rows", "by": ["tax"], "keys": 1000, "purpose": "research"}
    identifier = pair.a.client.submit(fields).id
    view = job(pair.b, identifier)
    assert view.state == "waiting"
    assert "So a learns who of the people that it enters is in our table, and the reverse." in view.reveals
    assert "a can enter guessed keys: up to 1,000 people if it listens, up to 1,000 if it dials." in view.reveals
    eventually(lambda: pair.b.client.job(identifier).remarks)
    (remark,) = pair.b.client.job(identifier).remarks
    assert "1,000 people for membership, 100 times the bound on this table's rows" in remark
    pair.b.client.refuse(identifier, "too many keys")


def test_a_rule_bounds_the_keys_that_a_cheating_receiver_can_enter(pair: Nodes) -> None:
    fields = {"protocol": "align exact", "table": "rows", "by": ["tax"], "keys": 20, "purpose": "research"}
    identifier = pair.a.client.submit(fields | {"method": "fast"}).id
    view = job(pair.b, identifier)
    assert view.state == "waiting"
    assert "a can enter guessed keys: up to 152 people if it listens, up to 20 if it dials." in view.reveals
    pair.b.client.approve(identifier)
    left, right = pair.finished(identifier)
    assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
    assert pair.a.client.result(identifier).document["matched"] == 1
    cost_as_predicted(pair.a, left)
