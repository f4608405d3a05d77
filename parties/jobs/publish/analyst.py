"""Who alone can read a table that two parties seal: a certificate in the job's terms, as text."""

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
    """Return the certificate in a file. `InputError` if it is none, or not valid now."""
    return base64.b64encode(load_certificate(path).public_bytes(Encoding.DER)).decode()


def canonical_text(text: str) -> str:
    """Return a certificate as one line of text, from the content of its file. `InputError` if it is none."""
    return base64.b64encode(certificate(text).public_bytes(Encoding.DER)).decode()


def certificate(text: str) -> x509.Certificate:
    """Return the certificate in a text. Whether it is valid now is asked when it is named, not when a job is read
    again."""
    try:
        loaded = x509.load_der_x509_certificate(base64.b64decode(_ARMOUR.sub("", text), validate=True))
        public_key(loaded)
        return loaded
    except InputError:
        raise
    except Exception:  # the library raises many kinds for what is none
        raise InputError("analyst: must be a certificate, the text of a file as smc identity create makes it") from None


def public_key(found: x509.Certificate) -> EllipticCurvePublicKey:
    """Return the key of a certificate. `InputError` if it is not EC P-256, or not for agreeing on keys."""
    key = found.public_key()
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise InputError("analyst: the certificate's key is not EC P-256; make one with smc identity create")
    try:
        usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return key
    if not usage.key_agreement:
        raise InputError("analyst: the certificate's key is for signatures only; make one with smc identity create")
    return key


def of(text: str) -> str:
    """Return the fingerprint of the certificate in a text: that which a table's `analysts` and the policy name."""
    return fingerprint(certificate(text))


def in_full(text: str) -> str:
    """Name and whole fingerprint, for consent: a name alone is what the certificate says of itself."""
    loaded = certificate(text)
    return f"{common_name(loaded)} ({fingerprint(loaded)})"


def told(text: str) -> str:
    """Name and fingerprint, for people."""
    loaded = certificate(text)
    return f"{common_name(loaded)} ({short_fingerprint(loaded)})"
