"""Tables of field elements in which a key's value is a sum of cells: an oblivious key-value store.

Construction: random bands, Bienstock, Patel, Seo, Yeo, "Near-Optimal Oblivious Key-Value Stores for Efficient PSI, PSU
and Volume-Hiding Multi-Maps" (USENIX Security 2023); the same matrix as in Dillinger, Walzer, "Ribbon filter"
(arXiv:2103.02515). A key's digest names the first of 128 neighbouring cells, and a bit for each. The table of n keys
has 1.2 n + 128 cells, of one or more blocks each. Elimination fills it, in the order of the first cells.

**Failure.** The elimination fails if some keys contradict each other: too many keys near each other find no free cell.
Keys are customers of a queue that arrive at the rate of 1 / 1.2 a cell and take a cell each. A key fails that waits for
128 cells, with a probability of about e^(-128 t) = 2^-65, e^t - 1 = 1.2 t. So a table fails with a probability of n
2^-65: 2^-45 for n = 2^20, and 2^-40 for 2^25. Counted failures with bands of 8 to 32 cells follow this line, from
2^-4.2 to 2^-16.3 a key. The paper measures the same slope for 1.1 n cells, 0.269 bits a cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protocols.alignment.keys import Rows
from smc import kernels
from smc.errors import ProtocolError
from smc.hashing import Blocks
from smc.primitives.arrays import Octets
from smc.primitives.prg import Prg

WIDTH = 128  # cells of a band
DIGEST = 56  # bytes of a key's digest


def cells(keys: int) -> int:
    """Return the number of cells of a table for a number of keys."""
    return keys + -(-keys // 5) + WIDTH


@dataclass(frozen=True)
class Keys:
    """Digests of keys in the order of their bands: uniform, and equal for equal keys.

    Attributes:
        order: Position of each among the given digests, int64[n].
        starts: First cell of each band, int64[n].
        bands: The bits of each band, uint64[n, 2].
        values: A value of each key, uint64[n, 2].
        names: A name of each key, uint64[n, 2].
    """

    order: Rows
    starts: Rows
    bands: Blocks
    values: Blocks
    names: Blocks

    @classmethod
    def of(cls, digests: Octets, table: int) -> Keys:
        """Return the keys of digests.

        Args:
            digests: uint8[n, 56].
            table: Number of cells of the table.
        """
        words = digests.view(np.uint64)
        heads = words[:, 6] >> np.uint64(32)
        order = np.argsort(heads.astype(np.uint32))
        words, heads = words[order], heads[order]
        parts = (np.ascontiguousarray(words[:, first : first + 2]) for first in (0, 2, 4))
        return cls(order, (heads * np.uint64(table - WIDTH + 1) >> np.uint64(32)).astype(np.int64), *parts)


def encoded(keys: Keys, table: int, values: Blocks | None = None, free: Prg | None = None) -> Blocks:
    """Return a table in which each key has its value, uint64[cells, words]. Keys must differ.

    With `free` and uniform values the table is uniform, so it does not depend on the keys.

    Args:
        keys: The keys.
        table: Number of cells.
        values: The value of each key, uint64[n, words], an even number of words; changed. Default: `Keys.values`.
        free: Randomness of the cells that no key determines. Default: these cells are 0.

    Raises:
        ProtocolError: No table fits the keys. For n keys this has a probability of about n 2^-65.
    """
    values = keys.values.copy() if values is None else values
    shape = table + WIDTH, values.shape[1]
    filled = np.zeros(shape, dtype=np.uint64) if free is None else free.words(*shape)
    failed = np.zeros(1, dtype=np.int64)
    pivots = np.zeros((table, 2), dtype=np.uint64)
    kernels.band_solve(keys.starts, keys.bands, values, pivots, filled, failed)
    if failed[0]:
        raise ProtocolError("matching keys: no table fits these keys, by rare chance; propose the job anew")
    return filled[:table]


def decoded(keys: Keys, table: Blocks) -> Blocks:
    """Return the sum of each key's cells, uint64[n, words].

    Args:
        keys: The keys.
        table: uint64[cells, words], an even number of words.
    """
    out = np.empty((len(keys.starts), table.shape[1]), dtype=np.uint64)
    kernels.band_read(keys.starts, keys.bands, table, out)
    return out
