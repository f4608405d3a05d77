"""Alignment of two tables with typing errors: by hand between two processes, and by two nodes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parties.jobs.kinds.align.fuzzy import AlignFuzzy
from tests.support.nodes import Nodes, cost_as_predicted, job
from tests.support.processes import Processes, here
from tests.support.waiting import eventually

BANK = """id,name,born,play
1,Zoë Müller,1990-02-01,yes
2,Robert Smith,1980-04-03,no
3,Cid King,1970-06-05,yes
4,Dan Brown,1960-08-07,no
"""
SHOP = """id,name,born,play
5,CID KING,1970-06-05,no
6,Zoe Mueler,1990-02-01,yes
7,Ron Smee,1980-04-03,no
8,Eve Adams,1980-04-03,yes
"""
SCHEMA = 'target = "play"\n[attributes]\nplay = ["yes", "no"]\n'
FORMS = ["name=accents+case"]
COMPARISONS = ["name=exact:0.6:0.0001+dice@0.6:0.35:0.001+else:0.05:0.99", "born=exact:9+else:-4"]
RULES = ["born:year", "name:soundex"]
JOB = {"--forms": FORMS, "--comparisons": COMPARISONS, "--blocking-rules": RULES, "--threshold-match-weight": ["12"]}
WORDS = [word for flag, texts in JOB.items() for word in (flag, ",".join(texts))]
MATCHED = {("Cid King", "CID KING"), ("Zoë Müller", "Zoe Mueler")}
RULE = """max_rows = 10

