"""Oblivious transfer by a trapdoor permutation, message by message, as the notes have it.

Even, Goldreich, Lempel, "A Randomized Protocol for Signing Contracts" (CACM 1985), with RSA as the permutation. It
holds against a semi-honest receiver. A receiver that applies the permutation to all of its values reads all messages.
In `smc.ot.trapdoor` the receiver can choose one value only.
"""

from __future__ import annotations

from hashlib import sha256

import gmpy2
import numpy as np

from parties.lesson.view import View, watched
from smc.engines import Engine
from smc.errors import InputError, ProtocolError
from smc.session import Session

EXPONENT = 65537
OPTIONS = 4
SECURE_BITS, TOY_BITS = 2048, 24  # the least modulus to believe; the least that the exponent fits
MAX_BITS = 8192
SHOWN_DIGITS = 30


def transfer(engine: Engine, own: object, bits: int = 3072, toy: bool = False) -> View:
    """Watch a 1-out-of-4 oblivious transfer: party 0 (A) has four messages, party 1 (B) chooses one.

    Args:
        engine: The engine of the run.
        own: At party 0 its four messages, 0 to 255 each; at party 1 its choice, 1 to 4. Private.
        bits: Bits of the RSA modulus, 2048 to 8192, or 24 to 2047 if `toy`; public.
        toy: True for a modulus that can be factored, short enough to read.
    """
    low, high = (TOY_BITS, SECURE_BITS - 1) if toy else (SECURE_BITS, MAX_BITS)
    if not low <= bits <= high:
        hint = "" if toy else ", or add --toy for a modulus that is short and insecure"
        raise InputError(f"the modulus has {bits} bits: give {low} to {high}{hint}")
    given = own if isinstance(own, list | tuple) else [own]
    numbers = [number if isinstance(number, int) else -1 for number in given]
    view = View()
    with watched(engine.session, view) as (session, _):
        session.note("transfer", bits=bits)
        (_offer if session.party == 0 else _choose)(session, numbers, bits, view)
    return view


def _offer(session: Session, messages: list[int], bits: int, view: View) -> None:
    """Play party A, which offers the messages; note the steps in `view`. `bits` is the size of its key."""
    if len(messages) != OPTIONS or not all(0 <= message < 256 for message in messages):
        raise InputError("--left: give four messages from 0 to 255, such as 10,20,30,40")
    p, q = _primes(session, bits)
    modulus = p * q
    private = gmpy2.invert(EXPONENT, (p - 1) * (q - 1))
    _send(session, "modulus", [modulus], bits)
    view.step("You make an RSA key and send the public part, the permutation f(x) = x^65537 mod N.", N=_short(modulus))
    values = _receive(session, "values", bits, modulus)
    view.step(
        "You receive four values b. One of them is f of a number that B knows; you cannot see which.",
        b=[*map(_short, values)],
    )
    roots = [gmpy2.powmod(value, private, modulus) for value in values]
    masks = [_mask(root, bits) for root in roots]
    hidden = [message ^ mask for message, mask in zip(messages, masks, strict=True)]
    text = (
        "You invert f at all four and send c = a xor e(f^-1(b)). Here e(x) is the first byte of SHA-256 of x, written "
        f"in {(bits + 7) // 8} bytes with the lowest first."
    )
    view.step(text, a=messages, inverses=[*map(_short, roots)], e=masks, c=hidden)
    session.send("lesson.hidden", np.array(hidden, dtype=np.uint8))
    view.step("You learn nothing: the four values look alike, whatever the choice is.")


def _choose(session: Session, choice: list[int], bits: int, view: View) -> None:
    """Play party B, which learns the message of its choice; note the steps in `view`. `bits` is the size of A's key."""
    if len(choice) != 1 or not 1 <= choice[0] <= OPTIONS:
        raise InputError("--right: give one choice from 1 to 4")
    (modulus,) = _receive(session, "modulus", bits, gmpy2.mpz(1) << bits, 1)
    if modulus.bit_length() != bits:
        raise ProtocolError(f"the peer's modulus has {modulus.bit_length()} bits, agreed were {bits}: start it again")
    view.step("You receive A's public key, the permutation f(x) = x^65537 mod N.", N=_short(modulus))
    drawn = [_below(session, modulus) for _ in range(OPTIONS)]
    chosen = choice[0] - 1
    values = [gmpy2.powmod(x, EXPONENT, modulus) if i == chosen else x for i, x in enumerate(drawn)]
    text = "You draw four random values, apply f to the one of your choice, and send all."
    view.step(text, choice=choice[0], drawn=[*map(_short, drawn)], b=[*map(_short, values)])
    _send(session, "values", values, bits)
    hidden = session.receive("lesson.hidden", np.uint8, (OPTIONS,)).tolist()
    mask = _mask(drawn[chosen], bits)
    text = "You receive c. You know f^-1 of your choice alone, so you can open that one: a = c xor e(x)."
    view.step(text, c=hidden, **{f"e{choice[0]}": mask, f"a{choice[0]}": hidden[chosen] ^ mask})


def _primes(session: Session, bits: int) -> tuple[gmpy2.mpz, gmpy2.mpz]:
    """Draw two primes whose product has exactly `bits` bits, and to whose order the exponent is coprime."""
    while True:
        sizes = (bits + 1) // 2, bits // 2
        p, q = (
            gmpy2.next_prime(_below(session, gmpy2.mpz(1) << size - 1) | (gmpy2.mpz(1) << size - 1)) for size in sizes
        )
        if p != q and (p * q).bit_length() == bits and gmpy2.gcd(EXPONENT, (p - 1) * (q - 1)) == 1:
            return p, q


def _below(session: Session, bound: gmpy2.mpz) -> gmpy2.mpz:
    """Draw a number from 0 to below `bound`, at statistical distance below 2^-128 from uniform."""
    size = (bound.bit_length() + 135) // 8
    return gmpy2.mpz(int.from_bytes(session.prg.bytes(size).tobytes(), "little")) % bound


def _mask(root: gmpy2.mpz, bits: int) -> int:
    """Return the byte that masks a message: e(root), the first byte of SHA-256 of the root written in `bits` bits."""
    return sha256(int(root).to_bytes((bits + 7) // 8, "little")).digest()[0]


def _send(session: Session, step: str, numbers: list[gmpy2.mpz], bits: int) -> None:
    raw = b"".join(int(number).to_bytes((bits + 7) // 8, "little") for number in numbers)
    session.send(f"lesson.{step}", np.frombuffer(raw, dtype=np.uint8))


def _receive(session: Session, step: str, bits: int, bound: gmpy2.mpz, count: int = OPTIONS) -> list[gmpy2.mpz]:
    """Receive `count` numbers of up to `bits` bits. Raise ProtocolError unless all are below the bound."""
    rows = session.receive(f"lesson.{step}", np.uint8, (count, (bits + 7) // 8))
    numbers = [gmpy2.mpz(int.from_bytes(row.tobytes(), "little")) for row in rows]
    if any(number >= bound for number in numbers):
        raise ProtocolError(f"the peer's {step} are not below the modulus: start it again")
    return numbers


def _short(number: gmpy2.mpz) -> str:
    text = str(number)
    return text if len(text) <= SHOWN_DIGITS else f"{text[:12]}...{text[-12:]} ({len(text)} digits)"
