"""`smc audit processing`: the record of processing of a real log, and a draft of the assessment with figures."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from parties import cli
from parties.link.identity import Identity, fingerprint
from parties.node.governance.markdown import text
from tests.support.logs import DIGEST, Node, proposed

PARTY = """
[link]
identity = "{alice.own.key_path}"
certificate = "{alice.own.certificate_path}"
peer = "{alice.peer.certificate_path}"

[node]
state = "{alice.path.parent.name}"

[controller]
name = "Clinic A | North"
contact = "privacy@clinic-a.example"

[peer]
roles = ["hospital"]
attributes.gdpr_compliant = true
transfer = "none: both are in the Union"

[tables.patients]
source = "patients.csv"
schema = "schema.toml"
max_rows = 1000

[tables.patients.budget]
epsilon = 4

[tables.patients.rights]
contact = "privacy@clinic-a.example"
legal_basis = "public task"
purposes = ["DrugEffect"]
subjects = ["patients since 2020"]
special = "research (art. 9(2)(j))"
retention_days = 3650
objection = "rows left out"

[tables.visits]
source = "visits.csv"
schema = "schema.toml"

[[policy]]
name = "told"
effect = "permit"
rights.declared = true
"""
SCHEMA = 'target = "outcome"\n[attributes]\nage = ["young", "old"]\noutcome = ["good", "bad"]\n'
REPORT = {
    "models": [{"model": "k-anonymity", "holds": True, "reached": 5}, {"model": "t", "holds": False, "reached": 0.4}],
    "risks": {
        "linkage": {
            "prosecutor_highest": 0.2,
            "prosecutor_average": 0.1,
            "marketer": 0.1,
            "unique_rows": 0,
        },
        "sensitive": {"disease": {"homogeneity": {"rows_share": 0.25}, "skewness": {"highest_lift": 3.5}}},
    },
}


def job(node: Node, number: int, kind: str = "finished", **changes: Any) -> None:
    """One job of the log: proposed, started unless it was refused, ended."""
    name, fields = f"{number:032x}", proposed("peer", node.peer)
    uses = changes.pop("uses", [])
    parameters = fields["parameters"] | changes.pop("parameters", {})
    node.add("proposed", name, **fields | {"purpose": "DrugEffect"} | changes | {"parameters": parameters})
    if kind == "refused":
        node.add("decided", name, party="us", verdict="refused", by="rule told", reason="no")
        return
    node.add("started", name, digest=DIGEST)
    if uses:
        peer = {"peer": node.peer.name, "peer_fingerprint": fingerprint(node.peer.certificate)}
        node.add("spent", name, table=fields["table"], **peer, counts_from="2026-01-02T03:04:05+00:00", uses=uses)
    node.add("opened", name, opened={"class of a leaf": 3})
    if kind == "finished":
        node.add("finished", name, outcome="7e" * 32, opened={}, rounds=1, bytes_sent=1, bytes_received=1)


LAPLACE = {"mechanism": "Laplace", "epsilon": 0.5, "adjacency": "add-remove", "times": 2}


@pytest.fixture
def alice(tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Her log after seven jobs, and her party.toml, where commands are run."""
    monkeypatch.chdir(tmp_path)
    node = Node(tmp_path, identities["alice"], identities["bob"])
    node.start()
    job(node, 1, uses=[LAPLACE])
    job(node, 2, parameters={"k": 5, "l": 2.0, "t": 0.3, "against": "peer"})
    job(node, 3, parameters={"k": 7, "l": 3.0, "t": 1.0, "against": "public"})
    job(node, 4, "under way")
    job(node, 5, exact="this tells each party the other's number", protocol="millionaires")
    job(node, 6, purpose="<b>Marketing</b> | all")
    job(node, 7, "refused")
    (tmp_path / "party.toml").write_text(PARTY.format(alice=node))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    with closing(node.connection):
        yield node


