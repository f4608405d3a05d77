"""Two real nodes, of which one asks a decision point over HTTPS: it permits what its rule permits."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.link.identity import Identity
from tests.support.decision_points import PointServer
from tests.support.nodes import RESEARCH, Nodes, submit

pytestmark = pytest.mark.slow

SCHEMA = 'target = "play"\n[attributes]\nwind = ["weak", "strong"]\nplay = ["yes", "no"]\n'
ROWS = "wind,play\nweak,yes\nstrong,no\nweak,yes\nstrong,no\n"


def test_a_job_the_point_permits_runs(tmp_path: Path, identities: dict[str, Identity]) -> None:
    server, nodes = PointServer(identities["mallory"]), Nodes(tmp_path)
    point = f'[decision]\nurl = "{server.url}"\nca = "{identities["mallory"].certificate_path}"\n'
    nodes.furnish((ROWS, ROWS), SCHEMA, ("", RESEARCH + point))
    try:
        nodes.start()
        name = submit(nodes.a, table="rows", protocol="id3", plain=True, purpose="research")
        left, right = nodes.finished(name)
        assert (left.state, right.state) == ("done", "done")
        assert right.ours.reason.endswith("the decision point permits it")
        sent = server.got[-1][0]["Request"]["Category"]
        environment = {one["AttributeId"]: one["Value"] for one in sent[-1]["Attribute"]}
        assert (environment["smc:link:tls"], environment["smc:link:post_quantum"]) == ("TLS 1.3", True)
    finally:
        nodes.close()
        server.close()
