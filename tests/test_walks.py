"""The walks in docs/architecture-rooms.md are those that runs take."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tracer import Hop, Point, Trace, Walk, section, trace
from scripts.walks import BEGIN, END, PAGE, WALKS, difference
from tests.support.places import ENVIRONMENT, ROOT

pytestmark = pytest.mark.slow

FILES = {"smc/first.py": "def begin(run):\n    run()\n", "parties/web/second.py": "def reach(run):\n    run()\n"}
BEGIN_HOP, REACH_HOP = Hop("smc/first.py", "begin"), Hop("parties/web/second.py", "reach")


@pytest.fixture(scope="module")
def written() -> str:
    """What stands between the markers."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


def test_the_page_has_the_walks_that_runs_take() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.walks", "--check"],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_there_are_five(written: str) -> None:
    assert len(WALKS) == 5
    assert all(f"**{walk.title}**" in written for walk in WALKS)
    assert written.count("\n    ") > 60


def test_no_walk_is_longer_than_before_and_none_comes_back_to_a_room(written: str) -> None:
    rows = [[cell.strip() for cell in line.split("|")] for line in written.splitlines() if line.startswith("| a")]
    assert len(rows) == 4  # epsilon has no article
    rows += [[cell.strip() for cell in line.split("|")] for line in written.splitlines() if line.startswith("| eps")]
    for row in rows:
        assert int(row[3]) <= int(row[4]), row
        assert row[6] == "-", row


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("Engine.both\n", "Engine.boths\n", id="a wrong hop"),
        pytest.param("Decisions.propose, ", "Decisions.repeat, ", id="another function that is there"),
        pytest.param("Hearing.hear, Hearing._meet", "Hearing._meet, Hearing.hear", id="out of order"),
        pytest.param("**A count**, 1", "**A count**, 2", id="miscounted"),
        pytest.param("protocols/id3.py   ", "protocols/tree.py  ", id="another file"),
        pytest.param("  = category numbers", "", id="a point left out"),
    ],
)
def test_a_page_that_says_otherwise_is_caught(written: str, right: str, wrong: str) -> None:
    assert right in written
    found = difference(f"text\n{BEGIN}{written.replace(right, wrong, 1)}{END}text", written)
    assert found is not None
    assert difference(f"text\n{BEGIN}{written}{END}text", written) is None


def functions() -> dict[Hop, Callable[[Callable[[], object]], None]]:
    """Functions that stand in files of ours which do not exist."""
    names: dict[str, Callable[[Callable[[], object]], None]] = {}
    for file, text in FILES.items():
        exec(compile(text, str(ROOT / file), "exec"), names)
    return {BEGIN_HOP: names["begin"], REACH_HOP: names["reach"]}


def walked(run: Callable[[Path], object], *points: Hop) -> Trace:
    there = tuple(Point(*hop, "there") for hop in points)
    return trace(Walk("A test", "here, there", 2, (BEGIN_HOP,), there, run), Path())


def test_a_stack_is_noted_with_its_rooms_and_a_function_counts_once() -> None:
    begin, reach = functions().values()
    found = walked(lambda _: begin(lambda: [reach(lambda: None), begin(lambda: None)]), REACH_HOP, BEGIN_HOP)
    assert found.hops() == [[BEGIN_HOP, REACH_HOP], []]
    assert [hop.room for hop in found.hops()[0]] == ["smc", "parties/web"]
    assert found.returns() == []


def test_points_out_of_order_are_not_reached() -> None:
    begin, reach = functions().values()

    def run(_: Path) -> None:
        reach(lambda: None)
        begin(lambda: None)

    assert len(walked(run, REACH_HOP, BEGIN_HOP).legs) == 2
    with pytest.raises(RuntimeError, match="reach was not called, or not after"):
        walked(run, BEGIN_HOP, REACH_HOP)


def test_a_room_that_is_come_back_to_is_told() -> None:
    begin, reach = functions().values()
    found = walked(lambda _: begin(lambda: reach(lambda: begin(lambda: None))), REACH_HOP, BEGIN_HOP)
    assert found.returns() == [("begin", "smc")]
    walk = Walk("A test", "here, there", 2, (BEGIN_HOP,), found.points, print)
    assert "| a test | here, there | 2 | 2 | 2 | smc, for begin |" in section([walk], [found])


def test_other_threads_are_followed_and_begin_anew() -> None:
    begin, reach = functions().values()

    def run(_: Path) -> None:
        thread = threading.Thread(target=reach, args=(lambda: None,))
        begin(thread.start)
        thread.join()

    assert walked(run, BEGIN_HOP, REACH_HOP).legs == [[BEGIN_HOP], [REACH_HOP]]
