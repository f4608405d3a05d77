"""Noise of the two-party protocols' circuits, drawn by one party for its own numbers with system randomness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protocols.release.laws import Law, sample
from smc.engines import Engine, make_engine
from smc.local import run_local
from smc.primitives import bits as bitpack
from smc.session import Session


def drawn(engine: Engine, law: Law, number: int) -> NDArray[np.int64]:
    """Draw samples and open them, int64[number]: on the clear engine only; with two parties, the noise would be known.

    Args:
        engine: the clear engine
        law: the noise
        number: number of samples
    """
    (opened,) = engine.reveal(sample(engine, law, number))
    words = bitpack.to_words(opened).astype(np.int64)
    return words - ((words >> (law.width - 1)) << law.width) if law.least < 0 else words


def private(law: Law, number: int) -> NDArray[np.int64]:
    """Draw samples with system randomness, int64[number].

    Args:
        law: Distribution of the samples.
        number: Number of samples.
    """

    def program(session: Session) -> NDArray[np.int64]:
        return drawn(make_engine(session, "clear"), law, number)

    return run_local(program)[0]
