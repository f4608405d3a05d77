"""What a party receives when integers are additive shares says nothing about the other's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smc.engines import Choice, Engine
from smc.local import run_local
from smc.ot import Transfers
from smc.session import Session

pytestmark = pytest.mark.slow

BATCH = 500
LIMIT = 5.0  # standard deviations; the seeds are fixed, so this cannot flicker


def multiplying(own: int) -> Any:
    """Select by and multiply with bits that are all `own` at both parties."""

    def program(engine: Engine) -> Any:
        bits = np.full((8, BATCH), own, dtype=np.uint8)
        left, right = engine.both(bits)
        word = engine.words.select([Choice(left[:1], [[-1]])], 8)[0][0]
        return engine.words.multiply(right, 0, word, 20).data

    return program


def assert_even(data: bytes | np.ndarray) -> None:
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
    assert abs(bits.mean() - 0.5) * 2 * np.sqrt(bits.size) < LIMIT
    words = np.frombuffer(data, dtype=np.uint64)
    assert len(np.unique(words)) == len(words)


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("name", ["mixed", "lean"])
def test_corrections_and_shares_are_uniform_though_all_values_are_alike(play: Any, name: str, own: int) -> None:
    run = play(multiplying(own), name, seed=bytes([20 + own]) * 16)
    for party, recorder in enumerate(run.recorders):
        steps: dict[str, bytes] = {}
        for step, payload in recorder.received:
            steps[step] = steps.get(step, b"") + payload
        assert "additive" in steps
        assert ("ot0.additive" in steps) == (party == 1)
        for step, payload in steps.items():
            if step.endswith("additive"):
                assert_even(payload)
    shares = run.results
    assert set((shares[0] + shares[1]).view(np.int64)) == {-255 * own}
    assert_even(shares[0].tobytes())


@pytest.mark.parametrize("kind", ["extension", "ferret"])
def test_shares_of_one_direction_are_uniform(kind: Any) -> None:
    def program(session: Session) -> Any:
        transfers = Transfers(session, kind)
        zeros = np.zeros(BATCH, dtype=np.uint64)
        if session.party == 0:
            return transfers.sender.additive(zeros)
        return transfers.receiver.additive(np.zeros(BATCH, dtype=np.uint8))

    left, right = run_local(program, seed=bytes(range(16)))
    assert not (left + right).any()
    assert_even(left.tobytes())
