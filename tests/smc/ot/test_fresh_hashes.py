"""No key and tweak of the hash serves twice in oblivious transfer, whatever is made of it and in which order."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from smc import hashing, kernels
from smc.hashing import KeySchedule
from smc.local import run_local
from smc.ot import EllipticReceiver, EllipticSender, OTKind, Transfers, correlated
from smc.ot.elliptic import _Keys
from smc.ot.ggm_tree import full_trees, message_words
from smc.primitives.prg import Prg
from smc.session import Session

COUNT_FROM = {
    "hash_blocks": 2,
    "ot_hash_both": 3,
    "ot_strings_of_both": 3,
    "ot_strings_of_one": 2,
}  # where the blocks are


def everything(session: Session, kind: OTKind) -> None:
    """All that roles offer, twice and by turns, both ways."""
    transfers = Transfers(session, kind)
    choice = np.arange(70, dtype=np.uint8)
    for _ in range(2):
        transfers.random(choice & 1)
        list(transfers.random_strings([(1, 3), (5, 23), (64, 1)]))
        for direction in (0, 1):
            if direction == session.party:
                transfers.sender.random(70, 4)
                transfers.sender.chosen_bits(np.zeros((4, 70), dtype=np.uint8))
                transfers.sender.additive(np.zeros(70, dtype=np.uint64))
            else:
                transfers.receiver.random(choice & 3, 4)
                transfers.receiver.chosen_bits(choice & 3, 4)
                transfers.receiver.additive(choice & 1)


@pytest.mark.parametrize("kind", ["extension", "iknp", "ferret"])
@pytest.mark.parametrize("batch", [1 << 16, 192])
def test_every_block_is_hashed_under_its_own_key_and_tweak(
    monkeypatch: pytest.MonkeyPatch, kind: OTKind, batch: int
) -> None:
    monkeypatch.setattr(correlated, "BATCH", batch)
    used: dict[int, list[tuple[bytes, int]]] = defaultdict(list)  # by thread, that is, by party

    def watch(name: str, place: int) -> None:
        original = getattr(kernels, name)

        def watched(*arguments: Any) -> None:
            master, first, count = arguments[0][0].tobytes(), int(arguments[1]), len(arguments[place])
            assert first % 8 == 0
            used[threading.get_ident()] += [(master, first + i) for i in range(count)]
            original(*arguments)

        monkeypatch.setattr(kernels, name, watched)

    for name, place in COUNT_FROM.items():
        watch(name, place)
    run_local(lambda session: everything(session, kind))
    assert len(used) == 2
    for pairs in used.values():
        assert len(pairs) > 3000
        assert len(set(pairs)) == len(pairs)
        under_a_key = Counter((master, number // hashing.GATES_PER_KEY) for master, number in pairs)
        assert max(under_a_key.values()) <= 1 << 6


def test_hash_keys_depend_on_session_and_purpose() -> None:
    masters = []
    for identifier in (bytes(32), bytes([1]) * 32):
        for purpose in ("one", "other"):
            schedule = KeySchedule(Session(0, None, identifier), purpose)  # type: ignore[arg-type]
            taken = [schedule.take(count) for count in (5, 3, 1, 8)]
            assert [first for _, first in taken] == [0, 8, 16, 24]
            assert len({keys[0].tobytes() for keys, _ in taken}) == 1
            masters.append(taken[0][0][0].tobytes())
    assert len(set(masters)) == 4


def test_offers_of_a_tree_are_masked_by_both_keys_of_the_level() -> None:
    keys = Prg(bytes(16)).words(2, 3, 4, 2)
    masks = Prg(bytes([1]) * 16).words(2, 3, 4, 2)
    masks[:, :, 0] = 0  # the first level's keys are nodes
    salts = Prg(bytes([2]) * 16).words(5, 3, 2)
    session = Session(0, None, bytes(32))  # type: ignore[arg-type]
    messages = np.empty((2, message_words(3, 4)), dtype=np.uint64)
    leaves, leaves2 = (
        full_trees(session, "ot", some, message, salts)
        for some, message in zip((keys, keys ^ masks), messages, strict=True)
    )
    assert np.array_equal(leaves, leaves2)
    offers = messages[0] ^ messages[1]
    assert np.array_equal(offers[: 3 * 3 * 4].reshape(3, 3, 2, 2), np.moveaxis(masks, 0, 2)[:, 1:])
    assert not offers[3 * 3 * 4 :].any()  # what the check sends depends on the leaves alone


@pytest.mark.parametrize("kind", ["iknp", "softspoken2", "softspoken4", "softspoken8"])
def test_no_two_unknown_seeds_of_any_sessions_encrypt_the_same_block(
    monkeypatch: pytest.MonkeyPatch, kind: OTKind
) -> None:
    """Or one AES would test a guess against both, and against all that were ever collected."""
    here = threading.local()  # a party's thread: what it encrypts first at each column, level and stream

    def note(blocks: np.ndarray) -> None:
        if hasattr(here, "first"):
            here.first += [int.from_bytes(block.tobytes(), "little") for block in blocks.reshape(-1, 2)]

    def watch(name: str, place: int) -> None:
        original = getattr(kernels, name)

        def watched(*arguments: Any) -> None:
            note(arguments[place])
            original(*arguments)

        monkeypatch.setattr(kernels, name, watched)

    watch("ot_double", 2)
    watch("ot_extend_receiver", 1)
    watch("ot_extend_sender", 1)
    watch("iknp_receiver", 0)
    watch("iknp_sender", 0)

    def program(session: Session) -> list[int]:
        here.first = []
        transfers = Transfers(session, kind)
        if session.party == 0:
            transfers.sender.random(8, 2)
        else:
            transfers.receiver.random(np.zeros(8, dtype=np.uint8), 2)
        return here.first

    seen = []
    for _ in range(3):
        sender, receiver = run_local(program)
        assert set(sender) == set(receiver)
        assert len(sender) == len(set(sender)) >= 128
        seen += [place >> 40 for place in sender]  # fewer than 2^40 blocks follow one another
    assert len(seen) == len(set(seen))


# Base OT.


def test_scalars_of_base_ot_serve_once() -> None:
    """A point sent twice would show the sender that two choices are equal."""
    points: list[bytes] = []

    def program(session: Session) -> Any:
        if session.party == 0:
            sender = EllipticSender(session, "ot")
            # The index is in no message: only here it shows that none is used twice.
            return [sender.random(count) for count in (3, 2, 3)], sender._keys.index
        send = session.send

        def watched(step: str, array: np.ndarray) -> None:
            points.extend(point.tobytes() for point in array.reshape(-1, 32))
            send(step, array)

        session.send = watched  # type: ignore[method-assign]
        receiver = EllipticReceiver(session, "ot")
        chosen = [receiver.random(np.zeros(count, dtype=np.uint8)) for count in (3, 2, 3)]
        return chosen, receiver._keys.index

    (keys, sent), (chosen, received) = run_local(program)
    assert len(points) == len(set(points)) == 8
    assert sent == received == 8  # every OT has an index of its own
    assert all(np.array_equal(key[0], own) for key, own in zip(keys, chosen, strict=True))


def test_keys_of_base_ot_are_bound_to_what_was_sent() -> None:
    keys = _Keys(Session(0, None, bytes(32)), "ot")  # type: ignore[arg-type]
    contexts = [(b"shared", b"A", b"B"), (b"shared", b"A'", b"B"), (b"shared", b"A", b"B'"), (b"other", b"A", b"B")]
    assert len({keys.derive(*context).tobytes() for context in contexts}) == len(contexts)
