"""Oblivious transfer: one interface, several protocols, separate sender and receiver roles."""

from smc.ot.elliptic import EllipticReceiver, EllipticSender
from smc.ot.extension import ExtensionReceiver, ExtensionSender
from smc.ot.iknp import IknpReceiver, IknpSender
from smc.ot.interface import Receiver, Sender
from smc.ot.kinds import make_roles
from smc.ot.softspoken import SoftSpokenReceiver, SoftSpokenSender
from smc.ot.transfers import Transfers
from smc.ot.trapdoor import TrapdoorReceiver, TrapdoorSender
from smc.recipes import OTKind

__all__ = [
    "EllipticReceiver",
    "EllipticSender",
    "ExtensionReceiver",
    "ExtensionSender",
    "IknpReceiver",
    "IknpSender",
    "OTKind",
    "Receiver",
    "Sender",
    "SoftSpokenReceiver",
    "SoftSpokenSender",
    "Transfers",
    "TrapdoorReceiver",
    "TrapdoorSender",
    "make_roles",
]
