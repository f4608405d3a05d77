"""An entry for a public register of epsilons, signed as the log is: who publishes it cannot deny it later.

Such a register is proposed by Dwork, Kohli, Mulligan (2019), "Differential privacy in practice: expose your epsilons".
What is signed is `smc.records.budget.v1`, a line feed, and the entry as canonical JSON.
"""

from __future__ import annotations

from typing import Any

from cryptography import x509

from parties.link.identity import Identity, fingerprint
from parties.node.records.signature import check_signature, sign
from parties.operator.budget import Registered


def registered(identity: Identity, entry: dict[str, Any]) -> Registered:
    """Sign the entry. `InputError` if it cannot be written as JSON."""
    signature = sign(identity, entry, "budget").hex()
    return Registered(entry=entry, fingerprint=fingerprint(identity.certificate), signature=signature)


def is_registered_by(signed: Registered, certificate: x509.Certificate) -> bool:
    """Return whether the holder of the certificate's key signed the entry. No input makes it raise."""
    try:
        signature = bytes.fromhex(signed.signature)
    except ValueError:
        return False
    return check_signature(certificate, signed.entry, signature, "budget")
