"""Oblivious transfer against a party that leaves the protocol: who is caught, and what a guess is worth.

Cheaters here run the real roles and change what they send, so that everything else fits. Whole sessions with a hostile
process are in tests/conformance/attacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from smc.errors import ProtocolError
from smc.local import run_local
from smc.ot import OTKind, columns, make_roles
from smc.ot.columns import ANSWER, DIGEST, ColumnReceiver, Layout
from smc.ot.ferret import FerretReceiver, FerretSender
from smc.ot.lpn import Parameters
from smc.primitives.prg import Prg
from smc.session import Session

ROWS: dict[OTKind, int] = {"iknp": 128, "softspoken2": 64, "softspoken4": 32, "softspoken8": 16}
KINDS = list(ROWS)
COUNT = 75  # OTs: the last word is cut, and so is the last byte
TINY = (Parameters(trees=28, depth=4, log_secret=5), Parameters(trees=22, depth=5, log_secret=6))


class CaughtError(Exception):
    """The honest party ended the session, after so many batches."""


@contextmanager
def catching(step: str, made: list[Any]) -> Iterator[None]:
    """Turn the refusal of a message into `CaughtError`, with the number of batches that were made before."""
    try:
        yield
    except ProtocolError as error:
        if f"step {step} fails its check" not in str(error):
            raise
        raise CaughtError(len(made)) from None


def against(kind: OTKind, cheat: Callable[[Any], None], seed: bytes, calls: int = 1) -> tuple[Any, Any]:
    """Run an honest sender, party 0, against a receiver that `cheat` has changed; return what both have."""

    def program(session: Session) -> Any:
        sender, receiver = make_roles(kind, session, "ot", "ot")
        if session.party == 1:
            receiver.setup()
            cheat(receiver)
            return [receiver.correlated(np.ones(COUNT, dtype=np.uint8)) for _ in range(calls)]
        sender.setup()
        made = []
        with catching("ot.matrix", made):
            for _ in range(calls):
                made.append(sender.correlated(COUNT))
        return sender.delta, made

    return run_local(program, seed=seed)


def inconsistent(tree: int, ot: int, guess: int, k: int) -> Callable[[ColumnReceiver], None]:
    """Return a cheat: one tree is corrected to another choice of one OT, and delta's value of this tree is guessed."""

    def cheat(receiver: ColumnReceiver) -> None:
        fill, digest = receiver._fill, receiver._digest
        changed = np.zeros((1, Layout(COUNT).words), dtype=np.uint64)
        changed[0, ot // 64] = 1 << ot % 64
        hashes = np.empty((1, 2), dtype=np.uint64)
        challenge = receiver._challenge

        def filled(choices: Any, corrections: Any, tiles: Any) -> None:
            fill(choices, corrections, tiles)
            corrections[tree] ^= changed[0]

        def challenged(layout: Layout, corrections: Any) -> Any:
            weights = challenge(layout, corrections)
            columns.kernels.ot_hash_rows(changed, weights, hashes)
            return weights

        def digested(sums: Any) -> bytes:
            for bit in range(k):
                if guess >> bit & 1:
                    sums[tree * k + bit] ^= hashes[0]
            return digest(sums)

        receiver._fill, receiver._challenge, receiver._digest = filled, challenged, digested  # type: ignore[method-assign]

    return cheat


@pytest.mark.one_of(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ot", [0, 63, 64, COUNT - 1])
def test_a_tree_that_is_corrected_otherwise_passes_with_the_right_guess_alone(kind: OTKind, ot: int) -> None:
    """Of all guesses of its bits of delta the right one passes; its block is then wrong by bits that it knew."""
    k = 128 // ROWS[kind]
    tree = ROWS[kind] - 1
    seed = bytes([ot, k])
    (delta, _), _ = against(kind, lambda _: None, seed)
    value = int(delta[1]) >> (64 - k)
    for guess in {0, value, value ^ 1, (1 << k) - 1}:
        cheat = inconsistent(tree, ot, guess, k)
        if guess != value:
            with pytest.raises(CaughtError):
                against(kind, cheat, seed)
            continue
        (again, (zero,)), (got,) = against(kind, cheat, seed)
        assert np.array_equal(again, delta)
        difference = zero ^ delta ^ got
        assert int(difference[ot, 1]) == value << (64 - k)
        difference[ot] = 0
        assert not difference.any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_choices_that_hide_the_others_must_be_consistent_too(kind: OTKind) -> None:
    """Else a receiver might correct a tree in them, and use the sum."""

    def cheat(receiver: ColumnReceiver) -> None:
        fill = receiver._fill

        def filled(choices: Any, corrections: Any, tiles: Any) -> None:
            fill(choices, corrections, tiles)
            corrections[0, Layout(COUNT).mask_word] ^= np.uint64(2)

        receiver._fill = filled  # type: ignore[method-assign]

    with pytest.raises(CaughtError):  # the lowest bit of delta is 1: no guess of 0 is right for the first tree
        against(kind, cheat, b"hiding")


def wire(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], None]:
    """Return a cheat that changes messages on their way."""

    def cheat(receiver: Any) -> None:
        send = receiver.session.send
        receiver.session.send = lambda step, array: send(step, change(np.array(array)))

    return cheat


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "part", ["first correction", "padding", "hiding", "last correction", "answer", "digest", "all zero"]
)
def test_any_part_of_a_message_that_is_changed_is_caught(kind: OTKind, part: str) -> None:
    def change(message: np.ndarray) -> np.ndarray:
        row = len(message[: -ANSWER - DIGEST]) // ROWS[kind]
        places = {
            "first correction": 0,
            "padding": row - 17,
            "hiding": row - 1,
            "last correction": len(message) - ANSWER - DIGEST - 17,
            "answer": len(message) - DIGEST - 1,
            "digest": len(message) - 1,
        }
        if part == "all zero":
            message[:] = 0
        else:
            message[places[part]] ^= 0x80
        return message

    with pytest.raises(CaughtError):
        against(kind, wire(change), b"parts")


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_serves_one_batch(kind: OTKind) -> None:
    sent: list[np.ndarray] = []

    def change(message: np.ndarray) -> np.ndarray:
        sent.append(message)
        return sent[0]

    with pytest.raises(CaughtError) as caught:
        against(kind, wire(change), b"replay", calls=2)
    assert caught.value.args == (1,)


