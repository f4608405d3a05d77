"""Both directions of oblivious transfer at once, for protocols in which the parties are symmetric.

Each party first acts as receiver, then as sender, so the flights of the two directions cross on the wire and
cost the latency of one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from smc.ot.extension import ExtensionReceiver, ExtensionSender
from smc.ot.interface import Choices, Receiver, Sender, Words, additive_correction, masks
from smc.ot.trapdoor import TrapdoorReceiver, TrapdoorSender
from smc.primitives.hash import Blocks
from smc.session import Session

Kind = Literal["extension", "trapdoor"]

_ROLES: dict[Kind, tuple[type[Sender], type[Receiver]]] = {
    "extension": (ExtensionSender, ExtensionReceiver),
    "trapdoor": (TrapdoorSender, TrapdoorReceiver),
}


class Transfers:
    """A sender and a receiver of one kind; party p sends in direction p."""

    def __init__(self, session: Session, kind: Kind = "extension") -> None:
        make_sender, make_receiver = _ROLES[kind]
        self.kind = kind
        self.session = session
        self.sender = make_sender(session, f"ot{session.party}")
        self.receiver = make_receiver(session, f"ot{1 - session.party}")

    def setup(self) -> None:
        """Set up both directions, in an order in which no party waits for one that waits."""
        roles: tuple[Sender | Receiver, ...] = (self.sender, self.receiver)
        for role in roles if self.session.party == 0 else reversed(roles):
            role.setup()

    def random(self, choice: Choices) -> tuple[Blocks, Blocks]:
        """Random 1-out-of-2 OTs both ways: all own keys uint64[2, n, 2], and the keys of `choice` uint64[n, 2]."""
        self.setup()
        count = len(choice)
        own = np.empty((2, count, 2), dtype=np.uint64)
        chosen = np.empty((count, 2), dtype=np.uint64)
        step = self.receiver.batch  # one message each way before either party reads
        for start in range(0, count, step):
            part = choice[start : start + step]
            chosen[start : start + step] = self.receiver.random(part)
            own[:, start : start + step] = self.sender.random(len(part))
        return own, chosen

    def additive(self, values: Words, choice: Choices) -> Words:
        """Shares of choice * value both ways, summed: own values with the peer's choices and the reverse.

        Gilboa, "Two Party RSA Key Generation" (CRYPTO 1999). uint64[n] each; both parties give the same n.
        """
        count = len(values)
        if count == 0:
            return np.zeros(0, dtype=np.uint64)
        own, chosen = self.random(choice)
        self.session.send("additive", additive_correction(own, values))
        correction = self.session.receive("additive", np.uint64, (count,))
        share: Words = chosen[:, 0] + (correction & masks(choice)) - own[0, :, 0]
        return share
