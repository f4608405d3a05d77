"""OT extensions: correlation at every size, exact messages, streams that never repeat, choices hidden.

What is statistical runs from a fixed seed, so it comes out alike every time; tests say how often another would fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.errors import ProtocolError
from smc.local import run_local
from smc.meter import Cost
from smc.ot import ExtensionReceiver, ExtensionSender, OTKind, Receiver, Sender, Transfers, correlated, make_roles
from smc.session import Session

ROWS: dict[OTKind, int] = {"iknp": 128, "softspoken2": 64, "softspoken4": 32, "softspoken8": 16}  # bits an OT
KINDS = list(ROWS)
BATCH = (1 << 16) - 128


def message_bytes(kind: OTKind, count: int) -> int:
    """Bytes of corrections for some OTs, 128 that hide them, an answer of 16 and a digest of 32."""
    return ROWS[kind] * (-(-count // 8) + 16) + 48


def transfer(
    kind: OTKind, sender: Callable[[Sender], Any], receiver: Callable[[Receiver], Any], seed: bytes | None = None
) -> Any:
    """sender(role) as party 0 against receiver(role) as party 1."""

    def program(session: Session) -> Any:
        roles = make_roles(kind, session, "ot", "ot")
        return sender(roles[0]) if session.party == 0 else receiver(roles[1])

    return run_local(program, seed=seed)


def correlate(kind: OTKind, *choices: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]:
    """Zero messages, delta and the receiver's blocks of several calls in one session."""
    (zero, delta), got = transfer(
        kind,
        lambda s: ([s.correlated(len(choice)) for choice in choices], s.delta),
        lambda r: [r.correlated(choice) for choice in choices],
    )
    return zero, delta, got


def bits(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, count).astype(np.uint8)


def expected(zero: np.ndarray, delta: np.ndarray, choice: np.ndarray) -> np.ndarray:
    return np.where(choice[:, None] == 1, zero ^ delta, zero)


@pytest.mark.parametrize("kind", KINDS)
def test_the_correlation_holds_at_every_size(kind: OTKind) -> None:
    choices = [bits(count, count) for count in (0, 1, 127, 128, 129, 1000, 2048, 100_001, 1)]
    zero, delta, got = correlate(kind, *choices)
    assert delta[0] & 1
    for mine, theirs, choice in zip(zero, got, choices, strict=True):
        assert mine.shape == theirs.shape == (len(choice), 2)
        assert np.array_equal(theirs, expected(mine, delta, choice))
    everything = np.concatenate(zero)
    assert len(np.unique(everything, axis=0)) == len(everything)


@settings(max_examples=8)
@given(st.sampled_from(KINDS), st.lists(st.integers(0, 4500), max_size=4), st.integers(0, 2**32))
def test_any_sequence_of_calls(kind: OTKind, counts: list[int], seed: int) -> None:
    choices = [bits(count, seed + i) for i, count in enumerate(counts)]
    zero, delta, got = correlate(kind, *choices)
    for mine, theirs, choice in zip(zero, got, choices, strict=True):
        assert np.array_equal(theirs, expected(mine, delta, choice))


@pytest.mark.parametrize("kind", KINDS)
def test_the_receiver_may_leave_its_choices_to_the_protocol(kind: OTKind) -> None:
    (zero, delta), (choice, got) = transfer(
        kind, lambda s: (s.random_correlated(3000), s.delta), lambda r: r.random_correlated(3000)
    )
    assert choice.dtype == np.uint8
    assert 1300 < choice.sum() < 1700  # seven standard deviations: 3 10^-13
    assert np.array_equal(got, expected(zero, delta, choice))


@pytest.mark.parametrize("kind", KINDS)
def test_random_keys_across_batches(kind: OTKind) -> None:
    choice = bits(BATCH + 70)
    keys, got = transfer(kind, lambda s: s.random(len(choice)), lambda r: r.random(choice))
    assert np.array_equal(got, keys[choice, np.arange(len(choice))])
    assert len(np.unique(keys.reshape(-1, 2), axis=0)) == 2 * len(choice)


