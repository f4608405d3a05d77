"""Oblivious transfer: one interface, three protocols, separate sender and receiver roles."""

from smc.ot.elliptic import EllipticReceiver, EllipticSender
from smc.ot.extension import ExtensionReceiver, ExtensionSender
from smc.ot.interface import Receiver, Sender
from smc.ot.transfers import Kind, Transfers
from smc.ot.trapdoor import TrapdoorReceiver, TrapdoorSender

__all__ = [
    "EllipticReceiver",
    "EllipticSender",
    "ExtensionReceiver",
    "ExtensionSender",
    "Kind",
    "Receiver",
    "Sender",
    "Transfers",
    "TrapdoorReceiver",
    "TrapdoorSender",
]