def test_the_answer_hides_the_choices() -> None:
    """Without the hash of the choices, which the sender might guess, uniform words of the receiver's are left.

    False alarms: 7 standard deviations, in 128 places and in all of them together.
    """
    masks: list[np.ndarray] = []

    def cheat(receiver: ColumnReceiver) -> None:
        challenge, send = receiver._challenge, receiver.session.send
        weights: list[np.ndarray] = []
        choices = np.zeros((1, Layout(COUNT).words), dtype=np.uint64)
        choices[0, 0], choices[0, 1] = (1 << 64) - 1, (1 << COUNT - 64) - 1

        def sending(step: str, message: np.ndarray) -> None:
            hashes = np.empty((1, 2), dtype=np.uint64)
            columns.kernels.ot_hash_rows(choices, weights.pop(), hashes)
            masks.append(hashes.view(np.uint8)[0] ^ message[-ANSWER - DIGEST : -DIGEST])
            send(step, message)

        receiver._challenge = lambda *parts: (weights.append(challenge(*parts)), weights[-1])[1]  # type: ignore
        receiver.session.send = sending  # type: ignore[method-assign]

    against("softspoken4", cheat, b"answers", calls=100)
    bits = np.unpackbits(np.array(masks), axis=1)
    assert len(np.unique(bits, axis=0)) == 100
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 7 * 0.5 / 10
    assert abs(bits.mean() - 0.5) < 7 * 0.5 / np.sqrt(bits.size)


