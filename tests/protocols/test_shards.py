"""Trees computed in shards: the same tree, costs foreseen to the byte, and nothing lost with a shard."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from protocols.cost_model import with_tree
from protocols.counts import RowCounts, Unpartitioned
from protocols.id3 import Problem, Tree, id3
from protocols.pieces import BLOCK, in_shards
from protocols.pieces import cut as cut_batch
from protocols.release import tree_openings
from protocols.release import tree_problem as noisy
from protocols.release.quality import QUALITIES
from protocols.release.tree import private_tree
from protocols.rules import Rules
from smc.channel import Buffer, Channel, MemoryChannel
from smc.counting import CountingEngine, forecast
from smc.engines import Bits, Engine, Profile, Word, XorSharedEngine, engine_of, shards
from smc.errors import LinkError
from smc.local import run_local
from smc.meter import Cost, Meter
from smc.primitives.prg import Prg
from smc.session import Session
from tests.support.shards import Meeting

PROFILES = [Profile("yao"), Profile("mixed", garbling="three-halves"), Profile("lean", "ferret"), Profile("gmw")]
PROBLEM = Problem((3, 2, 4, 3), 3, 40, delta=0.05)
NOISY = noisy.Problem((3, 2, 4, 3), 3, 40, 3, Fraction(2), Fraction(1))


class Zeros(Prg):
    """Contributes zeros to what is drawn: the same noise however a batch is cut."""

    @override
    def bits(self, *shape: int) -> Any:
        return np.zeros(shape, dtype=np.uint8)


def public(cost: Cost) -> dict[str, Any]:
    fields: dict[str, Any] = cost.as_dict()
    del fields["seconds"]
    return fields


@cache
def run(problem: Problem | noisy.Problem, profile: Profile, meeting: Meeting | None = None) -> tuple[Tree, list[Meter]]:
    rng = np.random.default_rng(5)
    meters = [Meter(), Meter()]
    data = [
        (
            np.stack([rng.integers(0, size, 40) for size in problem.domains], axis=1),
            rng.integers(0, problem.classes, 40),
        )
        for _ in (0, 1)
    ]

    def both(session: Session) -> Tree:
        meters[session.party] = session.meter
        engine = engine_of(session, profile) if profile.shards == 1 else (meeting or met).engine_of(session, profile)
        counts = RowCounts(problem.domains, problem.classes, *data[session.party])
        if isinstance(problem, Problem):
            return id3(engine, problem, counts)
        with session.contribute(Zeros(bytes(16))):
            return private_tree(engine, problem, Unpartitioned(counts))[0]

    met = Meeting()
    with patch.object(shards, "Prg", Zeros):
        tree, same = run_local(both)
    assert tree == same
    return tree, meters


@pytest.mark.one_of(2)
@pytest.mark.parametrize(
    ("problem", "profile"),
    [
        *((PROBLEM, profile) for profile in PROFILES),
        *((replace(PROBLEM, rules=Rules(k=2, against="public")), profile) for profile in PROFILES[::2]),
        *((replace(PROBLEM, criterion="gini", prune="mdl"), profile) for profile in PROFILES[1::2]),
        *((replace(PROBLEM, criterion="gain-ratio", prune="pessimistic"), profile) for profile in PROFILES[:3:2]),
        *((replace(NOISY, quality=quality), profile) for quality, profile in zip(QUALITIES, PROFILES, strict=False)),
    ],
    ids=str,
)
def test_the_tree_is_the_same_and_its_costs_are_foreseen(problem: Problem | noisy.Problem, profile: Profile) -> None:
    alone, _ = run(problem, profile)
    several = replace(profile, shards=3)
    tree, meters = run(problem, several)
    assert tree == alone
    counted = forecast(lambda engine: counting(engine, problem, tree), several)
    for party in (0, 1):
        assert public(counted.costs[party]) == public(meters[party].total)
        assert {path: public(cost) for path, cost in counted.meters[party].phases.items()} == {
            path: public(cost) for path, cost in meters[party].phases.items()
        }


@pytest.mark.campaign
@pytest.mark.parametrize("profile", PROFILES[1:3], ids=str)
def test_64_shards_are_foreseen(profile: Profile) -> None:
    """A root of 100 columns: each shard scores one or two. What 64 take on links is counted in docs/scale.md."""
    problem, several = Problem((2,) * 100, 2, 10**6, delta=0.05, max_depth=1), replace(profile, shards=64)
    tree, meters = run(problem, several)
    counted = forecast(lambda engine: with_tree(engine, problem, tree), several)
    assert [public(cost) for cost in counted.costs] == [public(meter.total) for meter in meters]


def counting(engine: CountingEngine, problem: Problem | noisy.Problem, tree: Tree) -> None:
    if isinstance(problem, Problem):
        with_tree(engine, problem, tree)
    else:
        tree_openings.with_forest(engine, problem, (tree,))


class Cut(Channel):
    """A channel that breaks at its message number `at`, for both."""

    def __init__(self, channel: Channel, at: int) -> None:
        assert isinstance(channel, MemoryChannel)
        self._channel, self._left = channel, at

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            self._channel.close()
            raise LinkError("cut by the test")

    @override
    def send(self, step: str, payload: Buffer) -> None:
        self._step()
        self._channel.send(step, payload)

    @override
    def receive(self, step: str, size: int) -> Buffer:
        self._step()
        return self._channel.receive(step, size)


def cut(where: set[tuple[int, int, int]], at: int) -> Meeting:
    """Shards of which some break: of these parties, with these numbers, the time that they are begun."""

    def wrap(party: int, number: int, time: int, channel: Channel) -> Channel:
        return Cut(channel, at) if (party, number, time) in where else channel

    return Meeting(wrap)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1), st.integers(0, 1), st.integers(0, 150), st.sampled_from(PROFILES[1:3]))
def test_a_shard_that_breaks_anywhere_is_computed_again_and_opens_nothing(
    party: int, shard: int, at: int, profile: Profile
) -> None:
    several = replace(profile, shards=2)
    meeting = cut({(party, shard, 0)}, at)
    tree, meters = run(PROBLEM, several, meeting=meeting)
    alone, once = run(PROBLEM, profile)
    assert tree == alone
    assert [meter.total.bits_opened for meter in meters] == [meter.total.bits_opened for meter in once]
    identifiers = {number: session.identifier for number, session in meeting.sessions.items() if number[0] == 0}
    assert len(set(identifiers.values())) == len(identifiers)  # no session is gone on with


def test_a_shard_that_breaks_twice_ends_the_session_with_one_line() -> None:
    meeting = cut({(0, 1, 0), (1, 1, 1)}, 3)
    with pytest.raises(LinkError, match=r"^shard 2 of 2 has failed twice; its last error: [^\n]*$"):
        run(PROBLEM, Profile("lean", shards=2), meeting=meeting)


def test_what_is_drawn_together_is_the_same_when_a_shard_is_computed_again() -> None:
    def drawn(meeting: Meeting) -> list[int]:
        def both(session: Session) -> list[int]:
            engine = meeting.engine_of(session, Profile("yao", shards=2))
            with session.contribute(Prg(bytes([session.party] * 16))):
                (bits,) = in_shards(engine, random_bits, np.ones(20, dtype=np.int64), lambda part: (part,))
            opened: list[int] = engine.reveal(bits)[0][0].tolist()
            return opened

        return run_local(both)[0]

    broken = cut({(1, 0, 0)}, 2)
    assert drawn(Meeting()) == drawn(broken)
    assert (1, 0, 1) in broken.sessions


def test_no_two_shards_draw_the_same_noise() -> None:
    """Or a row in the batch of one would be seen beside the noise of another's."""
    count = 4
    size = 16 * count * BLOCK  # 128 bits a shard: equal by chance once in 2^125 runs

    def both(session: Session) -> Any:
        engine = meeting.engine_of(session, Profile("yao", shards=count))
        (bits,) = in_shards(engine, random_bits, np.ones(size, dtype=np.int64), lambda part: (part,))
        return engine.reveal(bits)[0][0]

    meeting = Meeting()
    drawn = [part.tobytes() for part in np.split(run_local(both)[0], count)]
    assert len(set(drawn)) == count


