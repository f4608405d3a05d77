"""Choosing and measuring marginals: against plain numpy without noise, what one row changes, and what is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release import aim as aims
from protocols.release import mst as trees
from protocols.release import selection
from protocols.release.aim import AimProblem, aim, expected_noise, weights
from protocols.release.choice import greatest
from protocols.release.exponential import Powers
from protocols.release.joint_tables import JointTables
from protocols.release.mst import mst
from protocols.release.selection import Measured, Workload
from smc.counting import forecast
from smc.engines import Profile, engine_of, make_engine
from smc.errors import InputError, ProtocolError
from smc.local import run_local
from smc.primitives import bits as bitpack
from tests.support.questions import Known

DOMAINS = (2, 3, 2, 4)
SETS = tuple(one for many in (1, 2) for one in combinations(range(4), many))


def workload(rho: Fraction = Fraction(10), **more: Any) -> Workload:
    return Workload(DOMAINS, SETS, 100, rho, **more)


def counted(rows: Any, work: Workload) -> list[Any]:
    tables = []
    for one in work.sets:
        table = np.zeros([work.domains[i] for i in one], dtype=np.int64)
        np.add.at(table, tuple(rows[:, i] for i in one), 1)
        tables.append(table.reshape(-1))
    return tables


def some_rows(seed: int, many: int) -> Any:
    random = np.random.default_rng(seed)
    first = random.integers(0, DOMAINS, (many, 4))
    first[:, 3] = first[:, 1] + (random.random(many) < 0.2)  # two columns that depend, and two a bit
    first[:, 2] = np.where(random.random(many) < 0.5, first[:, 0], first[:, 2])
    return first


class Independent:
    """A model that knows the single columns only, and the exact counts of what else was measured."""

    def __init__(self, work: Workload) -> None:
        self.work = work

    def sizes(self, measured: Sequence[tuple[int, ...]], more: Sequence[tuple[int, ...]]) -> list[int]:
        return [sum(prod(self.work.domains[i] for i in one) for one in {*measured, new}) for new in more]

    def estimate(self, measured: Sequence[Measured]) -> list[Any]:
        single = {one.table: np.maximum(one.counts, 0) / max(1, one.counts.sum()) for one in measured[: len(DOMAINS)]}
        total = max(1, int(measured[0].counts.sum()))
        known = {one.table: one.counts for one in measured}
        found = []
        for number, one in enumerate(self.work.sets):
            table = np.ones(())
            for column in one:
                table = np.multiply.outer(table, single[column])
            found.append(known.get(number, total * table.reshape(-1)).astype(np.float64))
        return found


def both(program: Callable[[Any, Any], Any], rows: Sequence[Any], work: Workload, profile: str = "clear") -> Any:
    own = [np.concatenate(counted(part, work)) for part in rows]

    def party(session: Any) -> Any:
        engine = make_engine(session, "clear") if profile == "clear" else engine_of(session, Profile("gmw", "ferret"))
        return program(engine, own[session.party])

    one, other = run_local(party)
    return one, other


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "discrete_gaussian", lambda variance, security: Known(0))
    for way in (aims, trees):
        monkeypatch.setattr(way, "split_scores", lambda engine, scores, law: scores)
        monkeypatch.setattr(way, "chosen", lambda engine, scores, law: greatest(engine, scores))


@settings(max_examples=25)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 300), st.integers(0, 99), st.data())
def test_distances_are_sums_of_absolute_differences(sizes: list[int], most: int, seed: int, data: Any) -> None:
    random = np.random.default_rng(seed)
    own = [random.integers(0, most + 1, sum(sizes)) for _ in range(2)]
    asked = data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=4))
    estimates = [random.integers(0, 2 * most + 1, sizes[table]) for table in asked]

    def program(session: Any) -> list[int]:
        engine = make_engine(session, "clear")
        distances = JointTables(engine, own[session.party], sizes, most).distances(asked, estimates)
        return bitpack.to_words(engine.reveal(distances)[0]).tolist()

    starts = np.concatenate([[0], np.cumsum(sizes)])
    sums = [(own[0] + own[1])[starts[table] : starts[table + 1]] for table in asked]
    wanted = [np.abs(n - (e + 0.5)).sum() - e.size / 2 for n, e in zip(sums, estimates, strict=True)]
    assert run_local(program) == (wanted, wanted)


def test_a_distance_has_the_bits_of_all_rows_and_estimates() -> None:
    """16 rows and 9 cells that are estimated to have none are 25 at most, for each estimate stands for a half more."""

    def program(session: Any) -> tuple[int, list[int]]:
        engine = make_engine(session, "clear")
        tables = JointTables(engine, np.array([8, 0, 0, 0, 0, 0, 0, 0, 0]), [9], 8)
        distances = tables.distances([0], [np.zeros(9, dtype=np.int64)])
        return distances.width, bitpack.to_words(engine.reveal(distances)[0]).tolist()

    assert run_local(program)[0] == (5, [15])


def test_one_row_changes_a_distance_by_its_sensitivity() -> None:
    """All tables of three cells with up to 2 rows each, all neighbours, all estimates from 0 to 2."""
    tables = [np.array(one) for one in product(range(3), repeat=3)]
    steps = np.eye(3, dtype=np.int64)
    added = replaced = 0.0
    for estimate in tables:
        half = estimate + 0.5
        for table in tables:
            near = np.abs(table - half).sum()
            for i in range(3):
                added = max(added, abs(np.abs(table + steps[i] - half).sum() - near))
                for j in range(3):
                    if table[j] > 0:
                        replaced = max(replaced, abs(np.abs(table + steps[i] - steps[j] - half).sum() - near))
    assert (added, replaced) == (workload().change, workload(replaced=True).change)


@pytest.mark.parametrize("profile", ["clear", "gmw"])
@pytest.mark.usefixtures("no_noise")
def test_the_tree_without_noise_is_the_maximum_spanning_tree(profile: str) -> None:
    work, rows = workload(), [some_rows(1, 90), some_rows(2, 60)]
    told: list[Any] = []
    one, other = both(lambda e, own: mst(e, work, own, Independent(work), told.append), rows, work, profile)
    assert (len(told), trees.steps(work), trees.steps(Workload((3,), ((0,),), 100, Fraction(1)))) == (2 * 2, 2, 1)
    assert [m.table for m in one] == [m.table for m in other]
    tables = counted(np.concatenate(rows), work)
    assert all((m.counts == tables[m.table]).all() for m in one)
    estimates = Independent(work).estimate(one[:4])
    scores = {n: np.abs(tables[n] - (np.floor(estimates[n]) + 0.5)).sum() for n in range(4, len(SETS))}
    joined, wanted = [{i} for i in range(4)], []
    while len(joined) > 1:
        free = [n for n in scores if not any(set(SETS[n]) <= part for part in joined)]
        best = max(free, key=lambda n: (scores[n], -n))
        wanted.append(best)
        ends = [part for part in joined if part & set(SETS[best])]
        joined = [part for part in joined if part not in ends] + [set().union(*ends)]
    assert [m.table for m in one[4:]] == wanted
    assert sum(work.price(m.sigma) + work.choice_price(m.epsilon) for m in one) <= work.rho


@pytest.mark.parametrize("profile", ["clear", "gmw"])
@pytest.mark.usefixtures("no_noise")
def test_the_rounds_without_noise_choose_the_worst_marginal(profile: str) -> None:
    """Every round by the words of the paper, in numpy; the last sigma spends what is left."""
    work = workload(Fraction(1, 2))
    plan, rows = AimProblem(work, weights(SETS, SETS[4:]), 10**6), [some_rows(3, 80), some_rows(4, 100)]
    one, other = both(lambda e, own: aim(e, plan, own, Independent(work), lambda _: None), rows, work, profile)
    assert [(m.table, m.sigma, m.epsilon) for m in one] == [(m.table, m.sigma, m.epsilon) for m in other]
    tables, model = counted(np.concatenate(rows), work), Independent(work)
    assert plan.weights == (1, 1, 1, 1, 2, 2, 2, 2, 2, 2)
    before = None
    for place in range(4, len(one)):
        estimates = [np.floor(e) for e in model.estimate(one[:place])]
        m = one[place]
        scores = [
            w * (np.abs(n - e - 0.5).sum() - expected_noise(m.sigma, n.size))
            for w, n, e in zip(plan.weights, tables, estimates, strict=True)
        ]
        assert scores[m.table] >= max(scores) - 1  # scores are rounded
        last = one[place - 1]
        if before is not None and place < len(one) - 1:
            moved = np.abs(estimates[last.table] - before[last.table]).sum()
            halved = moved <= expected_noise(last.sigma, tables[last.table].size)
            assert (m.sigma, m.epsilon) == (
                (last.sigma / 2, 2 * last.epsilon) if halved else (last.sigma, last.epsilon)
            )
        before = estimates
    spent = plan.spent(one)
    assert Fraction(99, 100) * work.rho < spent <= work.rho


def test_the_first_round_is_the_papers() -> None:
    """T = 16 rounds a column, sigma = sqrt(T / (2 0.9 rho)) and epsilon = sqrt(8 0.1 rho / T) (McKenna and others)."""
    plan = AimProblem(workload(), weights(SETS, SETS[4:]), 10**6)
    rounds = 16 * len(DOMAINS)
    assert [float(part) for part in plan.first] == pytest.approx(
        [math.sqrt(rounds / (1.8 * 10)), math.sqrt(0.8 * 10 / rounds)], rel=0.005
    )
    assert plan.most_counts == rounds * max(plan.work.sizes)


@pytest.mark.usefixtures("no_noise")
def test_a_run_that_goes_on_ends_as_a_whole_one() -> None:
    work, rows = workload(Fraction(1, 5)), [some_rows(5, 70), some_rows(6, 70)]
    plan = AimProblem(work, weights(SETS, SETS[4:]), 10**6)
    whole, _ = both(lambda e, own: aim(e, plan, own, Independent(work), lambda _: None), rows, work)
    assert len(whole) > 7
    for kept in (4, 5, 7):
        again, _ = both(
            lambda e, own, k=kept: aim(e, plan, own, Independent(work), lambda _: None, whole[:k]), rows, work
        )
        assert [(m.table, m.sigma, m.counts.tolist()) for m in again] == [
            (m.table, m.sigma, m.counts.tolist()) for m in whole
        ]


class Guess:
    """A model that does not listen: so what one row changes of a score is seen by itself. With `learns` all moves."""

    def __init__(self, work: Workload, learns: bool) -> None:
        random = np.random.default_rng(1)
        self._cells = [random.integers(0, 5, size).astype(np.float64) for size in work.sizes]
        self._learns = learns

    def sizes(self, measured: Sequence[tuple[int, ...]], more: Sequence[tuple[int, ...]]) -> list[int]:
        return [0] * len(more)

    def estimate(self, measured: Sequence[Measured]) -> list[Any]:
        return [cells + 20 * (self._learns and len(measured) % 2) for cells in self._cells]


ASKED = Workload((2, 3, 2), tuple(one for many in (1, 2) for one in combinations(range(3), many)), 20, Fraction(2))
RUNS: dict[str, Callable[[Any, Workload, Any, Any], Any]] = {
    "mst": lambda engine, work, own, model: mst(engine, work, own, model, lambda _: None),
    "aim": lambda engine, work, own, model: aim(
        engine, AimProblem(work, weights(work.sets, [(0, 1), (1, 2)]), 10**6), own, model, lambda _: None
    ),
}


class Watched:
    """A run on rows by cell of all columns: the scores that are compared, and the laws by which noise is drawn."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, way: str, work: Workload, rows: Any, learns: bool = False
    ) -> None:
        self.scores: list[list[int]] = []
        self.choices: list[Powers] = []
        self.counts: list[tuple[Fraction, int]] = []  # variance and security of each cell

        def choose(engine: Any, scores: Any, law: Powers) -> int:
            (opened,) = engine.reveal(scores)
            if engine.party == 0:
                self.scores.append(bitpack.to_integers(opened))
                self.choices.append(law)
            return scores.batch - 1

        def measure(engine: Any, secrets: Any, law: tuple[Fraction, int]) -> Any:
            if engine.party == 0:
                self.counts += [law] * secrets.batch
            return np.zeros(secrets.batch, dtype=np.int64)

        monkeypatch.setattr(aims if way == "aim" else trees, "split_scores", lambda engine, scores, law: scores)
        monkeypatch.setattr(aims if way == "aim" else trees, "chosen", choose)
        monkeypatch.setattr(selection, "opened_with_noise", measure)
        monkeypatch.setattr(selection, "discrete_gaussian", lambda variance, security: (variance, security))
        axes = range(len(work.domains))
        tables = [rows.sum(axis=tuple(i for i in axes if i not in one)).reshape(-1) for one in work.sets]
        own = [np.concatenate([0 * one if party else one for one in tables]) for party in (0, 1)]
        self.state, _ = run_local(
            lambda session: RUNS[way](make_engine(session, "clear"), work, own[session.party], Guess(work, learns))
        )


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("way", RUNS)
def test_noise_is_for_what_one_row_changes(monkeypatch: pytest.MonkeyPatch, way: str, replaced: bool) -> None:
    """Scores as they are compared, of tables that differ by a row, against the scale of the noise; all that is spent.

    A choice whose scores move by D has a range of epsilon at most and spends epsilon^2 / 8; a count with noise of sigma
    spends 1 / (2 sigma^2) for each cell that a row changes by 1.
    """
    work = replace(ASKED, replaced=replaced)
    rows = np.random.default_rng(2).integers(0, 3, work.domains)
    run = Watched(monkeypatch, way, work, rows)
    steps = np.eye(rows.size, dtype=np.int64).reshape(rows.size, *rows.shape)
    changed = np.zeros(len(run.choices), dtype=np.int64)
    for step in steps:
        near = Watched(monkeypatch, way, work, rows + step - replaced * steps[rows.argmax()])
        assert near.choices == run.choices
        moved = [np.abs(np.subtract(a, b)).max() for a, b in zip(run.scores, near.scores, strict=True)]
        changed = np.maximum(changed, moved)
    chosen = [m for m in run.state if m.epsilon]
    assert len(chosen) > 1
    for law, most, m in zip(run.choices, changed.tolist(), chosen, strict=True):
        assert Fraction(96, 100) * m.epsilon < law.range(most) <= m.epsilon
    assert [variance for variance, _ in run.counts] == [m.sigma**2 for m in run.state for _ in range(m.counts.size)]
    cells = 2 if replaced else 1
    spent = sum(cells / (2 * m.sigma**2) + m.epsilon**2 / 8 for m in run.state)
    assert Fraction(9, 10) * work.rho < spent <= work.rho


