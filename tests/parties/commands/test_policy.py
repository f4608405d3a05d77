"""`smc policy`: the rules in words, and what they would decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from parties.commands.policy import policy
from parties.link.identity import Identity, fingerprint, load_certificate
from smc.errors import InputError
from tests.support.consortium import NODES, Consortium
from tests.support.decision_points import PointServer, response

PARTY = """
[link]
peer = "{peer}"
listen = "127.0.0.1:7001"

[node]
state = "state"

[peer]
roles = ["university"]

[tables.patients]
source = "patients.csv"
schema = "schema.toml"
max_rows = 5000

[[policy]]
name = "coarse trees"
effect = "permit"
peer = "bob"
role = "university"
table = "patients"
purpose = "research"
max_depth.at_most = 4
max_rows.at_most = 5000
runs_today.below = 3
time = "08:00-18:00"

[[policy]]
name = "no zip"
effect = "deny"
columns.any_of = "zip"

[[policy]]
name = "not from outside"
effect = "deny"
table = "visists"
network = "0.0.0.0/0"
"""
SCHEMA = """
target = "outcome"
[attributes]
age = ["young", "old"]
zip = ["1", "2"]
outcome = ["good", "bad"]
"""
JOB = 'table = "patienten"\npeer_table = "patients"\npurpose = "research"\nmax_depth = 4\ncolumns = ["age"]\n'


@pytest.fixture
def directory(tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "party.toml").write_text(PARTY.format(peer=identities["bob"].certificate_path))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Any:
    result = CliRunner().invoke(policy, ["--config", "party.toml", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def decided(*words: str) -> Any:
    return json.loads(run("--job", "job.toml", "--at", "2026-01-30T12:00", *words, "--json").stdout)


@pytest.mark.usefixtures("directory")
def test_rules_in_words_and_what_may_be_a_mistake() -> None:
    shown = json.loads(run("--json").stdout)
    assert [rule["name"] for rule in shown["rules"]] == ["coarse trees", "no zip", "not from outside"]
    assert shown["rules"][1]["words"] == "deny if a column is 'zip'"
    assert shown["notes"] == [
        "rule 'not from outside': there is no table 'visists'; there are 'patients'",
        "rule 'coarse trees' permits without a bound: "
        "it lacks epsilon.at_most and support_epsilon.at_most and k.at_least and shards.at_most "
        "and keys.at_most and listener_keys.at_most",
    ]
    assert "decision" not in shown
    human = run()
    assert human.stdout.splitlines()[1] == "'no zip': deny if a column is 'zip'"
    assert len(human.stdout.splitlines()) == 3


@pytest.mark.usefixtures("directory")
def test_a_job_that_a_rule_permits() -> None:
    found = decided()
    assert found["decision"] == {
        "effect": "permit",
        "rules": ["coarse trees"],
        "reason": "permitted by rule 'coarse trees': if the peer is 'bob'; its role is 'university'; table is "
        "'patients'; max_rows at most 5000; max_depth at most 4; runs_today below 3; purpose is 'research'; "
        "the time is 08:00-18:00",
    }
    assert [rule["applies"] for rule in found["rules"]] == [True, False, False]
    assert found["rules"][2]["conditions"] == [
        {"words": "table is 'visists'", "holds": False},
        {"words": "the peer's address is in 0.0.0.0/0", "holds": None},
    ]
    human = run("--job", "job.toml", "--at", "2026-01-30T12:00").stdout.splitlines()
    assert human[-1].startswith("permit: permitted by rule 'coarse trees': ")
    assert "    not known  the peer's address is in 0.0.0.0/0" in human
    assert human.count("    applies") == 1


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize(
    ("words", "effect"),
    [
        (["--runs", "2"], "permit"),
        (["--runs", "3"], "ask"),
        (["--at", "2026-01-30T18:00"], "ask"),
        (["--address", "192.0.2.1"], "permit"),
        (["--proposed-by", "peer"], "permit"),
    ],
)
def test_what_surrounds_the_job_matters(words: list[str], effect: str) -> None:
    assert decided(*words)["decision"]["effect"] == effect


@pytest.mark.parametrize(
    ("change", "effect"),
    [
        (("max_depth = 4", "max_depth = 5"), "ask"),
        (("max_depth = 4", "plain = true"), "ask"),  # no limit
        (("research", "teaching"), "ask"),
        (('columns = ["age"]', ""), "deny"),  # all of the schema's, the zip code among them
        (("max_depth", "max_rows = 9999\nmax_depth"), "ask"),
    ],
)
def test_the_job_itself_matters(directory: Path, change: tuple[str, str], effect: str) -> None:
    (directory / "job.toml").write_text(JOB.replace(*change))
    assert decided()["decision"]["effect"] == effect


@pytest.mark.parametrize(
    ("job", "words", "problem"),
    [
        (JOB, ["--proposed-by", "us"], "there is no table 'patienten' (did you mean 'patients'?)"),
        (JOB + "max_dept = 3\n", [], "max_dept: unknown key (did you mean 'max_depth'?)"),
        (JOB.replace('"age"', '"aeg"'), [], "'aeg'"),
        (JOB, ["--at", "tomorrow"], "--at: must be a date and time such as 2026-01-31T22:15, not 'tomorrow'"),
        (JOB, ["--address", "home"], "--address: 'home' is not an IP address"),
    ],
)
def test_mistakes_are_one_clear_line(directory: Path, job: str, words: list[str], problem: str) -> None:
    (directory / "job.toml").write_text(job)
    with pytest.raises(InputError) as caught:
        decided(*words)
    assert problem in str(caught.value)


def test_a_job_on_matched_rows_without_any(directory: Path) -> None:
    """The file and table are named that lack the peer's schema; then it is said that nothing is matched yet."""
    aligned = JOB.replace('["age"]', '["age", "late"]') + 'alignment = "latest"\nepsilon = 1.0\nadjacency = "replace"\n'
    (directory / "job.toml").write_text(aligned)
    with pytest.raises(
        InputError, match=r"^alignment: \[tables.patients\] of party.toml has no `beside`: set it to .*JOB"
    ):
        decided()
    (directory / "theirs.toml").write_text('[attributes]\nlate = ["no", "yes"]\n')
    file = directory / "party.toml"
    file.write_text(file.read_text().replace("max_rows = 5000\n", 'max_rows = 5000\nbeside = "theirs.toml"\n', 1))
    with pytest.raises(InputError, match=r"^alignment: there are no records: .* does not exist; start the node once"):
        decided()


