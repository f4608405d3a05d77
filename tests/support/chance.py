"""The system's randomness, the same at every run: for tests of what is drawn by commands that take no seed."""

from __future__ import annotations

import os
import secrets

import pytest

from smc.primitives.prg import Prg


def fix(patch: pytest.MonkeyPatch, seed: int = 0) -> None:
    """Until the patch is undone, this process draws from one stream: keys of generators, of devices and of sessions.

    What OpenSSL, the standard library's own `random` and other processes draw stays as it is.
    """
    stream = Prg(seed.to_bytes(16, "little"))

    def drawn(count: int = 32) -> bytes:
        return stream.bytes(count).tobytes()

    patch.setattr(os, "urandom", drawn)
    patch.setattr(secrets, "token_bytes", drawn)
    patch.setattr(secrets, "token_hex", lambda count=32: drawn(count).hex())
    patch.setattr(secrets, "randbits", lambda count: int.from_bytes(drawn(-(-count // 8))) >> (-count % 8))
