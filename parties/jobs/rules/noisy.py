"""Most frequent sets of both parties' rows, with noise, and the rules that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.jobs.kind import (
    NO_BITS,
    Counted,
    Disclosure,
    Document,
    Inputs,
    OnStep,
    State,
    States,
    Step,
    exact,
    hidden,
)
from parties.jobs.release.noise import Noise, laplace, noisy_max
from parties.jobs.release.question import number
from parties.jobs.rules.joint import Items, RulesOfBoth, shown
from parties.jobs.rules.settings import FIRST
from parties.jobs.spending import Noised
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.release.laws import Law
    from smc.counting import CountingEngine
    from smc.engines import Engine

MOST_SAMPLES = 1 << 16  # noise samples: sets that may become candidates


@dataclass(frozen=True)
class Chosen:
    """Opened values: the sets in their order, and the noisy row counts of each and of all rows."""

    sets: tuple[Items, ...]
    numbers: tuple[int, ...]


class NoisyRules(Noised, RulesOfBoth):
    """Rules from noisy row counts of the most frequent sets, which are chosen with noise.

    Half of epsilon pays for the choice, half for the counts. A row, a basket or a person changes the count of every
    chosen set and of all rows by a bounded amount, for any length of the sets or the basket
    (`protocols.release.frequent_sets`). A replaced row leaves one basket and enters another: each count changes by 1 at
    most, and so does the count of all baskets.
    """

    @cached_property
    def first(self) -> int:
        """Number of chosen sets, at most that of all sets."""
        return min(self.settings.first or FIRST, sum(self.sets))

    @override
    def check(self) -> None:
        from protocols.release.frequent_sets import most_samples

        super().check()
        if self.settings.most is not None:
            raise InputError("most cannot be combined with epsilon; remove one of them")
        if self.settings.most_bytes is not None:
            raise InputError("most_bytes cannot be combined with epsilon; remove one of them")
        if (samples := most_samples(self.problem, self.first)) > MOST_SAMPLES:
            limit = f"noise is drawn for {MOST_SAMPLES:,} at most"
            raise InputError(f"columns: {samples:,} sets may become candidates, {limit}: name fewer columns")

    # Description.

    @cached_property
    def mechanisms(self) -> tuple[Noise, Noise]:
        """Noise of the choice, and noise of the counts."""
        settings, half = self.settings, self.epsilon / 2
        choice = noisy_max(half, self.first * (1 + self.replaced), settings.adjacency, settings.together)
        return choice, laplace(half, self.first + 1, settings.adjacency, settings.together)

    @property
    @override
    def disclosure(self) -> Disclosure:
        spends = tuple(noise.loss for noise in self.mechanisms)
        return Disclosure(self._reveals, self._opened, NO_BITS, spends, question=self.question)

    def _reveals(self, peer: str) -> list[str]:
        settings = self.settings
        hides = hidden(self.at_most, self.replaced, self.is_grouped)
        return [
            f"We and {peer} both learn the {self.first} most frequent sets of at most {self.problem.max_length} values "
            f"in the {self.things} of both, in their order, and how many {self.things} have each and how many there "
            "are in all, all with noise that neither knows; the rules follow from these numbers.",
            f"{hides[0].upper()}{hides[1:]} changes the chance of any answer by a factor of at most "
            f"e^{settings.epsilon:g} (differential privacy).",
            *self.nothing_else(peer),
        ]

    def _opened(self, state: Chosen | None, step: int | None = None) -> dict[str, int]:
        set_count = 0 if state is None else len(state.sets)
        return {"choice with noise": set_count, "number with noise": set_count + (state is not None)}

    # Cost.

    @property
    def laws(self) -> tuple[Law, Law]:
        """Distributions of the noise: in the choice of sets, and on their counts."""
        from protocols.release.frequent_sets import most_samples

        choice, numbers = self.mechanisms
        return choice.law(most_samples(self.problem, self.first)), numbers.law(self.first + 1)

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        """Return the cost of a run with the largest possible number of candidate sets."""
        from protocols.release.frequent_sets import count_at_most

        def asked() -> list[int]:  # all rows, each item, and the sets that each chosen set can add
            return [1, len(self.items), *range(1, self.first - 1)]

        def program(engine: CountingEngine) -> None:
            self.count_sets(engine, asked()[2:])  # a party counts single values by itself
            count_at_most(engine, self.problem, self.first, self.laws)

        return Counted(program, "at most", asked=asked)

    # Execution.

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Return the chosen sets and their noisy counts; `data` are the results of `own_rows`."""
        from protocols.release.frequent_sets import noisy_sets

        (rows,) = data.sums([]).tolist()
        on_step(Step(0, self.first, start, f"choosing {self.first:,} sets"))
        sets, numbers = noisy_sets(engine, self.problem, self.first, self.laws, data.sums, rows)
        return Chosen(tuple(sets), tuple(numbers))

    @property
    @override
    def states(self) -> States:
        return States(
            encode=lambda state: state and {"sets": state.sets, "numbers": state.numbers},
            decode=lambda value: value and Chosen(tuple(map(tuple, value["sets"])), tuple(value["numbers"])),
        )

    # Results.

    @override
    def document(self, state: Chosen) -> Document:
        noise, greatest = self.mechanisms[1], Fraction(2 * self.rows_each)
        numbers = [number(opened, noise.reach(), Fraction(0), greatest) for opened in state.numbers]
        rows = max(1, numbers[-1]["value"])
        counts = dict(zip(state.sets, (count["value"] for count in numbers), strict=False))
        held = self._rules(counts, rows)
        frequent = [items for items in state.sets if self._is_frequent(counts[items], rows)]
        rules = shown(frequent, list(held), self.settings.show)
        return {
            "sets": [self.named(items) for items in state.sets],
            "counts": numbers[:-1],
            "rows": numbers[-1],
            "rules": [{"if": self.named(a), "then": self.named(b), **held[a, b]} for a, b in rules],
            "of": len(held),
            **self.question_settings,
            "epsilon": self.settings.epsilon,
            "adjacency": self.settings.adjacency,
            **noise.fields(),
        }

    def _is_frequent(self, count: int, rows: int) -> bool:
        return count >= exact(self.settings.support) * rows and count >= self.problem.least_rows

    def _rules(self, counts: dict[Items, int], rows: int) -> dict[tuple[Items, Items], Document]:
        """Return the rules that hold by these counts, with their measures: local work on public numbers."""
        from protocols.association import rules_of

        settings, longest = self.settings, self.problem.max_length
        levels = tuple(tuple(items for items in counts if len(items) == n) for n in range(1, longest + 1))
        held = {}
        for a, b in rules_of(levels):
            both, of_if, of_then = counts[tuple(sorted((*a, *b)))], counts[a], counts[b]
            if not self._is_frequent(both, rows) or not of_if or not of_then:
                continue
            confidence = min(1.0, both / of_if)
            lift = both * rows / (of_if * of_then)
            if confidence >= settings.confidence and lift >= settings.lift:
                held[a, b] = {"support": min(1.0, both / rows), "confidence": confidence, "lift": lift}
        return held
