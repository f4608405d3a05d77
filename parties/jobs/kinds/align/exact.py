"""Find the rows whose keys both tables have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import override

from parties.base.extras import installed
from parties.base.settings import required
from parties.base.text import listed
from parties.jobs.align.reading import OwnKeys, own_keys, place_of, read_table
from parties.jobs.align.settings import LEARNERS, NAME, AlignSettings, bounds, forms_of, key_columns, terms_of
from parties.jobs.aligned import row_column
from parties.jobs.inputs import AwayError
from parties.jobs.kind import (
    Bits,
    Counted,
    Description,
    Disclosure,
    Document,
    File,
    Inputs,
    Kind,
    KindSettings,
    OnStep,
    Opened,
    State,
    Step,
)
from parties.tables.unfit import without_cells
from protocols.alignment.keys import tokens_per_row
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine


class AlignExact(Kind):
    """Find the rows of two tables that have equal keys: which, or only how many.

    Keys are compared in a public normal form. Doubles are refused. `smc align check` looks at your keys before.
    """

    name = NAME
    about = Description(
        "Rows about people in both tables",
        "alignment",
        "--by tax_number,name+born --forms name=accents+case,born=date:dmy",
        estimate_example="--by tax_number --keys 100000",
        afterwards="The file --aligned lists the keys of your matched rows, in an order that both parties share.",
    )
    private_fields = ("own",)
    Settings = AlignSettings
    settings: AlignSettings

    def __init__(self, settings: KindSettings) -> None:
        super().__init__(settings)
        self._keys = key_columns(required(self.settings.by, f"{NAME}.by"))
        self._forms = forms_of(self.settings, self.columns)
        self.terms = terms_of(self.settings, len(self._keys))
        self._number: int | None = None  # of matched rows, after a run of a command that learns it
        self._own: str | None = None  # their keys as CSV, if it learns them

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for key in self._keys for name in key))

    @override
    def specification(self) -> Document:
        lists = {name: list(value) for name in ("by", "forms") if (value := getattr(self.settings, name)) is not None}
        return super().specification() | lists

    @override
    def parameters(self) -> dict[str, Any]:
        values = super().parameters() | {"listener_keys": self.settings.listener_keys or self.settings.keys}
        return {name: ", ".join(v) if isinstance(v, tuple) else v for name, v in values.items()}

    @property
    @override
    def reads_table(self) -> bool:
        return True

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """Return the reason if the table may have more rows than agreed, or a normal form needs a package."""
        table, _ = inputs.required()
        if table.max_rows > bounds(self.settings)[inputs.party]:
            name = "listener_keys" if inputs.party == 0 and self.settings.listener_keys else "keys"
            least = table.max_rows * tokens_per_row(len(self._keys))
            return f"{name} of the job must be at least {least}, by the public bound of the table here"
        if not installed(*(package for form in self._forms.values() for package in form.needs)):
            return "the normal form of telephone numbers needs a package that is not installed here"
        return None

    @override
    def remarks(self, inputs: Inputs) -> list[str]:
        table, _ = inputs.required()
        theirs = self.terms.sizes[1 - inputs.party]
        if theirs <= table.max_rows:
            return []
        return [
            f"The peer may test {theirs:,} people for membership, {theirs / table.max_rows:.3g} times the rows of this "
            "table."
        ]

    # Disclosure.

    def _matched(self) -> str:
        keys = listed(["+".join(key) for key in self._keys], len(self._keys))
        return f"by {keys}" if len(self._keys) == 1 else f"by the first key that both rows have of {keys}"

    @property
    @override
    def disclosure(self) -> Disclosure:
        terms, rows = self.terms, self.settings.opens == "rows"
        opened = "whether a key is common" if rows else "number of common keys"
        return Disclosure(
            self._reveals,
            lambda state, step=None: {opened: 0 if state is None else terms.opened_bits if rows else 1},
            Bits.once(terms.opened_bits),
            question=f"which rows are matched {self._matched()}"
            if rows
            else f"how many rows are matched {self._matched()}",
            subject=self.columns[0],
        )

    def _reveals(self, peer: str) -> list[str]:
        left, right = self.terms.sizes
        what = (
            "which of its own rows have a partner" if self.settings.opens == "rows" else "how many rows have a partner"
        )
        lines = [f"{LEARNERS[self.settings.learns]} {what} in the other's table, matched {self._matched()}."]
        if self.settings.learns != "both":
            lines.append("The other party learns no result.")
        elif self.settings.opens == "rows":
            lines.append(f"So {peer} learns who of the people that it enters is in our table, and the reverse.")
        if len(self._keys) > 1:
            lines.append(
                "For a matched row it also learns by which key, and whether the partner lacks the earlier keys; and "
                "each later key of a row that some row of the other party has."
            )
        guess = f"{peer} can enter guessed keys: up to {left:,} people if it listens"
        lines.append(f"{guess}, up to {right:,} if it dials.")
        if self.settings.opens == "number":
            lines.append("A party that learns the number can cheat, and so learn which of its keys match.")
        lines.append(f"{peer} learns nothing else of our rows, and we nothing else of {peer}'s; sizes are padded.")
        return lines

    # Cost and run.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        def program(engine: Any) -> None:
            from protocols.alignment.counting import count

            count(engine.session, self.terms)

        return Counted(program)

    @classmethod
    @override
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> Self:
        """Use the keys of the table's bound unless the job has its own."""
        table, _ = inputs.required()
        if "keys" not in settings.model_fields_set:
            each = tokens_per_row(max(1, len(getattr(settings, "by", None) or ())))
            settings = settings.model_copy(update={"keys": table.max_rows * each})
        return cls(settings)

    @classmethod
    @override
    def alone(cls, settings: Any, party: int) -> tuple[Self, Any, list[str]]:
        """Return the task with this party's keys read from a file or table."""
        task, place = cls.planned(settings), place_of(settings)
        if settings.aligned is not None and not (settings.opens == "rows" and task.terms.learns_it(party)):
            raise InputError("--aligned: this party learns no rows; remove it")
        table = read_table(place, settings)
        return task, (own_keys(table, settings, party, place), None), []

    @override
    def of_nobody(self) -> Any:
        raise InputError("align: both parties need rows")

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        """Read the keys of the table."""
        table, _ = inputs.required()
        try:
            read = read_table(table, self.settings)
        except InputError as error:
            raise AwayError(without_cells(error)) from None
        keys = own_keys(read, self.settings, inputs.party, table)
        yield Opened((keys, inputs.keep), keys.fingerprint)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Match the keys. The result is the number of matched rows if both learn it; own rows are kept apart."""
        from protocols.alignment.matching import match

        keys: OwnKeys
        keys, keep = data
        on_step(Step(0, sum(self.terms.sizes), start, "matching keys"))
        found = match(engine.session, self.terms, keys.tokens)
        both = self.settings.learns == "both"
        if found is None:
            return {"matched": None}
        number = found if isinstance(found, int) else len(found)
        own = None if isinstance(found, int) else keys.aligned(found, row_column(engine.session.identifier))
        if keep is None:
            self._number, self._own = number, own  # a command writes them
        elif own is not None or not both:
            keep(f"{number}\n" if own is None else own)
        return {"matched": number if both else None}

    # Result.

    @override
    def document(self, state: State) -> Document:
        matched = state["matched"] if self._number is None else self._number
        more = {"reason": f"only {LEARNERS[self.settings.learns].lower()} it"} if matched is None else {}
        if self._own is not None:
            more |= {"keys": "the file of --aligned has the keys of your matched rows", "own": self._own}
        return {"by": ["+".join(key) for key in self._keys], "opens": self.settings.opens, "matched": matched, **more}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        number = document["matched"]
        if number is None:
            return f"matched: {document['reason']}\n"
        return f"matched: {number:,} {'row' if number == 1 else 'rows'}\n"

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        """Add the keys of own matched rows."""
        return (
            *super().files(),
            File("aligned.csv", "text/csv", lambda document: document.get("own", ""), "aligned", private=True),
        )
