"""What `smc bench` measures: small programs on random inputs, each checked against its plain result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parties import config, jobs, schema, tables, trees
from protocols.equality import equal
from protocols.id3 import id3
from protocols.logarithm import open_logarithm
from protocols.majority import majority
from protocols.millionaires import three_way
from smc.engines import Engine, Name
from smc.ot import Kind

LOG_BOUND = 1 << 20
SEED = 20020301  # of the public test inputs; the protocols' own randomness is the system's


@dataclass(frozen=True)
class Case:
    """A protocol on an engine: `run` plays this party's side and raises `RuntimeError` on a wrong result."""

    protocol: str
    engine: Name
    ot: Kind
    batch: int
    run: Callable[[Engine, int], None]

    @property
    def title(self) -> str:
        """A unique name."""
        return f"{self.protocol}, {self.engine}, {self.ot}, batch {self.batch}"


def _require(right: bool) -> None:
    if not right:
        raise RuntimeError("a protocol gave a wrong result in the bench")


def _rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def _millionaires(engine: Engine, batch: int) -> None:
    values = _rng().integers(0, 1 << 32, (2, batch), dtype=np.uint64)
    truth = np.where(values[0] > values[1], "party0", np.where(values[0] < values[1], "party1", "equal"))
    _require(three_way(engine, values[engine.party], 32) == truth.tolist())


def _equality(engine: Engine, batch: int) -> None:
    values = _rng().integers(0, 4, (2, batch), dtype=np.uint64)
    _require(np.array_equal(equal(engine, values[engine.party], 32), values[0] == values[1]))


def _majority(engine: Engine, batch: int) -> None:
    counts = _rng().integers(0, 1 << 15, (2, 4, batch), dtype=np.uint64)
    _require(np.array_equal(majority(engine, counts[engine.party], 16), counts.sum(axis=0).argmax(axis=0)))


def _x_log_x(engine: Engine, batch: int) -> None:
    counts = _rng().integers(0, LOG_BOUND // 2, (2, batch), dtype=np.uint64)
    x = counts.sum(axis=0).astype(np.float64)
    found = open_logarithm(engine, counts[engine.party], LOG_BOUND, 0.001, times_x=True)
    _require(bool((np.abs(found - x * np.log(np.maximum(x, 1))) <= x * 0.001 / 4 + 1e-6).all()))


def _tennis(engine: Engine, batch: int) -> None:
    del batch
    demo, settings = tables.demo(), config.Id3Settings()
    agreed = schema.load(demo.schema)
    target = agreed.choose_target()
    table = tables.load((demo.clinic_a, demo.clinic_b)[engine.party], agreed, target, settings.max_rows)
    found = jobs.named(id3(engine, jobs.problem(settings, agreed, target), table.rows, table.classes), agreed, target)
    asked = {place.node.attribute for place in trees.places(found) if isinstance(place.node, trees.Split)}
    _require(asked == {"outlook", "humidity", "wind"})


def chosen_cases(only: str) -> list[Case]:
    """The cases whose title contains `only`."""
    return [case for case in all_cases() if only in case.title]


def all_cases() -> list[Case]:
    """The table's rows, in order."""
    millionaires = "millionaires 32"
    circuits: tuple[Name, ...] = ("yao", "gmw")
    kinds: tuple[Kind, ...] = ("extension", "trapdoor")
    cases = [Case(millionaires, engine, kind, 1, _millionaires) for engine in circuits for kind in kinds]
    for engine in circuits:
        cases += [
            Case(millionaires, engine, "extension", 10_000, _millionaires),
            Case("equality 32", engine, "extension", 10_000, _equality),
            Case("majority of 4", engine, "extension", 1000, _majority),
        ]
    everything: tuple[Name, ...] = ("mixed", *circuits)
    for engine in everything:
        cases.append(Case("x ln x, 2^20", engine, "extension", 1000, _x_log_x))
        cases.append(Case("ID3, tennis", engine, "extension", 1, _tennis))
    return cases