def smc(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert cli.run(["audit", "processing", *words]) == code
    found = capsys.readouterr()
    return found.out if code == 0 else found.err


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(smc(capsys, "--format", "json", *words))


def test_the_record_is_what_log_and_file_say(alice: Node, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys)
    assert list(found) == ["record"]
    record = found["record"]
    assert record["controller"] == {"name": "Clinic A | North", "contact": "privacy@clinic-a.example"}
    assert record["log"] == {"entries": len(list(alice.log)), "ok": True, "problems": []}
    shown = {(one["purpose"], one["table"], one["kind"]): one for one in record["activities"]}
    assert set(shown) == {
        ("<b>Marketing</b> | all", "patients", "id3"),
        ("DrugEffect", "patients", "id3"),
        ("DrugEffect", "patients", "millionaires"),
    }
    trees = shown["DrugEffect", "patients", "id3"]
    assert (trees["declared"], trees["jobs"], trees["with"]) == (True, 4, ["bob"])
    assert trees["columns"] == ["age", "outcome", "sex"]
    assert trees["ends"] == {"finished": 3, "under way": 1}
    assert trees["protected_by"] == {"noise": 1, "rules": 2, "none": 1}
    assert trees["opened"] == {"class of a leaf": 12}
    assert shown["<b>Marketing</b> | all", "patients", "id3"]["declared"] is False
    assert record["refused"] == {"rule told": 1}
    patients, visits = record["tables"]
    assert patients["rights"]["retention_days"] == 3650
    assert patients["budget"] == "epsilon 4"
    assert visits["rights"] is None
    (recipient,) = record["recipients"]
    assert recipient["fingerprint"] == fingerprint(alice.peer.certificate)
    assert recipient["transfer"] == "none: both are in the Union"
    assert "contact" not in recipient  # nobody has said it
    assert recipient["attributes"] == {"gdpr_compliant": True}
    assert "Rule “told”: permit if the purpose is one that the table declares." in record["measures"]


def test_what_nobody_has_said_is_missing(alice: Node, capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys)["record"]["missing"] == [
        "the data protection officer, where there must be one: controller.officer",
        "how the recipient can be reached: peer.contact",
        "of table patients: tables.patients.rights.categories",
        "of table patients: tables.patients.rights.access",
        "of table patients: tables.patients.rights.erasure",
        "the rights of the people in table visits: [tables.visits.rights]",
    ]


def test_the_draft_has_what_was_measured(alice: Node, capsys: pytest.CaptureFixture[str]) -> None:
    draft = document(capsys, "--dpia", "--report", "report.json")["assessment"]
    budget = draft["budgets"][0]
    assert (budget["table"], budget["spent"], budget["left"], budget["delta"]) == ("patients", 1.0, 3.0, 0.0)
    assert budget["surest"] == pytest.approx(math.e / (1 + math.e))  # e^epsilon : 1
    assert draft["budgets"][1]["surest"] == 0.5  # nothing was spent: as likely as before
    risks = {(one["risk"], one["purpose"]): one for one in draft["results"]}
    weakest = risks["rules", "DrugEffect"]
    assert [weakest[name] for name in ("jobs", "k", "l", "t", "against", "linked")] == [2, 5, 2.0, 1.0, "public", 0.2]
    assert "the peer can subtract its own" in weakest["tells"]
    assert (risks["none", "DrugEffect"]["jobs"], risks["none", "DrugEffect"]["opened"]) == (1, 3)
    assert risks["exact", "DrugEffect"]["kind"] == "millionaires"
    assert draft["purposes"] == [{"purpose": "<b>Marketing</b> | all", "table": "patients", "jobs": 1}]
    (published,) = draft["publications"]
    assert (published["failed"], published["prosecutor"], published["marketer"]) == (["t"], 0.2, 0.1)
    assert published["sensitive"] == {"disease": {"homogeneous_rows": 0.25, "highest_lift": 3.5}}


def test_markdown_says_the_same_and_takes_no_markup_from_others(
    alice: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    text = smc(capsys, "--dpia", "--report", "report.json")
    lines = text.splitlines()
    assert lines[0] == "# Record of processing activities"
    assert "- name: Clinic A \\| North" in lines
    (row,) = [line for line in lines if "Marketing" in line and line.endswith("|") and "id3" in line and "bob" in line]
    assert row.startswith("| \\<b\\>Marketing\\</b\\> \\| all | no | patients | id3 | bob | age, outcome, sex | 1 |")
    assert "<b>" not in text
    assert "# Data protection impact assessment: draft" in lines
    (head,) = [line for line in lines if line.startswith("| purpose | declared")]
    assert row.replace("\\|", "").count("|") == head.count("|")


def test_markdown_leaves_nothing_out(alice: Node, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--dpia", "--report", "report.json")
    found, lines = document(capsys, *words), smc(capsys, *words).splitlines()
    record, draft = found["record"], found["assessment"]
    for items in (record["measures"], record["missing"], draft["open"]):
        assert items
        assert {f"- {text(item)}" for item in items} <= set(lines)
    shown = [line.replace("\\|", "").strip("|").split("|") for line in lines if line.startswith("|")]
    rows = [{cell.strip() for cell in cells} for cells in shown]
    for name in ("budgets", "results", "purposes", "publications"):
        assert draft[name]
        for row in draft[name]:
            cells = [text(row[key]).replace("\\|", "") for key in ("table", "tells", "jobs", "report") if key in row]
            assert any(set(cells) <= row_shown for row_shown in rows), row
    titles = ["Controller", "Purposes", "Table patients", "Table visits", "Recipient bob", "Security (art. 32)"]
    titles += ["Missing", "What noisy results reveal about single rows", "What results without noise reveal"]
    titles += ["Purposes that the tables do not declare", "Published tables", "To be answered by people"]
    assert [line[3:] for line in lines if line.startswith("## ")] == titles


def test_a_file_for_the_authority(alice: Node, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert smc(capsys, "--out", "record.md") == ""
    assert (tmp_path / "record.md").read_text().startswith("# Record of processing activities\n")
    assert "--out" in smc(capsys, "--out", "party.toml", code=2)
    assert "--dpia" in smc(capsys, "--report", "report.json", code=2)


def test_what_commands_publish_is_on_record(alice: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """Anonymised rows, pseudonyms, a table of counts, a forgotten subject: in the log, which stays whole, and here."""
    Path("patients.csv").write_text("name,age,outcome\n" + "".join(f"n{i},{20 + i % 4},good\n" for i in range(40)))
    Path("publish.toml").write_text(
        'source = "patients.csv"\nsubject = "name"\n[columns]\n'
        'name = { role = "identifier", pseudonym = "deterministic" }\nage = { role = "quasi-identifier" }\n'
        'outcome = { role = "sensitive" }\n[[models]]\nmodel = "k-anonymity"\nk = 5\n'
    )
    Path("growing.toml").write_text(
        'source = "patients.csv"\n[columns]\nname = { role = "identifier" }\nage = { role = "sensitive" }\n'
        'outcome = { role = "quasi-identifier" }\n[history]\nfile = "p.history"\nrow = "name"\nm = 2\n'
    )
    keys, plan = ["--master", "m.key", "--keys", "k.db"], ["--plan", "publish.toml"]
    config = ["--config", "party.toml", "--purpose", "DrugEffect"]
    about = ["--config", "party.toml", "--table", "patients"]
    before = len(list(alice.log))
    for words in (
        ["keys", *keys],
        ["anonymise", *plan, "--out", "out.csv", *config],
        ["pseudonyms", *plan, *keys, "--out", "rows.csv", *config],
        [
            "table",
            "--data",
            "patients.csv",
            "--by",
            "age",
            "--out",
            "ages.csv",
            "--config",
            "party.toml",
            "--purpose",
            "gossip",
        ],
        ["invariant", "--plan", "growing.toml", "--out", "grown.csv", *config],
        ["forget", *keys, "--subject", "n7", *about],
    ):
        assert cli.run(["publish", *words]) == 0, words
    assert [entry.kind for entry in alice.log][before:] == ["published"] * 5
    alice.start()  # the node goes on after what the commands wrote
    assert not alice.log.checked().problems
    assert "n7" not in "".join(str(entry.fields) for entry in alice.log)
    capsys.readouterr()
    record = document(capsys)["record"]
    shown = [(one["what"], one["table"], one["declared"], one["columns"]) for one in record["publications"]]
    assert shown == [
        ("anonymise", "patients", True, ["age", "outcome"]),
        ("pseudonyms", "patients", True, ["name", "age", "outcome"]),
        ("table", "patients", False, ["age"]),
        ("invariant", "patients", True, ["class", "outcome", "age", "counterfeits"]),
    ]
    protected = [one["protected_by"] for one in record["publications"]]
    assert protected[:2] == [["5-anonymity"], ["name: deterministic pseudonyms"]]
    assert record["publications"][0]["digest"] == hashlib.sha256(Path("out.csv").read_bytes()).hexdigest()
    assert len(record["tables"][0]["keys_destroyed"]) == 1
    assert "why a key of table patients was destroyed: its rights.erasure says nothing" in record["missing"]
    assert "| anonymise | patients | DrugEffect | yes | age, outcome | 5-anonymity |" in smc(capsys)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--purpose", "x"], "--purpose: goes with --config, which has the record; add --config party.toml"),
        (["--config", "none.toml"], "none.toml"),
        (["--config", "party.toml", "--report", "party.toml"], "--report: party.toml is an input of this command"),
    ],
)
def test_what_cannot_be_recorded_is_not_published(
    alice: Node, words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("patients.csv").write_text("age,outcome\n20,good\n30,bad\n")
    assert cli.run(["publish", "table", "--data", "patients.csv", "--by", "age", "--out", "ages.csv", *words]) == 2
    assert problem in capsys.readouterr().err
    assert not Path("ages.csv").exists()


@pytest.mark.parametrize("text", ["{}", "[]", "no", '{"models": [], "risks": {}}', '{"models": 5, "risks": 7}'])
def test_what_is_no_report_is_refused(
    alice: Node, capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    (tmp_path / "other.json").write_text(text)
    assert "other.json is no report of smc publish" in smc(capsys, "--dpia", "--report", "other.json", code=2)


def test_a_changed_log_is_told(alice: Node, capsys: pytest.CaptureFixture[str]) -> None:
    alice.connection.execute("DROP TRIGGER audit_no_delete")
    alice.connection.execute("DELETE FROM audit WHERE number = 2")
    alice.connection.commit()
    assert cli.run(["audit", "processing"]) == 0
    told = capsys.readouterr()
    assert "NOT whole" in told.out
    assert "the records are not whole: entry 2 is missing" in told.err


def test_before_the_first_run_the_file_is_all_there_is(
    alice: Node, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "party.toml"
    file.write_text(file.read_text().replace(f'state = "{alice.path.parent.name}"', 'state = "new"'))
    record = document(capsys)["record"]
    assert (record["log"], record["activities"]) == (None, [])
    assert "what was done so far: no node has run with this file yet" in record["missing"]
    assert "no node has run yet" in smc(capsys, "--dpia")
    assert not (tmp_path / "new").exists()
