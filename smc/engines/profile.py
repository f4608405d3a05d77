"""A profile: every public choice of how a program is run, apart from the program itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from smc.circuit import Form
from smc.engines.words import CIRCUITS, GARBLED, SHARED, Prices
from smc.ot import Kind
from smc.yao.schemes import Name as Garbling

Name = Literal["yao", "gmw", "mixed", "lean", "clear"]


@dataclass(frozen=True)
class Profile:
    """Engine, kind of OT, garbling scheme, form of the circuits; see `make_engine` for what they mean."""

    engine: Name
    ot: Kind = "extension"
    garbling: Garbling = "half"
    form: Form | None = None  # None: the engine's own
    table_gates: bool | None = None  # None: if the OT is "trapdoor"

    @property
    def garbles(self) -> bool:
        """Whether circuits are garbled."""
        return self.engine in ("yao", "mixed")

    @property
    def arithmetic(self) -> bool:
        """Whether integers are additive shares."""
        return self.engine in ("mixed", "lean")

    @property
    def prices(self) -> Prices:
        """What operations on integers cost, for the choice of public parameters."""
        if not self.arithmetic:
            return CIRCUITS
        return GARBLED if self.garbles else SHARED

    @property
    def uses_table_gates(self) -> bool:
        """Whether AND gates on XOR shares come straight from 1-out-of-4 OT."""
        return self.ot == "trapdoor" if self.table_gates is None else self.table_gates

    def __str__(self) -> str:
        parts: list[str] = [self.engine, self.ot]
        if self.garbles:
            parts.append(self.garbling)
        if self.form is not None:
            parts.append(self.form)
        return " ".join(parts)
