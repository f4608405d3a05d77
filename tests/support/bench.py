"""A case of the bench, played by both parties in this process."""

from __future__ import annotations

from typing import Any

from parties.bench import cases
from smc.engines import engine_of
from smc.local import run_local
from smc.meter import Meter
from smc.session import Session


def played(case: cases.Case) -> tuple[Any, tuple[Meter, Meter]]:
    meters: dict[int, Meter] = {}

    def both(session: Session) -> Any:
        meters[session.party] = session.meter
        return case.play(engine_of(session, case.profile))

    return run_local(both)[0], (meters[0], meters[1])
