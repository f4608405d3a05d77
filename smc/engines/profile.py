"""Profile: every public choice about the execution of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from smc.recipes import RECIPES, EngineName, Form, Garbling, Gates, OTKind, Prices, Recipe


@dataclass(frozen=True)
class Profile:
    """Engine, kind of OT, garbling scheme and form of the circuits; `smc.engines.make_engine` explains them.

    `shards` is the number of shards that compute batches (`smc.engines.shards`). Raise ValueError for an unknown name,
    for fewer than one shard, or for several on the engine "clear".
    """

    engine: EngineName
    ot: OTKind = "extension"
    garbling: Garbling = "half"
    form: Form | None = None  # None: the engine's default
    table_gates: bool | None = None  # None: if the OT is "trapdoor"
    shards: int = 1

    def __post_init__(self) -> None:
        for value, known in (
            (self.engine, tuple(RECIPES)),
            (self.ot, get_args(OTKind)),
            (self.garbling, get_args(Garbling)),
            (self.form, (None, *get_args(Form))),
        ):
            if value not in known:
                raise ValueError(f"a profile has {value!r}; it must be one of {', '.join(map(str, known))}")
        if self.shards < 1 or (self.shards > 1 and self.recipe.circuits == "clear"):
            raise ValueError(
                f"a profile has {self.shards} shards; it needs at least one, and exactly one on the clear engine"
            )

    @property
    def recipe(self) -> Recipe:
        """Description of the engine's parts."""
        return RECIPES[self.engine]

    @property
    def garbles(self) -> bool:
        """True if the engine computes circuits by garbling (Yao) instead of XOR shares."""
        return self.recipe.circuits == "garbled"

    @property
    def arithmetic(self) -> bool:
        """True if integers are additive shares."""
        return self.recipe.integers == "additive shares"

    @property
    def kernels(self) -> tuple[str, ...]:
        """Modules of `smc.kernels` that a run may call."""
        if self.recipe.circuits == "clear":
            return ()
        scheme = "halfgates" if self.garbling == "half" else "threehalves"
        gates = scheme if self.garbles else "gmw"
        modules = {"ferret": ["lpn"], "iknp": ["iknp"]}
        return ("labels", gates, "ot", *modules.get(self.ot, []))

    @property
    def prices(self) -> Prices:
        """Costs of operations on integers, for the choice of public parameters."""
        return self.recipe.prices

    @property
    def gates(self) -> Gates | None:
        """Kind of AND gates on XOR shares, if `table_gates` names it; None: the engine's own kind."""
        return None if self.table_gates is None else "table" if self.table_gates else "triples"

    @property
    def uses_table_gates(self) -> bool:
        """True if AND gates on XOR shares are computed directly by 1-out-of-4 OT."""
        return self.ot == "trapdoor" if self.table_gates is None else self.table_gates

    def __str__(self) -> str:
        parts: list[str] = [self.engine, self.ot]
        if self.garbles:
            parts.append(self.garbling)
        if self.form is not None:
            parts.append(self.form)
        if self.gates is not None and not self.garbles:
            parts.append(self.gates)
        if self.shards > 1:
            parts.append(f"{self.shards} shards")
        return " ".join(parts)
