"""What the operator sees is what was meant."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from parties.base import console
from parties.base.report import Column, Table
from smc.meter import Cost, Meter


@pytest.mark.parametrize("name", ["out", "err"])
def test_text_is_shown_as_it_is(capfd: pytest.CaptureFixture[str], name: str) -> None:
    text = "fingerprint 73:CD:C4 [red]not markup[/red] :smile: " + "x" * 200
    getattr(console, name).print(text)
    assert text in "".join(capfd.readouterr())


def test_progress_shows_text_as_it_is() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    with screen.status("") as status:
        console.StatusLine(status).doing("waiting for 73:CD:C4 [x]")
        screen.print(status.renderable)
    assert "73:CD:C4 [x]" in screen.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 KB"), (1_400_000, "1.4 MB"), (10**16, "10000.0 TB")],
)
def test_sizes(count: int, shown: str) -> None:
    assert console.size(count) == shown


def test_the_cost_table_has_the_phases_and_the_total() -> None:
    meter = Meter()
    with meter.phase("level 0"), meter.phase("leaves"), meter.phase("base ot"):
        meter.sent(1500)
    shown = console.cost_table(meter.report())
    assert "level 0" in shown
    assert "leaves" in shown
    assert "base ot" not in shown
    assert shown.count("1.5 KB") == 3


def test_the_lines_of_a_cost_add_up_and_measuring_stands_apart() -> None:
    meter = Meter()
    meter.sent(70)
    with meter.phase("level 0"), meter.phase("leaves"):
        meter.sent(1500)
    lines = console.cost_lines(meter.report() | {console.MEASURING: {**Cost(1000, 900, 4, 2).as_dict(), "link": "lan"}})
    assert [name for _, name, _ in lines] == ["level 0", "leaves", "rest", "total", "before: measuring the link"]
    whole = {name: cost for level, name, cost in lines if level == 0}
    for key in ("bytes_sent", "messages", "rounds", "and_gates"):
        assert whole["level 0"][key] + whole["rest"][key] == whole["total"][key]
    assert (whole["rest"]["bytes_sent"], whole["total"]["bytes_sent"]) == (70, 1570)


def test_no_cell_is_cut_on_a_narrow_terminal() -> None:
    screen = Console(file=io.StringIO(), width=20)
    cells = [("a phase with a long name", "123,456,789")]
    console.show(Table([Column("phase"), Column("AND gates", "number")], cells, "cost").screen(), screen)
    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 3
    assert "a phase with a long name" in lines[2]
    assert "123,456,789" in lines[2]


@pytest.mark.parametrize("width", [60, 200, 10])
def test_sentences_are_wrapped_on_a_terminal_and_elsewhere(width: int) -> None:
    """No letter is lost, and no line is wider than the terminal, or a page, if its words leave room."""
    sentence, long = "some words " * 12, "x" * 70
    shown = {}
    for is_terminal in (True, False):
        columns = [Column("column"), Column("holds", "sentence"), Column("look at", "sentence")]
        table = Table(columns, [("age", sentence, long)]).screen()
        screen = Console(file=io.StringIO(), width=width, force_terminal=is_terminal, color_system=None)
        console.show(table, screen, in_pages=True)
        shown[is_terminal] = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
        text = "".join(shown[is_terminal])
        assert (text.count("some"), text.count("words"), text.count("x")) == (12, 12, 70)
    assert max(map(len, shown[True])) <= max(width, 10 + 2 * (console.NARROW + 2))
    assert max(map(len, shown[False])) <= console.PAGE
    assert width < 200 or len(shown[True]) <= 4, "the room there is is used"
    screen = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
    console.show(table, screen)
    assert len(screen.file.getvalue().splitlines()) == 2, "a row is a line"  # type: ignore[attr-defined]
