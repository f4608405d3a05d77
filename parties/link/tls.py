"""TLS 1.3 with a post-quantum key exchange and nothing else, though gRPC's Python interface has no setting for it.

gRPC reads which cipher suites of TLS 1.2 it may use from the environment, once, when it is loaded; those of TLS 1.3
are always there. So importing this module, before gRPC, gives it a single suite, which needs a key shared beforehand
that nobody has: a connection of TLS 1.2 cannot come about, at either end and with whatever certificates. Where another
library has loaded gRPC earlier, in a notebook, that comes too late; there the listening end still refuses such a
connection before anything is said on it.

The group of the key exchange cannot be set either. gRPC offers X25519MLKEM768 first, and takes what the other end has.
It tells the listening end which that was, and no other: so the listening end says it in the first metadata of the
stream, which TLS protects, and each end refuses a group that is not post-quantum, unless it permits classical ones.
Both ends of a handshake of TLS 1.3 sign or authenticate the group as part of its transcript. The dialling end thus
relies on its pinned peer's word, as it does for all that the protocols need of an honest party; not on the line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

VERSION = "TLS 1.3"
POST_QUANTUM = frozenset({"X25519MLKEM768"})
_NAME = "TLSv1.3"  # as gRPC says it
_SUITES = "GRPC_SSL_CIPHER_SUITES"
_NONE_OF_TLS_1_2 = "ECDHE-PSK-AES128-CBC-SHA"

NOTHING_OLDER = "grpc" not in sys.modules or os.environ.get(_SUITES) == _NONE_OF_TLS_1_2  # else it was too late
os.environ[_SUITES] = _NONE_OF_TLS_1_2


def is_too_old(facts: Mapping[str, Sequence[bytes]]) -> bool:
    """Return whether a connection is older, by its authentication context; gRPC before 1.85 does not say."""
    return _told(facts, "ssl_tls_version") not in ("", _NAME)


def version(facts: Mapping[str, Sequence[bytes]]) -> str:
    """Return the version of a connection, for people, as far as gRPC tells it."""
    return VERSION if _told(facts, "ssl_tls_version") == _NAME else ""


def group(facts: Mapping[str, Sequence[bytes]]) -> str:
    """Return the group of a connection's key exchange, by its authentication context; empty if gRPC does not tell."""
    return _told(facts, "ssl_negotiated_key_exchange_group")


def objection(name: str, classical: bool) -> str:
    """Return why a connection with this group cannot serve; empty if it can."""
    if classical or name in POST_QUANTUM:
        return ""
    what = f"the key exchange {name} of this connection" if name else "the key exchange of this connection, untold,"
    return f"{what} is not post-quantum: both parties need grpcio 1.85, or [link] classical = true"


def _told(facts: Mapping[str, Sequence[bytes]], key: str) -> str:
    return next((value.decode(errors="replace") for value in facts.get(key, ())), "")
