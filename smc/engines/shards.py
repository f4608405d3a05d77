"""Shards: engines that compute pieces of a batch at the same time, each in a session of its own.

A protocol passes a *work* function of an engine and of this party's numbers, and cuts its batch (`protocols.pieces`).
Each piece goes to an engine of its own, usually in another process, and returns as shares.

Public numbers, this party's own numbers and its shares enter and leave a shard: XOR shares of bits, and additive shares
of integers. Labels and the differences of correlated OT stay inside their shard. **A shard opens nothing.** The session
that owns the shards opens values, after the results of all of them have arrived. So a lost piece can be computed again,
in a new session with fresh keys, and the lost run has revealed nothing. Its contributions to joint randomness are
unchanged: the draws of a session follow from its contributions alone.

A call costs one round, and one byte a shard each way to exchange which shards have answered. Bits that enter on garbled
circuits cost a correlated OT each, on XOR shares nothing. A shard's first piece also sets up its OTs, and 18 bytes a
shard transmit its address. The cut of a batch is public, and follows from public numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from typing_extensions import override

from smc.engines.bits import Bits
from smc.engines.interface import Engine, XorSharedEngine
from smc.engines.words import Word
from smc.errors import LinkError, PeerLeftError, ShardError
from smc.meter import Meter
from smc.primitives.bits import BitMatrix
from smc.primitives.prg import KEY_BYTES, Prg
from smc.session import Session, derive

Door = tuple[int, ...]  # address of a shard: the groups of an IPv6 address, and a port
DOOR_NUMBERS = 9
NOWHERE: Door = (0,) * DOOR_NUMBERS
Results = tuple[Any, ...]  # may hold `Bits` and `Word`
Work = Callable[
    ..., Results
]  # takes an engine and arguments; a module-level function, because another process imports it by name


@dataclass(frozen=True)
class Task:
    """One piece of work: `arguments` may hold `Bits` and `Word`, in transit as `Shared`.

    `masked_numbers` is that of the engine that owns the shard, see `Engine`.
    """

    work: Work
    arguments: tuple[Any, ...]
    seed: bytes  # seed of this party's contributions to joint randomness
    masked_numbers: bool = False


@dataclass(frozen=True)
class Shared:
    """This party's XOR shares of secret bits, uint8[width, batch], in transit between two engines."""

    bits: BitMatrix


@dataclass(frozen=True)
class Done:
    """Message of a shard: the results of a piece, and their cost."""

    results: tuple[Any, ...]
    meter: Meter


@dataclass(frozen=True)
class Failed:
    """Message of a shard: the exception that ended a piece."""

    error: Exception


class Line(Protocol):
    """Connection to a shard: sends tasks, receives results; raises `EOFError` or `OSError` if the shard is gone."""

    def send(self, task: Task | None, /) -> None:
        """Send a task to the shard; None makes the shard end."""

    def recv(self) -> Done | Failed:
        """Return the result of the oldest task without a result."""


