"""Cases of `smc bench`: small programs on random inputs, each checked against its plain result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.jobs.small.programs import arguments_of, check_arguments, load_program
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.sources.cells import load
from parties.tables import example, schema
from parties.tables.rows import Table
from protocols import cost_model, equality, id3, logarithm, majority, millionaires, precision
from protocols.circuit import evaluate
from protocols.counts import RowCounts
from protocols.inputs import both_inputs, checked
from smc.circuit import Builder, Form, Netlist, multiply
from smc.circuit import evaluate as plain
from smc.circuit.library import aes128
from smc.counting import Forecast, forecast
from smc.engines import Engine, Profile, make_engine
from smc.link_shape import LinkShape
from smc.local import run_local
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

WIDTH = 32  # bits of compared integers
LOG_BOUND = 1 << 20
LOG_DELTA = 2.7e-6  # the logarithm's error is below delta / 4 < 1e-6 ln 2, so below 1e-6 of the logarithm from ln 2 on
SEED = 20020301  # seed of the public test inputs; the protocols' own randomness is the system's
ANY, UNLIMITED = (0.0, math.inf), (math.inf, math.inf)  # rates of links, bits per second
FAST, SLOW, LIMITED = (500e6, math.inf), (0.0, 499e6), (500e6, 1e15)
LONGEST_SECONDS = 30.0  # forecast limit of one run

Result = Any


@dataclass(frozen=True)
class Workload:
    """A program with its inputs: `play` is this party's side, `right` checks the result. Both take the batch size, too.

    `count` is the program for a counting engine; None stands for `play`. `call` lets another process rebuild a
    user's program: module:function and the arguments.
    """

    name: str
    play: Callable[[Engine, int], Result]
    right: Callable[[Result, int], bool]
    count: Callable[[Any, int], object] | None = None
    call: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """`batch` instances of a workload on a profile, measured on links of a rate within `rates`, in bits per second."""

    workload: Workload
    profile: Profile
    batch: int
    rates: tuple[float, float] = ANY

    @property
    def title(self) -> str:
        """Name of the case: workload, profile and batch."""
        return f"{self.workload.name}, {self.profile}, batch {self.batch}"

    def suits(self, shape: LinkShape) -> bool:
        """Return whether the case is measured on a link of this shape."""
        low, high = self.rates
        return low <= (shape.rate or math.inf) <= high

    def forecast(self) -> Forecast:
        """Return the exact costs of one run, and its time on any link."""
        count = self.workload.count or self.workload.play
        return forecast(lambda engine: count(engine, self.batch), self.profile)

    def play(self, engine: Engine) -> Result:
        """Run this party's side of the case once."""
        return self.workload.play(engine, self.batch)

    def check(self, result: Result) -> None:
        """Raise RuntimeError if a run's result is wrong."""
        if not self.workload.right(result, self.batch):
            raise RuntimeError(f"wrong result in the bench: {self.title}")


@lru_cache(maxsize=8)
def _integers(below: int, *shape: int) -> NDArray[np.uint64]:
    return np.random.default_rng(SEED).integers(0, below, (2, *shape), dtype=np.uint64)


def _more(engine: Engine, batch: int) -> Result:
    return millionaires.strict(engine, _integers(1 << WIDTH, batch)[engine.party], WIDTH)


def _more_is_right(result: Result, batch: int) -> bool:
    values = _integers(1 << WIDTH, batch)
    return np.array_equal(result, values[0] > values[1])


def _equal(engine: Engine, batch: int) -> Result:
    return equality.equal(engine, _integers(4, batch)[engine.party], WIDTH)


def _equal_is_right(result: Result, batch: int) -> bool:
    values = _integers(4, batch)
    return np.array_equal(result, values[0] == values[1])


def _majority(engine: Engine, batch: int) -> Result:
    return majority.majority(engine, _integers(1 << 15, 4, batch)[engine.party], 16)


def _majority_is_right(result: Result, batch: int) -> bool:
    return np.array_equal(result, _integers(1 << 15, 4, batch).sum(axis=0).argmax(axis=0))


