"""Contract test of the kinds that spend privacy budget: actual loss, charge, request and consent text must agree.

The test compares many neighbouring tiny tables by brute force: a row, a basket or a person added or replaced.
The job's own protocol runs on both tables along one path (`parties.checking.tape`). Each noisy opening loses the cost
of its exact numbers' change under the law of its noise:

  - numbers with Laplace noise: the sum of the changes over the scale; with Gaussian noise: squares over 2 sigma^2.
  - a choice by scores with geometric noise: the largest change less the smallest, over the scale. The chosen candidate
    stays chosen with that much more noise (`protocols.release.choice`). For several positions with one noise, for each.
  - a choice by powers: as rho, range^2 / 8 of its changes (`protocols.release.exponential`).
  - noise of a ladder: epsilon / 2 for each rung that a number moves, and as much for the sum of all weights.

The contract: for each adjacency, no pair of neighbours loses more than the budget books; the job charges the
requested amount, rounding aside; and its consent sentences name epsilon, delta and the unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Literal, TypeAlias

import numpy as np
from typing_extensions import override

from parties.checking.tape import Tape, TapedEngine, Use, spread, taped, variance
from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.spending import Adjacency, ConcentratedLoss, exact, rho_within
from parties.node.budget.composition import composed
from parties.tables.schema import Schema
from parties.tables.split import Part
from protocols.arrays import Numbers
from protocols.counts import RowCounts
from protocols.release.ladder import below
from smc.channel import Buffer, Channel, check_message
from smc.local import run_local
from smc.session import Session

# indices of the values in the schema's order; for baskets preceded by the basket's number
Row: TypeAlias = tuple[int, ...]
Rows: TypeAlias = tuple[Row, ...]

Unit: TypeAlias = Literal["row", "basket", "person"]

ADJACENCIES: tuple[Adjacency, ...] = ("add-remove", "replace")
DIGITS = Fraction(1, 1 << 40)  # tolerance for a sum of shares that are no decimal numbers, as in a budget
ROUNDED = 1e-4  # tolerance for rho: sigma has six digits and is rounded up
MIXED = 4  # tested people with different rows
MOST_ROWS = 12  # tested distinct rows
NEW = 7  # number of a basket that the table lacks; it lacks all greater numbers, too
REACHED = 200  # compared rungs; opened numbers are compared up to this distance from the numbers of triangles
_FACTOR = re.compile(r"e\^([0-9.e-]*[0-9])")
_CHANCE = re.compile(r"but for (a chance of|events of probability) ([0-9.e-]*[0-9])")
WORDS: dict[tuple[Unit, Adjacency], tuple[str, ...]] = {  # phrases by which consent names the protected unit
    ("row", "add-remove"): ("whether one row is there", "one row more or less"),
    ("row", "replace"): ("what one row says", "one row replaced by another"),
    ("basket", "add-remove"): ("whether one basket, or one row, is there",),
    ("basket", "replace"): ("what one basket, or one row, says",),
    ("person", "add-remove"): ("whether one person is there", "one person more or less"),
    ("person", "replace"): ("what one person's rows say", "the rows of one person, at most"),
}
SECRET = b"\1" * 32  # key of a party's own random choices


@dataclass(frozen=True)
class Case:
    """A kind with settings and a small schema; each party has at least `rows` rows."""

    kind: str
    settings: Mapping[str, Any]
    attributes: Mapping[str, tuple[str, ...]]
    target: str | None = None
    rows: int = 2

    def task(self, promise: Mapping[str, Any], at_most: int | None) -> Any:
        """Return the task of this case, a `Kind`, with the given privacy promise.

        Args:
            promise: Settings such as epsilon, delta and adjacency.
            at_most: Rows of a person that take part; None if rows have no persons.
        """
        kind: Any = kinds.find(self.kind)
        settings = {**promise, "max_rows": 100, "at_most": at_most, **self.settings}
        if "support_epsilon" in self.settings:
            settings |= {"support_epsilon": settings.pop("epsilon")}
        fields = {
            name: value for name, value in settings.items() if name == "lambda" or name in kind.Settings.model_fields
        }
        return kind.canonical(kind.Settings.model_validate(fields), Schema(dict(self.attributes), self.target))


@dataclass(frozen=True)
class Loss:
    """Privacy loss of one opening or of all: an epsilon, and the rho of Gaussian noise and of choices by powers."""

    epsilon: float = 0.0
    rho: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.epsilon + other.epsilon, self.rho + other.rho)


@dataclass
class Finding:
    """Result of a case: the charge, and the largest loss among neighbours of either adjacency.

    `measure` is that of the numbers, epsilon or rho. `at_most` is the number of rows of a person that are used; None if
    rows have no persons.
    """

    name: str
    at_most: int | None
    adjacency: Adjacency
    measure: str = ""
    charged: dict[Adjacency, float] = field(default_factory=dict)
    lost: dict[Adjacency, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def check_case(case: Case, promise: Mapping[str, Any], at_most: int | None = None, paths: int = 2) -> Finding:
    """Check the contract of one case.

    Args:
        case: A kind and its settings.
        promise: Its epsilon, delta and adjacency.
        at_most: Rows of a person that are used; None if rows have no persons.
        paths: Number of paths, that is, sequences of openings; all but the first open numbers far off.

    Returns:
        The charge, the loss, and the violations of the contract.
    """
    losses = {adjacency: Loss() for adjacency in ADJACENCIES}
    with taped():
        task = case.task(promise, at_most)
        for path in range(paths):
            for adjacency, loss in _worst(case, task, path):
                worst = losses[adjacency]
                losses[adjacency] = Loss(max(worst.epsilon, loss.epsilon), max(worst.rho, loss.rho))
    finding = Finding(case.kind, at_most, promise["adjacency"])
    finding.problems += [*charge_problems(task, promise), *consent_problems(task, promise)]
    for adjacency, loss in losses.items():
        booked = composed(task.disclosure.spends, adjacency)
        finding.measure = "epsilon" if booked.is_pure else "rho"
        finding.charged[adjacency] = float(booked.epsilon if booked.is_pure else booked.rho)
        finding.lost[adjacency] = loss.epsilon if booked.is_pure else loss.rho
        for measure, lost, booked_loss in (("epsilon", loss.epsilon, booked.epsilon), ("rho", loss.rho, booked.rho)):
            if lost > float(booked_loss) * (1 + 1e-9):
                finding.problems.append(
                    f"the loss under {adjacency} is {measure} {lost:.6g}, but {float(booked_loss):.6g} is booked"
                )
    return finding


# Charge and consent text.


def charge_problems(task: Any, promise: Mapping[str, Any]) -> list[str]:
    """Return the differences between the losses that a job declares and the requested promise.

    Args:
        task: The job.
        promise: The requested epsilon, delta and adjacency.
    """
    epsilon, problems = exact(promise["epsilon"]), []
    if {loss.adjacency for loss in task.disclosure.spends} != {promise["adjacency"]}:
        problems.append("a declared loss has another adjacency than the job")
    pure = sum((loss.times * loss.amount for loss in task.disclosure.spends if loss.measure == "epsilon"), Fraction(0))
    rho = sum(
        (loss.times * loss.amount for loss in task.disclosure.spends if isinstance(loss, ConcentratedLoss)), Fraction(0)
    )
    if pure and abs(pure - epsilon) > epsilon * DIGITS:
        problems.append(f"epsilon {float(epsilon):.12g} was requested, but {float(pure):.12g} is charged")
    if rho:
        allowed = Fraction(rho_within(epsilon, exact(task.settings.delta)))
        if not allowed * (1 - Fraction(ROUNDED)) <= rho <= allowed:
            problems.append(
                f"the requested epsilon and delta allow rho {float(allowed):.12g}, but {float(rho):.12g} is charged"
            )
    if not task.disclosure.spends or (pure and rho):
        problems.append("a job must charge either epsilon or rho")
    return problems


def consent_problems(task: Any, promise: Mapping[str, Any]) -> list[str]:
    """Return the errors in a job's consent sentences about epsilon, delta and the protected unit, one text each.

    Args:
        task: The job.
        promise: The requested epsilon, delta and adjacency.
    """
    text, problems = " ".join(task.disclosure.reveals("the peer")).lower(), []
    if (factors := {float(factor) for factor in _FACTOR.findall(text)}) != {promise["epsilon"]}:
        problems.append(f"the consent text has epsilon {sorted(factors)}, the job {promise['epsilon']}")
    delta = getattr(task.settings, "delta", None)
    if bool(_CHANCE.search(text)) != bool(delta) or (delta and _CHANCE.search(text)[2] != f"{delta:g}"):  # type: ignore[index]
        problems.append("the consent text has another delta than the job")
    at_most = task.at_most
    unit: Unit = "person" if at_most else "basket" if _has_baskets(task) else "row"
    units = {key for key, phrases in WORDS.items() if any(phrase in text for phrase in phrases)}
    if units != {(unit, promise["adjacency"])}:
        problems.append(f"the consent text hides {sorted(units)}, but the job hides a {unit} by {promise['adjacency']}")
    if at_most and f"at most {at_most} row" not in text:
        problems.append("the consent text lacks the number of rows of a person")
    return problems


def _has_baskets(task: Any) -> bool:
    return bool(getattr(task, "is_grouped", False))


# Losses.


def lost(uses: Sequence[Use], along: Sequence[Use]) -> Loss:
    """Return the privacy loss between two runs with equal openings on neighbouring tables, in the worse direction.

    Args:
        uses: Uses of noise in the first run.
        along: Uses of noise in the run along the same openings.
    """
    pairs = list(zip(uses, along, strict=True))
    ways = [sum((_of_use(a, b, way) for a, b in pairs), Loss(epsilon=_of_places(pairs, way))) for way in (1, -1)]
    return Loss(max(way.epsilon for way in ways), max(way.rho for way in ways))


def _of_use(use: Use, along: Use, way: int) -> Loss:
    """Return the loss of one opening from the first table to the second (`way` 1) or back (-1); 0 for a "place"."""
    if use.what == "ladder":
        return Loss(epsilon=float(use.law.epsilon) * _rungs(use.values, along.values))
    law, change = use.law, way * (np.asarray(along.values) - np.asarray(use.values))
    if use.what == "numbers" and hasattr(law, "scale"):
        return Loss(epsilon=float(np.abs(change).sum() / spread(law)))
    if use.what == "numbers":
        return Loss(rho=float((change.astype(np.float64) ** 2).sum() / (2 * variance(law))))
    if use.what == "choice":
        return Loss(epsilon=float(change.max() - change.min()) / spread(law))
    if use.what == "top":
        first = min(use.first, len(change) - 1)  # the last position has no competitor left
        return Loss(epsilon=float(np.sort(change.max() - change)[-first:].sum()) / spread(law))
    if use.what == "powers":
        return Loss(rho=float(change.max() - change.min()) ** 2 / 8)
    return Loss()


def _of_places(pairs: Sequence[tuple[Use, Use]], way: int) -> float:
    """Return the loss of all positions of a run together: a candidate's noise is drawn once for all of them.

    `pairs` has the uses of both runs, `way` the direction as in `_of_use`.
    """
    position_uses = [(use, way * (along.values - use.values)) for use, along in pairs if use.what == "place"]
    largest = max((int(change.max()) for _, change in position_uses), default=0)
    return sum(float(largest - change[use.taken]) / spread(use.law) for use, change in position_uses)


def _rungs(graph: tuple[int, int], along: tuple[int, int]) -> int:
    """Return the largest number of rungs that a number moves between two graphs' ladders.

    A graph is told by its LS (see `below`) and its number of triangles.
    """
    numbers = np.arange(min(graph[1], along[1]) - REACHED, max(graph[1], along[1]) + REACHED + 1)
    ends = [np.array([below(rung, common) for rung in range(REACHED + 2)]) for common, _ in (graph, along)]
    rungs = [np.searchsorted(end, np.abs(numbers - of)) for end, (_, of) in zip(ends, (graph, along), strict=True)]
    return int(np.abs(rungs[0] - rungs[1]).max())


# Neighbouring tables.


def _worst(case: Case, task: Any, path: int) -> Iterator[tuple[Adjacency, Loss]]:
    rng = np.random.default_rng(path)
    domain = list(product(*(range(len(values)) for values in task.schema.attributes.values())))
    rows = [domain[place] for place in np.sort(rng.permutation(len(domain))[:MOST_ROWS])] if path else _corners(domain)
    if _has_baskets(task):
        rows = [(basket, *row) for row in rows for basket in (0, NEW)]
    sides = [_drawn(rng, domain, case.rows, _has_baskets(task)) for _ in range(2)]
    base = Run(task, sides, path)
    for group in _groups(rng, task, rows):
        more = [base.along((*sides[0], *unit)) for unit in group]
        yield from (("add-remove", lost(base.uses, run)) for run in more)
        yield from (("replace", lost(run, another)) for run, another in combinations(more, 2))


def _groups(rng: np.random.Generator, task: Any, rows: Sequence[Row]) -> Iterator[list[Rows]]:
    """Yield groups of possible additions to a table, of one unit each: rows, baskets of several rows, or people."""
    rows_per_unit = task.at_most or 1
    mixed = [
        tuple(rows[i] for i in rng.integers(0, len(rows), rows_per_unit))
        for _ in range(MIXED if rows_per_unit > 1 else 0)
    ]
    spread_out = (
        [tuple((NEW + i, *row[1:]) for i in range(rows_per_unit)) for row in rows] if _has_baskets(task) else []
    )
    yield [*((row,) * rows_per_unit for row in rows), *mixed, *(spread_out if rows_per_unit > 1 else [])]
    if _has_baskets(task) and task.at_most is None:
        new = [row for row in rows if row[0] == NEW]
        yield [tuple(new[i] for i in rng.integers(0, len(new), size)) for size in (1, 2, 3, 3, 3)]


def _corners(domain: Sequence[Row]) -> list[Row]:
    indices = np.unique(np.linspace(0, len(domain) - 1, MOST_ROWS).round().astype(int))
    return [domain[place] for place in indices]


def _drawn(rng: np.random.Generator, domain: Sequence[Row], number: int, baskets: bool) -> Rows:
    rows = [domain[place] for place in rng.integers(0, len(domain), number)]
    return tuple((number % 2, *row) for number, row in enumerate(rows)) if baskets else tuple(rows)


class Run:
    """A run of a job on two parties' rows; other runs can follow its openings."""

    def __init__(self, task: Any, sides: Sequence[Rows], path: int) -> None:
        self._task, self._sides = task, sides
        tapes = [Tape(far=np.random.default_rng(path) if path else None, sign=2 * (path % 2) - 1) for _ in (0, 1)]
        self._tape, self._heard = tapes[0], list[tuple[str, bytes]]()
        run_local(
            lambda session: self._play(session, sides[session.party], tapes[session.party]),
            wrap=lambda party, channel: channel if party else Heard(channel, self._heard),
            kernels=(),
        )

    @property
    def uses(self) -> list[Use]:
        """Noisy openings of the run, in order."""
        return self._tape.uses

    def along(self, first: Rows) -> list[Use]:
        """Return the noisy openings of a run in which party 0 has these rows, and sees this run's opened values.

        Party 1 has the same rows and sees the same openings, so it sends the same messages.
        """
        session, tape = Session(0, Replayed(self._heard), bytes(32)), Tape(played=self._tape)
        self._play(session, first, tape)
        return tape.uses

    def _play(self, session: Session, rows: Rows, tape: Tape) -> None:
        with self._task.open(TinyInputs(self._task, rows)) as opened:
            self._task.run(TapedEngine(session, tape), opened.data, self._task.states.beginning, lambda step: None)


