"""Trees and sums over rows that hide who is in both: those of the plainly joined rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.counts import LevelCounts, RowCounts
from protocols.hidden_counts import HiddenCounts
from protocols.hidden_rows import HiddenRows
from protocols.id3 import Problem, id3
from protocols.tree import Leaf, Open, Split, Tree
from smc.channel import Channel
from smc.counting import make_counting_engine
from smc.counting.recording import Recording
from smc.counting.session import CountingSession, no_values
from smc.engines import Profile, make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.recipes import EngineName
from smc.session import Session
from tests.support.hidden import dealt

ENGINES: list[EngineName] = ["clear", "yao", "gmw", "mixed", "lean"]


@dataclass(frozen=True)
class Case:
    """Two tables, some people in both; `columns` names some columns, the class last."""

    domains: tuple[int, ...]
    owners: tuple[int, ...]
    holder: int
    columns: tuple[int, ...]
    only: tuple[int, int]  # people of one party alone
    common: int
    bins: int
    seed: int = 0

    @property
    def values(self) -> np.ndarray:
        """Values of all people: those of party 0 alone, those in both, those of party 1 alone."""
        rng, people = np.random.default_rng(self.seed), self.only[0] + self.common + self.only[1]
        drawn = np.column_stack([rng.integers(0, size, people) for size in self.domains])
        drawn[:, self.columns[-1]] = (drawn.sum(axis=1) + rng.integers(0, 2, people)) % self.domains[self.columns[-1]]
        return drawn

    @property
    def joined(self) -> np.ndarray:
        """The rows of the join, with the named columns in their order."""
        return self.values[self.only[0] : self.only[0] + self.common][:, self.columns]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute, and of classes."""
        return tuple(self.domains[column] for column in self.columns)

    def parts(self, dealer: int = 0) -> tuple[HiddenRows, HiddenRows]:
        """Both parties' parts by a dealer of this seed."""
        of = [[c for c, owner in enumerate(self.owners) if owner == party] for party in (0, 1)]
        first, second = self.only[0] + self.common, slice(self.only[0], None)
        names = [str(person) for person in range(len(self.values))]
        tables = self.values[:first][:, of[0]], self.values[second][:, of[1]]
        keys = names[:first], names[second]
        return dealt(keys, tables, self.domains, self.owners, self.holder, self.bins, dealer)

    def source(self, engine: Any, part: HiddenRows) -> HiddenCounts:
        """The source of counts of a party's part."""
        engine.masked_numbers = True
        return HiddenCounts(engine, part, self.columns[:-1], self.columns[-1])

    def run(
        self,
        name: EngineName,
        program: Callable[[Any, HiddenCounts], Any],
        dealer: int = 0,
        wrap: Callable[[int, Channel], Channel] | None = None,
    ) -> tuple[Any, Any]:
        """What each party's program returns."""
        parts = self.parts(dealer)

        def of(session: Session) -> Any:
            engine = make_engine(session, name)
            return program(engine, self.source(engine, parts[session.party]))

        return run_local(of, wrap=wrap)

    def added(self, name: EngineName, program: Callable[[HiddenCounts], np.ndarray], dealer: int = 0) -> np.ndarray:
        """The joint numbers: the sum of the shares that the program returns."""
        left, right = self.run(name, lambda _, counts: program(counts), dealer)
        return left + right


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a case: either party alone may have no person, and none or all may be common."""
    domains = (*draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)), draw(st.integers(2, 3)))
    columns = draw(st.permutations(range(len(domains))).filter(lambda order: domains[order[-1]] > 1))
    columns = columns[draw(st.integers(0, len(columns) - 2)) :]
    owners, holder = tuple(draw(st.integers(0, 1)) for _ in domains), draw(st.integers(0, 1))
    only, common = (draw(st.integers(0, 20)), draw(st.integers(0, 20))), draw(st.integers(0, 40))
    rows = only[holder] + common
    return Case(
        domains,
        owners,
        holder,
        tuple(columns),
        only,
        common,
        max(1, rows + draw(st.integers(0, 9))),
        draw(st.integers(0, 99)),
    )


@settings(max_examples=12, deadline=None)
@given(case=cases(), name=st.sampled_from(ENGINES), depth=st.integers(0, 3))
def test_the_tree_is_that_of_the_joined_rows(case: Case, name: EngineName, depth: int) -> None:
    *domains, classes = case.sizes
    problem = Problem(domains=tuple(domains), classes=classes, max_rows=case.bins, max_depth=depth)

    def plain(session: Session) -> Tree:
        rows = case.joined[session.party :: 2]
        return id3(make_engine(session, name), problem, RowCounts(problem.domains, classes, rows[:, :-1], rows[:, -1]))

    left, right = case.run(name, lambda engine, counts: id3(engine, problem, counts))
    assert left == right == run_local(plain)[0]


def flat(level: LevelCounts) -> np.ndarray:
    return np.concatenate([level.classes.ravel(), *(table.ravel() for table in level.values)])


GROWN: Tree = Split(1, (Open(), Open(), Open()))
BELOW: Tree = Split(1, (Leaf(1), Split(0, (Open(), Open()), edge=2), Split(0, (Open(), Open()), edge=-3)))
SIDES = [(holder, owner) for holder in (0, 1) for owner in (0, 1)]


def example(holder: int, class_owner: int, only: tuple[int, int] = (15, 25), common: int = 60) -> Case:
    """Four columns of both parties, of which the job leaves out one; the class is not the last of them."""
    owners = (0, class_owner, 1, 0, 1)
    return Case((3, 3, 4, 2, 2), owners, holder, (2, 0, 4, 1), only, common, 130, 5)


def plain(case: Case) -> RowCounts:
    *domains, classes = case.sizes
    return RowCounts(tuple(domains), classes, case.joined[:, :-1], case.joined[:, -1])


@pytest.mark.parametrize(("holder", "class_owner"), SIDES)
def test_every_number_is_that_of_the_joined_rows(holder: int, class_owner: int) -> None:
    """With edges, leaves, the last child from its parent, a tree after a restart, and a level of classes alone."""
    case = example(holder, class_owner)
    asked: list[list[tuple[Tree, bool]]] = [
        [(Open(), True), (GROWN, True), (BELOW, True), (BELOW, True)],
        [(GROWN, True), (BELOW, False), (Open(), False)],
        [(BELOW, True)],
        [(BELOW, False)],
    ]
    for levels in asked:

        def program(counts: HiddenCounts, levels: list[tuple[Tree, bool]] = levels) -> np.ndarray:
            return np.concatenate([flat(counts.level(*one)) for one in levels])

        found = case.added("gmw", program)
        assert found.tolist() == np.concatenate([flat(plain(case).level(*one)) for one in levels]).tolist()


BOXES: list[dict[int, list[int]]] = [
    {},
    {0: [1, 0, 1, 1]},
    {1: [0, 1, 0], 2: [0, 1]},
    {1: [1, 0, 1], 2: [0, 1]},
    {2: [1, 0], 1: [1, 1, 0], 0: [0, 1, 1, 0]},
    {3: [1, 0, 1], 1: [0, 1, 1]},
    {3: [0, 0, 0]},
    {2: [1, 0]},
    {2: [0, 1]},
    {2: [0, 1]},
]
WEIGHTS = [None, [[3, 0], [1, -7], [0, 1 << 40]]]


def boxes() -> list[dict[int, np.ndarray]]:
    return [{a: np.array(values, dtype=np.bool_) for a, values in box.items()} for box in BOXES]


def summed(case: Case, weights: np.ndarray | None) -> list[list[int]]:
    """The sums over the joined rows in the boxes."""
    rows, of_rows = case.joined, np.ones((case.common, 1), dtype=np.int64)
    if weights is not None:
        of_rows = weights[rows[:, -1]]
    inside = [np.array([all(box[a][row[a]] for a in box) for row in rows], dtype=np.bool_) for box in BOXES]
    return [of_rows[one].sum(axis=0).tolist() for one in inside]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("holder", "class_owner"), SIDES)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_sums_of_boxes_are_those_of_the_joined_rows(
    engine: EngineName, holder: int, class_owner: int, weights: list[list[int]] | None
) -> None:
    """With columns of one party, of both, of neither, with the class, equal boxes, and weights of all widths."""
    case, factors = example(holder, class_owner), None if weights is None else np.array(weights, dtype=np.int64)
    assert case.added(engine, lambda counts: counts.sums(boxes(), factors)).tolist() == summed(case, factors)


def test_small_batches_of_boxes_have_equal_sums_at_equal_cost() -> None:
    """Each bit is entered once, and equal first columns share gates, also if batches divide them."""
    case = example(0, 1)
    table = [{0: one, 1: other} for other in np.eye(3, dtype=np.bool_) for one in np.eye(4, dtype=np.bool_)]

    def counted(comfortable: int) -> tuple[list[int], list[int]]:
        def program(engine: Any, counts: HiddenCounts) -> tuple[np.ndarray, list[int]]:
            entered, enter = [0], engine._input

            def noted(owner: int, bits: Any, width: int, batch: int) -> Any:
                entered.append(width)
                return enter(owner, bits, width, batch)

            engine.comfortable, engine._input = comfortable, noted
            sums = [counts.sums(table), counts.sums(table, np.eye(3, dtype=np.int64)), counts.sums(boxes())]
            return np.concatenate([*map(np.ravel, sums)]), [sum(entered), engine.session.meter.total.and_gates]

        (left, costs), (right, _) = case.run("clear", program)
        return (left + right).tolist(), costs

    assert counted(300) == counted(1 << 24)


def test_counts_of_many_bins_have_32_bits() -> None:
    case = replace(example(1, 0), bins=1 << 16)
    parts = case.parts()
    assert {part.shares.dtype.name for part in parts} == {"uint32"}

    def program(counts: HiddenCounts) -> np.ndarray:
        return np.concatenate([counts.sums(boxes()).ravel(), flat(counts.level(GROWN, attributes=True))])

    sums = np.array(summed(case, None)).ravel()
    assert case.added("gmw", program).tolist() == [*sums, *flat(plain(case).level(GROWN, attributes=True))]


@pytest.mark.parametrize("common", [0, 60])
def test_arbitrary_shares_of_rows_that_do_not_count_change_nothing(common: int) -> None:
    """Two dealers draw other shares and other bins."""
    for holder, class_owner in SIDES:
        case, weights = example(holder, class_owner, common=common), np.eye(3, dtype=np.int64)

        def program(counts: HiddenCounts, weights: np.ndarray = weights) -> np.ndarray:
            levels = [flat(counts.level(tree, attributes=True)) for tree in (Open(), GROWN)]
            return np.concatenate([counts.sums(boxes(), weights).ravel(), *levels])

        first, second = (case.added("gmw", program, dealer) for dealer in (1, 2))
        assert first.tolist() == second.tolist()
        assert first[:3].tolist() == np.bincount(case.joined[:, -1], minlength=3).tolist()


def everything(_: Any, counts: HiddenCounts) -> None:
    """Count by all kinds of questions."""
    for tree in (Open(), GROWN, BELOW):
        counts.level(tree, attributes=True)
    counts.level(Split(1, (Leaf(0), GROWN, Open())), attributes=False)
    counts.sums(boxes())
    counts.sums(boxes(), np.array(WEIGHTS[1], dtype=np.int64))


class Recorder(Channel):
    """Channel that notes what is sent."""

    def __init__(self, inner: Channel, sent: list[tuple[str, bytes]]) -> None:
        self._inner, self._sent = inner, sent

    def send(self, step: str, payload: Any) -> None:
        self._sent.append((step, bytes(payload)))
        self._inner.send(step, payload)

    def receive(self, step: str, size: int) -> Any:
        return self._inner.receive(step, size)


def messages(
    name: EngineName, case: Case, program: Callable[[Any, HiddenCounts], Any]
) -> list[list[tuple[str, bytes]]]:
    """The messages that each party sends."""
    sent: list[list[tuple[str, bytes]]] = [[], []]
    case.run(name, program, wrap=lambda party, channel: Recorder(channel, sent[party]))
    return sent


@pytest.mark.parametrize("name", ["mixed", "gmw"])
@pytest.mark.parametrize(("holder", "class_owner"), [(0, 1), (1, 1)])
def test_the_messages_show_neither_the_values_nor_who_is_in_both(
    name: EngineName, holder: int, class_owner: int
) -> None:
    """No one, everyone and other values: equal steps and sizes; every long message has as many ones as zeros."""
    shapes = []
    for only, common in (((60, 60), 0), ((0, 0), 60), ((30, 40), 10)):
        sent = messages(name, example(holder, class_owner, only, common), everything)
        shapes.append([[(step, len(payload)) for step, payload in of_party] for of_party in sent])
        for step, payload in [*sent[0], *sent[1]]:
            if len(payload) >= 256 and "base" not in step:
                ones = np.unpackbits(np.frombuffer(payload, dtype=np.uint8)).mean()
                assert abs(ones - 0.5) < 3 / np.sqrt(8 * len(payload)), step  # six standard deviations
    assert shapes[0] == shapes[1] == shapes[2]


@pytest.mark.parametrize("name", ENGINES[1:])
@pytest.mark.parametrize(("holder", "class_owner"), SIDES)
def test_counting_by_sizes_alone_gives_the_measured_bytes(name: EngineName, holder: int, class_owner: int) -> None:
    case = example(holder, class_owner)

    def costs(engine: Any) -> tuple[int, int, int]:
        total = engine.session.meter.total
        return total.bytes_sent, total.bytes_received, total.and_gates

    def measured(engine: Any, counts: HiddenCounts) -> tuple[int, int, int]:
        everything(engine, counts)
        return costs(engine)

    real = case.run(name, measured)
    for party, part in enumerate(case.parts()):
        sizes = HiddenRows(
            part.domains, part.owners, part.holder,
            no_values(part.member.dtype, part.member.shape),
            None if part.own is None else no_values(part.own.dtype, part.own.shape),
            no_values(part.shares.dtype, part.shares.shape),
        )  # fmt: skip

        def program(engine: Any, sizes: HiddenRows = sizes) -> tuple[int, int, int]:
            return measured(engine, case.source(engine, sizes))

        profile = Profile(name)
        assert program(make_counting_engine(CountingSession(party), profile)) == real[party]
        recorded = Recording(program, party, profile)
        recorded.play(engine := make_counting_engine(CountingSession(party), profile))
        assert not recorded.is_symmetric
        assert costs(engine) == real[party]


def test_the_last_of_all_values_and_the_last_level_take_no_gates() -> None:
    """Lifting is no circuit in the clear, so all gates are those of indicators."""
    case, four = example(0, 0), (Open(),) * 4
    below: Tree = Split(1, (Leaf(0), Leaf(0), Split(0, four)))
    asked: list[Callable[[HiddenCounts], Any]] = [
        lambda counts: counts.sums([{2: one} for one in np.eye(2, dtype=np.bool_)]),
        lambda counts: counts.level(Open(), attributes=True),
        lambda counts: counts.level(GROWN, attributes=True),
        lambda counts: counts.level(below, attributes=True),  # below the last child
        lambda counts: counts.level(Split(1, (Leaf(0), Leaf(0), Split(0, (*four[:3], GROWN)))), attributes=False),
    ]

    def gates(engine: Any, counts: HiddenCounts) -> list[int]:
        taken = [0]
        for ask in asked:
            ask(counts)
            taken.append(engine.session.meter.total.and_gates)
        return np.diff(taken).tolist()

    bins, classes = case.bins, 3
    expected = [bins, (classes - 1) * bins, 2 * classes * bins, 3 * classes * bins, 0]
    assert case.run("clear", gates)[0] == expected


def test_boxes_that_share_nothing_cost_at_least_as_much_as_others() -> None:
    def cost(count: Callable[[HiddenCounts], Any]) -> int:
        case = example(0, 0)
        engine = make_counting_engine(CountingSession(0), Profile("mixed"))
        count(case.source(engine, case.parts()[0]))
        return engine.session.meter.total.bytes_sent + engine.session.meter.total.bytes_received

    widest = max(map(len, boxes()))
    assert cost(lambda counts: counts.sums(boxes())) <= cost(lambda counts: counts.distinct_boxes(len(BOXES), widest))


def test_parts_that_do_not_fit_and_several_trees_are_refused() -> None:
    case = example(0, 1)
    part, other = case.parts()
    assert part.own is not None
    wrong = [
        (replace(part, own=None), "the other party's"),
        (other, "the other party's"),
        (replace(part, own=part.own[1:]), "own columns"),
        (replace(part, own=part.own + 4), "own columns"),
        (replace(part, member=part.member + np.uint8(2)), "shares"),
        (replace(part, shares=part.shares[:, 1:]), "shares"),
        (replace(part, shares=part.shares.astype(np.uint32)), "shares"),
    ]

    def program(session: Session) -> None:
        engine = make_engine(session, "clear")
        if session.party == 0:
            for one, why in wrong:
                with pytest.raises(InputError, match=why):
                    case.source(engine, one)
            with pytest.raises(InputError, match="several trees"):
                case.source(engine, part).level((Open(), Open()), attributes=True)

    run_local(program)
