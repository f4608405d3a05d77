"""The key exchange is post-quantum, or both ends have said that it need not be."""

from __future__ import annotations

from typing import Any

import pytest

from parties.link import tls, transport
from smc.errors import LinkError
from tests.support.classical import middle

pytestmark = pytest.mark.slow

GROUP = "X25519MLKEM768"


def test_both_ends_know_version_and_key_exchange(parties) -> None:
    ours, theirs = parties.run(*[lambda link: (link.tls, link.group)] * 2)
    assert ours == ("TLS 1.3", GROUP)
    assert theirs == ("TLS 1.3" if tls.NOTHING_OLDER else "", GROUP)


def through(parties, ours: bool, theirs: bool) -> tuple[Any, Any]:
    """What becomes of a session over a classical key exchange, that alice or bob permit."""
    own = {"wait": 60.0} if ours else {"wait": 1.0}
    listening, address = parties.listen(lambda link: link.group, classical=ours, **own)
    with middle(parties.identities["alice"], parties.identities["bob"], address) as there:
        dialling = parties.connect(there, lambda link: link.group, classical=theirs)
        return listening.outcome(), dialling.outcome()


def test_a_classical_key_exchange_where_both_permit_it(parties) -> None:
    assert through(parties, True, True) == ("prime256v1", "prime256v1")


@pytest.mark.parametrize("theirs", [False, True])
def test_the_listening_end_refuses_it(parties, theirs: bool) -> None:
    ours, error = through(parties, False, theirs)
    assert isinstance(ours, LinkError)  # nobody fit has come
    assert isinstance(error, LinkError)
    assert "the key exchange prime256v1 of this connection is not post-quantum" in str(error)
    assert "[link] classical = true" in str(error)


def test_the_dialling_end_refuses_it(parties) -> None:
    ours, error = through(parties, True, False)
    assert isinstance(ours, LinkError)
    assert isinstance(error, LinkError)
    assert str(error).startswith("alice: the key exchange prime256v1 of this connection is not post-quantum")


def test_a_peer_that_does_not_tell_is_refused(parties, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "GROUP", "smc-another-key")  # what the dialling end looks for
    ours, error = parties.run(lambda link: None, lambda link: None)
    assert isinstance(ours, LinkError)
    assert "the key exchange of this connection, unreported by gRPC, is not post-quantum" in str(error)
    ours, group = parties.run(*[lambda link: link.group] * 2, classical=True)
    assert (ours, group) == (GROUP, "")


@pytest.mark.parametrize("name", ["X25519", "P-256", "", "X25519MLKEM76", "x25519mlkem768"])
def test_what_is_post_quantum(name: str) -> None:
    assert tls.objection(GROUP, False) == ""
    assert tls.objection(name, False)
    assert tls.objection(name, True) == ""
