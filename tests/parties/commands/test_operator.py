"""The operator's commands, against a real server with a node that only pretends."""

from __future__ import annotations

import io
import json
import re
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from parties.base import console
from parties.cli import run
from parties.commands import job_text
from parties.models.trees.text import to_dot
from parties.models.trees.tree import Leaf, Split, TreeFile
from parties.operator import client
from parties.operator.accounts import Account, Accounts, unix_user
from parties.operator.interface import Asked, Verdict
from tests.support.api_server import LINK, application, serving, write_access
from tests.support.fake_node import APPROVED, NOON, REVEALS, WAITING, FakeNode, job_view, progress

A, B, C = "a1b2" + "0" * 28, "a1c3" + "1" * 28, "c" * 32
HOSTILE = "\x1b[2J\x9b31m\r\n  ours  approved\t\u202egood\u2069 [red]:boom:" + " " * 200 + "."


@dataclass
class Party:
    """A party's directory, the node that runs for it, and how commands there ended."""

    directory: Path
    node: FakeNode
    url: str
    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: object, config: bool = True) -> tuple[int, str, str]:
        """`smc arguments... --config party.toml`: exit code, standard output, standard error."""
        more = ["--config", str(self.directory / "party.toml")] if config else []
        self.capture.readouterr()
        code = run([*map(str, arguments), *more])
        return code, *self.capture.readouterr()

    def json(self, *arguments: object) -> Any:
        code, out, _ = self(*arguments, "--json")
        assert code == 0
        return json.loads(out)


def make_directory(path: Path) -> Path:
    (path / "var").mkdir()
    (path / "party.toml").write_text('[node]\nstate = "var"\n')
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[FakeNode, str]]:
    node = FakeNode(NOON)
    with serving(application(node)) as url:
        yield node, url


