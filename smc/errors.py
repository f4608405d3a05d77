"""Errors, sorted by the party or machine that causes them.

Every error that may reach an operator is one of these; its text is one clear line. `parties.cli` maps them to exit
codes and shows no traceback for them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class SmcError(Exception):
    """Base of all errors that this project raises on purpose."""


class InputError(SmcError):
    """Wrong input of the operator: a file, a value, an option. Exit code 2."""


class MachineError(InputError):
    """Failure of this machine: a full disk, a locked database, too little memory. Exit code 5.

    It depends on no row, so nothing is charged for it.
    """


class JointRefusalError(InputError):
    """Refusal of both parties' inputs together, opened to both; both receive an equal text. Exit code 2."""


class LinkError(SmcError):
    """Failure of the link or of the peer: unreachable, silent, disconnected, untrusted. Exit code 3."""


class PeerLeftError(LinkError):
    """Peer that ended the session while this party still expected a message. Exit code 3."""


class ShardError(LinkError):
    """Second failure of a shard. Exit code 3.

    The cause is shown to this party's operator only, because the peer supplies the address of a shard.
    """


class ProtocolError(LinkError):
    """Message of the peer that the protocol does not allow at this point. Exit code 3.

    `refused` holds the label and the first bytes of the refused message.
    """

    refused: tuple[str, bytes] = ("", b"")


class JobMismatchError(SmcError):
    """Peer that is reachable and trusted, but wants a different job. Exit code 4.

    `ours` and `theirs` are the jobs of both parties, if they have been compared; `theirs` is not checked further.
    """

    ours: Mapping[str, Any] = MappingProxyType({})
    theirs: Mapping[str, Any] = MappingProxyType({})
