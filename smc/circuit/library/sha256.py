"""Circuit of the compression function of SHA-256 (FIPS 180-4), with ripple-carry adders."""

from __future__ import annotations

from functools import cache

import gmpy2

from smc.circuit.builder import Builder
from smc.circuit.integer import Integer, concatenate
from smc.circuit.netlist import Netlist

ROUNDS = 64
MASK = (1 << 32) - 1


@cache
def sha256_compression() -> Netlist:
    """Return one step of SHA-256. Inputs: message block (512 bits), chaining state (256); output: the new state (256).

    Bit i of byte j is wire 8j + i, for the block as hashed and for the state as a digest is written (eight big-endian
    words). The chaining state before the first block is `initial_state()`. The caller pads the message.
    """
    builder = Builder()
    schedule = _words(builder.input(512))
    state = _words(builder.input(256))
    for t in range(16, ROUNDS):
        early, late = schedule[t - 15], schedule[t - 2]
        sigma0 = _rotate(early, 7) ^ _rotate(early, 18) ^ (early >> 3)
        sigma1 = _rotate(late, 17) ^ _rotate(late, 19) ^ (late >> 10)
        schedule.append(sigma1 + schedule[t - 7] + sigma0 + schedule[t - 16])
    a, b, c, d, e, f, g, h = state
    for t in range(ROUNDS):
        choice = g ^ (e & (f ^ g))  # f if e is 1, else g
        majority = b ^ ((a ^ b) & (b ^ c))
        sum0 = _rotate(a, 2) ^ _rotate(a, 13) ^ _rotate(a, 22)
        sum1 = _rotate(e, 6) ^ _rotate(e, 11) ^ _rotate(e, 25)
        mixed = h + sum1 + choice + round_constant(t) + schedule[t]
        a, b, c, d, e, f, g, h = mixed + sum0 + majority, a, b, c, d + mixed, e, f, g
    after = (a, b, c, d, e, f, g, h)
    builder.output(_concatenate_words([x + y for x, y in zip(state, after, strict=True)]))
    return builder.build()


def initial_state() -> bytes:
    """Return the state before the first block: the first 32 fraction bits of the first eight primes' square roots."""
    words = [int(gmpy2.isqrt(gmpy2.mpz(p) << 64)) & MASK for p in _primes(8)]
    return b"".join(word.to_bytes(4, "big") for word in words)


def round_constant(t: int) -> int:
    """Return the constant of round t, from 0: the first 32 fraction bits of the cube root of the (t + 1)-th prime."""
    root, _ = gmpy2.iroot(gmpy2.mpz(_primes(ROUNDS)[t]) << 96, 3)
    return int(root) & MASK


@cache
def _primes(count: int) -> tuple[int, ...]:
    primes = [2]
    while len(primes) < count:
        primes.append(int(gmpy2.next_prime(primes[-1])))
    return tuple(primes)


def _words(block: Integer) -> list[Integer]:
    """Return the 32-bit words of a block of bytes; a word's first byte is its most significant one."""
    octets = [block[i : i + 8] for i in range(0, len(block), 8)]
    return [concatenate(*octets[i : i + 4][::-1]) for i in range(0, len(octets), 4)]


def _concatenate_words(words: list[Integer]) -> Integer:
    return concatenate(*(word[i : i + 8] for word in words for i in (24, 16, 8, 0)))


def _rotate(word: Integer, places: int) -> Integer:
    """Return the word rotated right by this number of places."""
    return concatenate(word[places:], word[:places])
