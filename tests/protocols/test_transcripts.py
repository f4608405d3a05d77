"""The wire format of each protocol, pinned: an accidental change of a message shows here.

With seeded randomness the SHA-256 of everything each party sends stands in tests/vectors/transcripts.json. After a
deliberate change of the wire, write it anew: SMC_WRITE_TRANSCRIPTS=1 pytest tests/protocols/test_transcripts.py
Then raise the wire version (`parties.link.handshake`), and write both into `PINNED`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parties.link.handshake import WIRE_VERSION
from protocols.counts import RowCounts
from protocols.equality import equal
from protocols.id3 import Problem, id3
from protocols.logarithm import open_logarithm
from protocols.majority import majority
from protocols.millionaires import three_way
from smc.engines import Engine
from tests.support.places import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def toy_curve() -> None:
    """None: what is pinned is what is sent on the curve."""


SEED = b"fixed for tests "
VECTORS = ROOT / "tests" / "vectors" / "transcripts.json"
# The wire version, and SHA-256 of the file.
PINNED = 8, "e6c06bdb12fbb00ee03cb97c87898114dc523f1d67a01c4e7d9595b431af6701"
NUMBERS = np.arange(48).reshape(2, 24)
ROWS = np.array([(i % 3, i % 2, i // 4 % 2, (i * i) % 3 % 2) for i in range(40)])


def tree(engine: Engine) -> Any:
    own = ROWS[engine.party :: 2]
    return id3(engine, Problem((3, 2, 2), 2, max_rows=40), RowCounts((3, 2, 2), 2, own[:, :-1], own[:, -1]))


PROGRAMS: dict[str, Callable[[Engine], Any]] = {
    "millionaires": lambda e: three_way(e, NUMBERS[e.party], 9),
    "equality": lambda e: equal(e, NUMBERS[e.party] % 7, 9).tolist(),
    "majority": lambda e: majority(e, NUMBERS[e.party].reshape(3, 8) % 11, 5).tolist(),
    "x ln x": lambda e: open_logarithm(e, NUMBERS[e.party], 100, 0.001, times_x=True).tolist(),
    "id3": tree,
}
CASES = [f"{name}, {engine}, extension" for name in PROGRAMS for engine in ("yao", "gmw", "mixed", "lean")]
CASES += [f"millionaires, gmw, {ot}" for ot in ("iknp", "softspoken2", "softspoken8", "ferret")]
CASES += ["x ln x, mixed three-halves, ferret", "id3, yao three-halves, extension"]
# RSA keys come from the operating system whatever the seed: there only steps and sizes are pinned. An AND gate of gmw
# is four private-key operations there: three comparisons are enough to see all rounds, and yao's to see messages cut.
PROGRAMS["three millionaires"] = lambda e: three_way(e, NUMBERS[e.party, :3], 9)
TRAPDOOR = ["millionaires, yao, trapdoor", "three millionaires, gmw, trapdoor"]


def transcript(play: Any, case: str) -> list[Any]:
    name, engine, ot = case.split(", ")
    run = play(PROGRAMS[name], engine, ot, seed=SEED)
    other = "extension" if ot == "trapdoor" else ot
    assert run.agreed == play(PROGRAMS[name], engine, other).agreed  # other randomness, same result
    if ot == "trapdoor":
        return [[[step, len(payload)] for step, payload in recorder.sent] for recorder in run.recorders]
    return [recorder.digest() for recorder in run.recorders]


@pytest.mark.parametrize("case", [*CASES, *TRAPDOOR])
def test_transcripts_are_those_pinned(play, case: str) -> None:
    found = transcript(play, case)
    pinned = json.loads(VECTORS.read_text()) if VECTORS.exists() else {}
    if os.environ.get("SMC_WRITE_TRANSCRIPTS"):
        VECTORS.write_text(json.dumps(pinned | {case: found}, indent=1) + "\n")
        return
    assert found == pinned[case]


def test_nothing_else_is_pinned() -> None:
    assert set(json.loads(VECTORS.read_text())) == {*CASES, *TRAPDOOR}


def test_other_messages_have_another_wire_version() -> None:
    """Builds that agree on the version and not on the keys of an OT would compute something wrong, and not see it."""
    assert (WIRE_VERSION, hashlib.sha256(VECTORS.read_bytes()).hexdigest()) == PINNED
