"""Find the rows about one person although their keys have typing errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import override

from parties.base.settings import required
from parties.base.text import listed
from parties.jobs.align.fuzzy import PLACES_A_ROW, FuzzySettings, compared, comparisons_of, linkage_of, rules_of
from parties.jobs.align.kind import Alignment
from parties.jobs.align.reading import TableKeys
from parties.jobs.align.settings import LEARNERS
from parties.jobs.kind import (
    Bits,
    Counted,
    Description,
    Disclosure,
    Document,
    Inputs,
    KindSettings,
    OnStep,
    State,
    Step,
)

if TYPE_CHECKING:
    from protocols.alignment.fuzzy import LinkRows
    from smc.engines import Engine

COUNTABLE = 1 << 26  # pairs whose cost is counted; the count takes a second for some million


class AlignFuzzy(Alignment):
    """Find the rows of two tables that are about one person, although their keys have typing errors.

    Rows that are equal by a blocking rule are compared in a circuit, by the match weight of Fellegi and Sunter. A pair
    is matched if it reaches the threshold and neither row has a better partner.
    """

    name = "align fuzzy"
    about = Description(
        "Rows about people in both tables, with typing errors",
        "alignment",
        "--comparisons name=exact:0.7:0.001+dice@0.8:0.2:0.01+else:0.1:0.989,born=exact:0.9:0.0001+else:0.1:0.9999 "
        "--blocking-rules name:soundex,born --threshold-match-weight 8",
        afterwards="The file --aligned lists the keys of your matched rows, in an order that both parties share.",
    )
    Settings = FuzzySettings
    settings: FuzzySettings
    lists = ("forms", "comparisons", "blocking_rules")

    def __init__(self, settings: KindSettings) -> None:
        texts = [required(getattr(settings, name, None), f"{self.name}.{name}") for name in self.lists[1:]]
        self._comparisons, self._rules = comparisons_of(texts[0]), rules_of(texts[1])
        steps = [form for rule in self._rules for _, form in rule.parts if form is not None]
        super().__init__(settings, compared(self._comparisons, self._rules), steps)
        self.terms = linkage_of(self.settings, list(self._comparisons.values()), len(self._rules))
        left, right = self.terms.places
        entered = self.terms.rules * self.terms.bins  # a party that cheats may enter other rows by each rule
        self.sizes = entered * left, entered * right

    @classmethod
    @override
    def per_row(cls, settings: Any) -> int:
        return PLACES_A_ROW

    @override
    def learns_rows(self, party: int) -> bool:
        return self.terms.learns_it(party)

    @classmethod
    @override
    def alone(cls, settings: Any, party: int) -> tuple[Self, Any, list[str]]:
        task, data, _ = super().alone(settings, party)
        return task, data, task._left_out(data[0], party)

    def _left_out(self, table: TableKeys, party: int) -> list[str]:
        from protocols.alignment.bins import left_out

        rows = self._encoded(table)
        numbers = [left_out(blocks, self.terms.bins, self.terms.places[party]) for blocks in rows.blocks]
        return [
            f"rule {rule}: {number:,} of your rows find no place in their bins and are left out; raise --bin-rows or "
            "--keys, or name a finer rule"
            for rule, number in zip(self.settings.blocking_rules or (), numbers, strict=True)
            if number
        ]

    def _encoded(self, table: TableKeys) -> LinkRows:
        from protocols.alignment.fuzzy import LinkRows

        columns = dict(zip(table.columns, table.normal, strict=True))
        return LinkRows.of(
            self.terms.comparisons,
            [columns[name] for name in self._comparisons],
            [rule.blocks(columns) for rule in self._rules],
        )

    # Disclosure.

    @property
    @override
    def disclosure(self) -> Disclosure:
        bits = self.terms.opened_bits
        opened = "whether a row has a partner" + (", and its place" if self.settings.learns == "both" else "")
        return Disclosure(
            self._reveals,
            lambda state, step=None: {opened: 0 if state is None else bits},
            Bits.once(bits),
            question=f"which rows are alike in {listed(list(self._comparisons))}",
            subject=self.columns[0],
        )

    def _reveals(self, peer: str) -> list[str]:
        terms, settings = self.terms, self.settings
        alike = f"compared by {listed(list(self._comparisons), len(self._comparisons))}"
        lines = [f"{LEARNERS[settings.learns]} which of its own rows have a partner in the other's table, {alike}."]
        if settings.learns != "both":
            lines.append("The other party learns no result.")
        else:
            lines.append(f"So {peer} learns who of the people that it enters is in our table, and the reverse.")
        if terms.rules > 1:
            lines.append("For a matched row it also learns the first blocking rule by which it matches.")
        return [
            *lines,
            self.guesses(peer),
            "A guess need not be exact: a row like one of ours is enough.",
            f"{peer} learns nothing else of our rows, and we nothing else of {peer}'s; blocks and sizes are padded.",
        ]

    # Cost and run.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        def program(engine: Any) -> None:
            from protocols.alignment.fuzzy import LinkRows, link

            nobody: Sequence[str] = ()
            texts = [nobody] * len(self._comparisons)
            link(engine, self.terms, LinkRows.of(self.terms.comparisons, texts, [nobody] * self.terms.rules))

        return Counted(program, is_countable=self.terms.pairs * self.terms.rules <= COUNTABLE)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Match the rows. The result is the number of matched rows if both learn it; own rows are kept apart."""
        from protocols.alignment.fuzzy import link

        rows = self._encoded(data[0])
        on_step(Step(0, self.terms.pairs, start, "comparing rows"))
        return self.matched(engine, data, link(engine, self.terms, rows))

    # Result.

    @override
    def document(self, state: State) -> Document:
        return {
            "comparisons": list(self._comparisons),
            "compared": self.terms.pairs * self.terms.rules,
            **super().document(state),
        }
