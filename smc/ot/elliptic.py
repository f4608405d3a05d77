"""Base OT over the prime-order group of Ed25519 (libsodium through PyNaCl).

Protocol: Chou and Orlandi, "The Simplest Protocol for Oblivious Transfer" (LATINCRYPT 2015), semi-honest.

    sender   a random, sends A = a G
    receiver b random, choice c, sends B = b G + c A, key = H(b A)
    sender   key_i = H(a (B - i A)) = H(a B - i (a A))

Ideal functionality: random 1-out-of-n OT (`smc.ot.interface`). Assumptions: computational Diffie-Hellman in the group,
SHA-256 a random oracle. The sender sees B, uniform in the group whatever c is. The hash binds session, role name,
instance index, A and B.

Cost: 32 bytes from the sender once a session, then 32 n bytes in one message from the receiver; two flights the first
time, one flight each later time. One multiplication of any point an OT for either party (a A is kept), and one of
the base point for the receiver, which it can do ahead (`prepare`), while A is still under way.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from nacl import bindings as sodium
from nacl.exceptions import CryptoError
from numpy.typing import NDArray
from typing_extensions import override

from smc.errors import ProtocolError
from smc.hashing import Blocks
from smc.ot.interface import Choices, Receiver, Sender, select
from smc.primitives.arrays import Octets
from smc.session import Session

POINT = 32
WIDE_SCALAR = 64  # random bytes that are reduced to a uniform scalar


def _scalars(session: Session, count: int) -> list[bytes]:
    """Draw uniform scalars modulo the group order."""
    raw = session.prg.bytes(WIDE_SCALAR * count).tobytes()
    chunks = (raw[i : i + WIDE_SCALAR] for i in range(0, len(raw), WIDE_SCALAR))
    return [bytes(sodium.crypto_core_ed25519_scalar_reduce(chunk)) for chunk in chunks]


def _multiply(scalar: bytes, point: bytes) -> bytes:
    """Compute scalar * point; a point of the peer that is not of the prime-order group, or is its zero, is refused."""
    try:
        return bytes(sodium.crypto_scalarmult_ed25519_noclamp(scalar, point))
    except CryptoError:
        raise ProtocolError("the peer sent an invalid curve point in oblivious transfer") from None


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
        (self._secret,) = _scalars(session, 1)
        self._public = b""
        self._square = b""  # a A: what lies between the shared points of two neighbouring choices

    def setup(self) -> None:
        """Send A."""
        if not self.ready:
            public = np.empty(POINT, dtype=np.uint8)
            self._publish(public)
            self.session.send(f"{self.name}.base.public", public)
            self.ready = True

    def _publish(self, public: Octets) -> None:
        self._public = bytes(sodium.crypto_scalarmult_ed25519_base_noclamp(self._secret))
        self._square = _multiply(self._secret, self._public)
        public[:] = np.frombuffer(self._public, dtype=np.uint8)

    @override
    def steps(self) -> Iterator[None]:
        """See `Role.steps`: a sender waits for nothing."""
        self.setup()
        yield

    @override
    def random(self, count: int, choices: int = 2) -> Blocks:
        keys = np.zeros((choices, count, 2), dtype=np.uint64)
        if count == 0:
            return keys
        self.setup()
        self._derive(self.session.receive(f"{self.name}.base.points", np.uint8, (count, POINT)), keys)
        return keys

    def _derive(self, points: Octets, keys: Blocks) -> None:
        for j in range(len(points)):
            point = points[j].tobytes()
            shared = _multiply(self._secret, point)
            for i in range(len(keys)):
                if i:
                    shared = bytes(sodium.crypto_core_ed25519_sub(shared, self._square))
                keys[i, j] = self._keys.derive(shared, self._public, point)
            self._keys.index += 1


class EllipticReceiver(Receiver):
    """Receiver of elliptic-curve OT."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._keys = _Keys(session, name)
        self._public = b""
        self._ahead: list[tuple[bytes, bytes]] = []  # (b, b G)

    def setup(self) -> None:
        """Receive A."""
        if not self.ready:
            self._accept(self.session.receive(f"{self.name}.base.public", np.uint8, (POINT,)))
            self.ready = True

    def _accept(self, public: Octets) -> None:
        if not sodium.crypto_core_ed25519_is_valid_point(public.tobytes()):
            raise ProtocolError("the peer sent an invalid curve point in oblivious transfer")
        self._public = public.tobytes()

    def prepare(self, count: int) -> None:
        """Do now what the next `count` OTs need before A is here. Sends and receives nothing."""
        self._ahead += self._pairs(max(0, count - len(self._ahead)))

    def _pairs(self, count: int) -> list[tuple[bytes, bytes]]:
        return [(b, bytes(sodium.crypto_scalarmult_ed25519_base_noclamp(b))) for b in _scalars(self.session, count)]

    @override
    def steps(self) -> Iterator[None]:
        yield
        self.setup()

    @override
    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        count = len(choice)
        keys = np.zeros((count, 2), dtype=np.uint64)
        if count == 0:
            return keys
        self.prepare(count)
        self.setup()
        pairs, self._ahead = self._ahead[:count], self._ahead[count:]
        points = np.empty((count, POINT), dtype=np.uint8)
        self._choose(pairs, choice, choices, points)
        self.session.send(f"{self.name}.base.points", points)
        self._derive(pairs, points, keys)
        return keys

    def _choose(self, pairs: list[tuple[bytes, bytes]], choice: Choices, choices: int, points: Octets) -> None:
        candidates = np.empty((choices, *points.shape), dtype=np.uint8)
        for j, (_, point) in enumerate(pairs):
            for i in range(choices):
                if i:
                    point = sodium.crypto_core_ed25519_add(point, self._public)
                candidates[i, j] = np.frombuffer(point, dtype=np.uint8)
        points[:] = select(choice, candidates)

    def _derive(self, pairs: list[tuple[bytes, bytes]], points: Octets, keys: Blocks) -> None:
        for j, (secret, _) in enumerate(pairs):
            keys[j] = self._keys.derive(_multiply(secret, self._public), self._public, points[j].tobytes())
            self._keys.index += 1
