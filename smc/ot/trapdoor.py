"""1-out-of-n OT from a trapdoor permutation: RSA with a 3072-bit modulus (gmpy2).

Protocol: Even, Goldreich, Lempel, "A Randomized Protocol for Signing Contracts" (CACM 1985), in which the receiver
sends one value instead of n: the others follow from it, so it can know the preimage of one alone (the idea of Bellare
and Micali, CRYPTO 1989).

    both     C_0 = 1, and C_1, ..., C_(n-1) hashed into Z_N from the session and N
    sender   publishes f(x) = x^65537 mod N, and the preimages of 8 values that are hashed into Z_N
    receiver checks them; draws a uniform x, sends y = f(x) / C_choice
    sender   inverts all y C_i; key_i = SHA-256(session, role name, OT index, i, f^-1(y C_i))

Ideal functionality: random 1-out-of-n OT (`smc.ot.interface`), against a sender or receiver that leaves the protocol.

* The sender sees y, uniform whatever the choice is, if f is a permutation of Z_N's units. If it is not, 65537 divides
  the order of the group, and a value has a preimage with a probability of at most 1 / 65537: all 8 with 2^-128
  (Goldberg, Reyzin, Sagga, Baldimtsi, "Efficient Noninteractive Certification of RSA Moduli", SCN 2018).
* A receiver that knows two of the preimages has one of C_i / C_j, a random value.

Assumptions: RSA is a one-way permutation, SHA-256 a random oracle. A modulus of 3072 bits is what NIST SP 800-57
equates with 128 bits of security (2048: 112).

Cost: the sender sends 384 bytes and the proof's 3,072 once a session. The receiver then sends 384 bytes an OT, in one
message for every 128 OTs, one flight. A 1-out-of-n OT takes one private-key operation, whatever n is.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.asymmetric import rsa
from numpy.typing import NDArray
from typing_extensions import override

from smc.errors import ProtocolError
from smc.hashing import Blocks
from smc.ot.interface import Choices, Receiver, Sender, failed_check, select
from smc.primitives.arrays import Octets
from smc.session import Session, derive

if TYPE_CHECKING:  # else loaded on use, which is rare
    import gmpy2

MODULUS_BITS = 3072
MODULUS_BYTES = MODULUS_BITS // 8
EXPONENT = 65537
PROOF_VALUES = 8  # whose preimages show that f is a permutation, with soundness EXPONENT^-8
BATCH = 128  # OTs a message: keeps every wait of the peer around a second


def _key(session: Session, name: str, index: int, option: int, preimage: bytes) -> NDArray[np.uint64]:
    digest = session.derive(name, "trapdoor", index, option, preimage)
    return np.frombuffer(digest, dtype=np.uint64)


class _Values:
    """Public values of Z_N, at statistical distance below 2^-128 from uniform (16 extra bytes, reduced)."""

    def __init__(self, session: Session, name: str, modulus: gmpy2.mpz) -> None:
        self._seed = session.derive(name, "trapdoor values", _bytes(modulus), size=32)
        self._modulus = modulus

    def _hashed(self, *context: str | int) -> gmpy2.mpz:
        import gmpy2

        parts = (derive(self._seed, *context, part, size=32) for part in range((MODULUS_BYTES + 16) // 32 + 1))
        return gmpy2.mpz(int.from_bytes(b"".join(parts)[: MODULUS_BYTES + 16], "little")) % self._modulus

    @cached_property
    def proof(self) -> list[gmpy2.mpz]:
        """The values whose preimages the sender shows."""
        return [self._hashed("proof", i) for i in range(PROOF_VALUES)]

    def option(self, i: int) -> gmpy2.mpz:
        """Return C_i."""
        import gmpy2

        return self._hashed("option", i) if i else gmpy2.mpz(1)


class _Permutation:
    """The sender's trapdoor: RSA inversion by the Chinese remainder theorem, resistant to side channels."""

    def __init__(self) -> None:
        import gmpy2

        # The key comes from OpenSSL's generator: the operating system's randomness.
        numbers = rsa.generate_private_key(EXPONENT, MODULUS_BITS).private_numbers()
        self._p, self._q = gmpy2.mpz(numbers.p), gmpy2.mpz(numbers.q)
        self._dp, self._dq = gmpy2.mpz(numbers.dmp1), gmpy2.mpz(numbers.dmq1)
        self._q_inverse = gmpy2.mpz(numbers.iqmp)
        self.modulus = self._p * self._q

    def invert(self, y: gmpy2.mpz) -> gmpy2.mpz:
        """Return f^-1(y)."""
        import gmpy2

        at_p = gmpy2.powmod_sec(y % self._p, self._dp, self._p)
        at_q = gmpy2.powmod_sec(y % self._q, self._dq, self._q)
        return at_q + self._q * ((at_p - at_q) * self._q_inverse % self._p)


