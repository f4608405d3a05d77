"""A question that was approved once is asked again by name, within its bounds, and nothing else passes as it."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from parties.jobs.inputs import Matching
from parties.link.identity import Identity
from parties.node.acts.gate import Circumstances, Gate, Judgement
from parties.node.acts.templates import differences
from parties.node.offers import Offer, Offers
from parties.node.peers import PeerIdentity
from parties.node.policy.templates import Template, expanded
from parties.node.proposal import propose, read_job
from parties.node.settings import NodeFile, load
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError
from tests.support.ledgers import SCHEMA, Pair

AROUND = Circumstances(runs_today=0, waiting=0, at=datetime(2026, 3, 2, 12, tzinfo=UTC), address=None)
TEMPLATES: dict[str, Any] = {
    "weather": {
        "protocol": "release histogram",
        "table": "days",
        "purpose": "research",
        "adjacency": "replace",
        "parameters": {"by": ["wind", "rain"], "epsilon": {"at_least": 0.1, "at_most": 0.5}},
    },
    "windy days": {"protocol": "release count", "table": "days", "where": "wind=strong", "epsilon": 1.0},
}
RULE = {"name": "approved once", "effect": "permit", "template": ["weather", "windy days"], "runs_today": {"below": 9}}
ASKED = {"template": "weather", "by": "wind", "epsilon": 0.5}


def file_of(**changed: Any) -> NodeFile:
    return NodeFile.model_validate({"policy": [RULE], "template": TEMPLATES} | changed)


def table(max_rows: int) -> Offers:
    settings = TableSettings.model_validate({"source": "days.csv", "schema": "schema.toml", "max_rows": max_rows})
    return Offers({"days": Offer(settings, SCHEMA)}, {})


def judged(identities: dict[str, Identity], fields: dict[str, Any]) -> Judgement:
    """What alice (party 0) says of a job of bob's, who has a table of another size, and fewer rows a day."""
    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
    job = propose(read_job(expanded(fields, file_of().template)), table(1000).inputs(1, "days"))
    return Gate(file_of(), table(100)).judge(job, who, "peer", AROUND)


def test_a_template_is_asked_by_name(identities: dict[str, Identity]) -> None:
    found = judged(identities, ASKED)
    assert (found.verdict, found.by) == ("approved", "rule approved once")
    assert found.reason.endswith("; it asks the template 'weather'")  # what the log has
    assert judged(identities, {"template": "windy days"}).verdict == "approved"


def test_the_same_question_without_the_name_is_the_template(identities: dict[str, Identity]) -> None:
    whole = {"protocol": "release histogram", "table": "days", "purpose": "research", "adjacency": "replace"}
    assert judged(identities, whole | {"by": "rain", "epsilon": 0.1, "engine": "yao"}).verdict == "approved"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"epsilon": 0.51}, "epsilon: must be a number at least 0.1 and at most 0.5, not '0.51'"),
        ({"epsilon": 0.09}, "epsilon: must be a number at least 0.1 and at most 0.5, not '0.09'"),
        ({"by": "play"}, "by: must be one of 'wind', 'rain'"),
        ({"where": "play=yes"}, 'where: the template nothing, the job "play = yes"'),
        ({"adjacency": "add-remove"}, 'adjacency: the template "replace", the job "add-remove"'),
        ({"exact": True, "epsilon": None}, "epsilon: must be a number at least 0.1 and at most 0.5; it is missing"),
        ({"purpose": "advertising"}, 'purpose: the template "research", the job "advertising"'),
        (
            {"protocol": "release count", "where": "wind=strong", "epsilon": 0.3, "by": None},
            'protocol: the template "release histogram", the job "release count"',
        ),
        ({"peer_table": "nights"}, 'table: the template "days", the job "nights"'),
    ],
)
def test_any_other_question_waits_or_is_refused(
    identities: dict[str, Identity], changed: dict[str, Any], why: str
) -> None:
    whole = {"protocol": "release histogram", "table": "days", "purpose": "research", "adjacency": "replace"}
    fields = whole | {"by": "wind", "epsilon": 0.5} | changed
    given = {key: value for key, value in fields.items() if value is not None}
    assert judged(identities, given).verdict != "approved"
    job = propose(read_job(given), table(1000).inputs(1, "days"))
    found = differences(job, 0, file_of().template, table(100).inputs)
    assert found["weather"] == why


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"template": "wether"}, "there is no template 'wether' (did you mean 'weather'?)"),
        ({"epsilon": 0.6}, "template 'weather': epsilon: must be a number at least 0.1 and at most 0.5"),
        ({"epsilon": True}, "epsilon: must be a number"),
        ({"by": "play"}, "template 'weather': by: must be one of 'wind', 'rain'"),
        ({"where": "play=yes"}, "where: is no parameter of the template, which takes 'by', 'epsilon'"),
    ],
)
def test_a_proposer_is_told_what_does_not_fit(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        expanded(ASKED | changed, file_of().template)
    assert message in str(caught.value)


def test_a_node_proposes_it_by_name(pair: Pair) -> None:
    """With the question of its own file; the parameters alone are typed."""
    decisions = pair.parties[0].ledger.decisions
    content = {"protocol": "id3", "table": "days", "splits": "multiway", "purpose": "research"}
    template = Template.model_validate(content | {"parameters": {"max_depth": {"at_most": 2}}})
    decisions._gate._file = decisions._gate._file.model_copy(update={"template": {"coarse": template}})
    record = decisions.propose({"template": "coarse", "max_depth": 2})
    assert record.proposal.purpose == "research"
    assert record.task.parameters().items() >= {"max_depth": 2, "splits": "multiway"}.items()
    with pytest.raises(InputError, match="max_depth: must be a number at most 2"):
        decisions.propose({"template": "coarse", "max_depth": 3})


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["template", "weather", "protocol"], "release histgram", "template.weather: protocol"),
        (["template", "weather", "epsilonn"], 1, "epsilonn"),
        (["template", "weather", "parameters", "bye"], ["wind"], "template.weather.parameters.bye: is no setting of"),
        (["policy", 0, "template"], ["wether"], "rule 'approved once': there is no template 'wether'"),
    ],
)
def test_a_wrong_template_is_refused_in_one_line(tmp_path: Path, path: list[Any], value: object, message: str) -> None:
    content: Any = copy.deepcopy({"policy": [RULE], "template": TEMPLATES})
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    file = tmp_path / "party.toml"
    file.write_text(tomli_w.dumps(content))
    with pytest.raises(InputError) as caught:
        load(file)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "most", "verdict"), [("fast", 2528, "approved"), ("fast", 2527, "waiting"), ("dh", 2000, "approved")]
)
def test_a_template_bounds_the_keys_that_a_cheating_peer_can_enter(
    identities: dict[str, Identity], method: str, most: int, verdict: str
) -> None:
    """The job's own number stays as it was proposed, for the page and for the template's question."""
    template = {
        "protocol": "align exact",
        "table": "days",
        "by": ["hours"],
        "learns": "dialler",
        "method": method,
        "parameters": {"keys": {"at_most": most}},
    }
    file = file_of(template=TEMPLATES | {"match": template})
    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
    job = propose(read_job(expanded({"template": "match", "keys": 2000}, file.template)), table(1000).inputs(1, "days"))
    assert (job.task.parameters()["keys"], job.specification["keys"]) == (2000, 2000)
    rule = {"name": "keys", "effect": "permit", "template": "match"}
    file = file_of(template=TEMPLATES | {"match": template}, policy=[rule])
    found = Gate(file, table(100)).judge(job, who, "peer", AROUND)
    assert found.verdict == verdict, found


