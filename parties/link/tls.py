"""Restriction of gRPC to TLS 1.3 with a post-quantum key exchange, for which gRPC's Python interface has no setting.

gRPC reads its cipher suites of TLS 1.2 from the environment once, when it is loaded; those of TLS 1.3 are always
enabled. So importing this module before gRPC leaves a single TLS 1.2 suite, which needs a pre-shared key that does not
exist. A TLS 1.2 connection is then impossible, at either end and with any certificates. If another library has loaded
gRPC earlier, as in a notebook, this comes too late; then the listening end still refuses a TLS 1.2 connection before it
carries any message.

The group of the key exchange cannot be set either. gRPC offers X25519MLKEM768 first, and accepts the other end's
choice. It reports the group to the listening end alone. So the listening end sends it in the first metadata of the
stream, which TLS protects. Each end refuses a group that is not post-quantum, unless it permits classical ones. Both
ends of a TLS 1.3 handshake authenticate the group as part of its transcript. So the dialling end relies on its pinned
peer's statement, as the protocols do for an honest party, and not on the line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

VERSION = "TLS 1.3"
POST_QUANTUM = frozenset({"X25519MLKEM768"})
_NAME = "TLSv1.3"  # gRPC's name of `VERSION`
_SUITES = "GRPC_SSL_CIPHER_SUITES"
_NONE_OF_TLS_1_2 = "ECDHE-PSK-AES128-CBC-SHA"

# whether this process cannot use an older TLS; False if gRPC was loaded before this module
NOTHING_OLDER = "grpc" not in sys.modules or os.environ.get(_SUITES) == _NONE_OF_TLS_1_2
os.environ[_SUITES] = _NONE_OF_TLS_1_2


def is_too_old(facts: Mapping[str, Sequence[bytes]]) -> bool:
    """Return whether a connection's TLS is older than 1.3; False if gRPC (before 1.85) does not report it."""
    return _told(facts, "ssl_tls_version") not in ("", _NAME)


def version(facts: Mapping[str, Sequence[bytes]]) -> str:
    """Return the TLS version of a connection as text for people; empty if gRPC does not report it."""
    return VERSION if _told(facts, "ssl_tls_version") == _NAME else ""


def group(facts: Mapping[str, Sequence[bytes]]) -> str:
    """Return the key exchange's group by a connection's authentication context; empty if gRPC does not report it."""
    return _told(facts, "ssl_negotiated_key_exchange_group")


def objection(name: str, classical: bool) -> str:
    """Return the reason to refuse a connection's key exchange; empty if it is permitted.

    Args:
        name: Group of the key exchange; empty if unknown.
        classical: Whether groups other than post-quantum are permitted.
    """
    if classical or name in POST_QUANTUM:
        return ""
    what = f"{name} of this connection" if name else "of this connection, unreported by gRPC,"
    return f"the key exchange {what} is not post-quantum: both parties need grpcio 1.85, or [link] classical = true"


def _told(facts: Mapping[str, Sequence[bytes]], key: str) -> str:
    return next((value.decode(errors="replace") for value in facts.get(key, ())), "")
