"""The two roles of each kind of oblivious transfer."""

from __future__ import annotations

from smc.ot.extension import ExtensionReceiver, ExtensionSender
from smc.ot.iknp import IknpReceiver, IknpSender
from smc.ot.interface import Receiver, Sender
from smc.ot.softspoken import SoftSpokenReceiver, SoftSpokenSender
from smc.ot.trapdoor import TrapdoorReceiver, TrapdoorSender
from smc.recipes import Kind
from smc.session import Session


def make_roles(kind: Kind, session: Session, sender: str, receiver: str) -> tuple[Sender, Receiver]:
    """A sender and a receiver of a kind, by their names in the session."""
    match kind:
        case "extension":
            return ExtensionSender(session, sender), ExtensionReceiver(session, receiver)
        case "trapdoor":
            return TrapdoorSender(session, sender), TrapdoorReceiver(session, receiver)
        case "iknp":
            return IknpSender(session, sender), IknpReceiver(session, receiver)
        case "ferret":
            from smc.ot.ferret import FerretReceiver, FerretSender  # not loaded where it is not used

            return FerretSender(session, sender), FerretReceiver(session, receiver)
        case _:
            k = int(kind.removeprefix("softspoken"))
            return SoftSpokenSender(session, sender, k), SoftSpokenReceiver(session, receiver, k)