@lru_cache
def multiplication(width: int, form: Form) -> Netlist:
    """Return the circuit of the product of two integers, cut to their width.

    Args:
        width: Bits of an integer.
        form: Form of the circuit: few gates or few levels.
    """
    builder = Builder(form)
    builder.output(multiply(builder.input(width), builder.input(width), width))
    return builder.build()


@lru_cache
def _aes(form: Form) -> Netlist:
    del form  # its S-boxes are fixed
    return aes128()


def _circuit(name: str, make: Callable[[Form], Netlist]) -> Workload:
    """Return the workload that evaluates a netlist with two inputs of one width on public pseudo-random bits."""

    @lru_cache(maxsize=2)
    def inputs(batch: int) -> list[BitMatrix]:
        bits = np.random.default_rng(SEED).integers(0, 2, (2, make("size").input_widths[0], batch), dtype=np.uint8)
        return list(bits)

    @lru_cache(maxsize=2)
    def truth(batch: int) -> list[BitMatrix]:
        return plain(make("size"), inputs(batch))

    return Workload(
        name,
        lambda engine, batch: evaluate(engine, make(engine.form), inputs(batch)[engine.party]),
        lambda result, batch: np.array_equal(np.concatenate(result), np.concatenate(truth(batch))),
    )


def _x_log_x(engine: Engine, batch: int) -> Result:
    """Compute as `logarithm.open_logarithm` does, in named phases; return the opened bits and their fractional bits."""
    parameters = precision.derive(LOG_DELTA, LOG_BOUND, prices=engine.words.prices)
    width = parameters.count_width
    counts = checked(_integers(LOG_BOUND // 2, batch)[engine.party], width, "the count")
    with engine.session.phase("inputs"):
        left, right = both_inputs(engine, counts, width)
    word = logarithm.x_log_x(engine, parameters, left, right)
    with engine.session.phase("opening"):
        return engine.reveal(engine.words.bits(word))[0], parameters.fraction


def _x_log_x_is_right(result: Result, batch: int) -> bool:
    opened, fraction = result
    x = _integers(LOG_BOUND // 2, batch).sum(axis=0).astype(np.float64)
    values = np.array(bitpack.to_integers(opened, signed=True), dtype=np.float64) / (1 << fraction)
    return bool((np.abs(values - x * np.log(np.maximum(x, 1))) <= x * LOG_DELTA / 4 + 1e-8).all())


@lru_cache
def _tables() -> tuple[id3.Problem, list[Table]]:
    demo, settings = example.demo(), Id3Settings(plain=True)
    agreed = schema.load(demo.schema)
    target = agreed.choose_target()
    halves = [load(path, agreed, target, settings.max_rows) for path in (demo.clinic_a, demo.clinic_b)]
    return ExactTree(settings, agreed, target).problem, halves


def _tree(engine: Engine, batch: int) -> id3.Tree:
    del batch
    problem, halves = _tables()
    half = halves[engine.party]
    return id3.id3(engine, problem, RowCounts(problem.domains, problem.classes, half.rows, half.classes))


@lru_cache
def _clear_tree() -> id3.Tree:
    return run_local(lambda session: _tree(make_engine(session, "clear"), 1))[0]


def _count_tree(engine: Any, batch: int) -> object:
    del batch
    cost_model.with_tree(engine, _tables()[0], _clear_tree())
    return None


MORE = Workload(f"millionaires {WIDTH}", _more, _more_is_right)
EQUAL = Workload(f"equality {WIDTH}", _equal, _equal_is_right)
MAJORITY = Workload("majority of 4", _majority, _majority_is_right)
AES = _circuit("AES-128", _aes)
PRODUCT = _circuit("multiplication 64", lambda form: multiplication(64, form))
LOGARITHM = Workload("x ln x, 2^20, 1e-6", _x_log_x, _x_log_x_is_right)
TREE = Workload("ID3, tennis", _tree, lambda result, batch: result == _clear_tree(), _count_tree)

YAO, THREE_HALVES = Profile("yao"), Profile("yao", garbling="three-halves")
GMW, GMW_SIZE = Profile("gmw", form="depth"), Profile("gmw", form="size")
SILENT, SILENT_SIZE = Profile("gmw", "ferret", form="depth"), Profile("gmw", "ferret", form="size")
MIXED, LEAN = Profile("mixed"), Profile("lean", form="depth")
BOOLEAN = (YAO, THREE_HALVES, GMW, SILENT)
INTEGER = (MIXED, Profile("mixed", "ferret", "three-halves"), LEAN, Profile("lean", "ferret", form="depth"))


def default_cases() -> list[Case]:
    """Return the cases of the tables, in the order of the rows."""
    rsa = Profile("yao", "trapdoor"), Profile("gmw", "trapdoor", form="size")
    sizes = GMW_SIZE, SILENT_SIZE
    few = MIXED, LEAN, YAO, THREE_HALVES, SILENT
    return [
        *_cases(MORE, (*BOOLEAN, rsa[0]), 1),
        *_cases(MORE, (rsa[1],), 1, FAST),
        *_cases(MORE, BOOLEAN, 10_000),
        *_cases(MORE, sizes, 10_000, FAST),
        *_cases(MORE, (YAO, *sizes), 1_000_000, UNLIMITED),
        *_cases(EQUAL, BOOLEAN, 10_000),
        *_cases(MAJORITY, BOOLEAN, 1000),
        *_cases(AES, BOOLEAN, 256, FAST),
        *_cases(AES, BOOLEAN, 32, SLOW),
        *_cases(PRODUCT, (*BOOLEAN, *sizes), 1000, FAST),
        *_cases(PRODUCT, BOOLEAN, 100, SLOW),
        *_cases(LOGARITHM, (*INTEGER, YAO, SILENT), 10_000, UNLIMITED),
        *_cases(LOGARITHM, (*INTEGER, YAO, SILENT), 1000, LIMITED),
        *_cases(LOGARITHM, INTEGER, 1000, SLOW),
        *_cases(LOGARITHM, (YAO, SILENT), 100, SLOW),
        *_cases(TREE, (*INTEGER, *BOOLEAN), 1, FAST),
        *_cases(TREE, few, 1, SLOW),
    ]


def batch_cases() -> list[Case]:
    """Return the cases for the plot of costs by batch size."""
    return [Case(MORE, profile, 10**power) for power in range(6) for profile in BOOLEAN]


def crossover_cases() -> list[Case]:
    """Return the cases for the plot of time by round trip."""
    return _cases(AES, BOOLEAN, 256)


def program_cases(program: str, arguments: Sequence[str], integers: bool) -> list[Case]:
    """Return the cases of any program on the profiles that suit it; both parties get the same arguments.

    Results are not checked, only costs.

    Args:
        program: The program, as MODULE:FUNCTION.
        arguments: Arguments of the program, as texts.
        integers: Whether to include profiles with additive shares.
    """
    run, inputs = load_program(program), arguments_of(arguments)
    check_arguments(run, inputs)
    workload = Workload(
        program, lambda engine, batch: run(engine, *inputs), lambda result, batch: True, call=(program, *arguments)
    )
    return _cases(workload, (*INTEGER, *BOOLEAN) if integers else BOOLEAN, 1)


def find(title: str, *call: str) -> Case:
    """Return the case with a title.

    Args:
        title: Title of the case.
        call: MODULE:FUNCTION and arguments, for a case of a user's program.
    """
    if call:
        cases = program_cases(call[0], call[1:], integers=True)
    else:
        cases = [*default_cases(), *batch_cases(), *crossover_cases()]
    return next(case for case in cases if case.title == title)


def _cases(
    workload: Workload, profiles: tuple[Profile, ...], batch: int, rates: tuple[float, float] = ANY
) -> list[Case]:
    return [Case(workload, profile, batch, rates) for profile in profiles]
