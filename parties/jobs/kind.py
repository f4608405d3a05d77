"""Interface of a kind of job for commands, nodes, pages, the policy and the records.

A kind is a class in its own file. An object of it is one task, in terms that are public between the parties. Commands
and nodes use this interface and name no kind. `parties.jobs.kinds` finds the built-in kinds and those of other
packages.

The *state* of a task is the value of all public decisions so far: None at the beginning, the result at the end. A kind
of several steps (ID3: levels) has states between, from which an interrupted run continues.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import ValidationError

from parties.base.canonical import canonical
from parties.base.settings import Settings, merge, required
from parties.jobs.inputs import Inputs, Opened
from parties.jobs.result_files import SVG, Document, Drawing, File, json_text, svg_file
from parties.jobs.sentences import (
    CONSTANT_AS_GOOD,
    adjacency_of,
    changes,
    hidden,
    nothing_else,
    nothing_else_of_either,
    nothing_else_of_rows,
    of_people,
)
from parties.jobs.settings import (
    ENGINE,
    KindSettings,
    Parameter,
    private_parameters,
    public_parameters,
    shared_parameters,
)
from parties.jobs.spending import EXACT, KEPT_BY_NODES, Adjacency, ConcentratedLoss, Loss, PureLoss, exact
from smc.errors import InputError, JointRefusalError

if TYPE_CHECKING:  # slow imports happen where they are used, if possible while waiting for the peer
    from parties.jobs.hidden_rows import HiddenTerms
    from smc.counting import CountingEngine, Program
    from smc.engines import Engine, Profile

State = Any


@dataclass(frozen=True)
class Step:
    """The beginning of step `number` of a run: it decides `size` items at once, from `state`.

    `words` describes the step in the progress line.
    """

    number: int
    size: int
    state: State
    words: str


class LargerThanForecastError(JointRefusalError):
    """A run of more bytes than allowed, both ways together. Both parties stop before the same step, at one `state`."""

    def __init__(self, problem: str, state: State, spent: int, allowing: Callable[[int], Kind]) -> None:
        super().__init__(problem)
        self.state = state
        self.spent = spent  # bytes, both ways
        self.allowing = allowing  # the task with another limit of bytes


OnStep = Callable[[Step], object]
Estimate: TypeAlias = Literal["exact", "at most", "typical"]


@dataclass(frozen=True)
class Counted:
    """A program for a counting engine, and how its cost compares with that of a run.

    `estimate` is "exact" if each unbroken run has this cost, and "at most" if no run takes more bytes, messages, rounds
    or gates. It is "typical" for a guess: a run may cost more or less.
    """

    program: Program
    estimate: Estimate = "exact"
    of: str | Callable[[], str] = ""  # see `assumed`; a function where the text takes time
    most: Callable[[Profile], int | None] = lambda profile: None  # maximum bytes of any run, both directions together
    is_countable: bool = True  # False if counting takes too long: a peer may propose anything
    asked: Callable[[], Sequence[int]] = tuple  # how many numbers each question to a holder of rows asks, in turn

    def on_shares(self) -> Self:
        """Return the cost of the run on shares of the rows of further holders. No bound on its bytes is known."""

        def program(engine: CountingEngine) -> object:
            engine.masked_numbers = True
            return self.program(engine)

        return replace(self, program=program, most=lambda profile: None)

    @property
    def assumed(self) -> str:
        """Description of the counted run; empty if it stands for every run."""
        return self.of if isinstance(self.of, str) else self.of()

    def __str__(self) -> str:
        assumed = self.assumed
        return self.estimate + (f", for {assumed}" if assumed else "")


@dataclass(frozen=True)
class States:
    """Functions on the states of a task. By default it has one step, and its states are None and the result."""

    beginning: State = None
    steps: Callable[[Any], int] = lambda state: 0 if state is None else 1  # the number of decided steps
    is_done: Callable[[Any], bool] = lambda state: state is not None  # True if all is decided
    cut: Callable[[Any, int], State] = lambda state, steps: state if steps else None  # the state after some steps
    encode: Callable[[Any], Any] = lambda state: state  # as JSON; null for the beginning
    decode: Callable[[Any], State] = lambda value: value  # the inverse


@dataclass(frozen=True)
class Bits:
    """The maximum numbers of bits of exact answers that a run opens about rows, from public values.

    A decision counts one bit, an index as many bits as it takes, an exact number its width. Noisy values count none.
    """

    of_step: Callable[[Step], int]  # known before the step begins
    at_most: int | None  # of the whole run; None if it is known step by step only
    at_least: int = 0  # that must be left before the run begins: all of them, if a part of the run is worthless

    @classmethod
    def once(cls, bits: int) -> Self:
        """Return the bits of a run of one step."""
        return cls(lambda step: bits, bits, bits)


NO_BITS = Bits(lambda step: 0, 0)  # all answers have noise, or the operators type the data


@dataclass(frozen=True)
class Disclosure:
    """The values that a run opens, and their cost for each table's privacy.

    The sentences for consent, the charge of the budget, the request to the policy and the records follow from it.
    """

    reveals: Callable[[str], list[str]]  # from the peer's name: a sentence for each disclosure, values and recipient
    opened: Callable[..., dict[str, int]]  # from the last state, and a step or None for all: the values, by description
    bits: Bits
    spends: tuple[Loss, ...] = ()  # of each party's privacy budget, one after the other; none if nothing has noise
    opens_exact_too: bool = False  # True if it opens exact answers beside those that spend
    exact: str = ""  # the effect of a joint number without noise, such as `EXACT`; empty if none is opened
    question: str = ""  # the question, a phrase; empty for the title
    subject: str = ""  # the main column, mostly the target; empty if there is none
    opens_nothing: bool = False  # True if the run only makes shares for later jobs
    analyst: str = ""  # the fingerprint of the certificate that numbers are sealed to; empty if there is none

    @property
    def past_budget(self) -> bool:
        """True unless all opened values have noise, or none is opened.

        A table with a budget needs a rule for exact values of its rows.
        """
        return self.opens_exact_too or not (self.spends or self.opens_nothing)


def opened_steps(is_done: Callable[[Any], bool]) -> States:
    """Return the `States` of a task whose states are the opened integers, a tuple for each step."""
    return States(
        (),
        len,
        is_done,
        lambda state, steps: state[:steps],
        lambda state: [list(step) for step in state] or None,
        lambda value: tuple(tuple(map(int, step)) for step in value or ()),
    )


def shown_parameters(task: Kind) -> dict[str, Any]:
    """Return the parameters for a job's view: a task without rows has no `at_most`."""
    public = task.parameters()
    return public if task.reads_table else {name: public[name] for name in public if name != "at_most"}