def random_bits(engine: Engine, part: slice) -> tuple[Bits]:
    return (engine.random(1, part.stop - part.start),)


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_only_shares_leave_a_shard(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Any] = []

    def watched(engine: XorSharedEngine, task: shards.Task) -> Any:
        answer = perform(engine, task)
        assert isinstance(answer, shards.Done)
        assert answer.meter.total.bits_opened == 0
        left.extend([*answer.results, *task.arguments])
        return answer

    perform = shards.perform
    monkeypatch.setattr(shards, "perform", watched)
    run(PROBLEM, replace(profile, shards=2))
    arrays = 0
    while left:
        part = left.pop()
        assert not isinstance(part, Bits)
        if isinstance(part, shards.Shared):
            assert (part.bits.dtype, part.bits.ndim) == (np.uint8, 2)
            assert part.bits.max(initial=0) <= 1
            arrays += 1
        elif isinstance(part, Word):
            left += part.data if isinstance(part.data, tuple) else []
        elif isinstance(part, tuple | list):
            left += part
    assert arrays


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=100), st.integers(1, 7))
def test_a_batch_is_cut_into_whole_blocks(weights: list[int], count: int) -> None:
    parts = cut_batch(np.array(weights), count)
    assert [i for part in parts for i in range(part.start, part.stop)] == [*range(len(weights))]
    assert len(parts) <= count
    assert all(part.start % BLOCK == 0 and part.start < part.stop for part in parts)
