"""Mistakes that would go unnoticed in results: a stream rewound, a key or tweak used twice, a mask left out."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from smc import hashing
from smc.circuit import Builder
from smc.engines import Choice, Engine
from smc.local import run_local
from smc.ot import (
    EllipticReceiver,
    EllipticSender,
    ExtensionReceiver,
    ExtensionSender,
    TrapdoorReceiver,
    TrapdoorSender,
)
from smc.primitives.prg import Prg
from smc.session import Session
from smc.yao import schemes, walk

ROLES = {
    "elliptic": (EllipticSender, EllipticReceiver),
    "trapdoor": (TrapdoorSender, TrapdoorReceiver),
    "extension": (ExtensionSender, ExtensionReceiver),
}


def play(name: str, choice: np.ndarray, identifier: bytes | None = None, seed: bytes | None = None) -> Any:
    """Random OT; the sender's delta and keys, the receiver's keys, and each side's outgoing messages."""

    def program(session: Session) -> Any:
        prg = Prg(bytes([session.party]) + seed[1:]) if seed else None
        session = Session(session.party, session.channel, identifier or session.identifier, prg)
        sent: list[tuple[str, np.ndarray]] = []
        send = session.send

        def watched(step: str, array: np.ndarray) -> None:
            sent.append((step, np.array(array)))
            send(step, array)

        session.send = watched  # type: ignore[method-assign]
        if session.party == 0:
            sender = ROLES[name][0](session, "ot")
            return sender.random(len(choice)), sender.delta, sent
        return ROLES[name][1](session, "ot").random(choice), sent

    return run_local(program)


def test_extension_streams_move_forward() -> None:
    """A rewound stream gives u1 xor u2 = choices1 xor choices2 to the sender."""
    first, second = np.zeros(128, np.uint8), np.arange(128).astype(np.uint8) % 2
    matrices: list[np.ndarray] = []

    def program(session: Session) -> Any:
        if session.party == 0:
            sender = ExtensionSender(session, "ot")
            return sender.correlated(128), sender.correlated(128)
        receiver = ExtensionReceiver(session, "ot")
        receiver.setup()
        send = session.send
        session.send = lambda step, array: (matrices.append(np.array(array)), send(step, array))[1]  # type: ignore
        receiver.correlated(first)
        receiver.correlated(second)
        return None

    (zero1, zero2), _ = run_local(program)
    assert not {row.tobytes() for row in zero1} & {row.tobytes() for row in zero2}
    leaked = np.packbits(first ^ second, bitorder="little")
    one, two = (matrix[:-48].reshape(32, -1)[:, : len(leaked)] for matrix in matrices)
    assert not (one ^ two == leaked).all(axis=1).any()


def test_trapdoor_values_are_all_different() -> None:
    """A value sent twice would show the sender that two choices are equal."""
    (_, _, _), (_, sent) = play("trapdoor", np.array([0, 1, 1, 0, 1], np.uint8))
    (values,) = (array for step, array in sent if step.endswith("values"))
    assert len({value.tobytes() for value in values}) == len(values) == 5


def test_elliptic_points_are_all_different() -> None:
    choice = np.array([0, 0, 0, 1, 1, 1], np.uint8)
    runs = [play("elliptic", choice, bytes(32)) for _ in range(2)]  # the same identifier, other randomness
    points = [array for _, (_, sent) in runs for step, array in sent if step.endswith("points")]
    assert len({point.tobytes() for batch in points for point in batch}) == 12


@pytest.mark.parametrize("name", list(ROLES))
def test_delta_and_keys_are_private_randomness(name: str) -> None:
    (keys1, delta1, _), _ = play(name, np.zeros(1, np.uint8), bytes(32))
    (keys2, delta2, _), _ = play(name, np.zeros(1, np.uint8), bytes(32))
    assert delta1.tobytes() != delta2.tobytes()
    assert keys1.tobytes() != keys2.tobytes()