def people(task: Kind) -> list[str]:
    """Return the sentences about people: which of their rows take part."""
    return [] if task.at_most is None else of_people(task.at_most, bool(task.disclosure.spends))


def revealed(task: Kind, peer: str) -> list[str]:
    """Return the sentences of consent: each disclosure, the rows of people, and the effect of exact numbers.

    Args:
        task: The job.
        peer: Name of the peer.
    """
    exact = task.disclosure.exact
    return [
        *task.disclosure.reveals(peer),
        *people(task),
        *([f"It is exact, without noise: {exact}."] if exact else []),
    ]


def asked(task: Kind) -> tuple[Parameter, ...]:
    """Return the parameters whose values the operator types."""
    return () if task.reads_table else private_parameters(task.Settings)


def refusal(task: Kind, inputs: Inputs) -> str | None:
    """Return the reason why this party cannot take part, or None.

    Args:
        task: The job. Job and table must both be about people with one bound, or both about rows.
        inputs: This party's table and files.

    Returns:
        A sentence that the peer may read. It depends on public bounds, never on a row.
    """
    job = task.at_most
    if not task.reads_table:
        return None if job is None else "at_most of the job is of a table's rows, and it reads none"
    table = inputs.required()[0].at_most
    if job == table:
        return task.misfit(inputs)
    if table is None:
        return f"at_most of the job is {job}, but the table here is of rows, not of people"
    if "at_most" not in task.Settings.model_fields:
        return f"the table here is of people, at most {table} rows of each, and this kind of job hides rows only"
    return f"at_most of the job must be {table}, the bound on the rows of a person in the table here"


