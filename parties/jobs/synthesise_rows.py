"""Rows that are made of noisy marginals: by one party, and the same at both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parties.analysis.graphical import Graphical
from parties.analysis.marginals import Generator
from parties.analysis.relaxed_projection import RelaxedProjection
from parties.jobs.synthesise_settings import SynthesiseSettings
from parties.jobs.synthesise_state import Codes, GraphicalModel, Synthesis, measurements
from smc.errors import ProtocolError

if TYPE_CHECKING:
    from protocols.release.selection import Workload
    from smc.engines import Engine

GENERATORS: dict[str, Callable[[], Generator]] = {"graphical": Graphical, "relaxed": RelaxedProjection}


def agreed(
    engine: Engine,
    settings: SynthesiseSettings,
    work: Workload,
    names: Sequence[str],
    model: GraphicalModel,
    state: Synthesis,
) -> Codes:
    """The rows, which party 0 makes and tells: equal ones at both, whatever their machines make of fractions."""
    from protocols.release.selection import tell

    codes = None
    if engine.party == 0:
        many = settings.rows or min(max(1, round(model.total(state.measured))), 2 * settings.max_rows)
        domain = dict(zip(names, work.domains, strict=True))
        made = GENERATORS[settings.generator]().generate(
            domain, measurements(work, names, state.measured), many, state.seed
        )
        codes = np.stack([made[name] for name in names], axis=1)
    with engine.session.phase("rows"):
        own = None if codes is None else np.array([len(codes)])
        (many,) = tell(engine, "number of rows", own, (1,)).tolist()
        if not 1 <= many <= max(2 * settings.max_rows, settings.rows or 0):
            raise ProtocolError("there cannot be so many synthetic rows: the peer's messages are wrong")
        found = tell(engine, "rows", codes, (many, len(names)), np.uint16)
    if (found >= np.array(work.domains)).any():
        raise ProtocolError("a synthetic row has a value that does not exist: the peer's messages are wrong")
    return found