[[policy]]
name = "few"
effect = "permit"
protocol = "align fuzzy"
keys.at_most = 24
listener_keys.at_most = 24
purpose = "research"
"""
FIELDS: dict[str, Any] = {
    "protocol": "align fuzzy",
    "table": "rows",
    "forms": FORMS,
    "comparisons": COMPARISONS,
    "blocking_rules": RULES,
    "threshold_match_weight": 12.0,
    "bin_rows": 10,
    "purpose": "research",
}


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


def test_by_hand_each_party_has_its_matched_rows_in_one_order(processes: Processes, tmp_path: Path) -> None:
    words = ["align", "fuzzy", *WORDS, "--keys", "16", "--bin-rows", "8", "--json"]
    estimates = json.loads(here(tmp_path, "estimate", *words).out)["estimates"]
    words += ["--engine", "gmw", "--ot", "ferret"]
    done = processes.pair(
        [*words, "--data", "bank.csv", "--aligned", "0.csv"], [*words, "--data", "shop.csv", "--aligned", "1.csv"]
    )
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    left, right = (json.loads(one.out) for one in done)
    assert left["matched"] == right["matched"] == 2
    assert left["compared"] == 2 * 2 * 8 * 8
    assert set(zip(names(tmp_path / "0.csv"), names(tmp_path / "1.csv"), strict=True)) == MATCHED
    assert (tmp_path / "0.csv").stat().st_mode & 0o777 == 0o600
    assert "Cid" not in done[0].out
    usual = next(one for one in estimates if (one["engine"], one["ot"]) == ("gmw", "ferret") and one["form"] == "depth")
    assert left["cost"]["bytes_sent"] == usual["party0_sends"]
    assert right["cost"]["bytes_sent"] == usual["party1_sends"]


@pytest.mark.parametrize(
    ("flag", "value", "line"),
    [
        (
            "--comparisons",
            "name",
            "comparisons: 'name' must be COLUMN=LEVELS, such as name=exact:0.8:0.01+else:0.2:0.99",
        ),
        ("--comparisons", "name=exact:1", "comparisons: 'name' needs one to 4 levels, and else as the last one"),
        ("--comparisons", "name=dice@0.7:2+exact:3+else:0", "'name' must have its strictest level first"),
        ("--comparisons", "name=dice@0.7:2+dice@0.8:3+else:0", "'name' must have its strictest level first"),
        ("--comparisons", "name=dice@1.2:2+else:0", "'dice@1.2:2' must be LEVEL:M:U"),
        ("--comparisons", "name=exact:0:0.5+else:0", "'exact:0:0.5' must be LEVEL:M:U"),
        ("--comparisons", "name=exact:2:0.5+else:0", "'exact:2:0.5' must be LEVEL:M:U"),
        ("--comparisons", "name=exact:nan+else:0", "'exact:nan' must be LEVEL:M:U"),
        ("--comparisons", "name=exact:1000+else:0", "'exact:1000' must be LEVEL:M:U"),
        ("--comparisons", "name=exact+else:0", "'exact' must be LEVEL:M:U"),
        ("--comparisons", "name=exact:9+else:0,name=exact:9+else:0", "'name' has two comparisons; join their levels"),
        ("--comparisons", "ssn=exact:20+else:0", "there is no column 'ssn'"),
        ("--blocking-rules", "name:", "'name:' must be COLUMN or COLUMN:STEP, joined by +: name:soundex"),
        ("--blocking-rules", "name:metaphone", "'name:metaphone': there is no step 'metaphone'"),
        ("--blocking-rules", "a,b,c,d,e", "names 5 rules; name at most 4"),
        ("--threshold-match-weight", "-9", "the comparisons give -8.3125 to 21.5625; name a number above -8.3125"),
        ("--threshold-match-weight", "22", "name a number above -8.3125, and at most 21.5625"),
        ("--learns", "dialler", "several rules need learns = both"),
        ("--keys", "6", "4 rows, more than the agreed 3 (keys)"),
        ("--forms", "born=date:dmy,name=case,play=case", "forms: 'play' is no key column"),
    ],
)
def test_a_job_or_table_that_does_not_fit_is_a_line(tmp_path: Path, flag: str, value: str, line: str) -> None:
    (tmp_path / "bank.csv").write_text(BANK)
    words = {**JOB, flag: [value]}
    flags = [word for name, texts in words.items() for word in (name, ",".join(texts))]
    done = here(tmp_path, "align", "fuzzy", "--data", "bank.csv", "--listen", "127.0.0.1:0", *flags)
    assert done.code == 2
    assert line in done.err
    assert len(done.err.splitlines()) == 1


def test_a_party_sees_the_rows_that_find_no_place(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("name,born\n" + "ann,1990\n" * 5)
    fields = {name: FIELDS[name] for name in ("comparisons", "threshold_match_weight")}
    settings = AlignFuzzy.Settings.model_validate(
        {**fields, "blocking_rules": RULES, "keys": 10, "bin_rows": 2, "data": tmp_path / "rows.csv"}
    )
    _, _, remarks = AlignFuzzy.alone(settings, 1)
    left_out = "3 of your rows find no place in their bins and are left out"
    assert remarks == [f"rule {rule}: {left_out}; raise --bin-rows or --keys, or name a finer rule" for rule in RULES]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("fuzzy"))
    nodes.furnish((BANK, SHOP), SCHEMA, (RULE, RULE))
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


def test_by_nodes_under_a_rule_that_bounds_the_keys(pair: Nodes) -> None:
    identifier = pair.a.client.submit(FIELDS).id
    left, right = pair.finished(identifier)
    assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
    assert right.ours.by == "rule few"
    found = []
    for node in (pair.a, pair.b):
        result = node.client.result(identifier)
        assert result.document["matched"] == 2
        assert result.opened == {"whether a row has a partner, and its place": 2 * 2 * 10 * (1 + 4)}
        assert here(node.directory, "align", "rows", "latest", "--out", "aligned.csv").code == 0
        found.append(names(node.directory / "aligned.csv"))
    assert set(zip(*found, strict=True)) == MATCHED
    cost_as_predicted(pair.a, left)


def test_more_keys_than_a_rule_permits_wait_for_consent_that_names_membership(pair: Nodes) -> None:
    """Of each of the two rules: a party that cheats may enter other rows by each."""
    identifier = pair.a.client.submit({**FIELDS, "keys": 1000}).id
    view = job(pair.b, identifier)
    assert view.state == "waiting"
    assert "So a learns who of the people that it enters is in our table, and the reverse." in view.reveals
    assert "a can enter guessed keys: up to 2,000 people if it listens, up to 2,000 if it dials." in view.reveals
    assert "A guess need not be exact: a row like one of ours is enough." in view.reveals
    eventually(lambda: pair.b.client.job(identifier).remarks)
    (remark,) = pair.b.client.job(identifier).remarks
    assert "2,000 people for membership, 200 times the bound on this table's rows" in remark
    pair.b.client.refuse(identifier, "too many keys")