def digest(task: Kind, state: State) -> bytes:
    """Return the SHA-256 of a state.

    Args:
        task: The job.
        state: State of the job, see `States`.
    """
    return hashlib.sha256(canonical({task.about.noun: task.states.encode(state)}).encode()).digest()


@dataclass(frozen=True)
class Description:
    """The facts about a kind that commands, pages and records show.

    An example is the flags of the command, without those of own rows and of --config. The examples of `smc estimate`
    and `smc submit` are the flags of `example` that these commands have, unless others are given. The example of
    `smc budget simulate` is that of `smc submit` without private values.
    """

    title: str  # such as "Decision tree"
    noun: str = "result"  # the name of the result, in records and file names
    example: str = ""
    estimate_example: str = ""
    job_example: str = ""
    afterwards: str = ""  # the use of the result, a sentence
    integers: bool = False  # True if it computes with integers: more engines suit
    phases: bool = False  # True if a command's JSON has the cost of each phase, not the total alone
    page: str = "plain"  # how the operator's page shows the result: a viewer of `parties.web`
    extra: type[Settings] = Settings  # settings of an estimate beyond those of the kind, see `Kind.cost`

    def flags(self, known: Collection[str], example: str = "") -> str:
        """Return the flags of an example that a command has, with their values.

        Args:
            known: Flags of the command.
            example: Flags with values; empty: those of this description's `example`.
        """
        typed = re.findall(r"(--[a-z-]+) ('.*?'|\S+)", example or self.example)
        return " ".join(f"{flag} {value}" for flag, value in typed if flag in known)


