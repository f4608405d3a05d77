"""The classifier with another party: two of them over real gRPC, against `smc id3`, and by a node that is a fake."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import pickle
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from parties.link.identity import Identity
from parties.link.settings import LinkSettings
from parties.models.trees.tree import Leaf, Split
from parties.notebook.estimator import JointID3Classifier
from parties.notebook.rules import JointRules
from parties.operator import client
from parties.operator.interface import JobResult, JobView, Verdict
from parties.tables import schema
from parties.tables.example import demo
from parties.tables.schema import Schema
from smc.errors import InputError, JobMismatchError, LinkError
from smc.kernels import warm
from tests.support.places import ENVIRONMENT, ROOT
from tests.support.waiting import PATIENCE

DEMO = demo()
OURS, THEIRS = pd.read_csv(DEMO.clinic_a), pd.read_csv(DEMO.clinic_b)
WEATHER = pd.concat([OURS, THEIRS], ignore_index=True)
WHOLE = JointID3Classifier(DEMO.schema, plain=True).fit(WEATHER).tree_
Ends = tuple[LinkSettings, LinkSettings]


def free_address() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def end(own: Identity, peer: Identity, **way: str) -> LinkSettings:
    paths = {"identity": own.key_path, "certificate": own.certificate_path, "peer": peer.certificate_path}
    return LinkSettings(**paths, **way, wait=20.0, timeout=20.0)  # type: ignore[arg-type]


@pytest.fixture
def ends(identities: dict[str, Identity]) -> Ends:
    address, alice, bob = free_address(), identities["alice"], identities["bob"]
    return end(alice, bob, listen=address), end(bob, alice, connect=address)


def both(left: Callable[[], Any], right: Callable[[], Any]) -> tuple[Any, Any]:
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(right)
        return left(), other.result(60)


def test_alone_nothing_is_compiled(nothing_compiled: list[str]) -> None:
    JointID3Classifier(DEMO.schema, plain=True).fit(OURS)
    assert nothing_compiled == []


def test_rules_of_both_are_those_of_the_union(ends: Ends) -> None:
    alice, bob = (JointRules(DEMO.schema, k=2, peer=link) for link in ends)
    both(lambda: alice.fit(OURS), lambda: bob.fit(THEIRS))
    assert alice.document_ == bob.document_ == JointRules(DEMO.schema, k=2).fit(WEATHER).document_
    assert alice.rules_ != JointRules(DEMO.schema, k=2).fit(OURS).rules_
    assert alice.cost_ is not None


def test_that_kernels_are_compiled_is_said_where_no_log_is_set_up(
    ends: Ends, nothing_compiled: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)  # what Python shows of itself
    alice, bob = (JointID3Classifier(DEMO.schema, max_depth=1, peer=link, plain=True) for link in ends)
    both(lambda: alice.fit(OURS), lambda: bob.fit(THEIRS))
    assert {"labels", "threehalves", "ot"} <= set(nothing_compiled)
    assert [record.getMessage() for record in caplog.records] == [warm.NOTICE]


@pytest.mark.parametrize("engine", ["mixed", "auto"])
def test_two_notebooks_learn_the_tree_of_all_rows(ends: Ends, engine: str) -> None:
    alice = JointID3Classifier(DEMO.schema, engine=engine, peer=ends[0], plain=True)
    bob = JointID3Classifier(schema.load(DEMO.schema), "play", engine=engine, peer=ends[1], plain=True)
    both(lambda: alice.fit(OURS), lambda: bob.fit(pl.from_pandas(THEIRS.drop(columns="play")), THEIRS["play"]))
    assert alice.tree_ == bob.tree_ == WHOLE
    assert alice.tree_file_ == bob.tree_file_
    assert alice.cost_ is not None
    assert bob.cost_ is not None
    assert alice.cost_["total"]["bytes_sent"] == bob.cost_["total"]["bytes_received"] > 0
    assert bob.predict(WEATHER).tolist() == WEATHER["play"].tolist()
    assert pickle.loads(pickle.dumps(alice)).score(WEATHER, WEATHER["play"]) == 1.0  # noqa: S301 (our own)


def test_a_party_without_rows_only_learns(ends: Ends) -> None:
    alice, bob = (JointID3Classifier(DEMO.schema, max_depth=1, peer=link, plain=True) for link in ends)
    both(lambda: alice.fit(np.empty((0, 4)), []), lambda: bob.fit(WEATHER))
    assert alice.tree_ == bob.tree_ == JointID3Classifier(DEMO.schema, max_depth=1, plain=True).fit(WEATHER).tree_
    assert alice.classes_.tolist() == ["yes", "no"]


def test_other_parameters_end_the_session_with_both_values(ends: Ends) -> None:
    alice, bob = (
        JointID3Classifier(DEMO.schema, max_depth=depth, peer=link) for depth, link in zip([1, 2], ends, strict=True)
    )

    def attempt(classifier: JointID3Classifier, rows: pd.DataFrame) -> str:
        with pytest.raises(JobMismatchError) as error:
            classifier.fit(rows)
        return str(error.value)

    for message in both(lambda: attempt(alice, OURS), lambda: attempt(bob, THEIRS)):
        assert "max_depth" in message


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"plain": True},
        {"plain": True, "max_depth": 2, "min_rows": 3, "tolerance": 0.01, "max_rows": 500, "engine": "yao"},
        {"k": 1, "l": 2, "t": 0.9},
        {"epsilon": 20.0},
    ],
)
def test_a_notebook_faces_a_command_line(
    identities: dict[str, Identity], tmp_path: Path, caplog: pytest.LogCaptureFixture, flags: dict[str, Any]
) -> None:
    alice, bob, address = identities["alice"], identities["bob"], free_address()
    party = f'[link]\nidentity = "{alice.key_path}"\ncertificate = "{alice.certificate_path}"\n'
    (tmp_path / "party.toml").write_text(f'{party}peer = "{bob.certificate_path}"\nlisten = "{address}"\nwait = 30.0\n')
    given = {f"--{name.replace('_', '-')}": value for name, value in flags.items()}
    options = [word for flag, value in given.items() for word in ([flag] if value is True else [flag, str(value)])]
    command = ["id3", "--data", DEMO.clinic_b, "--schema", DEMO.schema, "--json", *options, "--connect", address]
    link = ["--identity", bob.key_path, "--certificate", bob.certificate_path, "--peer", alice.certificate_path]
    process = subprocess.Popen(
        [sys.executable, "-m", "parties.cli", *map(str, [*command, *link])],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with caplog.at_level(logging.INFO, "smc"):
            classifier = JointID3Classifier(DEMO.schema, peer=tmp_path / "party.toml", **flags).fit(OURS)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    printed = json.loads(out)
    assert printed.pop("cost")["total"]["bytes_sent"] == classifier.cost_["total"]["bytes_received"]  # type: ignore[index]
    assert classifier.tree_file_.fields() == printed
    assert f"listening on {address}" in caplog.text


def test_what_a_link_needs_is_said_before_anything_is_sent() -> None:
    with pytest.raises(InputError, match="schema is missing: both parties need the same"):
        JointID3Classifier(peer=LinkSettings(), plain=True).fit(OURS, OURS["play"])
    with pytest.raises(InputError, match="no way to the peer"):
        JointID3Classifier(DEMO.schema, peer=LinkSettings(), plain=True).fit(OURS)


TREE = {"attribute": "wind", "branches": {"weak": {"class": "yes"}, "strong": {"class": "no"}}}


class FakeNode:
    """A node whose job goes through the given states, one a look."""

    def __init__(self, *states: str, why: str = "") -> None:
        self.states, self.why = list(states), why
        self.submitted: list[dict[str, Any]] = []

    def submit(self, job: dict[str, Any]) -> JobView:
        self.submitted.append(json.loads(json.dumps(job)))
        return self.job("0" * 32)

    def job(self, identifier: str, wait: float = 0.0) -> JobView:
        assert "0123456789abcdef0123456789abcdef".startswith(identifier) or identifier == "0" * 32
        state: Any = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        verdict = Verdict(verdict="waiting")
        return JobView(
            id="0123456789abcdef0123456789abcdef", state=state, proposed_by="us", proposed_at="", ended_at=None,
            peer="bob", protocol="id3", title="Decision tree", question="a tree", asked=[], purpose="",
            table="patients", peer_table="patients", target="play",
            columns=["outlook", "wind", "play"], parameters={}, reveals=[], cost=None, digest="", ours=verdict,
            theirs=verdict, progress=None, why=self.why,
        )  # fmt: skip

    def result(self, identifier: str) -> JobResult:
        assert identifier == "0123456789abcdef0123456789abcdef"
        digest = schema.load(DEMO.schema).only(["outlook", "wind", "play"]).digest()
        tree = {"schema_digest": digest, "target": "play", "tolerance": 0.01, "tree": TREE}
        return JobResult(
            id=identifier, protocol="id3", party=0, noun="tree", document=tree,
            cost={"total": {"bytes_sent": 7}}, opened={}, summary={}, our_signature="",
            their_signature="",
        )  # fmt: skip


def test_a_node_is_asked_for_consent_and_then_for_the_tree() -> None:
    node = FakeNode("waiting", "queued", "running", "done")
    classifier = JointID3Classifier(target="play", tolerance=0.01, max_depth=1, peer=node, plain=True)  # type: ignore[arg-type]
    classifier.fit(table="patients", purpose="research", columns=("outlook", "wind"), deadline=20)
    assert node.submitted == [
        {
            "table": "patients", "purpose": "research", "columns": ["outlook", "wind"], "target": "play",
            "plain": True, "l": 1, "t": 1, "tolerance": 0.01, "prune": "off", "holdout": 0.3,
            "min_rows": 0, "max_depth": 1, "engine": "auto", "criterion": "entropy",
        }
    ]  # fmt: skip
    assert classifier.tree_ == Split("wind", {"weak": Leaf("yes"), "strong": Leaf("no")})
    assert classifier.job_ == "0123456789abcdef0123456789abcdef"
    assert classifier.cost_ == {"total": {"bytes_sent": 7}}
    assert classifier.classes_.tolist() == ["no", "yes"]
    assert classifier.feature_names_in_.tolist() == ["outlook", "wind"]
    assert classifier.schema_ is None
    expected = ["yes" if wind == "weak" else "no" for wind in WEATHER["wind"]]
    assert classifier.predict(WEATHER).tolist() == expected
    assert classifier.score(WEATHER, expected) == 1.0


def test_the_schema_checks_the_tree_of_a_node_and_orders_its_classes() -> None:
    node: Any = FakeNode("done")
    classifier = JointID3Classifier(DEMO.schema, peer=node, plain=True).fit(table="patients")
    assert classifier.classes_.tolist() == ["yes", "no"]
    assert classifier.schema_ is not None
    assert list(classifier.schema_.attributes) == ["outlook", "wind", "play"]
    other = Schema({"outlook": ("a",), "wind": ("weak",), "play": ("yes", "no")}, "play")
    with pytest.raises(InputError, match="has another schema than the given one"):
        JointID3Classifier(other, peer=node, plain=True).fit(table="patients")


@pytest.mark.parametrize(
    ("state", "message"),
    [("refused", "was refused: too deep"), ("cancelled", "was cancelled: too"), ("failed", "f failed: too deep")],
)
def test_a_job_that_ends_without_a_tree_says_why(state: str, message: str) -> None:
    node: Any = FakeNode("waiting", state, why="too deep")
    with pytest.raises(LinkError, match=message):
        JointID3Classifier(peer=node, plain=True).fit(table="patients")


def test_a_deadline_leaves_the_job_where_it_is_and_it_is_taken_up_later() -> None:
    node: Any = FakeNode("waiting")
    classifier = JointID3Classifier(peer=node, plain=True)
    with pytest.raises(LinkError, match=r"is waiting after 0.1 s; it goes on at the node: fit\(job='01234567'\)"):
        classifier.fit(table="patients", deadline=0.1)
    node.states = ["running", "done"]
    assert classifier.fit(job="01234567").job_ == "0123456789abcdef0123456789abcdef"
    assert len(node.submitted) == 1


def test_wrong_calls_of_a_node() -> None:
    node: Any = FakeNode("done")
    with pytest.raises(InputError, match="a node reads its own tables"):
        JointID3Classifier(peer=node, plain=True).fit(OURS, OURS["play"])
    for arguments in ({}, {"table": "patients", "job": "0123"}):
        with pytest.raises(InputError, match="either table=NAME, or job=ID"):
            JointID3Classifier(peer=node, plain=True).fit(**arguments)
    assert node.submitted == []


def test_a_client_is_shared_by_clones_and_not_pickled(tmp_path: Path) -> None:
    node = client.NodeClient(tmp_path)
    classifier = JointID3Classifier(peer=node, max_depth=2, plain=True)
    assert clone(classifier).peer is node
    assert clone(classifier).max_depth == 2
    assert pickle.loads(pickle.dumps(classifier)).peer is None  # noqa: S301 (our own)
    assert classifier.peer is node


def test_the_document_runs_word_for_word(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(blocks) >= 5
    monkeypatch.setattr(client.NodeClient, "from_config", lambda path: FakeNode("waiting", "done"))
    address, names, printed = free_address(), {}, io.StringIO()  # type: ignore[var-annotated]
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(block.replace("127.0.0.1:7601", address), names)
    assert names["clinic_a"].tree_ == names["clinic_b"].tree_ == WHOLE
    assert re.search(r"True \d+ bytes sent", printed.getvalue())
    assert (names["keys"] / "tree.json").is_file()
