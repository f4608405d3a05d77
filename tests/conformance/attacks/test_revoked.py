"""A peer whose key was copied: its certificate is revoked in the running node, and nothing runs with it again."""

from __future__ import annotations

import pytest

from smc.errors import InputError
from tests.support.floods import ROWS, TABLE
from tests.support.nodes import RESEARCH, NodeProcess, Nodes, submit, verified
from tests.support.waiting import eventually

pytestmark = pytest.mark.campaign  # tests/parties/node/test_revoked.py has the ledger's part in `make test`


def trouble(node: NodeProcess) -> str:
    (peer,) = node.client.node().peers
    return "" if peer.connected else peer.trouble


def test_a_revoked_certificate(nodes: Nodes) -> None:
    """Of the node that connects, by the one that listens; it stays so when that is started again."""
    nodes.furnish((ROWS, ROWS), TABLE, (RESEARCH, RESEARCH))
    nodes.start()
    a, b = nodes.a, nodes.b
    with pytest.raises(InputError, match="there is no peer 'c'"):
        a.client.revoke("c")
    (peer,) = a.client.revoke("b", "its key was copied").peers
    assert (peer.connected, "revoked here" in peer.trouble) == (False, True)
    eventually(lambda: "revoked" in trouble(b))
    with pytest.raises(InputError, match="revoked already"):
        a.client.revoke("b")
    with pytest.raises(InputError, match="the certificate of b is revoked here"):
        submit(a, purpose="research")
    a.stop()
    a.start()
    eventually(a.is_up)
    assert "revoked here" in trouble(a)
    (entry,) = [entry for entry in a.client.audit(1000) if entry.kind == "pin revoked"]
    assert (entry.fields["peer"], entry.fields["why"]) == ("b", "its key was copied")
    assert verified(a)["ok"]