@pytest.mark.parametrize(
    ("bound", "rows", "asked", "verdict"),
    [
        ({"at_least": 50}, 50, "latest", "approved"),
        ({"at_least": 51}, 50, "latest", "waiting"),
        ({"at_least": 50, "at_most": 60}, 61, "latest", "waiting"),
        ("latest", 50, "latest", "approved"),
        ("latest", 50, "b" * 32, "waiting"),
        (None, 50, "latest", "waiting"),
    ],
)
def test_a_template_bounds_the_rows_of_a_matching_that_the_job_names(
    identities: dict[str, Identity], tmp_path: Path, bound: Any, rows: int, asked: str, verdict: str
) -> None:
    """Alice has matched rows with bob in two jobs; the newest is that of 32 letters a."""
    whole: dict[str, Any] = {"protocol": "rank", "table": "days", "target": "late"}
    given = {"parameters": {"alignment": bound}} if isinstance(bound, dict) else {"alignment": bound} if bound else {}
    rule = {"name": "t", "effect": "permit", "template": "late"}
    file = file_of(template=TEMPLATES | {"late": whole | given}, policy=[rule])
    schemas = [Schema({"wind": ("weak", "strong")}), Schema({"late": ("no", "yes")}, "late")]
    for name, schema in zip(("alice", "bob"), schemas, strict=True):
        (tmp_path / f"{name}.toml").write_text(schema.text())

    def offers(own: int) -> Offers:
        names = ("alice", "bob") if own == 0 else ("bob", "alice")
        content = {"source": "x.csv", "schema": tmp_path / f"{names[0]}.toml", "beside": tmp_path / f"{names[1]}.toml"}
        return Offers({"days": Offer(TableSettings.model_validate(content | {"max_rows": 90}), schemas[own])}, {})

    def matching(peer: str, table: str, job: str) -> Matching:
        return Matching("a" * 32 if job == "latest" else job, rows, lambda: "")

    who = PeerIdentity(identities["alice"], identities["bob"].certificate, 0)
    inputs = replace(offers(1).inputs(1, "days"), matching=partial(matching, "", ""))
    named = {"template": "late"} if isinstance(bound, dict) else whole
    job = propose(read_job(expanded(named | {"alignment": asked}, file.template)), inputs)
    gate = Gate(file, offers(0))
    gate.matching = matching
    found = gate.judge(job, who, "peer", AROUND)
    assert (found.verdict, found.by) == (verdict, "rule t" if verdict == "approved" else found.by), found
