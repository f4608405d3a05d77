"""What the operator sees: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.status import Status
from rich.table import Table
from rich.text import Text

# Text is shown as it is: rich would read [x] as markup and turn the :CD: of a fingerprint into a picture.
out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)

STEPS = ("bytes", "KB", "MB", "GB", "TB")


class Progress:
    """A line that tells what is going on; on a terminal it is animated, elsewhere only `say` writes."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._start = time.monotonic()

    def doing(self, what: str) -> None:
        """Show the present step, and how long the command has been running."""
        self._status.update(Text.assemble(what, (f"  ({time.monotonic() - self._start:.0f} s)", "dim")))

    def say(self, what: str) -> None:
        """Write a line that stays."""
        err.print(what)


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """A spinner with the present step and the seconds so far."""
    with err.status(Text(what)) as status:
        yield Progress(status)


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def show(table: Table, screen: Console = out) -> None:
    """Print a table with no cell cut, however narrow the terminal."""
    needed = Measurement.get(screen, screen.options.update(max_width=10_000), table).maximum
    screen.width = max(screen.width, needed)  # only tables heed it: all else is left to the terminal to wrap
    screen.print(table, crop=False)


def size(count: float) -> str:
    """Bytes for people: 1.4 MB."""
    step = 0
    while count >= 1000 and step < len(STEPS) - 1:
        count /= 1000
        step += 1
    return f"{count:.0f} {STEPS[step]}" if step == 0 else f"{count:.1f} {STEPS[step]}"


def cost_table(report: Mapping[str, Any], depth: int = 2) -> Table:
    """The cost report as a table, phases to the given depth."""
    table = Table(title="cost of the conversation", title_justify="left", box=None, padding=(0, 1))
    table.add_column("phase")
    for name in ("sent", "received", "messages", "rounds", "AND gates", "seconds"):
        table.add_column(name, justify="right")
    rows = [(path, cost) for path, cost in report["phases"].items() if path.count("/") < depth]
    for path, cost in [*rows, ("total", report["total"])]:
        name = "  " * path.count("/") + path.rsplit("/", 1)[-1]
        table.add_row(
            name,
            size(cost["bytes_sent"]),
            size(cost["bytes_received"]),
            f"{cost['messages']:,}",
            f"{cost['rounds']:,}",
            f"{cost['and_gates']:,}",
            f"{cost['seconds']:.2f}",
            style="bold" if path == "total" else None,
        )
    return table
