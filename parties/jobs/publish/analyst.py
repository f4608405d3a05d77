"""Certificate of the analyst, the only reader of a sealed table, as text in the job's terms."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import Encoding

from parties.link.identity import common_name, fingerprint, load_certificate, short_fingerprint
from smc.errors import InputError

_ARMOUR = re.compile(r"-----(BEGIN|END) CERTIFICATE-----|\s")


def in_file(path: Path) -> str:
    """Return the certificate in a file as one line of text. Raise InputError if it is invalid or expired."""
    return base64.b64encode(load_certificate(path).public_bytes(Encoding.DER)).decode()


def canonical_text(text: str) -> str:
    """Return a certificate as one line of text, from the content of its file. Raise InputError if it is invalid."""
    return base64.b64encode(certificate(text).public_bytes(Encoding.DER)).decode()


def certificate(text: str) -> x509.Certificate:
    """Return the certificate in a text. Raise InputError if it is invalid.

    Expiry is checked only when the operator names the certificate, so that an old job can still be read.
    """
    try:
        loaded = x509.load_der_x509_certificate(base64.b64decode(_ARMOUR.sub("", text), validate=True))
        public_key(loaded)
        return loaded
    except InputError:
        raise
    except Exception:  # the library raises errors of many types for invalid input
        raise InputError("analyst: must be a certificate, the text of a file as smc identity create makes it") from None


def public_key(analyst_certificate: x509.Certificate) -> EllipticCurvePublicKey:
    """Return the key of a certificate. Raise InputError unless it is EC P-256 and allows key agreement."""
    key = analyst_certificate.public_key()
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise InputError("analyst: the certificate's key is not EC P-256; make one with smc identity create")
    try:
        usage = analyst_certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return key
    if not usage.key_agreement:
        raise InputError("analyst: the certificate's key is for signatures only; make one with smc identity create")
    return key


def of(text: str) -> str:
    """Return the fingerprint of the certificate in a text, as in a table's `analysts` and in the policy."""
    return fingerprint(certificate(text))


def in_full(text: str) -> str:
    """Return name and whole fingerprint, for consent: the name alone is the certificate's own claim."""
    loaded = certificate(text)
    return f"{common_name(loaded)} ({fingerprint(loaded)})"


def in_short(text: str) -> str:
    """Return name and short fingerprint, for people."""
    loaded = certificate(text)
    return f"{common_name(loaded)} ({short_fingerprint(loaded)})"
