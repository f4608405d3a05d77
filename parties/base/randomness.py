"""Randomness that cannot be reproduced: a counter-mode generator with a key from the operating system."""

from __future__ import annotations

import secrets

import numpy as np


def private() -> np.random.Generator:
    """Return a generator for this machine's own rows: Philox with 128 bits of key, whose seed is not stored."""
    return np.random.Generator(np.random.Philox(key=secrets.randbits(128)))
