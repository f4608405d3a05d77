"""Keys of the hash: gate or OT number n is hashed under AES_master(n // GATES_PER_KEY), with n in the tweak.

`keys` is u64[5, 22]: the master's round keys, and room for the round keys of four neighbouring keys. A kernel walks its
numbers in runs that share a key. A group of four or eight numbers starts at a multiple of its size.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt, expand_keys4
from smc.kernels.block import counters4
from smc.kernels.limits import GATES_PER_KEY, KEYS_AT_ONCE

NO_KEYS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # value of `group` before any keys are expanded
_GATES = np.uint64(GATES_PER_KEY)
_AT_ONCE = np.uint64(KEYS_AT_ONCE)


@njit
def load_keys(keys, number, group):  # type: ignore[no-untyped-def]
    """Expand the keys around that of a number, unless they are expanded already.

    Args:
        keys: u64[5, 22]; rows 1 to 4 are filled in.
        number: Number of the gate or OT, u64.
        group: Group of the keys in `keys`; `NO_KEYS` at first.

    Returns:
        The group of the keys in `keys` afterwards.
    """
    wanted = number // (_GATES * _AT_ONCE)
    if wanted != group:
        (four,) = encrypt(keys[0], (counters4(wanted * _AT_ONCE),))
        expand_keys4(four, keys, 1)
    return wanted


@njit
def key_row(number):  # type: ignore[no-untyped-def]
    """Return the index in `keys` of the round keys for a number, which `load_keys` has expanded."""
    return np.int64(1 + number // _GATES % _AT_ONCE)


@njit
def run_length(number, most):  # type: ignore[no-untyped-def]
    """Return the number of consecutive numbers, from this one on, that share its key.

    Args:
        number: Number of the gate or OT, u64.
        most: Upper bound of the result.
    """
    return min(most, np.int64(_GATES - number % _GATES))


@njit
def hash_two(keys, x, y, tweak, tweak2):  # type: ignore[no-untyped-def]
    """Compute H(x, tweak) and H(y, tweak2): H(x, i) = pi(pi(x) ^ i) ^ pi(x).

    Args:
        keys: Round keys of pi, u64[22].
        x: The first input, a `Block` or a `Blocks4`.
        y: The second input, of the type of `x`.
        tweak: Tweak of `x`, of its type.
        tweak2: Tweak of `y`, of its type.

    Returns:
        Both hashes.
    """
    a, b = encrypt(keys, (x, y))
    c, d = encrypt(keys, (a ^ tweak, b ^ tweak2))
    return a ^ c, b ^ d
