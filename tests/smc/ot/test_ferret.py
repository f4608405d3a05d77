"""Silent correlated OT: trees, iterations and what both roles make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.channel import Buffer, Channel
from smc.local import run_local
from smc.ot import ferret
from smc.ot.extension import ExtensionReceiver, ExtensionSender
from smc.ot.ferret import SETS, FerretReceiver, FerretSender, iterations, kept_trees, parameters
from smc.ot.half_tree import ReceiverTrees, SenderTrees
from smc.ot.lpn import LARGE, SMALL, Parameters
from smc.session import Session

# 13 and 14 trees of each iteration are used: 208 outputs of the first, 448 of the others.
TINY = (Parameters(trees=28, depth=4, log_secret=5), Parameters(trees=22, depth=5, log_secret=6))
KEY = bytes(range(16))


def blocks(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, (count, 2), dtype=np.uint64)


def a_delta(seed: int = 1) -> np.ndarray:
    return blocks(1, seed)[0] | np.array([1, 0], dtype=np.uint64)


# Trees.


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


def number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def reference_tree(key: bytes, tree: int, delta: int, root: int, depth: int) -> list[list[int]]:
    """All levels; node p of m has its children at p and p + m."""
    own = aes(key, tree.to_bytes(16, "little"))

    def child(node: int) -> int:
        low, high = node & (1 << 64) - 1, node >> 64
        source = (high ^ low) << 64 | high
        return number(aes(own, source.to_bytes(16, "little"))) ^ source

    levels = [[root, root ^ delta]]
    for _ in range(1, depth):
        lefts = [child(node) for node in levels[-1]]
        levels.append(lefts + [left ^ node for left, node in zip(lefts, levels[-1], strict=True)])
    return levels


@pytest.mark.parametrize("depth", [3, 4, 5, 7])
def test_sender_trees_are_the_reference(depth: int) -> None:
    delta, roots = a_delta(), blocks(3, 2)
    trees = SenderTrees(KEY, delta, roots, depth)
    leaves = np.empty((2 << depth, 2), dtype=np.uint64)
    trees.grow(1, leaves)
    for tree in range(3):
        levels = reference_tree(KEY, tree, number(delta.tobytes()), number(roots[tree].tobytes()), depth)
        for level, nodes in enumerate(levels):
            total = np.bitwise_xor.reduce([np.frombuffer(node.to_bytes(16, "little"), np.uint64) for node in nodes])
            assert np.array_equal(total, delta)
            left = number(trees.sums[tree, level].tobytes())
            for node in nodes[: len(nodes) // 2]:
                left ^= node
            assert left == 0
        if tree >= 1:
            here = leaves[(tree - 1) << depth : tree << depth]
            assert [number(leaf.tobytes()) for leaf in here] == [leaf & ~1 for leaf in levels[-1]]


@settings(max_examples=40)
@given(st.integers(3, 9), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_trees_differ_by_delta_at_one_place_each(depth: int, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    delta = a_delta(seed)
    sender = SenderTrees(KEY, delta, blocks(count, seed + 1), depth)
    choices = random.integers(0, 2, (count, depth), dtype=np.uint8)
    known = sender.sums ^ (np.uint64(0) - choices[..., None].astype(np.uint64) & delta)
    receiver = ReceiverTrees(KEY, known, choices)
    v, w = np.empty((2, count << depth, 2), dtype=np.uint64)
    sender.grow(0, v)
    receiver.grow(0, w)
    expected = [sum((1 - int(bit)) << level for level, bit in enumerate(row)) for row in choices]
    assert receiver.places.tolist() == expected
    difference = np.zeros_like(v)
    difference[(np.arange(count) << depth) + expected] = delta
    assert np.array_equal(v ^ w, difference)
    assert not (v[:, 0] & 1).any()
    assert len(np.unique(v, axis=0)) == len(v)


# Iterations.


def program(session: Session, sets: Any, work: Any) -> Any:
    role: Any = FerretSender if session.party == 0 else FerretReceiver
    return work(role(session, "silent", sets))


def run(work: Any, sets: Any = TINY, **options: Any) -> tuple[Any, Any]:
    return run_local(lambda session: program(session, sets, work), **options)


def draw(*counts: int) -> Any:
    def work(role: Any) -> Any:
        parts = [role.random_correlated(count) for count in counts]
        if isinstance(role, FerretSender):
            return role.delta, parts
        return [choice for choice, _ in parts], [part for _, part in parts]

    return work


def check(delta: np.ndarray, q: np.ndarray, choice: np.ndarray, z: np.ndarray) -> None:
    assert choice.dtype == np.uint8
    assert np.array_equal(z, q ^ (np.uint64(0) - choice.astype(np.uint64))[:, None] & delta)


@settings(max_examples=25)
@given(st.lists(st.sampled_from([0, 1, 2, 15, 16, 17, 207, 208, 209, 448, 449, 1000]), max_size=6))
def test_correlation(counts: list[int]) -> None:
    (delta, own), (choices, theirs) = run(draw(*counts), seed=b"0123456789abcdef")
    assert delta[0] & np.uint64(1)
    for count, q, choice, z in zip(counts, own, choices, theirs, strict=True):
        assert q.shape == z.shape == (count, 2)
        assert not (q[:, 0] & np.uint64(1)).any()
        check(delta, q, choice, z)
    together = np.concatenate([np.empty((0, 2), dtype=np.uint64), *own])
    assert len(np.unique(together, axis=0)) == len(together)


def test_pieces_are_the_whole() -> None:
    seed = b"0123456789abcdef"
    counts = [1, 30, 177, 0, 5, 400, 387]
    whole, pieces = run(draw(sum(counts)), seed=seed), run(draw(*counts), seed=seed)
    assert np.array_equal(whole[0][1][0], np.concatenate(pieces[0][1]))
    assert np.array_equal(whole[1][0][0], np.concatenate(pieces[1][0]))


@pytest.mark.parametrize("count", [70_001, 700_001])
def test_real_parameters(count: int) -> None:
    """The second count goes beyond what the first iteration gives. False alarms: 2 10^-9 for each of five sums."""
    (delta, (q,)), ((choice,), (z,)) = run(draw(count), SETS, seed=b"real parameters")
    check(delta, q, choice, z)
    assert abs(int(choice.sum()) - count / 2) < 6 * count**0.5 / 2
    for lag in (1, 8, 512, 1024):  # neighbours in a row group, a bin apart
        same = int((choice[lag:] == choice[:-lag]).sum())
        assert abs(same - (count - lag) / 2) < 6 * count**0.5 / 2
    assert len(np.unique(q[:, 1])) == count


def test_sessions_are_independent() -> None:
    (delta, (q,)), ((choice,), _) = run(draw(2000))
    (delta2, (q2,)), ((choice2,), _) = run(draw(2000))
    assert not np.array_equal(delta, delta2)
    assert not (q == q2).any(axis=1).any()
    assert 700 < int((choice == choice2).sum()) < 1300


@settings(max_examples=10)
@given(st.sampled_from([0, 1, 7, 9, 208, 700]), st.sampled_from([56, ferret.BATCH]), st.integers(0, 2**32 - 1))
def test_chosen_correlated(count: int, batch: int, seed: int) -> None:
    choice = np.random.default_rng(seed).integers(0, 2, count, dtype=np.uint8)

    def work(role: Any) -> Any:
        if isinstance(role, FerretSender):
            return role.delta, role.correlated(count)
        return role.correlated(choice)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ferret, "BATCH", batch)
        (delta, q), z = run(work)
    check(delta, q, choice, z)


def test_keys() -> None:
    """1-out-of-2, 1-out-of-4 and short keys come from the base class."""
    choice = np.arange(300, dtype=np.uint8) % 4

    def work(role: Any) -> Any:
        if isinstance(role, FerretSender):
            return role.random(300), role.random(300, 4), role.random_strings([(2, 3)])
        return role.random(choice & 1), role.random(choice, 4), role.random_strings([(2, 3)])

    (two, four, [(zero, one)]), (chosen2, chosen4, [(drawn, bit)]) = run(work)
    assert np.array_equal(chosen2, two[choice & 1, np.arange(300)])
    assert np.array_equal(chosen4, four[choice, np.arange(300)])
    assert np.array_equal(bit, zero & ~drawn | one & drawn)


# Costs, known ahead.


def test_iterations() -> None:
    assert [iterations(count, TINY) for count in (0, 1, 208, 209, 656, 657, 1104, 1105)] == [0, 1, 1, 2, 2, 3, 3, 4]
    assert [iterations(count) for count in (675_840, 675_841, 675_840 + 1_085_440, 10**7)] == [1, 2, 2, 10]
    assert (parameters(0), parameters(1), parameters(9)) == (SMALL, LARGE, LARGE)
    assert all(kept_trees(i) * parameters(i).leaves >= parameters(i + 1).base for i in range(3))


@pytest.mark.parametrize("count", [1, 208, 209, 1500])
def test_bytes_are_the_formula(count: int) -> None:
    def work(role: Any) -> Any:
        role.setup()
        ready = role.session.meter.total.bytes_sent
        role.reserve(count)
        reserved = role.session.meter.total.bytes_sent
        messages = role.session.meter.total.messages
        role.random_correlated(count)
        assert role.session.meter.total.messages == messages  # nothing is sent for what is reserved
        role.reserve(2 * count)
        between = role.session.meter.total.bytes_sent
        role.correlated(count if isinstance(role, FerretSender) else np.zeros(count, dtype=np.uint8))
        return reserved - ready, role.session.meter.total.bytes_sent - between

    def base(session: Session) -> int:
        role: Any = (ExtensionSender if session.party == 0 else ExtensionReceiver)(session, "base")
        role.setup()
        before = session.meter.total.bytes_sent
        role.random_correlated(TINY[0].base)
        return session.meter.total.bytes_sent - before

    sender, receiver = run(work)
    from_base = run_local(base)
    made = iterations(count, TINY)
    silent = sum(parameters(number, TINY).message_bytes for number in range(made))
    assert sender == (from_base[0] + silent + 32, 0)
    assert receiver == (from_base[1] + 16 + 8 * made, (count + 7) // 8)


def test_ten_million_below_two_bits_each() -> None:
    """Everything counted: base OTs, extension, all iterations. What is reserved needs no further message."""

    def work(role: Any) -> Any:
        role.reserve(10**7)
        return role.session.meter.total.bytes_sent + role.session.meter.total.bytes_received

    sender, receiver = run(work, SETS)
    assert sender == receiver
    assert 8 * sender < 2 * 10**7


def test_reserved_both_ways() -> None:
    """With reserves in one order, each party may act as receiver first and never waits."""

    def work(session: Session) -> Any:
        sender = FerretSender(session, f"silent {session.party}", TINY)
        receiver = FerretReceiver(session, f"silent {1 - session.party}", TINY)
        for role in (sender, receiver) if session.party == 0 else (receiver, sender):
            role.reserve(1000)
        choice, z = receiver.random_correlated(1000)
        return sender.delta, sender.random_correlated(1000), choice, z

    first, second = run_local(work)
    check(*first[:2], *second[2:])
    check(*second[:2], *first[2:])
    assert not (first[1] == second[1]).any()


class _Spy(Channel):
    def __init__(self, inner: Channel, seen: list[bytes]) -> None:
        self._inner, self._seen = inner, seen

    def send(self, step: str, payload: Buffer) -> None:
        if step.endswith("trees") and "first" not in step:
            self._seen.append(bytes(payload))
        self._inner.send(step, payload)

    def receive(self, step: str, size: int) -> Buffer:
        return self._inner.receive(step, size)


def test_messages_look_uniform() -> None:
    """The sender's messages: bytes by chi-square with 255 degrees of freedom, no block twice.

    Another seed would fail once in 1.6 million times.
    """
    seen: list[bytes] = []
    run(
        draw(1),
        (SMALL,) * 2,
        seed=b"uniform",
        wrap=lambda party, channel: _Spy(channel, seen) if party == 0 else channel,
    )
    assert [len(message) for message in seen] == [SMALL.message_bytes]
    data = np.frombuffer(seen[0], dtype=np.uint8)
    counts = np.bincount(data, minlength=256)
    assert ((counts - len(data) / 256) ** 2 / (len(data) / 256)).sum() < 380
    assert len(np.unique(data.reshape(-1, 16), axis=0)) == len(data) // 16