class Shards(ABC):
    """Parallel processes (shards) of a session, each with an engine, a link and keys of its own.

    The first piece of work starts all of them. A shard that fails is started once more; if it fails again, the session
    fails.
    """

    def __init__(self, session: Session, count: int) -> None:
        self.session = session
        self.count = count
        self._lines: dict[int, Line] = {}
        self._failed: set[int] = set()
        self._masked_numbers = False

    @abstractmethod
    def _listening(self, numbers: Sequence[int]) -> list[tuple[Line, Door]]:
        """Start these shards as listeners for the peer's shards; return each one's line and address.

        An address of zeros means the session's own address. Port zero means that the shard has failed.
        """

    @abstractmethod
    def _calling(self, number: int, door: Door) -> Line:
        """Start shard `number`, which connects to the peer's shard at the address `door`, and return the line to it."""

    @abstractmethod
    def _end(self, number: int) -> None:
        """Remove the remains of a failed shard."""

    def _heard(self, numbers: Sequence[int]) -> None:
        """Record that these shards have answered."""
        del numbers

    def joined(self, engine: Engine, work: Work, pieces: Sequence[tuple[Any, ...]]) -> Results:
        """Compute the pieces of a batch on the shards, and join their results.

        Args:
            engine: Engine of the session that owns the shards; an `XorSharedEngine`.
            work: A function of a module. It takes a shard's engine and the arguments of a piece, and returns a tuple of
                `Bits` and `Word`.
            pieces: The arguments of each piece. `Bits` and `Word` of `engine` may be among them, or in tuples and lists
                there. At most `count` pieces.

        Returns:
            One entry for each result of `work`, on `engine`: the instances of all pieces, in the order of `pieces`.

        Raises:
            ShardError: At both parties, if a shard fails for the second time.
        """
        assert isinstance(engine, XorSharedEngine)
        self._masked_numbers = engine.masked_numbers
        columns = zip(*self.run(work, [_sent(engine, piece) for piece in pieces]), strict=True)
        return tuple(_entered(engine, _joined(column)) for column in columns)

    def run(self, work: Work, pieces: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Compute each piece on its shard; both parties make equal calls.

        Args:
            work: A function of a module. It takes a shard's engine and the arguments of a piece.
            pieces: The arguments of each piece, with bits as `Shared`; at most `count` pieces. Piece i goes to shard i.

        Returns:
            The results of each piece, in order, with bits as `Shared`.

        Raises:
            ShardError: At both parties, if a shard fails for the second time.
        """
        due: Sequence[int] = range(len(pieces))
        self._meet([number for number in range(self.count) if number not in self._lines])
        seed = self.session.contributions.bytes(KEY_BYTES).tobytes()
        seeds = [derive(seed, "shard", number) for number in range(len(pieces))]
        tasks = [Task(work, *part, self._masked_numbers) for part in zip(pieces, seeds, strict=True)]
        done: dict[int, Done] = {}
        while due:
            answers = self._answers(due, tasks)
            self._heard(due)
            failed = self._failures(due, answers)
            done |= {n: answer for n, answer in answers.items() if n not in failed and isinstance(answer, Done)}
            for number in failed:
                self._end(number)
                del self._lines[number]
            if again := self._failed.intersection(failed):
                self._give_up(min(again), answers)
            self._failed.update(failed)
            self._meet(failed)
            due = failed
        self.session.meter.together([done[number].meter for number in range(len(pieces))])
        return [done[number].results for number in range(len(pieces))]

    def _meet(self, numbers: Sequence[int]) -> None:
        """Start these shards at both parties and connect them."""
        if not numbers:
            return
        if self.session.party == 0:
            begun = self._listening(numbers)
            self.session.send("shards.doors", np.array([door for _, door in begun], dtype=np.uint16))
            lines = [line for line, _ in begun]
        else:
            doors = self.session.receive("shards.doors", np.uint16, (len(numbers), DOOR_NUMBERS)).tolist()
            lines = [self._calling(number, tuple(door)) for number, door in zip(numbers, doors, strict=True)]
        self._lines.update(zip(numbers, lines, strict=True))

    def _answers(self, numbers: Sequence[int], tasks: Sequence[Task]) -> dict[int, Done | Failed]:
        """Send each shard its task, and wait for all results.

        Raise any error except the failure of a process or a link.
        """
        answers: dict[int, Done | Failed] = {}
        for number in numbers:
            try:
                self._lines[number].send(tasks[number])
            except OSError:
                answers[number] = _gone()
        for number in numbers:
            if number not in answers:
                try:
                    answers[number] = self._lines[number].recv()
                except (EOFError, OSError):
                    answers[number] = _gone()
        for answer in answers.values():
            if isinstance(answer, Failed) and type(answer.error) not in (LinkError, PeerLeftError):
                raise answer.error
        return answers

    def _failures(self, numbers: Sequence[int], answers: dict[int, Done | Failed]) -> list[int]:
        """Tell the peer which of these shards failed here, see `answers`; return those that failed at either party."""
        ours = np.array([isinstance(answers[number], Failed) for number in numbers], dtype=np.uint8)
        self.session.send("shards.in", ours)
        theirs = self.session.receive("shards.in", np.uint8, ours.shape)
        return [number for number, failed in zip(numbers, ours | theirs, strict=True) if failed]

    def _give_up(self, number: int, answers: dict[int, Done | Failed]) -> None:
        answer = answers[number]
        why = str(answer.error) if isinstance(answer, Failed) else "at the peer"
        raise ShardError(f"shard {number + 1} of {self.count} has failed twice; its last error: {why}")


class LocalShards(Shards):
    """Shards that run in this thread, one after the other, for counting and tests; `engine_of` makes each engine."""

    def __init__(self, session: Session, count: int, engine_of: Callable[[int], XorSharedEngine]) -> None:
        super().__init__(session, count)
        self._engine_of = engine_of

    @override
    def _listening(self, numbers: Sequence[int]) -> list[tuple[Line, Door]]:
        return [(self._calling(number, NOWHERE), NOWHERE) for number in numbers]

    @override
    def _calling(self, number: int, door: Door) -> Line:
        return _Here(self._engine_of(number))

    @override
    def _end(self, number: int) -> None:
        del number


class _Here:
    """Line to a shard in this thread: each task that is sent is computed at once."""

    def __init__(self, engine: XorSharedEngine) -> None:
        self._engine = engine
        self._answers: list[Done | Failed] = []

    def send(self, task: Task | None, /) -> None:
        if task is not None:
            self._answers.append(perform(self._engine, task))

    def recv(self) -> Done | Failed:
        return self._answers.pop(0)


def perform(engine: XorSharedEngine, task: Task) -> Done | Failed:
    """Compute one piece of work on a shard's engine.

    Args:
        engine: The shard's engine; its session gets a new meter.
        task: The work, its arguments, and the seed of this party's contributions to joint randomness.

    Returns:
        The results with bits as `Shared` and the meter, or `Failed` with the exception that the work raised.
    """
    session = engine.session
    session.meter = Meter()
    engine.masked_numbers = task.masked_numbers
    try:
        with session.contribute(Prg(task.seed)):
            results = task.work(engine, *_entered(engine, task.arguments))
        return Done(_sent(engine, results), session.meter)
    except Exception as error:  # reported to the sender of the task
        return Failed(error)


def _gone() -> Failed:
    return Failed(LinkError("its process has ended"))


def _sent(engine: XorSharedEngine, value: Any) -> Any:
    """Return a value for transit between two engines: `Bits` become `Shared`, also within words, tuples and lists."""
    if isinstance(value, Bits):
        return Shared(engine.shares(value))
    if isinstance(value, Word):
        return Word(_sent(engine, value.data), value.width)
    if isinstance(value, tuple | list):
        return type(value)(_sent(engine, part) for part in value)
    return value


def _entered(engine: Engine, value: Any) -> Any:
    """Return a value from transit: both parties enter the shares of each `Shared`, whose XOR is the secret."""
    if isinstance(value, Shared):
        left, right = engine.both(value.bits)
        return left ^ right
    if isinstance(value, Word):
        return Word(_entered(engine, value.data), value.width)
    if isinstance(value, tuple | list):
        return type(value)(_entered(engine, part) for part in value)
    return value


def _joined(parts: Sequence[Any]) -> Any:
    """Join the results of several pieces, in their form for transit."""
    first = parts[0]
    if isinstance(first, Shared):
        return Shared(np.concatenate([part.bits for part in parts], axis=1))
    if isinstance(first, Word):
        return Word(_joined([part.data for part in parts]), first.width)
    if isinstance(first, tuple):
        return tuple(_joined(column) for column in zip(*parts, strict=True))
    return np.concatenate(parts)
