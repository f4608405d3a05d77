"""Engines: interpreters of one program on secret bits."""

from smc.engines.arithmetic_words import ArithmeticWords
from smc.engines.bits import Bits
from smc.engines.circuit_words import CircuitWords
from smc.engines.clear import ClearEngine
from smc.engines.gmw import GmwEngine
from smc.engines.interface import Engine, XorSharedEngine
from smc.engines.making import engine_of, make_engine
from smc.engines.profile import Profile
from smc.engines.words import Choice, Word, Words
from smc.engines.yao import YaoEngine

__all__ = [
    "ArithmeticWords",
    "Bits",
    "Choice",
    "CircuitWords",
    "ClearEngine",
    "Engine",
    "GmwEngine",
    "Profile",
    "Word",
    "Words",
    "XorSharedEngine",
    "YaoEngine",
    "engine_of",
    "make_engine",
]
