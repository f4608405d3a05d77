"""Base OT over the prime-order group of Ed25519, with products by X25519 (libsodium through PyNaCl).

Protocol: Tzeng, "Efficient 1-out-of-n Oblivious Transfer Schemes with Universally Usable Parameters" (PKC 2002), of
random messages, with one exponent of the sender for all OTs as in Naor and Pinkas, "Efficient Oblivious Transfer
Protocols" (SODA 2001). C is a point whose logarithm neither party knows: the sum of two points to which the session's
identifier is hashed.

    sender   a random, sends A = a G
    receiver b random, choice c, sends B = b G + c C, key = H(u(b A))
    sender   key_i = H(u(a (B - i C)))

u maps a point to Curve25519 (RFC 7748, section 4.1): u = (1 + y) / (1 - y), equal for P and -P. X25519 multiplies u(P)
by a scalar 8 m, 2^251 <= m < 2^252. a is such a scalar, b such a scalar times a random sign: b is within a statistical
distance of 2^-125 of uniform modulo the group's order, which is just above 2^252.

Ideal functionality: random 1-out-of-n OT (`smc.ot.interface`), against a sender or receiver that leaves the protocol.
Such a receiver may choose late, and either may choose its own keys, which extensions allow. Assumptions: computational
Diffie-Hellman in the group, SHA-256 a random oracle. The sender sees B, uniform in the group whatever c is. Two points
of an OT differ by a multiple of a C: a receiver that asks H for both keys has a C, up to the two signs, from A and C,
which are random points, whatever B it has sent. An A outside the prime-order group is refused. So is a B off the curve,
and a B - i C of small order; any other component of small order vanishes, because 8 divides a. The hash binds session,
role name, instance index, A and B.

Cost: the sender sends 32 bytes once a session, and the receiver 32 n bytes in one message. Neither waits for the
other's, so all is one flight. For a 1-out-of-n OT, the sender subtracts n - 1 points and multiplies n. The receiver
multiplies one point and the base point, and adds n - 1 points. A product takes 31 us; libsodium's product on Ed25519
takes 92 us, half of it for a check that the point is in the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

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
PRIME = 2**255 - 19
SIGN = 128  # in the last byte of a point: the sign of its x-coordinate
INVALID = "the peer sent an invalid curve point in oblivious transfer"


def _scalars(session: Session, count: int) -> tuple[list[bytes], Octets]:
    """Draw scalars of X25519, and a sign for each: 0 or `SIGN`, uint8[count]."""
    raw = session.prg.bytes(POINT * count).reshape(count, POINT).copy()
    signs = raw[:, -1] & np.uint8(SIGN)
    raw[:, 0] &= 248
    raw[:, -1] = raw[:, -1] & 63 | 64
    return [scalar.tobytes() for scalar in raw], signs


def _on_curve25519(points: Sequence[bytes]) -> list[bytes]:
    """Return u(P) of public points, by one inversion (Montgomery, 1987).

    Raise ProtocolError for a y-coordinate of 0, 1, or 2^255 - 19 and above.
    """
    ys = [int.from_bytes(point, "little") & 2**255 - 1 for point in points]
    if not all(1 < y < PRIME for y in ys):
        raise ProtocolError(INVALID)
    products = [*accumulate((1 - y for y in ys), lambda left, right: left * right % PRIME, initial=1)]
    inverse, found = pow(products.pop(), -1, PRIME), list[bytes]()
    for y, product in zip(reversed(ys), reversed(products), strict=True):
        found.append(((1 + y) * inverse * product % PRIME).to_bytes(POINT, "little"))
        inverse = inverse * (1 - y) % PRIME
    return found[::-1]


def _multiply(scalar: bytes, u: bytes) -> bytes:
    """Return u of scalar * P, from u(P); refuse a point of small order."""
    try:
        return bytes(sodium.crypto_scalarmult(scalar, u))
    except CryptoError:
        raise ProtocolError(INVALID) from None


def _minus(point: bytes, other: bytes) -> bytes:
    """Return the difference of two points; refuse a point off the curve."""
    try:
        return bytes(sodium.crypto_core_ed25519_sub(point, other))
    except CryptoError:
        raise ProtocolError(INVALID) from None


class _Keys:
    """Values that both roles derive from the session: the keys, and the point C."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self.index = 0

    def derive(self, shared: bytes, base: bytes, point: bytes) -> NDArray[np.uint64]:
        """Return the two words of a key, uint64[2], derived from a Diffie-Hellman secret.

        Args:
            shared: u of the shared point.
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
        (self._secret,), _ = _scalars(session, 1)
        self._public = b""

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
        shifted = [[point.tobytes() for point in points]]
        for _ in keys[1:]:
            shifted.append([_minus(point, self._keys.between) for point in shifted[-1]])
        coordinates = [_on_curve25519(some) for some in shifted]
        for j, point in enumerate(shifted[0]):
            for i in range(len(keys)):
                keys[i, j] = self._keys.derive(_multiply(self._secret, coordinates[i][j]), self._public, point)
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
            raise ProtocolError(INVALID)
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
        secrets, signs = _scalars(self.session, len(choice))
        candidates = np.empty((choices, *points.shape), dtype=np.uint8)
        for j, secret in enumerate(secrets):
            candidates[0, j] = np.frombuffer(sodium.crypto_scalarmult_ed25519_base_noclamp(secret), dtype=np.uint8)
            candidates[0, j, -1] ^= signs[j]
            for i in range(1, choices):
                point = sodium.crypto_core_ed25519_add(candidates[i - 1, j].tobytes(), self._keys.between)
                candidates[i, j] = np.frombuffer(point, dtype=np.uint8)
        points[:] = select(choice, candidates)
        return secrets

    def _derive(self, secrets: list[bytes], points: Octets, keys: Blocks) -> None:
        (u,) = _on_curve25519([self._public])
        for j, secret in enumerate(secrets):
            keys[j] = self._keys.derive(_multiply(secret, u), self._public, points[j].tobytes())
            self._keys.index += 1
