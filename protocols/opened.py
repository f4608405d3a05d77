"""Conversion of opened bits to values with a range check: wrong messages of the peer can make opened bits arbitrary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smc.errors import ProtocolError
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

Bounds = int | NDArray[np.int64]


def index_below(bits: BitMatrix, bound: Bounds, what: str) -> NDArray[np.int64]:
    """Return opened numbers after a check of their bounds.

    Args:
        bits: The opened bits, uint8[width, batch], the lowest first; at most 63 bits.
        bound: Number that every value is below, or one bound a value, int64[batch].
        what: Name of the value in an error, such as "a class".

    Returns:
        The numbers, int64[batch].

    Raises:
        ProtocolError: A number is out of range: no honest run of the circuit opens it.

    Examples:
        >>> index_below(bitpack.from_integers([2, 0], 2), 3, "a class").tolist()
        [2, 0]
    """
    numbers = bitpack.to_words(bits).astype(np.int64)
    bounds = np.broadcast_to(bound, numbers.shape)
    wrong = np.flatnonzero(numbers >= bounds)
    if wrong.size:
        number, limit = numbers[wrong[0]], bounds[wrong[0]]
        raise ProtocolError(f"{what} was opened as {number}, must be below {limit}: the peer's messages are wrong")
    return numbers
