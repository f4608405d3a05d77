"""Find the rows whose keys both tables have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from typing_extensions import override

from parties.jobs.align.keyed import KeyAlignment
from parties.jobs.align.reading import TableKeys
from parties.jobs.align.settings import LEARNERS, ExactSettings, terms_of
from parties.jobs.kind import (
    Bits,
    Counted,
    Description,
    Disclosure,
    Document,
    File,
    Inputs,
    KindSettings,
    OnStep,
    State,
    Step,
)
from protocols.alignment import fast, hidden
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine


OPENINGS = {  # by the setting `opens`: the question, the knowledge of a party that learns it, and the opened value
    "rows": ("which", "which of its own", "whether a key is common"),
    "number": ("how many", "how many", "number of common keys"),
    "at-least": ("whether at least {:,}", "whether at least {:,}", "whether enough keys are common"),
}


class AlignExact(KeyAlignment):
    """Find the rows of two tables that have equal keys: which, only how many, or only whether there are enough.

    Keys are compared in a public normal form. A table with two rows of one key is refused, unless --duplicates first
    takes the first of them. `smc align check` looks for such rows before.
    """

    name = "align exact"
    about = Description(
        "Rows about people in both tables",
        "alignment",
        "--by tax_number,name+born --forms name=accents+case,born=date:dmy",
        estimate_example="--by tax_number --keys 100000",
        afterwards="The file --aligned lists the keys of your matched rows, in an order that both parties share.",
    )
    Settings = ExactSettings
    settings: ExactSettings
    private_fields = (*KeyAlignment.private_fields, "unmatched")
    _unmatched: str | None = None  # keys of own rows without a partner as CSV, after a run of a command

    def __init__(self, settings: KindSettings) -> None:
        super().__init__(settings)
        self.terms = terms_of(self.settings, len(self._keys))
        self.hidden = hidden.HiddenMatching(self.terms.sizes) if self.settings.opens == "at-least" else None
        self.sizes = (self.hidden or self.terms).testable
        self.kernels = hidden.KERNELS if self.hidden else fast.KERNELS if self.terms.fast else ()
        self.by_cells = self.hidden is not None or self.terms.fast

    @override
    def learns_rows(self, party: int) -> bool:
        return self.settings.opens == "rows" and self.terms.learns_it(party)

    # Disclosure.

    @property
    @override
    def disclosure(self) -> Disclosure:
        (asked, _, opened), bits = OPENINGS[self.settings.opens], 1 if self.hidden else self.terms.opened_bits
        values = bits if self.settings.opens == "rows" else 1
        return Disclosure(
            self._reveals,
            lambda state, step=None: {opened: 0 if state is None else values},
            Bits.once(bits),
            question=f"{asked.format(self.settings.at_least)} rows are matched {self.matched_by()}",
            subject=self.columns[0],
        )

    def _reveals(self, peer: str) -> list[str]:
        learnt = OPENINGS[self.settings.opens][1].format(self.settings.at_least)
        learns = f"{LEARNERS[self.settings.learns]} {learnt} rows have a partner"
        lines = [f"{learns} in the other's table, matched {self.matched_by()}."]
        if self.settings.learns != "both":
            lines.append("The other party learns no result.")
        elif self.settings.opens == "rows":
            lines.append(f"So {peer} learns who of the people that it enters is in our table, and the reverse.")
        if len(self._keys) > 1:
            lines.append(
                "For a matched row it also learns by which key, and whether the partner lacks the earlier keys; and "
                "each later key of a row that some row of the other party has."
            )
        lines.append(self.guesses(peer))
        if self.settings.opens == "number":
            lines.append("A party that learns the number can cheat, and so learn which of its keys match.")
        elif self.hidden:
            lines.append(
                f"If {peer} enters keys whose matches it knows but for one person, the answer tells whether this "
                "person is in our table."
            )
        lines.append(f"{peer} learns nothing else of our rows, and we nothing else of {peer}'s; sizes are padded.")
        return lines

    # Cost and run.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        from protocols.alignment.counting import COUNTABLE, count, count_hidden

        def program(engine: Any) -> None:
            if self.hidden:
                hidden.at_least(engine, count_hidden(engine, self.hidden).member, self.settings.at_least or 0)
            else:
                count(engine.session, self.terms)

        return Counted(program, is_countable=self.hidden is None or sum(self.terms.sizes) <= COUNTABLE)

    @classmethod
    @override
    def alone(cls, settings: Any, party: int) -> tuple[Self, Any, list[str]]:
        made = super().alone(settings, party)
        if settings.unmatched is not None and not made[0].learns_rows(party):
            raise InputError("--unmatched: this party learns no rows; remove it")
        return made

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Match the keys. The result is the number of matched rows if both learn it; own rows are kept apart."""
        from protocols.alignment.keys import tokens
        from protocols.alignment.matching import match

        table: TableKeys = data[0]
        own = tokens(table.keys, engine.party)
        on_step(Step(0, sum(self.terms.sizes), start, "matching keys"))
        if self.hidden:
            none = np.zeros((table.rows, 0), dtype=np.int64)
            member = hidden.match_hidden(engine, self.hidden, own, none).member
            return {"matched": None, "enough": hidden.at_least(engine, member, self.settings.at_least or 0)}
        found = (fast.match_fast if self.terms.fast else match)(engine.session, self.terms, own)
        if found is None or isinstance(found, int):
            return self.matched(engine, data, found)
        if data[1] is None:  # a command writes them; a node keeps none
            self._unmatched = table.aligned(np.setdiff1d(own.rows, own.rows[found]))
        return self.matched(engine, data, own.rows[found])

    # Result.

    @override
    def document(self, state: State) -> Document:
        unmatched = {} if self._unmatched is None else {"unmatched": self._unmatched}
        answer = {}
        if self.hidden:
            words = "at least" if state["enough"] else "fewer than"
            answer = {"reason": f"{words} {self.settings.at_least:,} rows", "enough": state["enough"]}
        return {"opens": self.settings.opens, **super().document(state), **unmatched, **answer}

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        content = lambda document: document.get("unmatched", "")  # noqa: E731
        return (*super().files(), File("unmatched.csv", "text/csv", content, "unmatched", private=True))
