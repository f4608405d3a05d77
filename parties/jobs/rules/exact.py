"""Exact frequent sets and association rules of both parties' rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import (
    Bits,
    Counted,
    Disclosure,
    Document,
    Inputs,
    OnStep,
    State,
    States,
    Step,
)
from parties.jobs.rules.joint import Items, RulesOfBoth, shown
from parties.jobs.tabular import StoppingKind
from protocols.arrays import Numbers
from smc.errors import InputError, JointRefusalError

if TYPE_CHECKING:
    from smc.counting import CountingEngine
    from smc.engines import Engine


INFERENCE = (  # for consent, if columns lie apart
    "Each party knows its own columns of these people. From a set or a rule that few of them fit, it can learn the "
    "other's values of these few."
)


@dataclass(frozen=True)
class Found:
    """Decided part of the answer: the frequent sets by length, and at the end the rules; None if undecided.

    `by_support` is whether `support` requires more rows than `k`.
    """

    by_support: bool | None = None
    levels: tuple[tuple[Items, ...], ...] = ()
    rules: tuple[tuple[Items, Items], ...] | None = None


def counted_once(data: Any) -> Callable[[Sequence[Items]], Numbers]:
    """Return a function that maps sets of items to own row counts, int64[sets]. It asks `data` for each set only
    once."""
    known: dict[Items, int] = {}

    def count(sets: Sequence[Items]) -> Numbers:
        if new := [items for items in sets if items not in known]:
            known.update(zip(new, data.sums(new).tolist(), strict=True))
        return np.array([known[items] for items in sets], dtype=np.int64)

    return count


class ExactRules(RulesOfBoth, StoppingKind):
    """Rules decided in secret, length by length (Apriori): both parties learn which hold, and no number."""

    enlarged, smaller = "the sets are", "raise --support"

    @property
    @override
    def states(self) -> States:
        def steps(state: Found) -> int:
            return len(state.levels) + (state.rules is not None)

        def cut(state: Found, at: int) -> Found:
            if at > len(state.levels):
                return state
            return Found(state.by_support, state.levels[:at]) if at else Found()

        def decode(value: Any) -> Found:
            levels = tuple(tuple(tuple(items) for items in level) for level in value["levels"])
            rules = value["rules"]
            return Found(
                value["by_support"], levels, None if rules is None else tuple((tuple(a), tuple(b)) for a, b in rules)
            )

        return States(
            Found(),
            steps,
            lambda state: state.rules is not None,
            cut,
            lambda state: asdict(state) if steps(state) else None,
            lambda value: Found() if value is None else decode(value),
        )

    @override
    def check(self) -> None:
        from protocols.association import MOST_CANDIDATES

        super().check()
        if self.settings.first is not None:
            raise InputError("first needs epsilon; give epsilon, or remove first")
        if (items := len(self.items)) > (self.settings.most or MOST_CANDIDATES):
            raise InputError(f"most: is less than the {items:,} values of the columns; raise it, or name fewer columns")
        if self.pairs > MOST_CANDIDATES:
            limit = f"at most {MOST_CANDIDATES:,} are decided"
            raise InputError(f"columns: their values make {self.pairs:,} pairs, {limit}: name fewer columns")

    # Description.

    @property
    @override
    def disclosure(self) -> Disclosure:
        """The openings: first whether `support` requires more rows than `k` does, then a bit for each candidate."""
        at_most = None if self.settings.most is None else sum(self.largest) + 1
        bits = Bits(lambda step: step.size + (step.number == 0), at_most)
        return Disclosure(self._reveals, self._opened, bits, question=self.question)

    def _reveals(self, peer: str) -> list[str]:
        settings, things = self.settings, self.things
        return [
            f"We and {peer} both learn which sets of at most {self.problem.max_length} values at least "
            f"{settings.support:.3g} of all {things} of both have, and at least {self.problem.least_rows:,} {things}, "
            f"and which rules of them hold with a confidence of {settings.confidence:.3g}"
            + (f" and a lift of {settings.lift:g}." if settings.lift else "."),
            f"We also learn whether both have at least {self.least_of_all:,} {things} together, and no other number "
            f"of {things}. A rule of confidence 1 says that none of either is an exception.",
            *self.nothing_else(peer),
            *([] if self.apart is None else [INFERENCE]),
        ]

    @property
    def least_of_all(self) -> int:
        """Least number of rows of both parties together from which `support` requires `least_rows` or more."""
        return math.ceil(self.problem.least_rows / self.problem.support)

    def _opened(self, state: State, step: int | None = None) -> dict[str, int]:
        steps = range(self.states.steps(state)) if step is None else [step]
        return {"decision": sum(self._asked(self.states.cut(state, at)) + (at == 0) for at in steps)}

    def _asked(self, state: Found) -> int:
        from protocols.association import number_of_rules

        sets = len(self.problem.candidates(state.levels))
        return sets or number_of_rules(state.levels)

    # Cost.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        """Return the cost of typical numbers of sets and rules; the upper bound is that of all candidates."""
        from protocols import association_costs

        *sets, rules = self.likely

        def program(engine: CountingEngine) -> None:
            self.count_sets(engine, sets[1:])  # a party counts single values by itself
            association_costs.count(engine, self.problem, self.likely)

        return Counted(
            program,
            "typical",
            f"{sum(sets):,} sets of values and {rules:,} rules that are decided",
            lambda profile: association_costs.most_bytes(self.problem, profile),
            self.pairs <= 1 << 18,
            lambda: [1, *sets],
        )

    @cached_property
    def likely(self) -> list[int]:
        """Numbers of sets of each length that a typical run decides on, then the number of rules."""
        from protocols import association_costs

        return association_costs.typical(self.problem)

    @cached_property
    def largest(self) -> list[int]:
        """Largest numbers of sets and rules that any run decides on, in the order of `likely`."""
        from protocols import association_costs

        return association_costs.most(self.problem)

    # Execution.

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Find the frequent sets and rules, and return them; `data` are the results of `own_rows`."""
        from protocols import association

        count, (rows,) = counted_once(data), data.sums([]).tolist()
        state: Found = start
        on_step = self.stopping(engine, on_step)
        while not self.states.is_done(state):
            try:
                candidates = self.problem.candidates(state.levels)
            except InputError as error:  # both parties raise it, because the candidates follow from opened values
                raise JointRefusalError(str(error)) from None
            if candidates:
                length = len(state.levels) + 1
                on_step(Step(self.states.steps(state), len(candidates), state, f"{len(candidates):,} sets of {length}"))
                with engine.session.phase(f"sets of {length}"):
                    if state.by_support is None:
                        state = replace(state, by_support=association.by_support(engine, self.problem, rows))
                    compared = rows if state.by_support else None
                    level = association.frequent(engine, self.problem, candidates, count(candidates), compared)
                state = replace(state, levels=(*state.levels, tuple(level)))
                continue
            rules = association.rules_of(state.levels)
            on_step(Step(self.states.steps(state), len(rules), state, f"{len(rules):,} rules"))
            with engine.session.phase("rules"):
                held = association.holding(engine, self.problem, rules, count, rows) if rules else []
            state = replace(state, rules=tuple(held))
        return state

    # Results.

    @override
    def document(self, state: Found) -> Document:
        sets = [items for level in state.levels for items in level]
        rules = shown(sets, state.rules or (), self.settings.show)
        return {
            "sets": [self.named(items) for items in sets],
            "rules": [{"if": self.named(items_if), "then": self.named(then)} for items_if, then in rules],
            "of": len(state.rules or ()),
            **self.question_settings,
        }
