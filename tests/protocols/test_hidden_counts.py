"""Trees and sums over rows that hide who is in both: those of the plainly joined rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.counts import RowCounts
from protocols.hidden_counts import HiddenCounts
from protocols.hidden_rows import HiddenRows
from protocols.id3 import Problem, id3
from protocols.tree import Tree
from smc.engines import make_engine
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

    def run(self, name: EngineName, program: Callable[[Any, HiddenCounts], Any], dealer: int = 0) -> tuple[Any, Any]:
        """What each party's program returns."""
        parts = self.parts(dealer)

        def of(session: Session) -> Any:
            engine = make_engine(session, name)
            engine.masked_numbers = True
            return program(engine, HiddenCounts(engine, parts[session.party], self.columns[:-1], self.columns[-1]))

        return run_local(of)


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