@pytest.mark.usefixtures("directory")
def test_a_job_of_the_node_is_named_alone() -> None:
    with pytest.raises(InputError, match="--job: JOB names another job; remove one of them"):
        decided("a1b2")
    with pytest.raises(InputError, match="there are no records"):
        run("a1b2")


def test_the_first_difference_from_a_template_is_named(directory: Path) -> None:
    template = '[template.trees]\nprotocol = "id3"\ntable = "patients"\nmax_depth = 3\npurpose = "research"\n'
    with (directory / "party.toml").open("a") as file:
        file.write(f'{template}columns = ["age"]\n[[policy]]\nname = "trees"\neffect = "permit"\ntemplate = "trees"\n')
    assert decided()["rules"][-1]["unlike"] == {"trees": "max_depth: the template 3, the job 4"}
    lines = run("--job", "job.toml").stdout.splitlines()
    assert "    no         the question is the template 'trees'" in lines
    assert f"{'':15}'trees': max_depth: the template 3, the job 4" in lines
    (directory / "job.toml").write_text(JOB.replace("4", "3"))
    assert not any(decided()["rules"][-1]["unlike"].values())


def test_without_rules_the_operator_decides(directory: Path) -> None:
    text = (directory / "party.toml").read_text()
    (directory / "party.toml").write_text(text[: text.index("[[policy]]")])
    assert run().stdout == "there is no rule: the operator decides on every job\n"
    assert decided()["decision"]["effect"] == "ask"


def test_a_rule_without_conditions_is_pointed_out(directory: Path) -> None:
    with (directory / "party.toml").open("a") as file:
        file.write('\n[[policy]]\nname = "all"\neffect = "permit"\n')
    assert "rule 'all' has no condition: it applies permit to every job" in run().stderr


@pytest.mark.usefixtures("directory")
def test_what_a_decision_point_would_be_sent() -> None:
    (request,) = decided("--key-exchange", "X25519MLKEM768", "--runs", "2")["xacml"].values()
    found = {one["AttributeId"]: one["Value"] for part in request["Category"] for one in part["Attribute"]}
    assert found["smc:link:tls"] == "TLS 1.3"
    assert found["smc:link:post_quantum"] is True
    assert found["smc:node:runs_today"] == 2
    assert found["urn:oasis:names:tc:xacml:2.0:action:purpose"] == "research"
    assert "xacml" not in json.loads(run("--json").stdout)


def test_asking_the_decision_point(directory: Path, identities: dict[str, Identity]) -> None:
    with pytest.raises(InputError, match="has no decision point"):
        decided("--ask")
    server = PointServer(identities["mallory"])
    decision = f"""
[decision]
url = "{server.url}"
ca = "{identities["mallory"].certificate_path}"
seconds = 10
"""
    (directory / "party.toml").write_text((directory / "party.toml").read_text() + decision)
    try:
        with pytest.raises(InputError, match="needs a job"):
            run("--ask")
        server.body = response("Deny", Status={"StatusMessage": "not today"})
        found = decided("--ask")
        assert found["answer"] == {"decision": "Deny", "reason": "not today"}
        assert server.got[0][0] == found["xacml"]
        human = run("--job", "job.toml", "--ask").stdout.splitlines()
        assert human[-1] == "the decision point says Deny: not today"
    finally:
        server.close()


@pytest.mark.usefixtures("directory")
def test_a_group_that_contradicts_is_said() -> None:
    with pytest.raises(InputError, match="is not post-quantum"):
        decided("--key-exchange", "x25519", "--post-quantum")


RULE = """[[policy]]
name = "counts"
effect = "permit"
protocol = "release count"
max_rows.at_most = 40
holders.at_least = 3
compute = [{}]
"""
COUNT = """protocol = "release count"
epsilon = 0.5
table = "days"
peer = "b"
holders = ["anna", "bert", "cleo"]
to = ["anna"]
compute_only = true
max_rows = 40
"""


def test_a_job_with_holders_is_judged_at_a_node_that_computes_and_at_a_holder(tmp_path: Path) -> None:
    made = Consortium(tmp_path, policy="")
    both = [fingerprint(load_certificate(made.directory / name / f"{name}.crt")) for name in NODES]
    stranger = "00:" * 31 + "00"
    for name in ("a", "anna"):
        file, job = made.directory / name / "party.toml", made.directory / name / "job.toml"
        text = file.read_text()
        for compute, bound, effect in ((both, 40, "permit"), (both, 41, "ask"), ([both[0], stranger], 40, "ask")):
            file.write_text(text + RULE.format(", ".join(f'"{one}"' for one in compute)))
            job.write_text(COUNT.replace("max_rows = 40", f"max_rows = {bound}"))
            result = CliRunner().invoke(policy, ["--config", str(file), "--job", str(job), "--json"])
            answer = json.loads(result.stdout)
            assert answer["decision"]["effect"] == effect, answer
            assert any(f"compute has {stranger[:23]}" in note for note in answer["notes"]) == (stranger in compute)
