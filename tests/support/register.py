"""Check of a signed entry of the register of budgets, as its reader would make it."""

from __future__ import annotations

from cryptography import x509

from parties.node.desk.published import Registered
from parties.node.records.signature import check_signature


def is_registered_by(signed: Registered, certificate: x509.Certificate) -> bool:
    """Return whether the holder of the certificate's key signed the entry. No input makes it raise.

    Args:
        signed: The signed entry.
        certificate: Certificate of the supposed signer.
    """
    try:
        signature = bytes.fromhex(signed.signature)
    except ValueError:
        return False
    return check_signature(certificate, signed.entry, signature, "budget")
