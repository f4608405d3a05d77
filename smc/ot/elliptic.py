"""Base OT over the prime-order group of Ed25519 (libsodium through PyNaCl).

Protocol: Chou and Orlandi, "The Simplest Protocol for Oblivious Transfer" (LATINCRYPT 2015), semi-honest.

    sender   a random, sends A = a G
    receiver b random, choice c, sends B = b G + c A, key = H(b A)
    sender   key_i = H(a (B - i A))

Assumption: computational Diffie-Hellman in the group, SHA-256 a random oracle. The sender sees B, uniform in the group
whatever c is. Two flights, 32 bytes each way an instance (A is sent once a session). The hash binds session, role
name, instance index, A and B.
"""

from __future__ import annotations

import numpy as np
from nacl import bindings as sodium
from nacl.exceptions import CryptoError
from numpy.typing import NDArray

from smc.errors import ProtocolError
from smc.ot.interface import Choices, Receiver, Sender, select
from smc.primitives.hash import Blocks
from smc.session import Session

POINT = 32
BATCH = 1 << 10  # OTs a message


def _scalar(session: Session) -> bytes:
    """A uniform scalar modulo the group order (64 random bytes, reduced)."""
    return bytes(sodium.crypto_core_ed25519_scalar_reduce(session.prg.bytes(64).tobytes()))


def _checked(point: bytes) -> bytes:
    if not sodium.crypto_core_ed25519_is_valid_point(point):
        raise ProtocolError("the peer sent an invalid curve point in oblivious transfer")
    return point


class _Keys:
    """The key derivation both roles share."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self.index = 0

    def derive(self, shared: bytes, base: bytes, point: bytes) -> NDArray[np.uint64]:
        digest = self._session.derive(self._name, "elliptic", self.index, shared, base, point)
        return np.frombuffer(digest, dtype=np.uint64)


class EllipticSender(Sender):
    """Sender of elliptic-curve OT."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._keys = _Keys(session, name)
        self._secret = _scalar(session)
        self._public = b""

    def setup(self) -> None:
        """Send A."""
        if not self._public:
            self._public = bytes(sodium.crypto_scalarmult_ed25519_base_noclamp(self._secret))
            self.session.send(f"{self.name}.base.public", np.frombuffer(self._public, dtype=np.uint8))

    def random(self, count: int, choices: int = 2) -> Blocks:
        """See `Sender.random`."""
        keys = np.zeros((choices, count, 2), dtype=np.uint64)
        if count == 0:
            return keys
        self.setup()
        points = self.session.receive(f"{self.name}.base.points", np.uint8, (count, POINT))
        for j in range(count):
            point = _checked(points[j].tobytes())
            shifted = point
            for i in range(choices):
                try:
                    shared = sodium.crypto_scalarmult_ed25519_noclamp(self._secret, shifted)
                except CryptoError:
                    raise ProtocolError("the peer sent a degenerate point in oblivious transfer") from None
                keys[i, j] = self._keys.derive(shared, self._public, point)
                shifted = sodium.crypto_core_ed25519_sub(shifted, self._public)
            self._keys.index += 1
        return keys


class EllipticReceiver(Receiver):
    """Receiver of elliptic-curve OT."""

    batch = BATCH

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._keys = _Keys(session, name)
        self._public = b""

    def setup(self) -> None:
        """Receive A."""
        if not self._public:
            raw = self.session.receive(f"{self.name}.base.public", np.uint8, (POINT,))
            self._public = _checked(raw.tobytes())

    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        """See `Receiver.random`."""
        count = len(choice)
        keys = np.zeros((count, 2), dtype=np.uint64)
        if count == 0:
            return keys
        self.setup()
        candidates = np.empty((choices, count, POINT), dtype=np.uint8)
        secrets = [_scalar(self.session) for _ in range(count)]
        for j, secret in enumerate(secrets):
            point = sodium.crypto_scalarmult_ed25519_base_noclamp(secret)
            for i in range(choices):
                candidates[i, j] = np.frombuffer(point, dtype=np.uint8)
                point = sodium.crypto_core_ed25519_add(point, self._public)
        points = select(choice, candidates)
        self.session.send(f"{self.name}.base.points", points)
        for j, secret in enumerate(secrets):
            shared = sodium.crypto_scalarmult_ed25519_noclamp(secret, self._public)
            keys[j] = self._keys.derive(shared, self._public, points[j].tobytes())
            self._keys.index += 1
        return keys
