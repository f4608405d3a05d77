"""What the operator sees: results on standard output, everything else on standard error."""

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

FORMS = re.compile(r"[\a\b\t\v\f\r]")  # what rich takes out of a text, or fills in


class _Lines:
    """Standard output or error: lines of plain text as they are, all else through rich, which takes long to load."""

    def __init__(self, name: str) -> None:
        self.name = name

    def print(self, *what: Any, end: str = "\n", **form: Any) -> None:
        """Print a text, or what only rich can print."""
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
    """Return standard output or error through rich, loaded on first use: a run without a terminal may never need it."""
    from rich.console import Console

    class Screen(Console):
        """As rich has it, but a reader that left is an error like any other, not the end with exit code 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # Text is shown as it is: rich would read [x] as markup and turn the :CD: of a fingerprint into a picture.
    return Screen(stderr=name == "err", highlight=False, soft_wrap=True, markup=False, emoji=False)


def __getattr__(name: str) -> Any:
    if name in ("out", "err"):
        return _Lines(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


BAR = 24  # letters of a full bar
NARROW = 16  # letters of a column that is wrapped, at least
PAGE = 120  # letters of a line in a pipe or a file
MEASURING = "measuring the link"  # of a cost report: what it took before the run
STEPS = ("bytes", "KB", "MB", "GB", "TB")


_shown: list[Status] = []  # by `progress`, now


class StatusLine:
    """A line that tells what is going on; on a terminal it is animated, elsewhere only `say` writes."""

    def __init__(self, status: Status | None) -> None:
        self._status = status
        self._start = time.monotonic()

    def doing(self, what: str) -> None:
        """Show the present step, and how long the command has been running."""
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text.assemble(what, (f"  ({time.monotonic() - self._start:.0f} s)", "dim")))

    def share(self, what: str, done: int, total: int) -> None:
        """Show how much of a step is done, as a bar; without a terminal, a line when it begins."""
        if self._status is not None:
            filled = BAR * done // total
            self.doing(f"{what}  {'━' * filled}{'─' * (BAR - filled)} {done}/{total}")
        elif not done:
            self.say(what)

    def say(self, what: str) -> None:
        """Write a line that stays."""
        if self._status is not None:
            self._status.console.print(what)
        else:
            self.log(what)

    def asked(self, question: str, seconds: float) -> bool:
        """Ask whoever is at the terminal; False if nobody is, or if yes is not answered in so many seconds."""
        if not is_asked() or sys.stderr is None:
            return False
        if self._status is not None:
            self._status.stop()
        print(question, end="", file=sys.stderr, flush=True)
        answered = bool(select.select([sys.stdin], [], [], seconds)[0])
        answer = sys.stdin.readline() if answered else "\n"
        if self._status is not None:
            self._status.start()
        return answer.strip().casefold() in ("y", "yes")

    def typed(self, question: str) -> str:
        """Return the line that is typed in answer to a question."""
        if self._status is not None:
            self._status.stop()
        print(question, end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if self._status is not None:
            self._status.start()
        return answer.strip()

    @contextmanager
    def waiting(self, what: str, seconds: float, first: float = 2, again: float = 15) -> Iterator[None]:
        """Say what is waited for, and for how long at most: after the first seconds, and again and again."""
        came, end = threading.Event(), time.monotonic() + seconds

        def tell() -> None:
            pause = first
            while not came.wait(pause):
                line = f"{what}, {max(0.0, end - time.monotonic()):.0f} s at most"
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

    def log(self, what: str) -> None:
        """Write a line where no animation shows that something is going on."""
        if self._status is None and sys.stderr is not None:
            print(what, file=sys.stderr, flush=True)


@contextmanager
def progress(what: str) -> Iterator[StatusLine]:
    """Give a spinner with the present step and the seconds so far."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield StatusLine(None)
        return
    from rich.text import Text

    with _screen("err").status(Text(what)) as status:
        _shown.append(status)
        try:
            yield StatusLine(status)
        finally:
            _shown.remove(status)


def is_asked() -> bool:
    """Return whether there is somebody at a terminal who can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def typed_secret(question: str) -> str:
    """Return what is typed at the terminal, which does not show it."""
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
    """Print one JSON document on standard output; in ASCII where others' texts in it may be meant for the terminal."""
    print(json.dumps(value, ensure_ascii=ascii_only, indent=2))


def show(table: Table, screen: Console | _Lines | None = None, in_pages: bool = False) -> None:
    """Print a table, on standard output unless told otherwise, with no cell cut, however narrow the terminal.

    On a terminal columns that may be wrapped are, to its width, or to `NARROW` letters each; elsewhere a row is a line,
    or `in_pages` they are wrapped to `PAGE` letters.
    """
    from rich.measure import Measurement

    screen = screen or _screen("out")
    if isinstance(screen, _Lines):
        screen = _screen(screen.name)  # which has the width
    wraps = screen.is_terminal or in_pages
    wrapped = [column for column in table.columns if not column.no_wrap] if wraps else []
    for column in wrapped:
        column.max_width = NARROW
    needed = Measurement.get(screen, screen.options.update(max_width=10_000), table).maximum
    for column in wrapped:
        column.max_width = None
    width = screen.width if screen.is_terminal or not wrapped else PAGE
    screen.width = max(width, needed)  # only tables heed it: all else is left to the terminal to wrap
    screen.print(table, crop=False)


def size(count: float) -> str:
    """Format bytes for people: 1.4 MB."""
    step = 0
    while count >= 1000 and step < len(STEPS) - 1:
        count /= 1000
        step += 1
    return f"{count:.0f} {STEPS[step]}" if step == 0 else f"{count:.1f} {STEPS[step]}"


def outermost(report: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """Return the costs of the phases that are in no other one, and of what is in none of them as `rest`.

    They add up to the total of the report, but for what rounding to hundredths of a second takes away.
    """
    phases = {path: cost for path, cost in report["phases"].items() if "/" not in path}
    keys = [key for key in report["total"] if key != "bits_opened"]
    rest = {key: max(0, report["total"][key] - sum(cost[key] for cost in phases.values())) for key in keys}
    return {**phases, "rest": rest} if any(round(value, 2) for value in rest.values()) else phases


def cost_lines(report: Mapping[str, Any], depth: int = 2) -> list[tuple[int, str, Mapping[str, float]]]:
    """Return the lines of a cost report, each with its level and name: phases to the given depth, the rest, the total.

    What measuring the link took came before all of them, and stands last.
    """
    paths = [(path, cost) for path, cost in report["phases"].items() if path.count("/") < depth]
    lines = [(path.count("/"), path.rsplit("/", 1)[-1], cost) for path, cost in paths]
    lines += [(0, name, cost) for name, cost in outermost(report).items() if name not in report["phases"]]
    measuring = report.get(MEASURING)
    lines.append((0, "total", report["total"]))
    return lines if measuring is None else [*lines, (0, f"before: {MEASURING}", measuring)]


def cost_table(report: Mapping[str, Any]) -> str:
    """Return the cost report as a table, see `cost_lines`."""
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
