"""Additive shares modulo 2^64 from XOR-shared bits, by correlated oblivious transfer.

Ideal functionality: fresh shares of the bit, or of the product; nothing else. Assumes a secure additive OT.
Paper: Demmler, Schneider, Zohner, "ABY" (NDSS 2015); products after Gilboa (CRYPTO 1999).

Cost of `bits_to_shares` of n bits: n random OTs, chosen by party 1, and 8 n bytes in one message from party 0. Cost of
`product` with a factor of w bits on a batch of b: w b random OTs and 8 w b bytes each way; the two directions cross.
Extension (SoftSpoken, k = 4) adds 4 bytes an OT. In total this is 12 bytes a bit, or 24 bytes a bit of the factor. Sums
are free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smc.ot import Transfers
from smc.ot.interface import masks
from smc.primitives.bits import BitMatrix

Shares = NDArray[np.uint64]


def bits_to_shares(transfers: Transfers, bits: BitMatrix) -> Shares:
    """Convert XOR shares of bits to additive shares modulo 2^64.

    b = b0 + b1 - 2 b0 b1. Party 0 is the sender with the correlation -2 b0; party 1 is the receiver with choice bit b1.

    Args:
        transfers: Both directions of OT; only the one from party 0 to party 1 is used.
        bits: This party's XOR shares, uint8[width, batch] of 0 and 1.

    Returns:
        This party's additive share of each bit, uint64[width, batch].
    """
    if transfers.session.party == 0:
        cross = transfers.sender.additive(masks(bits.reshape(-1)) << np.uint64(1))  # -2 b0
    else:
        cross = transfers.receiver.additive(bits.reshape(-1))
    shares: Shares = cross.reshape(bits.shape) + bits
    return shares


def product(transfers: Transfers, factor: BitMatrix, word: Shares) -> Shares:
    """Return additive shares of factor * word modulo 2^64.

    For each bit b and this party's share y: b y = b_own y + b_peer (1 - 2 b_own) y, one OT each direction.

    Args:
        transfers: Both directions of OT.
        factor: XOR shares of an unsigned integer, uint8[width, batch] of 0 and 1, least bit first.
        word: Additive shares of the other factor, uint64[batch].

    Returns:
        This party's additive shares, uint64[batch].
    """
    width, batch = factor.shape
    values = word << np.arange(width, dtype=np.uint64)[:, None]
    products: Shares = values * factor
    values -= products
    values -= products
    products += transfers.additive(values.reshape(-1), factor.reshape(-1)).reshape(width, batch)
    shares: Shares = products.sum(axis=0, dtype=np.uint64)
    return shares
