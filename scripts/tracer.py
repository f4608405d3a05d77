"""Trace runs: the functions of this repository that a value passes through, from one point to the next.

A walk is a run with the points that it must reach: functions, in the order of their calls. At the first call of each
point after the previous one, the tracer records the functions of this repository on the thread's stack.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("smc", "protocols", "parties")
PARTS = re.compile(r"<(listcomp|genexpr|dictcomp|setcomp|module)>$")  # code inside a function or module, not a function


class Hop(NamedTuple):
    """A function of this repository: its file, and its name with its class or enclosing function."""

    file: str
    name: str

    @property
    def room(self) -> str:
        """The room of the file: a package, or a folder or module of `parties`."""
        package, part, *_ = Path(self.file).with_suffix("").parts
        return f"{package}/{part}" if package == "parties" else package


class Point(NamedTuple):
    """A function that a walk must reach; `what` describes the value there, and `when` accepts a call by its frame."""

    file: str
    name: str
    what: str
    when: Callable[[FrameType], bool] = lambda _: True


@dataclass(frozen=True)
class Walk:
    """A run that is followed from a function of `begin` through the points.

    `ends` describes both ends in words. `before` is the number of its hops in commit 068c2a8.
    """

    title: str
    ends: str
    before: int
    begin: tuple[Hop, ...]
    points: tuple[Point, ...]
    run: Callable[[Path], object]


@dataclass
class Trace:
    """The legs of a run: for each point reached, the hops on the stack, outermost first.

    Callers of the functions `begin` are left out.
    """

    points: Sequence[Point]
    begin: tuple[Hop, ...]
    legs: list[list[Hop]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._names = {point.name.rpartition(".")[2] for point in self.points}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Record the stack if this is a call of the next point. This is a profile function, see `sys.setprofile`."""
        if event == "call" and frame.f_code.co_name in self._names:
            with self._lock:
                self._note(frame)

    def _note(self, frame: FrameType) -> None:
        if len(self.legs) == len(self.points):
            return
        point = self.points[len(self.legs)]
        if _hop(frame) == point[:2] and point.when(frame):
            leg = [hop for hop in map(_hop, _outwards(frame)) if hop is not None][::-1]
            start = next((place for place, hop in enumerate(leg) if hop in self.begin), 0)
            self.legs.append(leg[start:])

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Trace the block in this thread and those that it starts. Raise RuntimeError if a point was not reached."""
        before = sys.getprofile()
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(before)
        if len(self.legs) < len(self.points):
            missed = self.points[len(self.legs)]
            raise RuntimeError(f"{missed.file}: {missed.name} was not called, or not after the points before it")

    def hops(self) -> list[list[Hop]]:
        """Return for each leg the hops that no earlier leg has."""
        seen: set[Hop] = set()
        return [[hop for hop in leg if not (hop in seen or seen.add(hop))] for leg in self.legs]  # type: ignore[func-returns-value]

    def returns(self) -> list[tuple[str, str]]:
        """Return the name of the point and the room, for each leg that comes back to a room it has left."""
        again = []
        for point, leg in zip(self.points, self.legs, strict=True):
            rooms = [room for room, _ in itertools.groupby(hop.room for hop in leg)]
            again += [(point.name, room) for place, room in enumerate(rooms) if room in rooms[:place]]
        return again


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _hop(frame: FrameType) -> Hop | None:
    """Return the function of a frame; None if it is not of this repository, or only code inside a function."""
    path, name = Path(frame.f_code.co_filename), frame.f_code.co_qualname
    if not path.is_relative_to(ROOT) or PARTS.search(name):
        return None
    file = path.relative_to(ROOT)
    return Hop(str(file), name.replace(".<locals>", "")) if file.parts[0] in PACKAGES else None


def trace(walk: Walk, directory: Path) -> Trace:
    """Run a walk in an empty directory, and return its trace."""
    traced = Trace(walk.points, walk.begin)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), traced.running():
        walk.run(directory)
    return traced


def described(walk: Walk, traced: Trace) -> str:
    """Return the text of a walk: a line for each file, with the number of its first hop; `=` marks a point."""
    lines, number = [], 1
    for point, hops in zip(walk.points, traced.hops(), strict=True):
        for file, group in itertools.groupby(hops, lambda hop: hop.file):
            names = [hop.name for hop in group]
            lines.append(f"    {number:>2}  {Hop(file, '').room:<16}  {file:<34}  {', '.join(names)}")
            number += len(names)
        if hops:
            lines[-1] += f"  = {point.what}"
        else:
            lines.append(f"        = {point.what}")
    return f"**{walk.title}**, {number - 1} hops:\n\n" + "\n".join(lines) + "\n"


def section(walks: Sequence[Walk], traces: Sequence[Trace]) -> str:
    """Return the table of the walks, and the text of each."""
    table = ["| walk | from, to | hops | in 068c2a8 | rooms | comes back to |", "|---|---|---|---|---|---|"]
    for walk, traced in zip(walks, traces, strict=True):
        hops = [hop for leg in traced.hops() for hop in leg]
        title, rooms = walk.title[0].lower() + walk.title[1:], {hop.room for hop in hops}
        cells = [title, walk.ends, len(hops), walk.before, len(rooms)]
        again = ", ".join(f"{room}, for {point}" for point, room in traced.returns()) or "-"
        table.append(f"| {' | '.join(map(str, cells))} | {again} |")
    texts = [described(walk, traced) for walk, traced in zip(walks, traces, strict=True)]
    return "\n".join(["", *table, "", *texts]) + "\n"
