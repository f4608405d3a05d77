"""The wire format of each engine, pinned: an accidental change of a message shows here.

After a deliberate change run `SMC_PRINT_TRANSCRIPTS=1 pytest -s` on this file and copy the new digests.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from smc.circuit import Builder, decode
from smc.engines import Choice, Engine

SEED = b"fixed for tests "
PINNED: dict[str, tuple[str, str]] = {}


def program(engine: Engine) -> Any:
    builder = Builder()
    x, y = builder.input(8), builder.input(8)
    builder.output(x * y)
    builder.output(decode(y[:4]))
    bits = np.unpackbits(np.arange(24, dtype=np.uint8)[None, :], axis=0, count=8)
    inputs = [engine.input(owner, bits if engine.party == owner else None, 8, 24) for owner in (0, 1)]
    product, onehot = engine.run(builder.build(), *inputs)
    word = engine.words.select([Choice(onehot, [list(range(16))])], 20)[0][0]
    squared = engine.words.multiply(product, 3, word, 30)
    return engine.reveal(engine.words.bits(squared))[0].tolist()


@pytest.mark.parametrize("name", ["yao", "gmw", "mixed"])
def test_transcripts_are_those_pinned(play, name: str) -> None:
    run = play(program, name, seed=SEED)
    digests = tuple(recorder.digest() for recorder in run.recorders)
    if os.environ.get("SMC_PRINT_TRANSCRIPTS"):
        print(f'    "{name}": {digests},')
    assert digests == PINNED[name]
    assert play(program, name).agreed == run.agreed  # other randomness, same result
