"""Entries of a register of epsilons are signed by who publishes them, and by nobody else."""

from __future__ import annotations

import pytest

from parties.link.identity import Identity
from parties.node.desk.published import registered
from tests.support.register import is_registered_by


def test_an_entry_is_its_signers(identities: dict[str, Identity]) -> None:
    signed = registered(identities["alice"], {"table": "patients", "epsilon": 1.5})
    alice, bob = identities["alice"].certificate, identities["bob"].certificate
    assert is_registered_by(signed, alice)
    assert not is_registered_by(signed, bob)
    assert not is_registered_by(signed.model_copy(update={"entry": {"table": "patients", "epsilon": 0.5}}), alice)


@pytest.mark.parametrize("signature", ["", "no digits", "ab"])
def test_what_is_no_signature_is_nobodys(identities: dict[str, Identity], signature: str) -> None:
    signed = registered(identities["alice"], {"epsilon": 1.5}).model_copy(update={"signature": signature})
    assert not is_registered_by(signed, identities["alice"].certificate)
