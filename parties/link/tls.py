"""TLS 1.3 and nothing older, though gRPC's Python interface has no setting for it.

gRPC reads which cipher suites of TLS 1.2 it may use from the environment, once, when it is loaded; those of TLS 1.3
are always there. So importing this module, before gRPC, gives it a single suite, which needs a key shared beforehand
that nobody has: a connection of TLS 1.2 cannot come about, at either end and with whatever certificates. Where another
library has loaded gRPC earlier, in a notebook, that comes too late; there the listening end still refuses such a
connection before anything is said on it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

VERSION = "TLS 1.3"
_NAME = "TLSv1.3"  # as gRPC says it
_SUITES = "GRPC_SSL_CIPHER_SUITES"
_NONE_OF_TLS_1_2 = "ECDHE-PSK-AES128-CBC-SHA"

NOTHING_OLDER = "grpc" not in sys.modules or os.environ.get(_SUITES) == _NONE_OF_TLS_1_2  # else it was too late
os.environ[_SUITES] = _NONE_OF_TLS_1_2


def is_too_old(facts: Mapping[str, Sequence[bytes]]) -> bool:
    """Whether a connection is older, by its authentication context; gRPC before 1.85 does not say."""
    return _told(facts, "ssl_tls_version") not in ("", _NAME)


def negotiated(facts: Mapping[str, Sequence[bytes]]) -> str:
    """Version and key exchange of a connection, for people, as far as gRPC tells them."""
    version = VERSION if _told(facts, "ssl_tls_version") == _NAME else ""
    return ", ".join(filter(None, (version, _told(facts, "ssl_negotiated_key_exchange_group"))))


def _told(facts: Mapping[str, Sequence[bytes]], key: str) -> str:
    return next((value.decode(errors="replace") for value in facts.get(key, ())), "")