def test_all_weights_follow_from_session_batch_and_every_correction() -> None:
    """Whatever differs, no weight is the same: else a receiver could choose corrections after their weights."""
    layout = Layout(COUNT)
    corrections = np.zeros(32 * (layout.octets + 16), dtype=np.uint8)
    seen = []
    for identifier, name in ((bytes(32), "ot"), (bytes([1]) * 32, "ot"), (bytes(32), "other")):
        receiver: Any = make_roles("softspoken4", Session(1, None, identifier, Prg(bytes(16))), name, name)[1]  # type: ignore
        for receiver._number in (0, 1):
            seen.append(receiver._challenge(layout, corrections))
    for place in range(0, len(corrections), 97):
        corrections[place] ^= 1
        receiver._number = 0
        seen.append(receiver._challenge(layout, corrections))
    weights = np.array(seen)
    drawn = weights[:, :, : layout.mask_word].reshape(-1)
    assert len(np.unique(drawn)) == len(drawn)
    hiding = weights[:, :, layout.mask_word : layout.mask_word + 2]
    assert (hiding == np.eye(2, dtype=np.uint64)).all()
    assert not weights[:, :, layout.mask_word + 2 :].any()


# Silent OT: the receiver checks the sender.


def silent(cheat: Callable[[FerretSender], None], count: int = 500) -> tuple[Any, Any]:
    def program(session: Session) -> Any:
        if session.party == 0:
            sender = FerretSender(session, "ot", TINY)
            cheat(sender)
            return sender.delta, sender.random_correlated(count)
        with catching("ot.trees", []):
            return FerretReceiver(session, "ot", TINY).random_correlated(count)

    return run_local(program, seed=b"silent")


def changing(step: str, change: Callable[[np.ndarray], None], number: int = 0) -> Callable[[FerretSender], None]:
    """Return a cheat that changes one of the sender's messages of a step."""

    def cheat(sender: FerretSender) -> None:
        send, seen = sender.session.send, iter(range(99))

        def sending(name: str, array: np.ndarray) -> None:
            array = np.array(array)
            if name == step and next(seen) == number:
                change(array)
            send(name, array)

        sender.session.send = sending  # type: ignore[method-assign]

    return cheat


def _flip(place: tuple[int, ...], bit: int) -> Callable[[np.ndarray], None]:
    def change(array: np.ndarray) -> None:
        array[place] ^= array.dtype.type(1 << bit)

    return change


def test_an_honest_sender_passes() -> None:
    (delta, q), (choice, z) = silent(lambda _: None)
    assert np.array_equal(z, np.where(choice[:, None] == 1, q ^ delta, q))


@pytest.mark.parametrize("place", [(0, 0, 0), (0, 3, 1), (27, 0, 1), (27, 3, 0), (13, 2, 0)])
@pytest.mark.parametrize("bit", [1, 63])
def test_wrong_sums_of_a_tree_are_caught(place: tuple[int, ...], bit: int) -> None:
    with pytest.raises(CaughtError):
        silent(changing("ot.trees", _flip(place, bit)))


def test_wrong_sums_of_a_later_iteration_are_caught() -> None:
    with pytest.raises(CaughtError):
        silent(changing("ot.trees", _flip((21, 4, 0), 5), number=1))


@pytest.mark.parametrize("place", [0, 31])
def test_another_proof_is_caught(place: int) -> None:
    with pytest.raises(CaughtError):
        silent(changing("ot.proof", _flip((place,), 0)))


def test_another_delta_is_caught() -> None:
    """Trees of a delta that is not the one of the base: the receiver would have other differences than it believes."""

    def cheat(sender: FerretSender) -> None:
        sender.delta = sender.delta ^ np.array([2, 0], dtype=np.uint64)

    with pytest.raises(CaughtError):
        silent(cheat)