@pytest.fixture
def party(
    server: tuple[FakeNode, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Party:
    monkeypatch.setattr(client, "LONGEST_WAIT_SECONDS", 0.01)
    monkeypatch.chdir(tmp_path)
    directory = make_directory(tmp_path)
    node, url = server
    node.clear()
    node.add(A)
    node.add(B, state="done", ours=APPROVED, ended_at="2026-03-01T12:30:00+00:00")
    node.add(C, state="queued", proposed_by="us", ours=APPROVED)
    write_access(directory / "var", url)
    return Party(directory, node, url, capsys)


def test_jobs_lists_those_that_wait_for_us_first(party: Party) -> None:
    code, out, err = party("jobs")
    assert (code, err) == (0, "")
    heading, *lines = [line.split() for line in out.splitlines()]
    assert heading == ["job", "state", "by", "computes", "table", "purpose", "since", "(UTC)"]
    assert lines[0] == [
        "!",
        "a1b20000",
        *["for", "our", "consent", "university", "Decision", "tree", "for", "readmitted,"],
        *["min_rows", "20,", "depth", "4", "patients"],
        *["research", "on", "readmissions", "2026-03-01", "12:00"],
    ]
    assert [line[0] for line in lines[1:]] == ["cccccccc", "a1c31111"]
    assert lines[2][-1] == "12:30"
    assert [job["id"] for job in party.json("jobs")] == [C, B, A]


def test_jobs_say_whose_consent_they_wait_for(party: Party) -> None:
    party.node.add(A, proposed_by="us", ours=Verdict(verdict="approved"))
    assert "for the peer's consent" in " ".join(party("jobs", "--only", "waiting")[1].split())


def test_jobs_can_be_filtered(party: Party) -> None:
    assert [job["id"] for job in party.json("jobs", "--only", "done")] == [B]
    assert party("jobs", "--only", "failed") == (0, "", "no job matches\n")
    assert party.json("jobs", "--only", "failed") == []
    assert party("jobs", "--only", "nonsense")[0] == 2
    party.node.known.clear()
    assert "smc submit" in party("jobs")[2]


def test_show_says_all_that_consent_needs(party: Party) -> None:
    code, out, err = party("show", "a1b2")
    assert code == 0
    assert err == "decide:  smc approve a1b20000   or   smc refuse a1b20000 --why TEXT\n"
    lines = [re.sub(r"  +", "  ", line.strip()) for line in out.splitlines()]
    assert lines == [
        f"job {A}",
        "state  waiting for our consent",
        "proposed  by the peer, university, 2026-03-01 12:00 UTC",
        "purpose  research on readmissions",
        "computes  Decision tree for readmitted (id3)",
        "a decision tree that predicts readmitted",
        "our table  patients (the peer's: patienten)",
        "columns  age, sex, smoker, blood_pressure, readmitted",
        "parameters  tolerance 0.001, min_rows 20, max_depth 4, max_rows 65535, engine mixed",
        f"reveals  {REVEALS[0]}",
        *REVEALS[1:],
        "cost  9.4 MB both ways (at most 61.0 MB), 172 rounds, 3.2 s on 100 Mbit/s, 20 ms",
        "forecast: typical, for a tree with 1, 2, 3 splits on its levels, "
        "by shared numbers and encrypted circuits (mixed extension half)",
        "ours  waiting",
        "theirs  approved by proposer, 2026-03-01 12:00 UTC",
        f"digest  {party.node.known[A].digest}",
    ]
    assert party.json("show", A) == party.node.known[A].model_dump()


def test_show_says_how_to_give_what_is_typed(party: Party) -> None:
    identifier = "e" * 32
    party.node.add(identifier, protocol="equality", asked=[Asked(name="value", title="Number", help="Own number")])
    _, out, err = party("show", identifier)
    assert "asks for    value: Own number\n" in out
    assert err == "decide:  smc approve eeeeeeee --input value=-   or   smc refuse eeeeeeee --why TEXT\n"
    asked = party.node.known[identifier].asked
    party.node.add(identifier, protocol="equality", state="queued", ours=APPROVED, asked=asked)  # a rule permits it
    assert party("show", identifier)[2] == "give your values:  smc approve eeeeeeee --input value=-\n"
    lines = party("jobs")[1].splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["!", "!"]
    assert any("for our input" in line for line in lines)


def test_show_says_how_far_it_is_and_how_it_ended(party: Party) -> None:
    party.node.add(A, state="running", ours=APPROVED, progress=progress(2, 1200))
    _, out, err = party("show", A)
    assert "running, level 2 with 1,200 nodes" in out
    assert "level 2 with 1,200 nodes, after 1 min 15 s" in out
    assert "3.0 MB, 10 rounds, about 30 s left; 3.0 MB of it sent, 2.0 KB received" in out
    assert err == ""
    refused = Verdict(verdict="refused", by="rule no research", reason="not allowed")
    ended = {"ended_at": "2026-03-02T00:00:00+00:00", "why": "not allowed"}
    party.node.add(A, state="refused", ours=refused, cost=None, purpose="", **ended)
    code, out, _ = party("show", A)
    assert code == 0
    assert "refused by us: not allowed" in out
    assert "refused by rule no research: not allowed" in out
    assert "(none given)" in out
    assert "2026-03-02 00:00 UTC" in out


def test_nothing_of_the_peer_reaches_the_terminal_but_letters(party: Party) -> None:
    texts = dict.fromkeys(("peer", "protocol", "purpose", "peer_table", "table", "target", "digest", "why"), HOSTILE)
    more = {"columns": [HOSTILE], "reveals": [HOSTILE], "parameters": {HOSTILE: HOSTILE}, "state": "refused"}
    verdict = Verdict(verdict="refused", by=HOSTILE, reason=HOSTILE, at=HOSTILE)
    party.node.add(A, **texts, **more, ours=verdict, theirs=verdict, proposed_at=HOSTILE, ended_at=HOSTILE)
    for arguments in (["jobs"], ["show", A], ["show", A, "--watch"], ["show", A, "--json"], ["jobs", "--json"]):
        _, out, err = party(*arguments)
        assert all(c == "\n" or c.isprintable() for c in out + err)
        assert "\\" in out
        assert not re.search("^ *ours +approved", out, re.MULTILINE)
    assert job_text.shown("\ufeffan\u200can\U000e0041\xa0\u3000b") == "\\ufeffan\u200can\\U000e0041 b"
    assert "[red]:boom: ." in party("show", A)[1]  # no markup, no pictures, no gap to push things out of sight


COSTS = "it will cost about 9.4 MB both ways (at most 61.0 MB), for a tree with 1, 2, 3 splits on its levels\n"


def test_submit_proposes_the_content_of_the_file(party: Party) -> None:
    job = party.directory / "job.toml"
    job.write_text('table = "patients"\npurpose = "research"\ntolerance = 0.01\ncolumns = ["a"]\nsince = 2026-01-01\n')
    assert party("submit", job) == (0, "job 00000001: waiting for the peer's consent\n", COSTS)
    wanted = {"table": "patients", "purpose": "research", "tolerance": 0.01, "columns": ["a"], "since": "2026-01-01"}
    assert party.node.submitted == [wanted]
    assert party.json("submit", job)["id"].startswith("00000002")


def test_submit_proposes_a_kind_with_flags(party: Party) -> None:
    """The job is the one that a file with the same keys says."""
    words = [
        "id3",
        "--table",
        "patients",
        "--purpose",
        "research",
        "--tolerance",
        "0.01",
        "--columns",
        "a,b",
        "--plain",
    ]
    assert party("submit", *words) == (0, "job 00000001: waiting for the peer's consent\n", COSTS)
    wanted = {"protocol": "id3", "table": "patients", "purpose": "research", "tolerance": 0.01, "columns": ["a", "b"]}
    assert party.node.submitted == [wanted | {"plain": True}]
    party.node.submitted.clear()
    assert (
        party("submit", "release", "mean", "--column", "age", "--epsilon", "1", "--peer", "lab", "--table", "patients")[
            0
        ]
        == 0
    )
    assert party.node.submitted == [
        {"protocol": "release mean", "column": "age", "epsilon": 1.0, "peer": "lab", "table": "patients"}
    ]
    party.node.submitted.clear()
    assert party("submit", "millionaires", "--value", "7")[0] == 0
    assert party.node.submitted == [{"protocol": "millionaires", "value": 7}]


@pytest.mark.parametrize("command", [["submit"], ["budget", "simulate"]])
def test_a_job_that_is_neither_a_file_nor_a_kind(party: Party, command: list[str]) -> None:
    assert party(*command, "id4") == (2, "", "smc: there is no kind of job 'id4' (did you mean 'id3'?)\n")
    assert party(*command, "release")[2].startswith(
        "smc: 'release' is a group of kinds of jobs: name one of 'release choose', 'release co"
    )


@pytest.mark.parametrize("command", ["submit", "budget simulate"])
def test_a_job_in_a_file_takes_no_flags_of_a_kind(party: Party, command: str) -> None:
    job = party.directory / "job.toml"
    job.write_text('table = "patients"\n')
    problem = f"--max-depth: a job file sets this as max_depth; or name the kind: smc {command} id3 --max-depth"
    assert party(*command.split(), job, "--max-depth", "3") == (2, "", f"smc: {problem}\n")
    assert f"or name the kind: smc {command} id3 --purpose" in party(*command.split(), job, "--purpose", "x")[2]
    other = party(*command.split(), job, "--bounds", "0:1")[2]  # of id3 there is no such flag
    assert "or name the kind" in other
    assert " id3 " not in other
    code, _, err = party(*command.split(), job, "--yes")
    assert (code, "--yes" in err, "kind" in err) == (2, True, False)
    assert f"Usage: smc {command} JOB.toml [OPTIONS]\n" in party(*command.split(), job, "--help", config=False)[1]


def test_only_the_peer_of_a_job_is_said_to_be_away(party: Party) -> None:
    """Of several: a job of the other one waits for nobody who is away."""
    party.node.peers, party.node.away = ["university", "lab"], ["lab"]
    away = "lab's node is not connected: 192.0.2.7:7000 does not answer; its jobs wait until it is\n"
    job = party.directory / "job.toml"
    job.write_text('table = "patients"\npurpose = "research"\n')
    assert party("submit", job) == (0, "job 00000001: waiting for the peer's consent\n", COSTS)
    assert party("jobs")[2] == away
    theirs = party.node.add("e" * 32, peer="lab", state="queued", ours=APPROVED).id
    assert party("show", theirs)[2] == away
    party.node.add(theirs, peer="lab", state="failed", ours=APPROVED)
    assert party("show", theirs)[2] == party("show", C)[2] == ""


def test_submit_names_the_file_that_is_wrong(party: Party) -> None:
    job = party.directory / "job.toml"
    for text, message in (('purpose = "x"\n', "table is missing"), ("table = ", "not valid TOML")):
        job.write_text(text)
        code, out, err = party("submit", job)
        assert (code, out) == (2, "")
        assert err.startswith(f"smc: {job}: ")
        assert message in err
    missing = party.directory / "none.toml"
    for command in (("submit",), ("budget", "simulate")):
        assert party(*command, missing) == (2, "", f"smc: cannot read {missing}: there is no such file\n")


def test_submit_wait_follows_the_job(party: Party) -> None:
    job = party.directory / "job.toml"
    job.write_text('table = "patients"\n')
    running = {"state": "running", "theirs": APPROVED}
    party.node.script = [
        {},
        {"state": "queued"},
        running,
        {"progress": progress(0, 1, None)},
        {"progress": progress(0, 1)},
        {"progress": progress(1, 3)},
        {"state": "interrupted", "why": "the peer is silent", "progress": None},
        {"state": "done", "why": ""},
    ]
    code, out, err = party("submit", job, "--wait")
    assert (code, out) == (0, "job 00000001: done\n")
    assert [line.removeprefix("job 00000001: ") for line in err.splitlines()] == [
        COSTS.strip(),
        "waiting for the peer's consent",
        "queued",
        "running",
        "running, level 0 with 1 node",
        "running, level 1 with 3 nodes",
        "interrupted: the peer is silent",
    ]


@pytest.mark.parametrize("command", [("submit", "job.toml", "--wait"), ("result", C, "--wait"), ("show", C, "--watch")])
def test_who_no_longer_waits_is_told_that_the_job_stays(
    party: Party, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    Path("job.toml").write_text('table = "patients"\n')
    monkeypatch.setattr(client.NodeClient, "follow", interrupted)
    code, out, err = party(*command)
    name = "00000001" if command[0] == "submit" else C[:8]
    assert (code, out) == (130, "")
    assert err.endswith(
        f"job {name} continues at both nodes: follow it with smc show {name} --watch, end it with smc cancel {name}\n"
        "smc: interrupted\n"
    )
    assert {job.state for job in party.node.known.values()} == {"waiting", "done", "queued"}


ENDINGS: list[tuple[dict[str, Any], int, str]] = [
    ({"state": "done"}, 0, ""),
    ({"state": "refused", "theirs": Verdict(verdict="refused"), "why": "no"}, 4, "refused by the peer: no"),
    ({"state": "refused", "ours": Verdict(verdict="refused"), "why": "no"}, 2, "refused by us: no"),
    ({"state": "cancelled", "why": "wrong table"}, 4, "cancelled: wrong table"),
    ({"state": "failed", "why": "the peer has gone"}, 3, "failed: the peer has gone"),
    ({"state": "failed", "ended_by": "us", "why": "no rows.csv"}, 2, "failed: no rows.csv"),
]


@pytest.mark.parametrize(("ending", "code", "message"), ENDINGS)
@pytest.mark.parametrize("command", [["show", "--watch"], ["result", "--wait"], ["submit", "--wait"]])
def test_the_end_of_a_job_decides_the_code(
    party: Party, command: list[str], ending: dict[str, Any], code: int, message: str
) -> None:
    (party.directory / "job.toml").write_text('table = "patients"\n')
    party.node.add(A, ours=APPROVED, theirs=WAITING)
    party.node.script = [{}, {}, {"state": "running"}, ending]
    name, flag = command
    got, out, err = party(name, party.directory / "job.toml" if name == "submit" else A, flag, "--json")
    assert got == code
    last = err.splitlines()[-1]
    assert last.startswith("smc: job ") == bool(code)
    assert message in last
    assert out == "" if name == "result" and code else json.loads(out)


def test_a_proposal_refused_by_our_own_rule_is_an_error(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    job = party.directory / "job.toml"
    job.write_text('table = "patients"\n')
    refused = job_view(C, state="refused", ours=Verdict(verdict="refused", by="rule x"), why="rule x: no")
    monkeypatch.setattr(party.node, "submit", lambda _: refused)
    code, out, err = party("submit", job)
    assert (code, out, err) == (2, "", "smc: job cccccccc: refused by us: rule x: no\n")


def test_decisions(party: Party) -> None:
    assert party("approve", "a1b2") == (0, "job a1b20000: queued\n", "")
    assert party("approve", "a1b2") == (2, "", "smc: the job a1b20000 does not wait for our consent: it is queued\n")
    assert party("cancel", "a1b2", "--why", "wrong table") == (0, "job a1b20000: cancelled: wrong table\n", "")
    assert party("cancel", "a1b2")[0] == 2
    assert party.json("cancel", C)["state"] == "cancelled"
    party.node.add(A)
    assert party("refuse", "a1b2")[0] == 0  # the node says why, if it knows
    party.node.add(A)
    assert party.node.known[A].state == "waiting"
    assert party("refuse", "a1b2", "--why", "not covered") == (0, "job a1b20000: refused by us: not covered\n", "")


MORE = "This reveals more than the jobs done on 'patients' so far:"
EXACTLY = "It opens joint numbers exactly, without noise."


def test_approving_more_than_usual_takes_a_yes(party: Party) -> None:
    party.node.add(A, exact=True)
    code, out, err = party("approve", "a1b2")
    assert (code, out, err) == (2, "", f"smc: {MORE} {EXACTLY} Add --yes if you are sure\n")
    assert party.node.known[A].state == "waiting"
    assert party("approve", "a1b2", "--yes") == (0, "job a1b20000: queued\n", "")


def test_an_error_line_names_the_first_reasons(party: Party) -> None:
    party.node.add(A, exact=True, reveals=[*REVEALS, *(f"{name} {'x' * 300}." for name in "abc")])
    _, _, err = party("approve", "a1b2")
    assert err.startswith(f"smc: {MORE} {EXACTLY} It reveals: a xxx")
    assert err.endswith("x… Further reasons: 2; see smc show a1b20000. Add --yes if you are sure\n")
    assert len(err) < 400


def test_who_cannot_approve_is_not_asked_whether_to(party: Party) -> None:
    """The node says why: one who has proposed it, or may not approve. Who can is asked as ever."""
    accounts = Accounts(party.directory / "var")
    for roles, people, asked in ((["approve"], ["anna"], False), (["see"], [], False), (["approve"], ["bert"], True)):
        party.node.add(A, exact=True, approvals=2, people=people)
        accounts.write({"anna": Account(roles=roles, unix=unix_user(), salt="0" * 32, hash="")})
        assert ("Add --yes" in party("approve", "a1b2")[2]) == asked


@pytest.mark.parametrize(("answer", "state"), [("y\n", "queued"), ("n\n", "waiting"), ("\n", "waiting")])
def test_at_a_terminal_it_is_asked(party: Party, monkeypatch: pytest.MonkeyPatch, answer: str, state: str) -> None:
    hostile = "It reveals \x1b[2J all."
    party.node.add(A, exact=True, reveals=[*REVEALS, hostile])
    monkeypatch.setattr(console, "is_asked", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    code, _, err = party("approve", "a1b2")
    assert err.startswith(f"{MORE}\n  {EXACTLY}\n  It reveals: It reveals \\x1b[2J all.\nApprove anyway? [y/N]: ")
    assert (code, party.node.known[A].state) == (0 if state == "queued" else 2, state)


def test_the_sheet_says_what_is_to_be_noticed(party: Party) -> None:
    party.node.add(A, parameters={"plain": True, "k": 1, "l": 1.0})
    assert "reveals     note: Leaves may describe one person" in party("show", "a1b2")[1]


@pytest.mark.parametrize("command", [["show"], ["approve"], ["refuse", "--why", "x"], ["cancel"], ["result"]])
def test_a_job_is_named_by_an_unambiguous_beginning(party: Party, command: list[str]) -> None:
    party.node.add("a1b2" + "9" * 28)
    for identifier, message in (
        ("a1b2", "several jobs"),
        ("ffff", "no job"),
        ("a1", "at least 4"),
        ("wxyz", "digits"),
    ):
        code, out, err = party(*command, identifier)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_result_prints_the_tree_and_its_cost(party: Party) -> None:
    party.node.finish(B, Split("outlook", {"sunny": Leaf("no"), "overcast": Leaf("yes"), "rain": Leaf("yes")}))
    code, out, err = party("result", "a1c3")
    assert code == 0
    assert out == "├── outlook = sunny: no\n└── outlook = overcast or rain: yes\n"
    assert "5.1 MB" in err
    assert err.endswith(
        "opened to both parties: leaf or split 12 times, class of a leaf 9 times, chosen attribute 5 times\n"
    )
    printed, found = party.json("result", "a1c3"), party.node.result(B)
    assert printed == {**found.model_dump(exclude={"noun", "document", "party"}), "tree": found.document}
    assert party("result", A) == (2, "", "smc: the job a1b20000 is not done: it is waiting\n")


def test_result_writes_what_it_is_asked_for(party: Party, tmp_path: Path) -> None:
    names = {"--out": "tree.json", "--report": "cost.json", "--dot": "tree.dot", "--svg": "tree.svg"}
    code, _, err = party("result", B, *[part for flag, name in names.items() for part in (flag, name)])
    assert code == 0
    assert "written: tree.json, cost.json, tree.dot, tree.svg" in err
    found = TreeFile.load(tmp_path / "tree.json")
    assert found.fields() == party.node.result(B).tree
    assert json.loads((tmp_path / "cost.json").read_text()) == party.node.result(B).cost
    assert (tmp_path / "tree.dot").read_text() == to_dot(found.tree, "readmitted")
    assert "<svg" in (tmp_path / "tree.svg").read_text()


@pytest.mark.parametrize("output", ["party.toml", "var/api.json", "var/node.sqlite"])
def test_a_result_overwrites_nothing_of_the_node(party: Party, output: str) -> None:
    (party.directory / "var/node.sqlite").write_text("records")
    before = (party.directory / output).read_text()
    for arguments, config in (([], True), (["--state", "var"], False)):
        code, _, err = party("result", B, "--out", output, *arguments, config=config)
        assert code == 2
        assert "would be overwritten" in err
        assert (party.directory / output).read_text() == before


def test_web_prints_and_opens_a_link(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    found = iter([True, False])
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or next(found))
    assert party("web") == (0, LINK + "\n", "")
    assert party.json("web") == {"url": LINK}
    assert opened == []
    assert party("web", "--open") == (0, LINK + "\n", "")
    assert party("web", "--open") == (
        2,
        LINK + "\n",
        "smc: --open: no browser could be started; open the link yourself\n",
    )
    assert opened == [LINK, LINK]


COMMANDS: list[Callable[[Path], list[str]]] = [
    lambda directory: ["submit", str(directory / "party.toml")],
    lambda directory: ["jobs"],
    lambda directory: ["show", A],
    lambda directory: ["show", A, "--watch"],
    lambda directory: ["approve", A],
    lambda directory: ["refuse", A, "--why", "x"],
    lambda directory: ["cancel", A],
    lambda directory: ["result", A],
    lambda directory: ["result", A, "--wait"],
    lambda directory: ["web", "--open"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_node_every_command_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: Callable[[Path], list[str]],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["jobs"]) == 2
    assert "--config party.toml or --state" in capsys.readouterr().err
    make_directory(tmp_path)
    for where in ([], ["--state", "var"], ["--state", "nowhere"], ["--config", "party.toml"]):
        assert run([*command(tmp_path), *where]) == 3
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("smc: no node is running here: start it with smc node --config party.toml (there is no ")
        assert err.count("\n") == 1


def test_the_node_of_this_directory_is_asked_by_default(party: Party) -> None:
    with_file = party("jobs", config=False)
    assert with_file == party("jobs") == party("jobs", "--state", "var", config=False)
    code, _, err = party("jobs", "--config", "other.toml", config=False)
    assert (code, err) == (2, "smc: cannot read other.toml: there is no such file\n")


def test_jobs_are_listed_in_parts(party: Party) -> None:
    """The newest first, so many at a time; who wants more is told how."""
    party.node.known.clear()
    for number in range(7):
        identifier = f"{number}" * 32
        party.node.known[identifier] = job_view(identifier)
    assert [job["id"][0] for job in party.json("jobs", "--last", 3)] == ["6", "5", "4"]
    code, _, err = party("jobs", "--last", 3)
    assert code == 0
    assert "--before 44444444" in err
    assert [job["id"][0] for job in party.json("jobs", "--last", 3, "--before", "44444444")] == ["3", "2", "1"]
    assert "older" not in party("jobs", "--last", 7)[2]
    assert party("jobs", "--last", 0)[0] == 2


def test_what_was_typed_is_not_proposed_again(party: Party) -> None:
    """A withdrawn job that asks for typed numbers can only be submitted: no hint says --again."""
    fields = {"table": "", "protocol": "millionaires", "state": "done"}
    party.node.known[B] = party.node.known[B].model_copy(update=fields)
    code, _, err = party("forget", "--job", B, "--why", "so")
    assert (code, "copies made before remain" in err, "--again" in err) == (0, True, False)


def test_a_result_is_withdrawn(party: Party) -> None:
    """The list names what was learnt from a table; after it show and jobs say so, and the rest is refused."""
    table = party.node.known[B].table
    assert [job["id"] for job in party.json("forget", "--table", table)] == [B]
    assert "smc forget --job" in party("forget", "--table", table)[2]
    code, out, err = party("forget", "--job", B[:4], "--why", "art. 17")
    assert (code, out) == (0, f"job {B[:8]}: done, its result withdrawn\n")
    assert f"smc forget --job {B[:8]} --again" in err
    assert "art. 17" in party("show", B)[1]
    assert "withdrawn" in party("jobs")[1]
    assert party("result", B)[2].startswith("this result is withdrawn; do not use it: ")
    again = party.json("forget", "--job", B, "--again")
    assert again["id"] != B
    assert (again["table"], again["proposed_by"]) == (table, "us")
    for arguments, problem in (
        (["--job", A, "--why", "so"], "no result to withdraw: it is waiting"),
        (["--job", again["id"]], "--why is missing"),
        (["--job", again["id"], "--why", " "], "--why is missing"),
        (["--table", "nmae"], "there is no table 'nmae'"),
        ([], "give either --table"),
        (["--table", table, "--job", B], "give either --table"),
        (["--table", table, "--why", "so"], "--why: is the reason of a withdrawal"),
        (["--table", table, "--again"], "--again: goes with --job"),
        (["--job", again["id"], "--again"], "withdraw its result first"),
    ):
        code, _, err = party("forget", *arguments)
        assert code == 2
        assert problem in err
