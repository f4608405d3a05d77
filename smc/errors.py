"""What can go wrong, sorted by whose fault it is.

Every error that may reach an operator is one of these; its text is one clear line. `parties.cli` maps
them to exit codes and never shows a traceback for them.
"""


class SmcError(Exception):
    """Base of all errors this project raises on purpose."""


class InputError(SmcError):
    """The operator's own input is wrong: a file, a value, an option. Exit code 2."""


class MachineError(InputError):
    """This machine cannot do it now, and may later: a full disk, a database that is locked. Exit code 5."""


class JointRefusalError(InputError):
    """Both parties' inputs together are refused, as both have opened it; both get an equal text. Exit code 2."""


class LinkError(SmcError):
    """The link or the peer failed: unreachable, silent, disconnected, untrusted. Exit code 3."""


class PeerLeftError(LinkError):
    """The peer ended the session while this party still expected something. Exit code 3."""


class ShardError(LinkError):
    """A shard has failed twice. Exit code 3.

    The cause is for this party's operator only: the peer gives the address at which a shard is met.
    """


class ProtocolError(LinkError):
    """The peer sent a message that the protocol does not allow here. Exit code 3.

    `refused` is the label of the refused message, and its first bytes.
    """

    refused: tuple[str, bytes] = ("", b"")


class JobMismatchError(SmcError):
    """The peer is there and trusted, but runs a different job. Exit code 4."""
