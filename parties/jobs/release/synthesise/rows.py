"""Generation of rows from noisy marginals: by party 0, equal at both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parties.jobs.release.synthesise.settings import SynthesiseSettings
from parties.jobs.release.synthesise.state import GraphicalModel, RowCodes, Synthesis, measurements
from protocols.synthesis.graphical import Graphical
from protocols.synthesis.marginals import Generator
from protocols.synthesis.relaxed_projection import RelaxedProjection
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
    """Return the rows, which party 0 makes and sends. So they are equal even if the machines round fractions
    differently.

    Args:
        engine: Engine of the run.
        settings: The settings.
        work: The workload of marginals.
        names: Names of the columns.
        model: Model that estimates the number of rows.
        state: State with the measured marginals.

    Raises:
        ProtocolError: The received number of rows is impossible, or a row has a value that does not exist.
    """
    codes = None
    if engine.party == 0:
        row_count = settings.rows or min(max(1, round(model.total(state.measured))), most(settings))
        domain = dict(zip(names, work.domains, strict=True))
        generated = GENERATORS[settings.generator]().generate(
            domain, measurements(work, names, state.measured), row_count, state.seed
        )
        codes = np.stack([generated[name] for name in names], axis=1)
    rows = _from_party_0(engine, settings, len(names), codes)
    if (rows >= np.array(work.domains)).any():
        raise ProtocolError("the peer sent a synthetic row with a value that does not exist")
    return rows


def most(settings: SynthesiseSettings) -> int:
    """Return the upper bound on the number of synthetic rows."""
    return settings.rows or settings.max_rows * (1 if settings.listener_columns is not None else 2)


def count_at_most(engine: CountingEngine, settings: SynthesiseSettings, names: Sequence[str]) -> None:
    """Count the transfer of the largest number of rows.

    Args:
        engine: The counting engine.
        settings: The settings.
        names: Names of the columns.
    """
    placeholder = np.broadcast_to(np.zeros((), dtype=np.uint16), (most(settings), len(names)))  # takes no memory
    _from_party_0(engine, settings, len(names), placeholder, most(settings))


def _from_party_0(
    engine: Engine, settings: SynthesiseSettings, columns: int, codes: NDArray[Any] | None, counted: int | None = None
) -> RowCodes:
    """Return party 0's rows at both parties; `counted` is their number on a counting engine."""
    from protocols.release.selection import send_from_party0

    with engine.session.phase("rows"):
        total = None if codes is None else np.array([len(codes)])
        (row_count,) = send_from_party0(engine, "number of rows", total, (1,)).tolist()
        row_count = counted or row_count
        if not 1 <= row_count <= most(settings):
            raise ProtocolError("the peer sent an impossible number of synthetic rows")
        return send_from_party0(engine, "rows", codes, (row_count, columns), np.uint16)
