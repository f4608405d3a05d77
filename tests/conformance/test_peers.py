"""One node with several peers: jobs side by side, one peer away, and what each peer may not see of the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.link.identity import create
from parties.tables import example
from smc.errors import InputError
from tests.support.coins import PLACE, noted
from tests.support.nodes import RESEARCH, NodeProcess, job, submit, verified
from tests.support.ports import free_port
from tests.support.registry import installed
from tests.support.waiting import eventually

NODE = """
[link]
identity = "{name}.key"
certificate = "{name}.crt"
{link}

[node]
web = "127.0.0.1:0"
metrics = "127.0.0.1:0"
health = "127.0.0.1:0"
stop = 5.0
{node}

{peers}

[tables.rows]
source = "rows.csv"
schema = "schema.toml"
"""


@pytest.fixture
def three(tmp_path: Path) -> Iterator[dict[str, NodeProcess]]:
    """Hub a, to which b connects, and which itself connects to c; each has rows of its own."""
    nodes = {name: NodeProcess(tmp_path / name) for name in "abc"}
    demo, port, other = example.demo(), free_port(), free_port()
    for name, node in nodes.items():
        node.directory.mkdir()
        create(name, ["127.0.0.1"], node.directory)
    for name, node in nodes.items():
        for peer in "bc" if name == "a" else "a":
            (node.directory / f"{peer}.crt").write_bytes((nodes[peer].directory / f"{peer}.crt").read_bytes())
        (node.directory / "rows.csv").write_text((demo.clinic_a if name == "a" else demo.clinic_b).read_text())
        (node.directory / "schema.toml").write_text(demo.schema.read_text())
    two = '[[peers]]\ncertificate = "b.crt"\nroles = ["clinic"]\n\n[[peers]]\nname = "lab"\ncertificate = "c.crt"\n'
    rules = '[[policy]]\nname = "of b"\neffect = "permit"\npeer = ["b"]\npurpose = "research"\n'
    files = {
        "a": ("", f'listen = "127.0.0.1:{port}"', f'{two}connect = "127.0.0.1:{other}"\n\n{rules}'),
        "b": (f'peer = "a.crt"\nconnect = "127.0.0.1:{port}"', "", RESEARCH),
        "c": (f'peer = "a.crt"\nlisten = "127.0.0.1:{other}"', "", RESEARCH),
    }
    for name, (link, own, peers) in files.items():
        text = NODE.format(name=name, link=link, node=own, peers=peers)
        (nodes[name].directory / "party.toml").write_text(text)
    environment = installed(tmp_path, {"coins": "tests.support.coins:Coins"}) | {PLACE: str(tmp_path)}
    for node in nodes.values():
        node.environment = environment
    yield nodes
    for node in nodes.values():
        if node.process is not None and node.process.poll() is None:
            node.process.kill()
            node.process.wait()


def state(node: NodeProcess, identifier: str) -> str:
    return job(node, identifier).state


def test_four_jobs_two_side_by_side_and_one_peer_away(three: dict[str, NodeProcess], tmp_path: Path) -> None:
    a, b, c = three["a"], three["b"], three["c"]
    for node in (a, b):
        node.start()
    eventually(lambda: a.is_up() and b.is_up())
    eventually(lambda: b.client.node().connected)
    assert [(peer.name, peer.role, peer.connected) for peer in a.client.node().peers] == [
        ("b", "listens", True),
        ("lab", "connects", False),
    ]
    with pytest.raises(InputError, match=r"peer: is missing; there are 'b', 'lab'"):
        submit(a, purpose="research")
    with pytest.raises(InputError, match="no peer 'labb'"):
        submit(a, purpose="research", peer="labb")

    hold = tmp_path / "hold 0"
    hold.touch()
    waits = a.client.submit({"protocol": "coins", "purpose": "research", "peer": "lab"}).id  # c is away: nobody minds
    first = submit(a, purpose="research", peer="b", max_depth=1)
    eventually(lambda: state(a, first) == "done")
    assert (state(a, waits), job(a, waits).peer) == ("waiting", "lab")

    c.start()
    eventually(c.is_up)
    eventually(lambda: all(noted(tmp_path, party) for party in (0, 1)))  # the first of its two steps
    by_b = submit(b, purpose="research")  # a's rule permits it: b asked
    eventually(lambda: state(a, by_b) == state(b, by_b) == "done")
    assert state(a, waits) == state(c, waits) == "running"
    hold.unlink()
    eventually(lambda: state(a, waits) == state(c, waits) == "done")

    by_c = submit(c, purpose="research", max_depth=1)  # the same, and no rule of a's is about c
    eventually(lambda: state(a, by_c) == "waiting")
    a.client.approve(by_c)
    eventually(lambda: state(c, by_c) == state(a, by_c) == "done")

    for node, own in ((b, {first, by_b}), (c, {waits, by_c})):  # nobody hears of what is not with it
        assert {view.id for view in node.client.jobs()} == own
        for identifier in own:
            assert node.client.result(identifier).document == a.client.result(identifier).document
    assert {view.id: view.peer for view in a.client.jobs()} == {first: "b", by_b: "b", waits: "lab", by_c: "lab"}
    proposed = {e.job: e.fields["peer"] for e in a.client.audit(200) if e.kind == "proposed"}
    assert proposed == {first: "b", by_b: "b", waits: "lab", by_c: "lab"}
    assert all(verified(node)["ok"] for node in three.values())
    assert verified(a)["statements"] == 4
    for node in three.values():
        assert node.stop() == 0