@pytest.mark.parametrize("kind", KINDS)
def test_two_sessions_share_nothing(kind: OTKind) -> None:
    runs = [correlate(kind, np.zeros(500, np.uint8)) for _ in range(2)]
    assert not np.array_equal(runs[0][1], runs[1][1])
    blocks = [{block.tobytes() for block in zero} for (zero,), _, _ in runs]
    assert not blocks[0] & blocks[1]


# Messages.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 127, 128, 2049, BATCH, BATCH + 9])
def test_messages_have_the_stated_sizes(kind: OTKind, count: int) -> None:
    def program(session: Session) -> tuple[Cost, Cost]:
        sender, receiver = make_roles(kind, session, "ot", "ot")
        with session.phase("once") as once:
            (sender if session.party == 0 else receiver).setup()
        with session.phase("each") as each:
            if session.party == 0:
                sender.correlated(count)
            else:
                receiver.correlated(bits(count))
        return once, each

    (_, _), (once, each) = run_local(program)
    trees = 0 if kind == "iknp" else 128 * 32 + 32
    assert (once.bytes_sent, once.bytes_received) == (32 + trees, 128 * 32)
    whole, rest = divmod(count, BATCH)
    total = whole * message_bytes(kind, BATCH) + (message_bytes(kind, rest) if rest else 0)
    assert (each.bytes_sent, each.bytes_received) == (total, 0)
    assert each.messages == whole + (rest > 0)
    assert each.rounds == 0  # the receiver never waits


@pytest.mark.parametrize("kind", KINDS)
def test_one_direction_makes_the_base_ots_of_the_other(kind: OTKind) -> None:
    """So only direction 0 sends points; what it sends to make those of direction 1 is an extension's message."""

    def program(session: Session) -> Cost:
        transfers = Transfers(session, kind)
        with session.phase("both") as cost:
            transfers.setup()
            transfers.setup()
        return cost

    one, other = run_local(program)
    trees = 0 if kind == "iknp" else 128 * 32 + 32
    assert (one.bytes_sent, one.bytes_received) == (128 * 32 + trees, 32 + trees + message_bytes(kind, 128))
    assert one.messages == other.messages == (3 if kind == "iknp" else 5)
    assert max(one.rounds, other.rounds) == (1 if kind == "iknp" else 2)


@pytest.mark.parametrize("kind", ["iknp", "softspoken4", "ferret"])
@pytest.mark.parametrize("first", [0, 1])
def test_directions_share_nothing_though_one_is_built_on_the_other(kind: OTKind, first: int) -> None:
    """Whichever is used first: the correlations hold, and no block or key of one is one of the other."""
    count = 300
    choice = bits(count)

    def program(session: Session) -> Any:
        transfers, out = Transfers(session, kind), []
        for direction in (first, 1 - first):
            role = transfers.sender if session.party == direction else transfers.receiver
            for _ in range(2):
                given = count if session.party == direction else choice
                out.append((role.correlated(given), role.random(given)))  # type: ignore[attr-defined]
        return transfers.sender.delta, out

    (delta0, of_party0), (delta1, of_party1) = run_local(program)
    assert delta0.tobytes() != delta1.tobytes()
    seen: list[bytes] = []
    for place, (left, right) in enumerate(zip(of_party0, of_party1, strict=True)):
        direction = first if place < 2 else 1 - first
        (zero, keys), (got, chosen) = (left, right) if direction == 0 else (right, left)
        delta = delta0 if direction == 0 else delta1
        assert np.array_equal(got, np.where(choice[:, None] == 1, zero ^ delta, zero))
        assert np.array_equal(chosen, keys[choice, np.arange(count)])
        seen += [block.tobytes() for block in (*zero, *keys.reshape(-1, 2))]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("expected", "counts", "flows"),
    [
        (0, [5], "extension"),  # nothing was said
        (128, [128], "few"),
        (129, [1], "extension"),  # many are expected, so the first as well
        (40, [0, 30, 10], "few"),
        (40, [30, 11], "both"),  # more than expected: from there on
        (5, [6, 5], "extension"),
    ],
)
def test_few_expected_ots_are_made_one_by_one(expected: int, counts: list[int], flows: str) -> None:
    choices = [bits(count) for count in counts]
    steps: set[str] = set()
    sizes: list[int] = []

    def program(session: Session) -> Any:
        role: Any = (ExtensionSender if session.party == 0 else ExtensionReceiver)(session, "ot")
        role.expect(expected)
        send = session.send

        def watched(step: str, array: np.ndarray[Any, Any]) -> None:
            steps.add(step)
            sizes.append(array.nbytes)
            send(step, array)

        session.send = watched  # type: ignore[method-assign]
        if session.party == 0:
            return role.delta, [role.correlated(count) for count in counts]
        return [role.correlated(choice) for choice in choices]

    (delta, zeros), got = run_local(program)
    for zero, choice, blocks in zip(zeros, choices, got, strict=True):
        assert np.array_equal(blocks, np.where(choice[:, None] == 1, zero ^ delta, zero))
    blocks = np.concatenate(zeros)
    assert len({block.tobytes() for block in blocks}) == len(blocks)
    assert ("ot.matrix" in steps) == (flows != "few")
    assert ("ot.few.correlation" in steps) == (flows != "extension")
    assert flows != "few" or sum(sizes) == 32 + 48 * sum(counts)


