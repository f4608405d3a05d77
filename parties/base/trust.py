"""Trust and identity of a TLS client: for servers named in party.toml."""

from __future__ import annotations

import ssl
from pathlib import Path

from parties.base import files, keyfile
from smc.errors import InputError


def client_context(ca: Path | None, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """Return the TLS settings of a client.

    Args:
        ca: The server's own certificate, or one that has signed it. None: the system's.
        certificate: This client's certificate, used together with `key`.
        key: Private key of this certificate.

    Raises:
        InputError: A file cannot be used; the message names it.
    """
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError:
        raise InputError(f"{ca}: not a file of certificates in PEM; give one") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # a server's own certificate is enough, whoever signed it
    if certificate is not None and key is not None:
        if files.is_in_token(key):
            raise InputError(f"{key}: Python's TLS cannot use a key in a token; name a key file")
        try:
            context.load_cert_chain(certificate, key, keyfile.passphrase(key))
        except OSError:
            raise InputError(f"{certificate}, {key}: not a certificate and its key in PEM; give such files") from None
    return context
