"""The two roles of each kind of oblivious transfer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smc.errors import InputError
from smc.ot.extension import ExtensionReceiver, ExtensionSender
from smc.ot.iknp import IknpReceiver, IknpSender
from smc.ot.interface import Receiver, Sender
from smc.ot.softspoken import SoftSpokenReceiver, SoftSpokenSender
from smc.ot.trapdoor import TrapdoorReceiver, TrapdoorSender
from smc.recipes import OTKind
from smc.session import Session

Twin = Callable[[type[Any]], type[Any]]


def _itself(role: type[Any]) -> type[Any]:
    return role


def make_roles(
    kind: OTKind, session: Session, sender: str, receiver: str, twin: Twin = _itself
) -> tuple[Sender, Receiver]:
    """Return a sender and a receiver of a kind of OT, one for each direction.

    Args:
        kind: The kind, see `smc.recipes.OTKind`.
        session: This party's end of the run.
        sender: Name of the sending role's direction in the session.
        receiver: Name of the receiving role's direction in the session; another one.
        twin: Replaces each role's class by another, such as one that counts. Default: the class itself.

    Raises:
        InputError: The kind has no roles, or a role lacks methods.
    """
    (sender_class, receiver_class), options = _classes(kind)
    for role in (sender_class, receiver_class):
        lacking = sorted(getattr(role, "__abstractmethods__", ()))
        if issubclass(role, Receiver) and not hasattr(role, "batch"):
            lacking.append("batch")
        if lacking:
            raise InputError(f"{role.__module__}: {role.__name__} lacks {', '.join(lacking)}: see smc/ot/interface.py")
    return twin(sender_class)(session, sender, **options), twin(receiver_class)(session, receiver, **options)


def _classes(kind: OTKind) -> tuple[tuple[type[Sender], type[Receiver]], dict[str, int]]:
    """Return the roles' classes and their options."""
    match kind:
        case "trapdoor":
            roles: tuple[type[Sender], type[Receiver]] = TrapdoorSender, TrapdoorReceiver
        case "iknp":
            roles = IknpSender, IknpReceiver
        case "ferret":
            from smc.ot.ferret import FerretReceiver, FerretSender  # loaded only where used

            roles = FerretSender, FerretReceiver
        case "extension":
            roles = ExtensionSender, ExtensionReceiver
        case "softspoken2" | "softspoken4" | "softspoken8":
            return (SoftSpokenSender, SoftSpokenReceiver), {"k": int(kind.removeprefix("softspoken"))}
        case _:
            raise InputError(f"smc/ot/kinds.py: the kind of OT '{kind}' has no roles: add a case to _classes")
    return roles, {}