class TrapdoorSender(Sender):
    """Sender of trapdoor-permutation OT; makes a fresh RSA key for the session."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._permutation: _Permutation | None = None
        self._roots: list[gmpy2.mpz] = []  # f^-1(C_0), f^-1(C_1), ...
        self._index = 0

    @override
    def begin(self) -> None:
        """Send the RSA key, and prove that it defines a permutation."""
        if not self.ready:
            published = np.empty((1 + PROOF_VALUES, MODULUS_BYTES), dtype=np.uint8)
            self._publish(published)
            self.session.send(f"{self.name}.trapdoor.modulus", published)
            self.ready = True

    def _publish(self, published: Octets) -> None:
        self._permutation = _Permutation()
        modulus = self._permutation.modulus
        self._values = _Values(self.session, self.name, modulus)
        published[:] = _as_bytes([modulus, *map(self._permutation.invert, self._values.proof)])

    @override
    def random(self, count: int, choices: int = 2) -> Blocks:
        keys = self._room(choices, count, 2)
        if count:
            self.begin()
        for start in range(0, count, BATCH):
            here = min(BATCH, count - start)
            values = self.session.receive(f"{self.name}.trapdoor.values", np.uint8, (here, MODULUS_BYTES))
            self._invert(values, keys[:, start : start + here])
        return keys

    def _invert(self, values: Octets, keys: Blocks) -> None:
        assert self._permutation is not None
        modulus = self._permutation.modulus
        for i in range(len(self._roots), len(keys)):
            self._roots.append(self._permutation.invert(self._values.option(i)))
        for j, value in enumerate(values):
            y = _number(value.tobytes())
            if not 0 < y < modulus:  # the root of 0 is known
                raise failed_check(f"{self.name}.trapdoor.values")
            root = self._permutation.invert(y)
            for i in range(len(keys)):
                keys[i, j] = _key(self.session, self.name, self._index, i, _bytes(root * self._roots[i] % modulus))
            self._index += 1


class TrapdoorReceiver(Receiver):
    """Receiver of trapdoor-permutation OT."""

    batch = BATCH

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._modulus: gmpy2.mpz | None = None
        self._inverses: list[gmpy2.mpz] = []  # 1 / C_0, 1 / C_1, ...
        self._index = 0

    @override
    def begin(self) -> None:
        """Receive the sender's RSA key, and check the proof that it defines a permutation."""
        if not self.ready:
            shape = (1 + PROOF_VALUES, MODULUS_BYTES)
            self._accept(self.session.receive(f"{self.name}.trapdoor.modulus", np.uint8, shape))
            self.ready = True

    def _accept(self, published: Octets) -> None:
        import gmpy2

        modulus, *preimages = (_number(row.tobytes()) for row in published)
        if modulus.bit_length() != MODULUS_BITS or modulus % 2 == 0:
            raise ProtocolError(f"the peer's RSA modulus is not an odd number of {MODULUS_BITS} bits")
        self._values = _Values(self.session, self.name, modulus)
        for value, preimage in zip(self._values.proof, preimages, strict=True):
            if gmpy2.powmod(preimage, EXPONENT, modulus) != value or gmpy2.gcd(value, modulus) != 1:
                raise failed_check(f"{self.name}.trapdoor.modulus")
        self._modulus = modulus

    @override
    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        count = len(choice)
        keys = self._room(count, 2)
        if count:
            self.begin()
        for start in range(0, count, BATCH):
            part = choice[start : start + BATCH]
            values = np.empty((len(part), MODULUS_BYTES), dtype=np.uint8)
            preimages = self._choose(part, choices, values)
            self.session.send(f"{self.name}.trapdoor.values", values)
            self._derive(part, preimages, keys[start : start + BATCH])
        return keys

    def _choose(self, choice: Choices, choices: int, values: Octets) -> list[gmpy2.mpz]:
        """Write the value y of each OT to `values`, for its choice among `choices`; return the preimage x of each."""
        import gmpy2

        modulus = self._modulus
        for i in range(len(self._inverses), choices):
            self._inverses.append(gmpy2.invert(self._values.option(i), modulus))
        size = MODULUS_BYTES + 16
        raw = self.session.prg.bytes(size * len(choice)).tobytes()
        preimages = [_number(raw[i : i + size]) % modulus for i in range(0, len(raw), size)]
        images = [gmpy2.powmod(x, EXPONENT, modulus) for x in preimages]
        candidates = [
            _as_bytes([image * inverse % modulus for image in images]) for inverse in self._inverses[:choices]
        ]
        values[:] = select(choice, np.stack(candidates))
        return preimages

    def _derive(self, choice: Choices, preimages: list[gmpy2.mpz], keys: Blocks) -> None:
        for j, x in enumerate(preimages):
            keys[j] = _key(self.session, self.name, self._index, int(choice[j]), _bytes(x))
            self._index += 1


def _number(raw: bytes) -> gmpy2.mpz:
    import gmpy2

    return gmpy2.mpz(int.from_bytes(raw, "little"))


def _bytes(value: gmpy2.mpz) -> bytes:
    return int(value).to_bytes(MODULUS_BYTES, "little")


def _as_bytes(values: list[gmpy2.mpz]) -> Octets:
    return np.frombuffer(b"".join(map(_bytes, values)), dtype=np.uint8).reshape(len(values), MODULUS_BYTES)