class Heard(Channel):
    """Party 0's channel, which records the step and the bytes of each received message."""

    def __init__(self, inner: Channel, messages: list[tuple[str, bytes]]) -> None:
        self._inner, self._messages = inner, messages

    @override
    def send(self, step: str, payload: Buffer) -> None:
        self._inner.send(step, payload)

    @override
    def receive(self, step: str, size: int) -> Buffer:
        self._messages.append((step, bytes(self._inner.receive(step, size))))
        return self._messages[-1][1]


class Replayed(Channel):
    """A channel that drops what is sent, and replays the received messages of an earlier run in their order."""

    def __init__(self, messages: Iterable[tuple[str, bytes]]) -> None:
        self._messages = iter(messages)

    @override
    def send(self, step: str, payload: Buffer) -> None:
        del step, payload

    @override
    def receive(self, step: str, size: int) -> bytes:
        sent, payload = next(self._messages, ("the end", b""))
        check_message(step, size, sent, len(payload))
        return payload


class TinyInputs(Inputs):
    """Inputs of a party for a check: a table of a few rows in memory."""

    def __init__(self, task: Any, rows: Rows) -> None:
        super().__init__(secret=SECRET)
        object.__setattr__(self, "rows", rows)

    @contextmanager
    @override
    def counts(
        self,
        target: str,
        columns: Sequence[str],
        wanted: Schema | None = None,
        streamed: bool = False,
        part: Part | None = None,
    ) -> Iterator[Any]:
        assert wanted is not None
        yield TinyRows(wanted, target, self.rows)  # type: ignore[attr-defined]