@pytest.mark.parametrize("name", ["elliptic", "extension"])
def test_keys_are_bound_to_the_session(name: str) -> None:
    """The same randomness on both sides (a broken generator) in another session still gives other keys."""
    runs = [play(name, np.zeros(3, np.uint8), bytes([i]) * 32, seed=bytes(16)) for i in range(2)]
    keys = [run[0][0] for run in runs]
    assert not {key.tobytes() for key in keys[0].reshape(-1, 2)} & {key.tobytes() for key in keys[1].reshape(-1, 2)}


@pytest.mark.parametrize("name", ["elliptic", "trapdoor"])
def test_keys_are_bound_to_the_session_the_role_and_the_index(name: str) -> None:
    from smc.ot import elliptic, trapdoor

    def key(identifier: bytes, role: str, index: int) -> bytes:
        # Inside, since a whole transfer has fresh randomness too: its keys differ anyway.
        if name == "trapdoor":
            session = Session(0, None, identifier)  # type: ignore[arg-type]
            return trapdoor._key(session, role, index, 0, b"preimage").tobytes()
        keys = elliptic._Keys(Session(0, None, identifier), role)  # type: ignore[arg-type]
        keys.index = index
        return keys.derive(b"shared", b"base", b"point").tobytes()

    contexts = [(bytes(32), "a", 0), (bytes([1]) * 32, "a", 0), (bytes(32), "b", 0), (bytes(32), "a", 1)]
    assert len({key(*context) for context in contexts}) == len(contexts)


def work(engine: Engine) -> Any:
    """Two netlists, a selection and a product: everything an engine derives keys for."""
    builder = Builder()
    x, y = builder.input(6), builder.input(6)
    builder.output(x * y)
    bits = np.ones((6, 100), dtype=np.uint8)
    inputs = [engine.input(owner, bits if engine.party == owner else None, 6, 100) for owner in (0, 1)]
    (product,) = engine.run(builder.build(), *inputs)
    engine.run(builder.build(), product[:6], product[6:])
    word = engine.words.select([Choice(product[:1], [[5]])], 8)[0][0]
    return engine.reveal(engine.words.bits(engine.words.multiply(product, 0, word, 20)))


@pytest.mark.parametrize("name", ["yao", "mixed", "yao three-halves"])
def test_garbling_never_uses_a_key_and_tweak_twice(play, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(walk, "ROWS", 1 << 10)  # several pieces even here
    used: dict[int, list[tuple[bytes, int]]] = defaultdict(list)  # by thread, that is, by party

    def watch(scheme: schemes.Scheme, method: str) -> None:
        original = getattr(scheme, method)

        def watched(state: Any, piece: walk.Piece, keys: Any, tweak: int, *rest: Any) -> None:
            numbers = tweak + np.add.outer(piece.stride * np.arange(piece.ands), np.arange(piece.instances))
            used[threading.get_ident()] += [(keys[0].tobytes(), int(number)) for number in numbers.flat]
            assert tweak + piece.numbers > numbers.max(initial=-1)
            original(state, piece, keys, tweak, *rest)

        monkeypatch.setattr(scheme, method, watched)

    for scheme in schemes.SCHEMES.values():
        watch(scheme, "garble")
        watch(scheme, "evaluate")
    meters = play(work, name).meters
    assert len(used) == 2
    for pairs in used.values():
        assert len(set(pairs)) == len(pairs) == meters[0].total.and_gates
        under_a_key = Counter((master, number // hashing.GATES_PER_KEY) for master, number in pairs)
        assert len(under_a_key) > 1
        assert max(under_a_key.values()) <= 1 << 6


@pytest.mark.parametrize("name", ["yao", "gmw", "gmw table", "mixed"])
def test_every_hash_of_a_session_has_its_own_purpose(play, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    purposes: dict[int, list[str]] = defaultdict(list)
    make = hashing.KeySchedule.__init__

    def watched(self: Any, session: Session, purpose: str) -> None:
        purposes[session.party].append(purpose)
        make(self, session, purpose)

    monkeypatch.setattr(hashing.KeySchedule, "__init__", watched)
    play(work, name)
    assert sorted(purposes) == [0, 1]
    for names in purposes.values():
        assert len(set(names)) == len(names) >= 2
