"""Rows that are made of noisy marginals: by one party, and the same at both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.synthesis.graphical import Graphical
from parties.alone.synthesis.marginals import Generator
from parties.alone.synthesis.relaxed_projection import RelaxedProjection
from parties.jobs.synthesise.settings import SynthesiseSettings
from parties.jobs.synthesise.state import GraphicalModel, RowCodes, Synthesis, measurements
from smc.errors import ProtocolError

if TYPE_CHECKING:
    from protocols.release.selection import Workload
    from smc.counting import CountingEngine
    from smc.engines import Engine

GENERATORS: dict[str, Callable[[], Generator]] = {"graphical": Graphical, "relaxed": RelaxedProjection}


def agreed(
    engine: Engine,
    settings: SynthesiseSettings,
    work: Workload,
    names: Sequence[str],
    model: GraphicalModel,
    state: Synthesis,
) -> RowCodes:
    """Return the rows, which party 0 makes and tells: equal ones at both, whatever their machines make of fractions."""
    codes = None
    if engine.party == 0:
        many = settings.rows or min(max(1, round(model.total(state.measured))), most(settings))
        domain = dict(zip(names, work.domains, strict=True))
        generated = GENERATORS[settings.generator]().generate(
            domain, measurements(work, names, state.measured), many, state.seed
        )
        codes = np.stack([generated[name] for name in names], axis=1)
    rows = _told(engine, settings, len(names), codes)
    if (rows >= np.array(work.domains)).any():
        raise ProtocolError("a synthetic row has a value that does not exist: the peer's messages are wrong")
    return rows


def most(settings: SynthesiseSettings) -> int:
    """Return how many rows are made at most."""
    return settings.rows or 2 * settings.max_rows


def count_at_most(engine: CountingEngine, settings: SynthesiseSettings, names: Sequence[str]) -> None:
    """Count how the most rows there can be are told."""
    none = np.broadcast_to(np.zeros((), dtype=np.uint16), (most(settings), len(names)))  # takes no memory
    _told(engine, settings, len(names), none, most(settings))


def _told(
    engine: Engine, settings: SynthesiseSettings, columns: int, codes: NDArray[Any] | None, counted: int | None = None
) -> RowCodes:
    """Party 0's rows, at both; `counted` stands for their number where no peer says it."""
    from protocols.release.selection import tell

    with engine.session.phase("rows"):
        total = None if codes is None else np.array([len(codes)])
        (many,) = tell(engine, "number of rows", total, (1,)).tolist()
        many = counted or many
        if not 1 <= many <= most(settings):
            raise ProtocolError("there cannot be so many synthetic rows: the peer's messages are wrong")
        return tell(engine, "rows", codes, (many, columns), np.uint16)
