"""Base OT over the prime-order group of Ed25519 (libsodium through PyNaCl).

Protocol: Tzeng, "Efficient 1-out-of-n Oblivious Transfer Schemes with Universally Usable Parameters" (PKC 2002), of
random messages, with one exponent of the sender for all OTs as in Naor and Pinkas, "Efficient Oblivious Transfer
Protocols" (SODA 2001). C is a point whose logarithm neither party knows: the sum of two points to which the session's
identifier is hashed.

    sender   a random, sends A = a G
    receiver b random, choice c, sends B = b G + c C, key = H(b A)
    sender   key_i = H(a (B - i C)) = H(a B - i (a C))

Ideal functionality: random 1-out-of-n OT (`smc.ot.interface`), against a sender or receiver that leaves the protocol.
Such a receiver may choose late, and either may choose its own keys, which extensions allow. Assumptions: computational
Diffie-Hellman in the group, SHA-256 a random oracle. The sender sees B, uniform in the group whatever c is. Two keys of
an OT differ by a multiple of a C before they are hashed: a receiver that asks H for both has a C from A and C, which
are random points, whatever B it has sent. Points outside the prime-order group are refused. The hash binds session,
role name, instance index, A and B.

Cost: the sender sends 32 bytes once a session, and the receiver 32 n bytes in one message. Neither waits for the
other's, so all is one flight. For an OT, either party multiplies one point by a secret number. The receiver also
multiplies the base point of the group. The sender multiplies one more point once a session.
"""

from __future__ import annotations

from functools import cached_property

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
    """Compute scalar * point; refuse a point of the peer that is zero or outside the prime-order group."""
    try:
        return bytes(sodium.crypto_scalarmult_ed25519_noclamp(scalar, point))
    except CryptoError:
        raise ProtocolError("the peer sent an invalid curve point in oblivious transfer") from None


class _Keys:
    """Values that both roles derive from the session: the keys, and the point C."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self.index = 0

    def derive(self, shared: bytes, base: bytes, point: bytes) -> NDArray[np.uint64]:
        """Return the two words of a key, uint64[2], derived from a Diffie-Hellman secret.

        Args:
            shared: The shared point.
            base: Point sent by the sender.
            point: Point sent by the receiver.
        """
        digest = self._session.derive(self._name, "elliptic", self.index, shared, base, point)
        return np.frombuffer(digest, dtype=np.uint64)

    @cached_property
    def between(self) -> bytes:
        """Point C, hashed by Elligator twice, because one image is not uniform (Brier et al., CRYPTO 2010)."""
        digests = (self._session.derive(self._name, "elliptic C", part, size=32) for part in range(2))
        left, right = (sodium.crypto_core_ed25519_from_uniform(digest) for digest in digests)
        return bytes(sodium.crypto_core_ed25519_add(left, right))


class EllipticSender(Sender):
    """Sender of elliptic-curve OT."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._keys = _Keys(session, name)
        (self._secret,) = _scalars(session, 1)
        self._public = b""
        self._step = b""  # a C: the difference between the shared points of two neighbouring choices

    @override
    def begin(self) -> None:
        """Send this sender's public point A."""
        if not self.ready:
            public = np.empty(POINT, dtype=np.uint8)
            self._publish(public)
            self.session.send(f"{self.name}.base.public", public)
            self.ready = True

    def _publish(self, public: Octets) -> None:
        self._public = bytes(sodium.crypto_scalarmult_ed25519_base_noclamp(self._secret))
        self._step = _multiply(self._secret, self._keys.between)
        public[:] = np.frombuffer(self._public, dtype=np.uint8)

    @override
    def random(self, count: int, choices: int = 2) -> Blocks:
        keys = np.zeros((choices, count, 2), dtype=np.uint64)
        if count == 0:
            return keys
        self.begin()
        self._derive(self.session.receive(f"{self.name}.base.points", np.uint8, (count, POINT)), keys)
        return keys

    def _derive(self, points: Octets, keys: Blocks) -> None:
        for j in range(len(points)):
            point = points[j].tobytes()
            shared = _multiply(self._secret, point)
            for i in range(len(keys)):
                if i:
                    shared = bytes(sodium.crypto_core_ed25519_sub(shared, self._step))
                keys[i, j] = self._keys.derive(shared, self._public, point)
            self._keys.index += 1


class EllipticReceiver(Receiver):
    """Receiver of elliptic-curve OT."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._keys = _Keys(session, name)
        self._public = b""

    @override
    def begin(self) -> None:
        """Receive the sender's public point A."""
        if not self.ready:
            self._accept(self.session.receive(f"{self.name}.base.public", np.uint8, (POINT,)))
            self.ready = True

    def _accept(self, public: Octets) -> None:
        if not sodium.crypto_core_ed25519_is_valid_point(public.tobytes()):
            raise ProtocolError("the peer sent an invalid curve point in oblivious transfer")
        self._public = public.tobytes()

    @override
    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        count = len(choice)
        keys = np.zeros((count, 2), dtype=np.uint64)
        if count == 0:
            return keys
        points = np.empty((count, POINT), dtype=np.uint8)
        secrets = self._choose(choice, choices, points)
        self.session.send(f"{self.name}.base.points", points)
        self.begin()
        self._derive(secrets, points, keys)
        return keys

    def _choose(self, choice: Choices, choices: int, points: Octets) -> list[bytes]:
        """Write the point B of each OT to `points`, for its choice among `choices`; return the secret b of each."""
        secrets = _scalars(self.session, len(choice))
        candidates = np.empty((choices, *points.shape), dtype=np.uint8)
        for j, secret in enumerate(secrets):
            point = sodium.crypto_scalarmult_ed25519_base_noclamp(secret)
            for i in range(choices):
                if i:
                    point = sodium.crypto_core_ed25519_add(point, self._keys.between)
                candidates[i, j] = np.frombuffer(point, dtype=np.uint8)
        points[:] = select(choice, candidates)
        return secrets

    def _derive(self, secrets: list[bytes], points: Octets, keys: Blocks) -> None:
        for j, secret in enumerate(secrets):
            keys[j] = self._keys.derive(_multiply(secret, self._public), self._public, points[j].tobytes())
            self._keys.index += 1
