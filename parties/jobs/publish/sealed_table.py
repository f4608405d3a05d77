"""Joint table whose numbers are shares, sealed to the key of a third party.

Both parties receive the same file, which neither can read. Small cells are determined in secret by exact numbers and
opened; the further cells to hide follow from them (`parties.alone.publish.hiding.patterns`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.base.canonical import job_digest
from parties.base.extras import install_line, installed
from parties.base.settings import required
from parties.jobs.kind import Bits, Counted, Disclosure, Document, Inputs, OnStep, State, Step, nothing_else_of_rows
from parties.jobs.publish import analyst
from parties.jobs.publish.table import TableOfBoth
from parties.jobs.publish.table_settings import NAME, JointTableSettings
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from smc.errors import InputError, JointRefusalError

if TYPE_CHECKING:
    from smc.engines import Engine


class SealedTable(TableOfBoth):
    """A joint table of exact numbers, for an analyst alone."""

    @classmethod
    @override
    def of(cls, settings: JointTableSettings, schema: Schema) -> Self:
        assert settings.analyst is not None
        return cls(settings.model_copy(update={"analyst": analyst.canonical_text(settings.analyst)}), schema)

    @property
    @override
    def lacking(self) -> str:
        """Reason why party 0 cannot find the cells to hide; empty if it can."""
        if installed("scipy"):
            return ""
        return f"party 0 finds the cells to hide, which takes a solver: {install_line('tables')}"

    @property
    def _shows_zeros(self) -> bool:
        return self.settings.zeros == "shown"

    @override
    def lacks_file(self) -> bool:
        return self.settings.out is None

    @property
    def _analyst(self) -> str:
        return required(self.settings.analyst, f"{NAME}.analyst")

    @property
    @override
    def disclosure(self) -> Disclosure:
        return Disclosure(
            self._reveals,
            self._opened,
            # which cells are small, which are empty, and the numbers that the analyst sees
            Bits.once(self.cells * (1 + self._shows_zeros + self.part.opened_width)),
            exact="whoever holds the analyst's key and one party's rows has the other's numbers",
            question=self.question,
            subject=self.axes[-1],
            analyst=analyst.of(self._analyst),
        )

    def _reveals(self, peer: str) -> list[str]:
        s = self.settings
        each = "we or the peer have" if s.against == "peer" else "we and the peer together have"
        few = f"1 to {s.threshold - 1:,} rows" if self._shows_zeros else f"fewer than {s.threshold:,} rows"
        empty = ", and which are empty" if self._shows_zeros else ""
        lines = [
            f"We and {peer} both learn in which cells and totals {each} {few}{empty}. These answers are exact: they "
            "cost no epsilon, but their bits are counted.",
            "Neither of us learns a number from these answers alone. The exact numbers of the other cells are sealed "
            f"to the key of {analyst.in_full(self._analyst)}.",
            f"Whoever holds that key and one party's rows has the other's numbers: {peer} has ours if it gets the key.",
        ]
        if s.against == "public":
            lines.append(
                "A party can subtract its own rows from a cell: nothing is promised for the other's rows alone."
            )
        return [*lines, *self.rounded, *nothing_else_of_rows(peer, s.max_rows)]

    def _opened(self, state: State, step: int | None = None) -> dict[str, int]:
        cells, visible = (0, 0) if state is None else (self.cells, state["hidden"].count("0"))
        return {
            "whether a cell is small": cells,
            "whether a cell is empty": cells if self._shows_zeros else 0,
            "masked number": visible,
        }

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        """Return the exact cost if the number of hidden cells is given; they are not opened, so they lower it."""
        from protocols.publish.small_cells import cell_states, chosen

        hidden = 0 if extra is None else extra.hidden
        if hidden >= self.cells:
            raise InputError(f"--hidden: the table has {self.cells} cells with totals; at least one must stay visible")
        hidden_cells, zeros = np.arange(self.cells) < hidden, np.zeros((2, self.cells), dtype=np.int64)

        def program(engine: Engine) -> object:
            states = cell_states(engine, self.problem, zeros[0])
            chosen(engine, states, hidden_cells if engine.party == 0 else None)
            return self._leave(engine, zeros[1], hidden_cells)

        counted = Counted(program, "at most", "a table of which no cell is hidden", asked=lambda: (2 * self.cells,))
        return replace(counted, estimate="exact", of=f"a table with {hidden} hidden cells") if hidden else counted

    @override
    def run(self, engine: Engine, data: Numbers, start: State, on_step: OnStep) -> State:
        from parties.alone.publish.hiding.patterns import hide_by_pattern
        from protocols.publish.small_cells import ENOUGH, cell_states, chosen

        on_step(Step(0, self.cells, start, "finding small cells"))
        states, threshold = cell_states(engine, self.problem, data[0]), self.settings.threshold
        if states[-1] != ENOUGH:
            raise JointRefusalError(f"there are fewer than {threshold:,} rows: nothing can be published")
        pattern = None
        if engine.party == 0:
            table = states.reshape(self.shape)
            pattern = hide_by_pattern(table, threshold, self._shows_zeros).reshape(-1)
        hidden = chosen(engine, states, pattern)
        if hidden.all():
            raise JointRefusalError(
                "every cell would be hidden, so nothing can be published; choose columns with fewer values"
            )
        return self._leave(engine, data[1], hidden)

    def _leave(self, engine: Engine, our_numbers: Numbers, hidden: NDArray[np.bool_]) -> State:
        state: dict[str, Any] = {"hidden": "".join(map(str, hidden.astype(int)))}
        from parties.alone.publish.sealing import sealed, sealing
        from protocols.publish.small_cells import masked_sums

        masked, mine = masked_sums(engine, our_numbers[~hidden], self.part.width)
        state["masked"] = sealed.packed(masked).hex()
        certificate = analyst.certificate(self._analyst)
        seed = engine.session.contributions.bytes(sealing.SEED_BYTES).tobytes()
        share = sealed.sealed_share(self._head(state), analyst.public_key(certificate), engine.party, mine, seed)
        with engine.session.phase("sealed shares"):
            engine.session.send("sealed", np.frombuffer(share, dtype=np.uint8))
            theirs = engine.session.receive("sealed", np.uint8, (len(share),)).tobytes()
        pair = (share, theirs) if engine.party == 0 else (theirs, share)
        return {**state, "shares": [share_bytes.hex() for share_bytes in pair]}

    def _head(self, state: State) -> Document:
        """Return a sealed table without its shares (`parties.alone.publish.sealing.sealed`)."""
        from parties.alone.publish.sealing.sealed import FORMAT

        digits = 0
        while (self.unit * 10**digits).denominator > 1:  # terminates, since values are decimal numbers
            digits += 1
        return {
            "format": FORMAT,
            **self.head,
            "job": job_digest(self.specification()),
            "analyst": analyst.in_short(self._analyst),
            "units": {"factor": int(self.unit * 10**digits), "digits": digits},
            "hidden": self.lines(state["hidden"]),
            "width": self.part.opened_width,
            "masked": state["masked"],
        }

    @override
    def document(self, state: State) -> Document:
        return {**self._head(state), "shares": state["shares"]}
