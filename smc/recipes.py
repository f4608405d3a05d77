"""Public choices of a program's execution: the only list of engines, kinds of OT, garbling schemes and circuit forms.

It holds the names, circuits, integers, prices and descriptions of the engines. The module imports no other part of the
project, so command lines read their options from it at little cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

EngineName = Literal["yao", "gmw", "mixed", "lean", "clear"]
OTKind = Literal["extension", "trapdoor", "iknp", "softspoken2", "softspoken4", "softspoken8", "ferret"]
Garbling = Literal["half", "three-halves"]
Gates = Literal["triples", "table"]  # AND gates on XOR shares: from triples, or by OT of their four-row tables
Form = Literal["size", "depth"]  # goal of circuits: few AND gates, or few levels of AND gates


@dataclass(frozen=True)
class Prices:
    """Costs of operations, in bytes or any other unit, to choose the cheapest parameters that are precise enough.

    Attributes:
        and_gate: An AND gate.
        selected_bit: A one-hot bit that selects an entry of a table.
        factor_bit: A bit of one factor of a product; 0 if products consist of AND gates.
    """

    and_gate: float
    selected_bit: float
    factor_bit: float


CIRCUITS: Final = Prices(1, 0, 0)
GARBLED: Final = Prices(28, 12, 24)  # additive shares beside garbled circuits
SHARED: Final = Prices(1.5, 8.2, 16.4)  # additive shares beside XOR shares with silent OT; the prices include its time


@dataclass(frozen=True)
class Security:
    """Security parameters in bits, against a semi-honest peer; for other peers see docs/security.md."""

    computational: int
    statistical: int


SEMI_HONEST: Final = Security(computational=128, statistical=40)


@dataclass(frozen=True)
class Recipe:
    """Description of an engine: circuits, integers, the form of circuits that suits it, prices of operations."""

    circuits: Literal["garbled", "XOR shares", "clear"]
    integers: Literal["circuits", "additive shares"]
    form: Form  # "depth" if every level of AND gates is a round
    prices: Prices
    security: Security | None  # None: the engine protects nothing
    summary: str


RECIPES: Final[dict[EngineName, Recipe]] = {
    "yao": Recipe("garbled", "circuits", "size", CIRCUITS, SEMI_HONEST, "garbled circuits: constant rounds"),
    "gmw": Recipe(
        "XOR shares", "circuits", "depth", CIRCUITS, SEMI_HONEST,
        "circuits on XOR shares: little traffic, a round for every level of AND gates",
    ),
    "mixed": Recipe(
        "garbled", "additive shares", "size", GARBLED, SEMI_HONEST,
        "garbled circuits, and additive shares for integers: few rounds, less traffic than yao",
    ),
    "lean": Recipe(
        "XOR shares", "additive shares", "depth", SHARED, SEMI_HONEST,
        "circuits on XOR shares, additive shares for integers: the least traffic, a round for every level of AND gates",
    ),
    "clear": Recipe("clear", "circuits", "size", CIRCUITS, None, "protects nothing: the reference in tests"),
}  # fmt: skip

# Engines that protect: first those for every program, then those that differ only on programs of bits.
ENGINES: Final = tuple(name for name, recipe in RECIPES.items() if recipe.security is not None)
BOOLEAN_ENGINES: Final = tuple(name for name in ENGINES if RECIPES[name].integers == "circuits")
