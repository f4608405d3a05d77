"""Five nodes as processes: a holder or a computing node is killed right after an event of a noisy job."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parties.operator.interface import ENDED
from tests.support.consortium import HOLDERS, NODES, Consortium
from tests.support.nodes import NodeProcess
from tests.support.waiting import eventually

DYING = """
import os
from parties import cli
from parties.node.links import control
from parties.node.links.sessions import Sessions
control.LONGEST_PAUSE = 0.5
heard = Sessions._heard
def dying(self, identifier, session, event):
    heard(self, identifier, session, event)
    if os.path.exists("die") and open("die").read() == type(event).__name__:
        os.unlink("die")
        os.kill(os.getpid(), 9)
Sessions._heard = dying
cli.main()
"""
KILLS = [
    *((name, event) for name in NODES for event in ("Met", "Reached", "Paid", "Written", "Leaving", "Finished")),
    *(("anna", event) for event in ("Met", "Reached", "Counted", "Paying", "Finished")),
]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, NodeProcess]]:
    made = Consortium(tmp_path_factory.mktemp("consortium"))
    nodes = {name: NodeProcess(made.directory / name) for name in made.names}
    try:
        for node in nodes.values():
            node.program = DYING
            node.start()
        eventually(lambda: all(node.is_up() for node in nodes.values()))
        yield nodes
    finally:
        for node in nodes.values():
            if node.process is not None and node.process.poll() is None:
                node.kill()


def states(nodes: dict[str, NodeProcess], job: str) -> set[str]:
    views = [[view for view in node.client.jobs() if view.id == job] for node in nodes.values()]
    return {view[0].state if view else "unknown" for view in views}


@pytest.mark.campaign
@pytest.mark.parametrize(("name", "event"), KILLS)
def test_a_job_survives_a_killed_node(nodes: dict[str, NodeProcess], name: str, event: str) -> None:
    (nodes[name].directory / "die").write_text(event)
    fields = {"protocol": "release count", "epsilon": 0.01, "table": "days", "peer": "b", "max_rows": 40}
    job = nodes["a"].client.submit({**fields, "holders": list(HOLDERS), "compute_only": True, "to": ["anna"]}).id
    process = nodes[name].process
    assert process is not None
    eventually(lambda: process.poll() is not None)
    nodes[name].kill()
    nodes[name].start()
    eventually(lambda: all(node.is_up() for node in nodes.values()))
    eventually(lambda: states(nodes, job) <= {*ENDED})
    assert states(nodes, job) == {"done"}
    answers = [nodes[one].client.result(job).document for one in (*NODES, "anna")]
    assert answers[0] == answers[1] == answers[2]
    for one, node in nodes.items():
        spent = [entry for entry in node.client.audit(1000) if (entry.job, entry.kind) == (job, "spent")]
        assert len(spent) == (one in HOLDERS)
        assert node.client.verify().problems == []