@pytest.mark.parametrize("expecting", [0, 1])
def test_parties_that_expect_otherwise_end_at_once(expecting: int) -> None:
    """Either has sent before it waits, so neither waits for ever; one point is as long as the sender's."""

    def program(session: Session) -> None:
        role: Any = (ExtensionSender if session.party == 0 else ExtensionReceiver)(session, "ot")
        role.expect(1 if session.party == expecting else 0)
        role.correlated(1 if session.party == 0 else bits(1))

    with pytest.raises(ProtocolError, match=r"is at step 'ot.(few|base)"):
        run_local(program)


@pytest.mark.parametrize("kind", KINDS)
def test_several_messages_cross_in_one_round(kind: OTKind) -> None:
    def program(session: Session) -> Cost:
        transfers = Transfers(session, kind)
        transfers.setup()
        with session.phase("bits") as cost:
            list(transfers.random_strings([(3, BATCH // 8), (1, 4 * BATCH // 8 + 8)]))
        return cost

    for cost in run_local(program):
        total = 5 * message_bytes(kind, BATCH) + message_bytes(kind, 64)
        assert cost.bytes_sent == cost.bytes_received == total
        assert cost.messages == 2 * 6
        assert cost.rounds == 2


# What the sender sees.


def matrices(kind: OTKind, *choices: np.ndarray, seed: bytes | None = None) -> list[np.ndarray]:
    """The corrections in the receiver's messages for several calls."""
    seen: list[np.ndarray] = []

    def receive(receiver: Receiver) -> None:
        receiver.setup()
        send = receiver.session.send

        def watched(step: str, array: np.ndarray) -> None:
            seen.append(np.array(array[:-48]).reshape(ROWS[kind], -1))
            send(step, array)

        receiver.session.send = watched  # type: ignore[method-assign]
        for choice in choices:
            receiver.correlated(choice)

    transfer(kind, lambda s: [s.correlated(len(choice)) for choice in choices], receive, seed)
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bit", [0, 1])
def test_the_message_looks_uniform_whatever_the_choices(kind: OTKind, bit: int) -> None:
    """False alarms: 10^-7 for the bytes (chi-square, 255 degrees of freedom), 6 10^-7 for the bits."""
    (matrix,) = matrices(kind, np.full(60_000, bit, np.uint8), seed=bytes([bit]) * 16)
    counts = np.bincount(matrix.reshape(-1), minlength=256)
    mean = matrix.size / 256
    chi_square = ((counts - mean) ** 2 / mean).sum()
    assert chi_square < 255 + 6 * np.sqrt(2 * 255)
    columns = np.unpackbits(matrix, axis=1).mean(axis=0)  # no OT stands out
    assert abs(columns.mean() - 0.5) * 2 * np.sqrt(8 * matrix.size) < 5
    assert len(np.unique(matrix, axis=0)) == ROWS[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_streams_only_move_forward(kind: OTKind) -> None:
    """A rewound stream would give the sender choices1 xor choices2."""
    first, second = np.zeros(2048, np.uint8), bits(2048)
    one, two = matrices(kind, first, second)
    leaked = np.packbits(first ^ second, bitorder="little")
    assert not ((one ^ two)[:, : len(leaked)] == leaked).all(axis=1).any()
    rows = np.concatenate([one, two])
    assert len(np.unique(rows[:, :128], axis=0)) == len(np.unique(rows[:, 128:], axis=0)) == len(rows)


# Short strings as keys, for AND triples.


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        (kind, sizes)
        for kind in [*KINDS, "extension", "ferret"]
        for sizes in ([], [(1, 8)], [(1, 3000), (5, 1801), (64, 1000)])
    ]
    + [("trapdoor", [(2, 1), (64, 1)])],
)
def test_random_strings_both_ways(kind: OTKind, sizes: list[tuple[int, int]]) -> None:
    """False alarms: 6 10^-7 for each of 32 arrays of a case."""

    def program(session: Session) -> Any:
        transfers = Transfers(session, kind)
        return [list(transfers.random_strings(sizes)) for _ in range(2)]

    seen, arrays = set(), 0
    for left, right in zip(*run_local(program, seed=b"both ways"), strict=True):
        for pieces in (left, right):
            assert [(len(one), one.shape[1]) for one, *_ in pieces] == sizes  # in so few OTs no piece is cut
        for one, other in zip(left, right, strict=True):
            for (zero, one_, _, _), (_, _, choice, chosen) in ((one, other), (other, one)):
                assert np.array_equal(chosen, (choice & one_) | (~choice & zero))
            for zero, one_, choice, chosen in (one, other):
                assert (zero.shape, choice.shape) == (one_.shape, zero.shape[1:]) == (chosen.shape, chosen.shape[1:])
                for array in (zero, one_, choice, zero ^ one_):
                    arrays += 1
                    seen.add(array.tobytes())
                    ones = int(np.bitwise_count(array).sum())
                    assert abs(ones - 4 * array.size) < 5 * np.sqrt(2 * array.size)
    assert len(seen) == arrays or kind == "trapdoor"  # nothing comes twice; of its eight OTs choices are one byte


def test_pieces_cut_by_batches_join_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlated, "BATCH", 192)
    sizes = [(2, 30), (1, 1), (7, 50)]
    left, right = run_local(lambda session: list(Transfers(session).random_strings(sizes)))
    for width, octets in sizes:
        parts = [[piece for piece in side if len(piece[0]) == width] for side in (left, right)]
        zero, one, _, _ = (np.concatenate(part, axis=-1) for part in zip(*parts[0], strict=True))
        _, _, choice, chosen = (np.concatenate(part, axis=-1) for part in zip(*parts[1], strict=True))
        assert zero.shape == (width, octets)
        assert np.array_equal(chosen, (choice & one) | (~choice & zero))
    assert len(left) > len(sizes)


def test_random_strings_are_the_lowest_bits_of_hashed_blocks() -> None:
    """Against the hash that random keys come from, under the purpose of strings."""
    from smc.hashing import LabelHash

    sizes = [(1, 9), (64, 3), (6, 4000)]

    def send(sender: Sender) -> Any:
        blocks: list[np.ndarray] = []
        make = sender.random_correlated
        sender.random_correlated = lambda count: blocks.append(make(count)) or blocks[-1]  # type: ignore
        found = sender.random_strings(sizes)
        both = LabelHash(sender.session, "ot strings")
        (part,) = blocks
        return found, both(part, part ^ sender.delta)

    (found, keys), _ = transfer("extension", send, lambda r: r.random_strings(sizes))
    start = 0
    for (width, octets), pair in zip(sizes, found, strict=True):
        for strings, key in zip(pair, keys, strict=True):
            lows = key[start : start + 8 * octets, :1].astype("<u8").view(np.uint8)
            expected = np.unpackbits(lows, axis=1, bitorder="little")[:, :width].T
            assert np.array_equal(np.unpackbits(strings, axis=1, bitorder="little"), expected)
        start += 8 * octets
