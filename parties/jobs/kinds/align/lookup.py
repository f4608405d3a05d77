"""Look a few keys up in the other party's long list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from typing_extensions import override

from parties.base.settings import required
from parties.jobs.align import kept_list
from parties.jobs.align.keyed import KeyAlignment
from parties.jobs.align.reading import TableKeys
from parties.jobs.align.settings import LEARNERS, LookupSettings, bounds
from parties.jobs.hidden_rows import LISTENS
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
from protocols.alignment.lookup import List, Lookup
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine


class AlignLookup(KeyAlignment):
    """Find out which of your keys are in the other party's long list. The list is sent once.

    Each key of the list is sent as its value under a secret function, which only the list's owner can compute. Later
    runs with --list kept do not send the list again, and take seconds.
    """

    name = "align lookup"
    about = Description(
        "Keys in a long list",
        "lookup",
        "--by tax_number --learns dialler --listener-keys 10000000 --keys 1000 --kept list.npz",
        estimate_example="--by tax_number --learns dialler --listener-keys 10000000 --keys 1000",
        job_example="--by tax_number --learns dialler",
        afterwards="The file --aligned of the party that asks lists the keys of its rows that the list has.",
    )
    Settings = LookupSettings
    settings: LookupSettings

    def __init__(self, settings: KindSettings) -> None:
        super().__init__(settings)
        if len(self._keys) > 1:
            raise InputError("by: a lookup compares one key; its columns are joined by +")
        asks = LISTENS.index(required(self.settings.learns, f"{self.name}.learns"))
        rows = bounds(self.settings, 1)
        self.terms = Lookup(rows[1 - asks], rows[asks], asks, self.settings.list_ == "sent")
        self.sizes = (0, self.terms.asked) if asks else (self.terms.asked, 0)
        self._kept: List | None = None  # the list of an earlier run
        self._made: str | None = None  # its date

    @override
    def learns_rows(self, party: int) -> bool:
        return party == self.terms.asks

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """Return the reason if a list is kept, or the table does not fit."""
        if not self.terms.is_sent:
            return "list = kept runs by hand only, as nodes keep no lists; ask for list = sent"
        return super().misfit(inputs)

    # Disclosure.

    @property
    @override
    def disclosure(self) -> Disclosure:
        return Disclosure(
            self._reveals,
            lambda state, step=None: {"whether a key is listed": 0 if state is None else self.terms.asked},
            Bits.once(self.terms.asked),
            question=f"which keys are in a list {self.matched_by()}",
            subject=self.columns[0],
        )

    def _reveals(self, peer: str) -> list[str]:
        asker = LEARNERS[LISTENS[self.terms.asks]].removesuffix(" learns")
        return [
            f"{asker} learns which of its keys are in the other party's list, matched {self.matched_by()}.",
            "The owner of the list learns no result.",
            f"{asker} can ask for guessed keys, at most {self.terms.asked:,} people a run.",
            f"It keeps a list of {self.terms.listed:,} entries, which tells nothing without an answer of the owner.",
            f"{peer} learns nothing else of our rows, and we nothing else of {peer}'s; sizes are padded.",
        ]

    # Cost and run.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        def program(engine: Any) -> None:
            from protocols.alignment.counting import count_lookup

            count_lookup(engine.session, self.terms)

        return Counted(program)

    @classmethod
    @override
    def alone(cls, settings: Any, party: int) -> tuple[Self, Any, list[str]]:
        """Return the task with this party's keys, or for the owner of a kept list without them."""
        owns_kept = settings.list_ == "kept" and settings.learns == LISTENS[1 - party]
        if owns_kept and settings.aligned is not None:
            raise InputError("--aligned: this party learns no rows; remove it")
        made = (cls.planned(settings), (None, None), []) if owns_kept else super().alone(settings, party)
        if settings.list_ == "kept":
            made[0]._kept, made[0]._made = kept_list.read(settings, made[0].terms, owns_kept)
        return made

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Look the keys up. The result is empty for both: the rows of the party that asks are kept apart."""
        from protocols.alignment.keys import tokens
        from protocols.alignment.lookup import look_up

        table: TableKeys | None = data[0]
        own = None if table is None else tokens(table.keys, engine.party)
        on_step(Step(0, self.terms.asked, start, "looking keys up"))
        kept, found = look_up(engine.session, self.terms, [] if own is None else own.texts, self._kept)
        if self.terms.is_sent and self.settings.kept is not None:
            kept_list.write(self.settings, kept)
        return self.matched(engine, data, None if own is None or found is None else own.rows[found])

    @override
    def document(self, state: State) -> Document:
        return super().document(state) | ({} if self._made is None else {"list_of": self._made})
