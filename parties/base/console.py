"""Output for the operator: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import re
import select
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status
    from rich.table import Table

    out: Console
    err: Console

FORMS = re.compile(r"[\a\b\t\v\f\r]")  # control characters that rich removes or interprets


class _Lines:
    """Standard output or error: plain lines directly, everything else through rich, which is slow to load."""

    def __init__(self, name: str) -> None:
        self.name = name

    def print(self, *what: Any, end: str = "\n", **form: Any) -> None:
        (text, *more) = what or ("",)
        if form or more or _shown or not isinstance(text, str) or FORMS.search(text):
            _screen(self.name).print(*what, end=end, **form)
        elif (stream := getattr(sys, f"std{self.name}")) is not None:
            stream.write(text + end)
            stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(_screen(self.name), name)


@cache
def _screen(name: str) -> Console:
    """Return standard output or error through rich, loaded on first use: a run without a terminal may not need it."""
    from rich.console import Console

    class Screen(Console):
        """Console of rich that raises an error if its reader has closed the pipe, instead of exiting with code 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # Text is printed unchanged: rich would read [x] as markup and turn the :CD: of a fingerprint into an emoji.
    return Screen(stderr=name == "err", highlight=False, soft_wrap=True, markup=False, emoji=False)


def __getattr__(name: str) -> Any:
    if name in ("out", "err"):
        return _Lines(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


BAR = 24  # characters of a full bar
NARROW = 16  # least width of a wrapped column, in characters
PAGE = 120  # width of a line in a pipe or a file, in characters
MEASURING = "measuring the link"  # name of the part of a cost report that precedes the run
STEPS = ("bytes", "KB", "MB", "GB", "TB")


_shown: list[Status] = []  # status lines of `progress` at present


class StatusLine:
    """Status line, animated on a terminal; elsewhere whole lines alone are written, and none by `doing`."""

    def __init__(self, status: Status | None, step: str = "") -> None:
        self._status = status
        self._start = time.monotonic()
        self._step = step

    def doing(self, what: str) -> None:
        """Show the present step, and the time since the command started."""
        self._step = what
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text.assemble(what, (f"  ({time.monotonic() - self._start:.0f} s)", "dim")))

    def share(self, what: str, done: int, total: int) -> None:
        """Show the progress of a step as a bar; without a terminal, print one line when it begins.

        Args:
            what: Name of the step.
            done: Completed units.
            total: Units of the whole step.
        """
        if self._status is not None:
            filled = BAR * done // total
            self.doing(f"{what}  {'━' * filled}{'─' * (BAR - filled)} {done}/{total}")
        elif not done:
            self.say(what)

    def say(self, what: str) -> None:
        """Write a line that stays above the status."""
        if self._status is not None:
            self._status.console.print(what)
        else:
            self.log(what)

    def asked(self, question: str, seconds: float) -> bool:
        """Return whether the operator at the terminal answers yes in time; False without a terminal.

        Args:
            question: The question, printed on standard error.
            seconds: Seconds to wait for the answer.
        """
        return is_asked() and sys.stderr is not None and self.typed(question, seconds).casefold() in ("y", "yes")

    def typed(self, question: str, seconds: float | None = None) -> str:
        """Return the line that is typed in answer to a question.

        Args:
            question: The question, printed on standard error.
            seconds: Seconds to wait for the answer, which is then empty; None: without end.
        """
        if self._status is not None:
            self._status.stop()
        print(question, end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline() if seconds is None or select.select([sys.stdin], [], [], seconds)[0] else ""
        if self._status is not None:
            self._status.start()
        return answer.strip()

    @contextmanager
    def waiting(self, what: str, seconds: float, first: float = 2, again: float = 15) -> Iterator[None]:
        """Report regularly, during the block, what the program waits for and how long at most.

        Args:
            what: What the program waits for.
            seconds: Seconds that the wait takes at most.
            first: Seconds before the first report.
            again: Seconds between later reports without a terminal; on a terminal 1.
        """
        came, end = threading.Event(), time.monotonic() + seconds

        def tell() -> None:
            pause = first
            while not came.wait(pause) and (left := round(end - time.monotonic())) > 0:
                line = f"{what}, {left} s at most"
                self.doing(line)
                self.log(line)
                pause = again if self._status is None else 1

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            came.set()
            teller.join()

    @contextmanager
    def reporting(self, pause: float = 10.0) -> Iterator[None]:
        """Write the present step without a terminal, after `pause` seconds and then after twice as many each time."""
        over = threading.Event()

        def tell(pause: float) -> None:
            while not over.wait(pause):
                self.log(f"{self._step}  ({time.monotonic() - self._start:.0f} s)")
                pause *= 2

        threading.Thread(target=tell, args=(pause,), daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def log(self, what: str) -> None:
        """Write a line unless an animation shows progress."""
        if self._status is None and sys.stderr is not None:
            print(what, file=sys.stderr, flush=True)


@contextmanager
def progress(what: str) -> Iterator[StatusLine]:
    """On a terminal, show a spinner with the present step and the elapsed seconds during the block."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield StatusLine(None, what)
        return
    from rich.text import Text

    with _screen("err").status(Text(what)) as status:
        _shown.append(status)
        try:
            yield StatusLine(status)
        finally:
            _shown.remove(status)


def is_asked() -> bool:
    """Return whether an operator can be asked at a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def typed_secret(question: str) -> str:
    """Return the input typed at the terminal, without showing it."""
    import click

    for status in _shown:
        status.stop()
    try:
        answer: str = click.prompt(question, hide_input=True, err=True)
    finally:
        for status in _shown:
            status.start()
    return answer


def print_json(value: object, ascii_only: bool = False) -> None:
    """Print one JSON document on standard output.

    Args:
        value: The document.
        ascii_only: Escape other characters, because texts of other people may try to control the terminal.
    """
    print(json.dumps(value, ensure_ascii=ascii_only, indent=2))


def show(table: Table, screen: Console | _Lines | None = None, in_pages: bool = False) -> None:
    """Print a table without cutting a cell, however narrow the terminal is.

    On a terminal, columns that allow it are wrapped to its width, or to at least `NARROW` characters each.

    Args:
        table: The table.
        screen: Where to print; standard output by default.
        in_pages: Without a terminal, wrap columns to lines of `PAGE` characters. False: print a row on one line there.
    """
    from rich.measure import Measurement

    screen = screen or _screen("out")
    if isinstance(screen, _Lines):
        screen = _screen(screen.name)  # rich's console has the width
    wraps = screen.is_terminal or in_pages
    wrapped = [column for column in table.columns if not column.no_wrap] if wraps else []
    for column in wrapped:
        column.max_width = NARROW
    needed = Measurement.get(screen, screen.options.update(max_width=10_000), table).maximum
    for column in wrapped:
        column.max_width = None
    width = screen.width if screen.is_terminal or not wrapped else PAGE
    screen.width = max(width, needed)  # only tables use this width: the terminal wraps all other output
    screen.print(table, crop=False)


def size(count: float) -> str:
    """Return a number of bytes as readable text: 1.4 MB."""
    step = 0
    while count >= 1000 and step < len(STEPS) - 1:
        count /= 1000
        step += 1
    return f"{count:.0f} {STEPS[step]}" if step == 0 else f"{count:.1f} {STEPS[step]}"


def duration(seconds: float) -> str:
    """Return seconds as readable text: 0.4 s, 41 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def estimated(seconds: float) -> str:
    """Return an estimated time as readable text: 0.0041 s, 12.3 s, 23 min 50 s."""
    return f"{seconds:.3g} s" if seconds < 60 else duration(seconds)


def outermost(report: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """Return the costs of the top-level phases, and as `rest`, if there are any, those outside a phase.

    Their sum is the total of the report, up to rounding to hundredths of a second.
    """
    phases = {path: cost for path, cost in report["phases"].items() if "/" not in path}
    keys = [key for key in report["total"] if key != "bits_opened"]
    rest = {key: max(0, report["total"][key] - sum(cost[key] for cost in phases.values())) for key in keys}
    return {**phases, "rest": rest} if any(round(value, 2) for value in rest.values()) else phases


def cost_lines(report: Mapping[str, Any], depth: int = 2) -> list[tuple[int, str, Mapping[str, float]]]:
    """Return the lines of a cost report, each with its level and name: phases, the rest, the total.

    The cost of measuring the link comes last, although it came before all others.

    Args:
        report: The cost report of a meter.
        depth: Number of levels of phases to list.
    """
    paths = [(path, cost) for path, cost in report["phases"].items() if path.count("/") < depth]
    lines = [(path.count("/"), path.rsplit("/", 1)[-1], cost) for path, cost in paths]
    lines += [(0, name, cost) for name, cost in outermost(report).items() if name not in report["phases"]]
    measuring = report.get(MEASURING)
    lines.append((0, "total", report["total"]))
    return lines if measuring is None else [*lines, (0, f"before: {MEASURING}", measuring)]


def cost_table(report: Mapping[str, Any]) -> str:
    """Return the cost report as text: a table with a line for each phase, the rest and the total."""
    heads = ("phase", "sent", "received", "messages", "rounds", "AND gates", "seconds")
    rows = [heads] + [
        (
            "  " * level + name,
            size(cost["bytes_sent"]),
            size(cost["bytes_received"]),
            f"{cost['messages']:,}",
            f"{cost['rounds']:,}",
            f"{cost['and_gates']:,}",
            f"{cost['seconds']:.2f}",
        )
        for level, name, cost in cost_lines(report)
    ]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [
        "  ".join([f" {name:{first}}", *(f"{cell:>{width}}" for cell, width in zip(cells, others, strict=True))])
        for name, *cells in rows
    ]
    about = "cost of the conversation; rounds: how often we waited for the peer, whose own number may differ"
    return "\n".join([about, *lines])
