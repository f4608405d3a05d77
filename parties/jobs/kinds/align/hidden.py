"""Match the rows whose keys both tables have, so that no party learns which rows they are, nor how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import override

from parties.base.console import size
from parties.base.text import listed
from parties.jobs.align.keyed import KeyAlignment
from parties.jobs.align.settings import HiddenSettings, bounds
from parties.jobs.aligned import IDENTIFIER_BYTES, AlignedRows, owners
from parties.jobs.hidden_rows import LISTENS, HiddenFile, HiddenTerms
from parties.jobs.kind import NO_BITS, Counted, Description, Disclosure, Inputs, KindSettings, OnStep, State, Step
from parties.jobs.settings import check_names
from parties.jobs.tabular import beside, file_of
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from protocols.alignment.hidden import KERNELS, HiddenMatching, match_hidden
from protocols.alignment.keys import tokens
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.align.reading import TableKeys
    from smc.engines import Engine

MOST_BYTES = 1 << 33  # of the sender's table; the peer's columns are as wide as it says
LATER = "Answers of later jobs are about the people in both tables. The terms of each job state what it discloses."


class AlignHidden(KeyAlignment):
    """Match the rows of two tables by equal keys. Neither party learns which rows match, nor how many.

    Each party gets its part of the joined rows in a private file. Give it as --aligned to commands such as id3, rank,
    rules and release count. These ask about the columns of both tables.
    """

    name = "align hidden"
    about = Description(
        "Hidden rows about people in both tables",
        "hiding",
        "--by tax_number --listener-columns income,employed --keys 100000 --aligned hidden.json",
        job_example="--by tax_number",
        afterwards="The file --aligned is private: later commands on these rows take it.",
    )
    Settings = HiddenSettings
    settings: HiddenSettings
    kernels, by_cells = KERNELS, True
    own_file = ("hidden.json", "application/json")

    def __init__(self, settings: KindSettings) -> None:
        super().__init__(settings)
        if len(self._keys) > 1:
            raise InputError("by: a hidden matching compares one key; its columns are joined by +")
        self.schema: Schema = self.settings.joint
        names, listener = self.schema.attributes, self.settings.listener_columns or ()
        check_names("listener_columns", listener, names)
        if both := [name for name in self.columns if name in names]:
            raise InputError(f"schema: has {listed(both)}, columns of the key; remove them from the schema")
        party_of = owners(self.schema, listener)
        self._own_columns = [[name for name in names if party_of[name] == party] for party in (0, 1)]
        sizes = tuple(map(len, names.values()))
        self.terms = HiddenMatching(bounds(self.settings, 1), sizes, tuple(party_of.values()))
        self.sizes = self.terms.testable
        if (table := self.terms.hint * self.terms.entry_bytes) > MOST_BYTES:  # the holder keeps it in memory
            raise InputError(
                f"schema: the rows of all keys take {size(table)}, at most {size(MOST_BYTES)} are matched; leave out "
                "columns, or lower keys"
            )

    # Making a task.

    @classmethod
    @override
    def planned(cls, settings: Any) -> Self:
        return cls(settings.model_copy(update={"joint": schemas.load(file_of(settings.schema_file, "schema"))}))

    @classmethod
    @override
    def proposed(cls, settings: Any, inputs: Inputs) -> Self:
        """Take the columns of the table and those of the peer's schema beside it."""
        table, schema = inputs.required()
        if table.beside is None:
            raise InputError("align hidden: name the peer's schema file as `beside` in [tables.NAME] for its columns")
        joint, listener = beside(schema, table.beside, inputs.party)
        return super().proposed(settings.model_copy(update={"joint": joint, "listener_columns": listener}), inputs)

    @classmethod
    @override
    def _settings_in(cls, specification: Mapping[str, Any]) -> KindSettings:
        joint = Schema.from_public(specification.get("schema"))
        return super()._settings_in(specification).model_copy(update={"joint": joint})

    @override
    def specification(self) -> dict[str, Any]:
        terms = {"schema": self.schema.public(), "listener_columns": self._own_columns[0]}
        return super().specification() | terms

    # Its description.

    @override
    def learns_rows(self, party: int) -> bool:
        return True  # its part of them, which shows nothing

    @property
    @override
    def columns_read(self) -> tuple[str, ...]:
        return (*self.columns, *self.schema.attributes)

    @override
    def columns_of(self, party: int) -> tuple[str, ...]:
        return (*self.columns, *self._own_columns[party])

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        own = self.schema.only(self._own_columns[inputs.party])
        return super().misfit(inputs) or inputs.required()[1].misfit(own)

    @override
    def remarks(self, inputs: Inputs) -> list[str]:
        return []

    @property
    @override
    def disclosure(self) -> Disclosure:
        return Disclosure(
            lambda peer: [
                f"Rows are matched {self.matched_by()}. Neither party learns which match, nor how many.",
                f"The party that listens gives {listed(self._own_columns[0])}; the party that dials gives "
                f"{listed(self._own_columns[1])}. Each party's file shows nothing of the other's.",
                self.guesses(peer),
                LATER,
                f"{peer} learns nothing else of our rows, and we nothing else of {peer}'s; sizes are padded.",
            ],
            lambda state, step=None: {},
            NO_BITS,
            question=f"hidden rows {self.matched_by()}, for later jobs",
            subject=self.columns[0],
            opens_nothing=True,
        )

    # Cost and run.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        from protocols.alignment.counting import COUNTABLE, count_hidden

        is_countable = sum(self.terms.sizes) <= COUNTABLE
        return Counted(lambda engine: count_hidden(engine, self.terms), is_countable=is_countable)

    @override
    def _read(self, place: PlaceSettings, party: int) -> TableKeys:
        """Return the keys, with the own columns of each row that enters one."""
        table = super()._read(place, party)
        assert isinstance(place, TableSettings)
        raw = [tuple(cell or "" for cell in row) for row in zip(*table.cells, strict=True)]
        rows = AlignedRows(place.label, "", table.columns, raw)
        return replace(table, values=rows.cells_in(place, self.schema, self._own_columns[party])[0])

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Match the keys. The result is public; this party's part of the rows is kept apart.

        Nodes repeat a session whose end one of them has lost. The result must not change, so it names no session.
        """
        table, keep = data
        on_step(Step(0, sum(self.terms.sizes), start, "matching keys"))
        rows = match_hidden(engine, self.terms, tokens(table.keys, engine.party), table.values)
        state = {"alignment": engine.session.identifier[:IDENTIFIER_BYTES].hex()}
        text = HiddenFile("", engine.party, self.matched_rows(state), rows).text()
        if keep is None:
            self._own = text  # a command writes it
            return state
        keep(text)
        return {}

    # Result.

    @override
    def matched_rows(self, state: State) -> HiddenTerms:
        listener, holder = tuple(self._own_columns[0]), LISTENS[self.terms.holder]
        return HiddenTerms(state.get("alignment", ""), self.schema, listener, holder, self.terms.bins)

    @override
    def document(self, state: State) -> dict[str, Any]:
        own = {} if self._own is None else {"own": self._own}
        return {"bins": self.terms.bins, "holder": LISTENS[self.terms.holder], **state, **own}

    @classmethod
    @override
    def text(cls, document: dict[str, Any], party: int) -> str:
        bins = f"{document['bins']:,} bins of the {document['holder']}, each with a row or none"
        return f"matched: which rows, and how many, stays hidden. Later jobs read {bins}\n"