@pytest.mark.parametrize("way", RUNS)
def test_all_noise_of_the_longest_run_is_within_its_distance(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Of choices together, and of counts together, 2^-40: where every round teaches enough, and counts the most."""
    run = Watched(monkeypatch, way, ASKED, np.ones(ASKED.domains, dtype=np.int64), learns=True)
    assert len(run.state) > (40 if way == "aim" else 4)
    choices = [Fraction(1, 1 << law.security) for law in run.choices]
    assert sum(choices) <= Fraction(1, 1 << 40)
    assert sum(Fraction(1, 1 << security) for _, security in run.counts) <= Fraction(1, 1 << 40)


@pytest.mark.parametrize("replaced", [False, True])
def test_what_is_spent_is_never_more_than_rho(replaced: bool) -> None:
    """Whatever moves and is halved: all ways of a small plan."""
    work = Workload((2, 2), ((0,), (1,), (0, 1)), 10, Fraction(1, 3), replaced)
    plan = AimProblem(work, (1, 1, 2), 100)
    nothing = np.zeros(2, dtype=np.int64)
    for seed in range(30):
        random = np.random.default_rng(seed)
        state = tuple(Measured(table, plan.first[0], Fraction(0), nothing) for table in (0, 1))
        while (step := plan.next(state, bool(random.integers(0, 4)))) is not None:
            state += (Measured(2, *step, nothing),)
        assert len(state) <= plan.rounds
        assert Fraction(95, 100) * work.rho < plan.spent(state) <= work.rho
    sigma = work.sigma(Fraction(1, 8))
    assert sigma == (2 if not replaced else Fraction(2828428, 10**6))  # sqrt(change / (2 rho)), rounded up
    assert work.choice_epsilon(Fraction(1, 32)) == Fraction(1, 2)


def test_a_model_that_would_be_too_large_is_no_candidate() -> None:
    work = workload(Fraction(1))
    first = tuple(Measured(n, Fraction(2), Fraction(0), np.zeros(0, dtype=np.int64)) for n in range(4))
    half = AimProblem(
        work, (1,) * len(SETS), 34
    )  # 4 / (2 * 4) of rho is spent: 17 cells, of which 11 are single columns'
    assert [SETS[n] for n in aims.candidates(half, Independent(work), first)] == [*SETS[:4], (0, 1), (0, 2), (1, 2)]
    none = AimProblem(work, (1,) * len(SETS), 4)
    assert aims.candidates(none, Independent(work), first) == [0, 1, 2, 3]


def test_estimates_that_are_no_rows_are_refused() -> None:
    work = workload()

    def program(session: Any) -> None:
        engine = make_engine(session, "clear")
        wrong = np.full(sum(work.sizes), 201) if engine.party == 0 else None
        selection.sent_estimates(engine, work, wrong)

    with pytest.raises(ProtocolError, match="an opened estimate is not a possible number of rows"):
        run_local(program)


def test_counts_beyond_the_bound_are_refused() -> None:
    with pytest.raises(InputError, match="does not fit 7 bits"):
        run_local(lambda session: JointTables(make_engine(session, "clear"), np.array([128]), [1], 100))


def test_the_bound_on_costs_holds() -> None:
    work, rows = workload(Fraction(1, 10)), [some_rows(7, 30), some_rows(8, 30)]
    plan, profile = AimProblem(work, weights(SETS, SETS[4:]), 10**6), Profile("gmw", "ferret")
    own = [np.concatenate(counted(part, work)) for part in rows]

    def cost(run: Callable[[Any, Any], Any]) -> Any:
        def party(session: Any) -> Any:
            run(engine_of(session, profile), own[session.party])
            return session.meter.report()["total"]

        return run_local(party)[0]

    for run, count in (
        (
            lambda e, o: aim(e, plan, o, Independent(work), lambda _: None),
            lambda e: aims.count_at_most(e, plan),
        ),
        (lambda e, o: mst(e, work, o, Independent(work), lambda _: None), lambda e: trees.count(e, work)),
    ):
        seen, ahead = cost(run), forecast(count, profile).costs[0]
        assert seen["and_gates"] <= ahead.and_gates
        assert seen["bytes_sent"] <= ahead.bytes_sent


FIELDS = ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened")


def rounds(engine: Any, plan: AimProblem, moved: Sequence[bool]) -> None:
    """Count a run whose rounds have taught so much, each with all candidates and the largest marginal measured."""
    work, zeros = plan.work, np.zeros(sum(plan.work.sizes), dtype=np.int64)
    tables, every = JointTables(engine, zeros, work.sizes, work.max_rows), list(range(len(work.sets)))
    largest = max(every, key=lambda number: work.sizes[number])
    state = selection.measure(engine, work, tables, work.singles, plan.first[0], Fraction(0))
    for enough in moved:
        step = plan.next(state, enough)
        if step is None:
            return
        aims.choice(engine, plan, tables, every, selection.sent_estimates(engine, work, zeros), *step)
        state += selection.measure(engine, work, tables, [largest], *step)
    raise AssertionError("more rounds than there can be")


@given(
    st.sampled_from([5, 20, 32, 33, 66, 70, 133]),
    st.lists(st.booleans(), max_size=60) | st.just([True] * 60),
    st.sampled_from([Profile("yao"), Profile("gmw")]),
)
@settings(max_examples=12, deadline=None)
def test_no_path_through_the_rounds_costs_more_than_the_bound(sigma: int, moved: list[bool], profile: Profile) -> None:
    """Noise of a smaller sigma may take more gates: at 70 that of the last round does."""
    sets = tuple(one for many in (1, 2) for one in combinations(range(3), many))
    rho = 48 * Fraction(1, 2 * sigma**2) / aims.MEASURING
    plan = AimProblem(Workload((2, 2, 2), sets, 40, rho), weights(sets, sets[3:]), 10**6)
    seen = forecast(lambda engine: rounds(engine, plan, [*moved, *[True] * 60]), profile).costs
    most = forecast(lambda engine: aims.count_at_most(engine, plan), profile).costs
    assert forecast(lambda engine: aims.count_at_most(engine, plan, one_by_one=False), profile).bytes == (
        most[0].bytes_sent + most[1].bytes_sent
    )
    for one, bound in zip(seen, most, strict=True):
        for field in FIELDS:
            assert getattr(one, field) <= getattr(bound, field), field
