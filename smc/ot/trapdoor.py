"""1-out-of-n OT from a trapdoor permutation: RSA with a 3072-bit modulus (gmpy2).

Protocol: Even, Goldreich, Lempel, "A Randomized Protocol for Signing Contracts" (CACM 1985), semi-honest.

    sender   publishes f(x) = x^65537 mod N
    receiver draws a uniform x and n uniform values of Z_N, puts f(x) in place of the chosen one, sends all n
    sender   inverts all n; key_i = SHA-256(session, role name, OT index, i, f^-1(value_i))

The receiver knows only the preimage of its choice; the sender sees n uniform values. Assumption: RSA is a
one-way permutation, SHA-256 a random oracle, and the receiver is honest: a cheating one could apply f to all.
A modulus of 3072 bits is what NIST SP 800-57 equates with 128 bits of security (2048: 112).
Ideal functionality: random 1-out-of-n OT (`smc.ot.interface`).

Cost: 384 bytes from the sender once a session; then 384 n bytes an OT from the receiver, in one message for every 128
OTs, one flight; n private-key operations an OT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.asymmetric import rsa
from numpy.typing import NDArray
from typing_extensions import override

from smc.errors import ProtocolError
from smc.hashing import Blocks
from smc.ot.interface import Choices, Receiver, Sender
from smc.primitives.arrays import Octets
from smc.session import Session

if TYPE_CHECKING:  # else loaded by who uses it: few do
    import gmpy2

MODULUS_BITS = 3072
MODULUS_BYTES = MODULUS_BITS // 8
EXPONENT = 65537
BATCH = 128  # OTs a message: keeps every wait of the peer around a second


def _key(session: Session, name: str, index: int, option: int, preimage: bytes) -> NDArray[np.uint64]:
    digest = session.derive(name, "trapdoor", index, option, preimage)
    return np.frombuffer(digest, dtype=np.uint64)


class _Permutation:
    """The sender's trapdoor: RSA inversion by the Chinese remainder theorem, side-channel-quiet powers."""

    def __init__(self) -> None:
        import gmpy2

        # The key comes from OpenSSL's generator: the operating system's randomness.
        numbers = rsa.generate_private_key(EXPONENT, MODULUS_BITS).private_numbers()
        self._p, self._q = gmpy2.mpz(numbers.p), gmpy2.mpz(numbers.q)
        self._dp, self._dq = gmpy2.mpz(numbers.dmp1), gmpy2.mpz(numbers.dmq1)
        self._q_inverse = gmpy2.mpz(numbers.iqmp)
        self.modulus = self._p * self._q

    def invert(self, value: bytes) -> bytes:
        import gmpy2

        y = gmpy2.mpz(int.from_bytes(value, "little"))
        at_p = gmpy2.powmod_sec(y % self._p, self._dp, self._p)
        at_q = gmpy2.powmod_sec(y % self._q, self._dq, self._q)
        x = at_q + self._q * ((at_p - at_q) * self._q_inverse % self._p)
        return int(x).to_bytes(MODULUS_BYTES, "little")


class TrapdoorSender(Sender):
    """Sender of trapdoor-permutation OT; makes a fresh RSA key for the session."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._permutation: _Permutation | None = None
        self._index = 0

    @override
    def begin(self) -> None:
        """Publish the permutation."""
        if not self.ready:
            modulus = np.empty(MODULUS_BYTES, dtype=np.uint8)
            self._publish(modulus)
            self.session.send(f"{self.name}.trapdoor.modulus", modulus)
            self.ready = True

    def _publish(self, modulus: Octets) -> None:
        self._permutation = _Permutation()
        modulus[:] = _as_bytes([self._permutation.modulus])[0]

    @override
    def random(self, count: int, choices: int = 2) -> Blocks:
        keys = self._room(choices, count, 2)
        if count:
            self.begin()
        for start in range(0, count, BATCH):
            here = min(BATCH, count - start)
            values = self.session.receive(f"{self.name}.trapdoor.values", np.uint8, (choices, here, MODULUS_BYTES))
            self._invert(values, keys[:, start : start + here])
        return keys

    def _invert(self, values: Octets, keys: Blocks) -> None:
        assert self._permutation is not None
        choices, count, _ = values.shape
        for j in range(count):
            for i in range(choices):
                preimage = self._permutation.invert(values[i, j].tobytes())
                keys[i, j] = _key(self.session, self.name, self._index, i, preimage)
            self._index += 1


class TrapdoorReceiver(Receiver):
    """Receiver of trapdoor-permutation OT."""

    batch = BATCH

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._modulus: gmpy2.mpz | None = None
        self._index = 0

    def _uniform(self, count: int) -> list[gmpy2.mpz]:
        """Draw values of Z_N, at statistical distance below 2^-128 from uniform (16 extra bytes, reduced)."""
        import gmpy2

        size = MODULUS_BYTES + 16
        raw = self.session.prg.bytes(size * count).tobytes()
        chunks = (raw[i : i + size] for i in range(0, len(raw), size))
        return [gmpy2.mpz(int.from_bytes(chunk, "little")) % self._modulus for chunk in chunks]

    @override
    def begin(self) -> None:
        """Receive the permutation."""
        if not self.ready:
            self._accept(self.session.receive(f"{self.name}.trapdoor.modulus", np.uint8, (MODULUS_BYTES,)))
            self.ready = True

    def _accept(self, modulus: Octets) -> None:
        import gmpy2

        self._modulus = gmpy2.mpz(int.from_bytes(modulus.tobytes(), "little"))
        if self._modulus.bit_length() != MODULUS_BITS or self._modulus % 2 == 0:
            raise ProtocolError(f"the peer's RSA modulus is not an odd number of {MODULUS_BITS} bits")

    @override
    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        count = len(choice)
        keys = self._room(count, 2)
        if count:
            self.begin()
        for start in range(0, count, BATCH):
            part = choice[start : start + BATCH]
            values = np.empty((choices, len(part), MODULUS_BYTES), dtype=np.uint8)
            preimages = self._choose(part, values)
            self.session.send(f"{self.name}.trapdoor.values", values)
            self._derive(part, preimages, keys[start : start + BATCH])
        return keys

    def _choose(self, choice: Choices, values: Octets) -> list[gmpy2.mpz]:
        """Fill in the values to offer, the image at the choice and decoys elsewhere; the preimages."""
        import gmpy2

        choices, count, _ = values.shape
        preimages = self._uniform(count)
        images = _as_bytes([gmpy2.powmod(x, EXPONENT, self._modulus) for x in preimages])
        decoys = _as_bytes(self._uniform(choices * count)).reshape(values.shape)
        is_choice = np.arange(choices, dtype=np.uint8)[:, None] == choice[None, :]
        mask = (np.uint8(0) - is_choice.astype(np.uint8))[..., None]
        values[:] = (images & mask) | (decoys & ~mask)
        return preimages

    def _derive(self, choice: Choices, preimages: list[gmpy2.mpz], keys: Blocks) -> None:
        for j, x in enumerate(preimages):
            preimage = int(x).to_bytes(MODULUS_BYTES, "little")
            keys[j] = _key(self.session, self.name, self._index, int(choice[j]), preimage)
            self._index += 1


def _as_bytes(values: list[gmpy2.mpz]) -> NDArray[np.uint8]:
    raw = b"".join(int(v).to_bytes(MODULUS_BYTES, "little") for v in values)
    return np.frombuffer(raw, dtype=np.uint8).reshape(len(values), MODULUS_BYTES)
