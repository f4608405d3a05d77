"""Base class of alignments: own keys, their bounds, and the files of matched rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self

from typing_extensions import override

from parties.base.canonical import canonical
from parties.base.extras import installed
from parties.base.text import quoted
from parties.jobs.align.reading import TableKeys, check_rows, place_of, problems, read_table
from parties.jobs.align.settings import LEARNERS, AlignSettings, bounds, columns_of, forms_of
from parties.jobs.aligned import row_column
from parties.jobs.inputs import AwayError
from parties.jobs.kind import Document, File, Inputs, Kind, KindSettings, Opened, State
from parties.sources.settings import PlaceSettings
from parties.tables.unfit import without_cells
from protocols.alignment.forms import Form, table_versions
from protocols.alignment.keys import Rows
from smc.errors import InputError
from smc.kernels.warm import warm

if TYPE_CHECKING:
    from parties.jobs.hidden_rows import HiddenTerms
    from smc.engines import Engine


VERSIONS = "normal_form_versions"  # key of a specification: those of the packages behind its normal forms


class Alignment(Kind):
    """Base class of alignments. `keys` lists the columns of each key."""

    private_fields: ClassVar[tuple[str, ...]] = ("own",)
    kernels: tuple[str, ...] = ()  # modules of `smc.kernels` that a run calls
    own_file: ClassVar[tuple[str, str]] = ("aligned.csv", "text/csv")  # name and media type of the private result
    lists: ClassVar[tuple[str, ...]] = ("forms",)  # settings that are lists
    settings: AlignSettings
    sizes: tuple[int, int]  # number of people that party 0 and party 1 can enter
    by_cells = False  # whether vector OLE bounds `sizes`: then they are numbers of cells, not of agreed keys

    def __init__(self, settings: KindSettings, keys: list[tuple[str, ...]], further: Iterable[Form] = ()) -> None:
        super().__init__(settings)
        self._keys = keys
        self._forms = forms_of(self.settings, self.columns)
        self._normal_forms = [*self._forms.values(), *further]
        self._versions: Any = table_versions(self._normal_forms)  # the proposer's, in a job of nodes
        self._number: int | None = None  # of matched rows, after a run of a command that learns it
        self._own: str | None = None  # their keys as CSV, if it learns them

    @classmethod
    @abstractmethod
    def per_row(cls, settings: Any) -> int:
        """Return the number of `keys` that a row takes."""

    @abstractmethod
    def learns_rows(self, party: int) -> bool:
        """Return whether a party learns its matched rows."""

    def more_problems(self, table: TableKeys) -> list[str]:
        """Return further reasons why a table cannot take part."""
        return []

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return columns_of(self._keys)

    @override
    def specification(self) -> Document:
        lists = {name: list(value) for name in self.lists if (value := getattr(self.settings, name)) is not None}
        versions = {VERSIONS: self._versions} if self._versions else {}
        return super().specification() | lists | versions

    @classmethod
    @override
    def agreed(cls, specification: Mapping[str, Any]) -> Self:
        task = super().agreed(specification)
        task._versions = specification.get(VERSIONS, {})
        return task

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
        each = self.per_row(self.settings)
        if table.max_rows > bounds(self.settings, each)[inputs.party]:
            name = "listener_keys" if inputs.party == 0 and self.settings.listener_keys else "keys"
            return f"{name} of the job must be at least {table.max_rows * each}, by the public bound of the table here"
        if not installed(*(package for form in self._normal_forms for package in form.needs)):
            return "the normal form of telephone numbers needs a package that is not installed here"
        if (ours := table_versions(self._normal_forms)) != self._versions:
            theirs = quoted(canonical(self._versions), 200)
            return (
                f"keys have normal forms by {canonical(ours)} here, by {theirs} in the job; install the same versions"
            )
        return None

    @override
    def remarks(self, inputs: Inputs) -> list[str]:
        table, _ = inputs.required()
        theirs = self.sizes[1 - inputs.party]
        if theirs <= table.max_rows:
            return []
        return [
            f"The peer may test {theirs:,} people for membership, {theirs / table.max_rows:.3g} times the bound "
            "on this table's rows."
        ]

    def guesses(self, peer: str) -> str:
        """Return the sentence about the people that a peer can enter."""
        left, right = self.sizes
        return f"{peer} can enter guessed keys: up to {left:,} people if it listens, up to {right:,} if it dials."

    # Own rows.

    @classmethod
    @override
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> Self:
        """Use the keys of the table's bound unless the job has its own."""
        table, _ = inputs.required()
        if "keys" not in settings.model_fields_set:
            settings = settings.model_copy(update={"keys": table.max_rows * cls.per_row(settings)})
        return cls(settings)  # type: ignore[call-arg]

    @classmethod
    @override
    def alone(cls, settings: Any, party: int) -> tuple[Self, Any, list[str]]:
        task, place = cls.planned(settings), place_of(settings)
        if settings.aligned is not None and not task.learns_rows(party):
            raise InputError("--aligned: this party learns no rows; remove it")
        warm(task.kernels)  # compiles them before the peer waits
        return task, (task._read(place, party), None), []

    def _read(self, place: PlaceSettings, party: int) -> TableKeys:
        table = read_table(place, self._keys, self._forms)
        most = bounds(self.settings, self.per_row(self.settings))[party]
        check_rows(table, place, [*problems(table, most), *self.more_problems(table)])
        return table

    @override
    def of_nobody(self) -> Any:
        raise InputError("align: both parties need rows; give yours with --data or a table")

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        place, _ = inputs.required()
        try:
            table = self._read(place, inputs.party)
        except InputError as error:
            raise AwayError(without_cells(error)) from None
        yield Opened((table, inputs.keep), table.fingerprint)

    # Result.

    @override
    def matched_rows(self, state: State) -> int | HiddenTerms | None:
        return state["matched"] if self.learns_rows(0) and self.learns_rows(1) else None

    def matched(self, engine: Engine, data: Any, found: Rows | int | None) -> State:
        """Keep the own matched rows, or their number, apart. Return the result: the number if both learn it.

        Args:
            engine: The engine of the session.
            data: The own keys, and a function that keeps a text; None for a command.
            found: The own matched rows, or their number; None if this party learns nothing.
        """
        table, keep = data
        if found is None:
            return {"matched": None}
        both = self.settings.learns == "both"
        number = found if isinstance(found, int) else len(found)
        own = None if isinstance(found, int) else table.aligned(found, row_column(engine.session.identifier))
        if keep is None:
            self._number, self._own = number, own  # a command writes them
        elif own is not None or not both:
            keep(f"{number}\n" if own is None else own)
        return {"matched": number if both else None}

    @override
    def document(self, state: State) -> Document:
        matched = state["matched"] if self._number is None else self._number
        more = {"reason": f"only {LEARNERS[self.settings.learns].lower()} it"} if matched is None else {}
        if self._own is not None:
            more |= {"keys": "the file of --aligned has the keys of your matched rows", "own": self._own}
        return {"matched": matched, **more}

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
        own = File(*cls.own_file, lambda document: document.get("own", ""), "aligned", private=True)
        return (*super().files(), own)