class TinyRows(RowCounts):
    """Rows in memory as a source of counts; for baskets, the basket's number comes first."""

    fingerprint = fingerprint_of_rows = b""

    def __init__(self, schema: Schema, target: str, rows: Rows) -> None:
        names = list(schema.attributes)
        order = [names.index(name) for name in (*schema.features(target), target)]
        table = np.array(rows, dtype=np.int64).reshape(len(rows), -1) if rows else np.zeros((0, len(names)), np.int64)
        self._baskets: Numbers = table[:, : table.shape[1] - len(names)]
        table = table[:, table.shape[1] - len(names) :][:, order]
        *domains, classes = (len(schema.attributes[names[place]]) for place in order)
        super().__init__(domains, classes, table[:, :-1], table[:, -1])

    def baskets(self, key: str) -> Numbers:
        """Return a line for each row: the number of its basket from 0, then its values."""
        del key
        numbers = np.unique(self._baskets[:, 0], return_inverse=True)[1].reshape(-1)
        return np.column_stack([numbers, self._rows, self._labels])

    def fingerprint_of_baskets(self, column: str, key: bytes) -> bytes:
        """Return an empty digest: no job is resumed here.

        Args:
            column: Name of the basket column.
            key: Key of the fingerprint.
        """
        del column, key
        return b""