class Kind(ABC):
    """A kind of job. An object is one task: the kind with settings that both parties share.

    A new kind defines the abstract members, and overrides the others that do not suit it.
    """

    name: ClassVar[str]  # the command, the table of party.toml, the `protocol` of a specification
    about: ClassVar[Description]
    Settings: ClassVar[type[KindSettings]]
    runs_alone: ClassVar[bool] = False  # whether its answer makes sense on the rows of one party
    private_fields: ClassVar[tuple[str, ...]] = ()  # of the document; no JSON and no public file has them
    on_shares = False  # True if further holders give rows, so that numbers enter as shares (docs/holders.md)

    def __init__(self, settings: KindSettings) -> None:
        self.settings = settings

    # Making a task.

    @classmethod
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> Self:
        """Return the task of these settings for a party's table.

        Args:
            settings: The settings of a job file or of the page.
            inputs: This party's table and files.

        Raises:
            InputError: A setting does not fit the table; the message names the setting.
        """
        return cls(settings)

    @classmethod
    def agreed(cls, specification: Mapping[str, Any]) -> Self:
        """Return the task of a specification, which may come from the peer.

        Raises:
            InputError: A value in it is wrong.
            ValueError: The object is not a specification of this kind.
        """
        return cls(cls._settings_in(specification))

    @classmethod
    def planned(cls, settings: KindSettings) -> Self:
        """Return the task of a command's settings. Read the public files in them, but no private data."""
        return cls(settings)

    @classmethod
    def alone(cls, settings: KindSettings, party: int) -> tuple[Self, Any, list[str]]:
        """Return the task of a command, this party's data, and remarks on them.

        Args:
            settings: The command's settings: files on this machine and private values among them.
            party: 0 for the listening party, 1 for the dialling party.

        Returns:
            The task, the data that `run` takes, and a line for each remark.

        Raises:
            InputError: A file or a value does not fit.
        """
        task = cls.planned(settings)
        if task.reads_table:
            raise InputError(f"{cls.name} reads the table of a node: propose it with smc submit")
        typed = {
            parameter.key: value
            for parameter in private_parameters(cls.Settings)
            if (value := parameter.of(settings)) is not None
        }
        with task.open(Inputs(party, typed=typed)) as opened:
            return task, opened.data, []

    def check_part(self, party: int) -> None:  # noqa: B027 (most kinds need nothing)
        """Raise InputError if a command on this machine could not do the part of this party, whatever its rows."""

    @classmethod
    def _settings_in(cls, specification: Mapping[str, Any]) -> KindSettings:
        names = [parameter.key for parameter in shared_parameters(cls.Settings)]
        return merge(cls.Settings(), {name: specification[name] for name in names if name in specification})

    def specification(self) -> Document:
        """Return the terms that both parties must share, as plain JSON; `agreed` is the inverse."""
        what = {name: value for name, value in self.parameters().items() if name not in ENGINE and value is not None}
        return {"protocol": self.name, **what, **self._engine_fields()}

    def _engine_fields(self) -> Document:
        """Return the profile fields fixed before the handshake; none but "auto" if the engine is "auto"."""
        if self.settings.engine == "auto":
            return {"engine": "auto"}
        fields = {name: getattr(self.settings, name) for name in ENGINE}
        return {name: value for name, value in fields.items() if value is not None}

    # Its description.

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values are counted, the subject of `disclosure` among them."""
        return ()

    @property
    def columns_read(self) -> tuple[str, ...]:
        """All columns that are read, for policy, permit and records: `columns`, and those that only group rows."""
        return self.columns

    def columns_of(self, party: int) -> tuple[str, ...]:
        """Return the columns of `columns_read` that the table of a party, 0 or 1, gives: all by default."""
        return self.columns_read

    def parameters(self) -> dict[str, Any]:
        """Return the public settings by their names, for the peer, the page, the records and the policy."""
        return {parameter.key: parameter.of(self.settings) for parameter in public_parameters(self.Settings)}

    def bounded(self) -> dict[str, Any]:
        """Return the parameters as the rules of a policy bound them."""
        return self.parameters()

    @property
    @abstractmethod
    def disclosure(self) -> Disclosure:
        """The values that a run opens, and their cost for each table's privacy."""

    @property
    def at_most(self) -> int | None:
        """The maximum rows of each person that take part at either party; None if the table names no people."""
        bound: int | None = getattr(self.settings, "at_most", None)
        return bound

    # Its conditions.

    @property
    def reads_table(self) -> bool:
        """True if its data come from a table; False if the operator types them."""
        return False

    @property
    def without_holders(self) -> str | None:
        """The reason why further holders cannot give rows, a clause; None if they can (docs/holders.md)."""
        return f"{self.name} reads the rows of two parties only"

    def take_shares(self) -> None:
        """Let numbers enter as shares. Raise InputError if further holders cannot give rows for this task."""
        if why := self.without_holders:
            raise InputError(f"--holders: {why}")
        self.on_shares = True

    def misfit(self, inputs: Inputs) -> str | None:
        """Return the reason why this party cannot take part, a sentence that the peer may read; None if it can."""
        return None

    def remarks(self, inputs: Inputs) -> list[str]:
        """Return remarks from this party's rows, a line each, for its own operator alone, before consent."""
        return []

    def matched_rows(self, state: State) -> int | HiddenTerms | None:
        """Return the number of rows that a done run has put in one order at both parties, or the terms of hidden rows.

        None if it puts none.

        Args:
            state: The result, the last state.
        """
        return None

    def missing(self, inputs: Inputs) -> list[str]:
        """Return the names of the values that the operator has not typed yet."""
        return [parameter.key for parameter in asked(self) if parameter.key not in inputs.typed]

    # Its cost.

    @abstractmethod
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        """Return the program to count, and how its cost compares with that of a run.

        Args:
            inputs: This party's public inputs, such as circuits.
            extra: The settings of `smc estimate` beyond those of the kind, such as the tree of an earlier run. None:
                the program is this task's, or a typical one if the cost depends on the data.
        """

    def cost_of_run(self, inputs: Inputs, extra: Any = None) -> Counted:
        """Return `cost`, that of a run on shares if the task is `on_shares`.

        Args:
            inputs: This party's public inputs.
            extra: See `cost`.
        """
        cost = self.cost(inputs, extra)
        return cost.on_shares() if self.on_shares else cost

    # Its run.

    @contextmanager
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        """Open this party's checked data for one session: those of a table, or the values that the operator typed.

        Raises:
            InputError: The data do not fit.
            AwayError: The table cannot be reached now.
        """
        yield Opened(dict(inputs.typed))

    def of_nobody(self) -> Any:
        """Return the data of a party without rows: the peer of a run on your rows alone, if it `runs_alone`."""
        raise NotImplementedError(f"{self.name} needs two parties")

    def with_engine(self, engine: Engine, data: Any) -> Any:
        """Return the data as `run` takes them, if they need the engine; called once before `run`.

        Args:
            engine: The engine of the session.
            data: This party's data: from `open`, or in a command without a node from `alone`.
        """
        return data

    @abstractmethod
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Run the protocol from a state to the end. Return the last state, which is the result.

        Args:
            engine: The engine of the session.
            data: This party's data, from `with_engine`.
            start: The state to begin from, `states.beginning` for a new run.
            on_step: Called before each step begins.
        """

    @property
    def states(self) -> States:
        """The states of the task; one step by default."""
        return States()

    # Its result.

    @abstractmethod
    def document(self, state: State) -> Document:
        """Return the result, the last state, as a JSON object."""

    @classmethod
    @abstractmethod
    def text(cls, document: Document, party: int) -> str:
        """Return the result as text for a terminal, ending with a newline.

        Args:
            document: The result, from `document`.
            party: The reader: 0 or 1.
        """

    @classmethod
    def without_private(cls, document: Document) -> Document:
        """Return the result without `private_fields`: they are for private files, not for a terminal or JSON."""
        return {name: value for name, value in document.items() if name not in cls.private_fields}

    @classmethod
    def files(cls) -> tuple[File, ...]:
        """Return the file formats of the result."""
        return (File(f"{cls.about.noun}.json", "application/json", json_text, "out"),)


def typed_value(kind: type[Kind], typed: Mapping[str, Any], key: str) -> Any:
    """Return the value of a private input that the operator typed, checked.

    Args:
        kind: The kind of job that asks for it.
        typed: The typed inputs by name.
        key: The name of the input.

    Raises:
        InputError: The input is missing or of the wrong type. The message never quotes it.
    """
    value = required(typed.get(key), f"{kind.name}.{key}")
    try:
        kind.Settings.model_validate({key: value})
    except ValidationError:
        parameter = next(parameter for parameter in private_parameters(kind.Settings) if parameter.key == key)
        wanted = "a whole number from 0 up" if parameter.type is int else "text"
        raise InputError(f"{parameter.flag}: must be {wanted}") from None
    return value


__all__ = [  # with the parts of other modules that a kind is made of
    "CONSTANT_AS_GOOD", "EXACT", "KEPT_BY_NODES", "NO_BITS", "SVG", "Adjacency", "Bits", "ConcentratedLoss",
    "Counted", "Description", "Disclosure", "Document", "Drawing", "File", "Inputs", "Kind", "KindSettings",
    "LargerThanForecastError", "Loss", "OnStep", "Opened", "PureLoss", "State", "States", "Step", "adjacency_of",
    "changes", "digest", "exact", "hidden", "nothing_else", "nothing_else_of_either", "nothing_else_of_rows",
    "opened_steps", "svg_file", "typed_value",
]  # fmt: skip
