"""What our own rows say of a job: read once, when the operator looks, and never instead of an error."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from parties.jobs.inputs import AwayError, Inputs
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.node.desk import own_rows
from parties.node.desk.own_rows import OwnRows
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from tests.support.waiting import eventually

SCHEMA = Schema({"race": ("known", "?"), "age": ("old", "young"), "outcome": ("dead", "alive")})


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_rows, "SECONDS", 60)


def task_and_inputs(directory: Path, exceptions: int) -> tuple[ExactTree, Inputs]:
    """A table of 400 rows of which `race` tells the outcome, but for some."""
    SCHEMA.save(directory / "schema.toml")
    rows = [("known", "dead") if i % 2 else ("?", "alive") for i in range(400)]
    rows[:exceptions] = [("?", "dead")] * exceptions
    lines = [f"{race},{('old', 'young')[i // 2 % 2]},{outcome}" for i, (race, outcome) in enumerate(rows)]
    (directory / "rows.csv").write_text("race,age,outcome\n" + "\n".join(lines) + "\n")
    table = TableSettings(
        source=str(directory / "rows.csv"),
        schema=directory / "schema.toml",
        max_rows=500,  # type: ignore[call-arg]
    )
    return ExactTree(Id3Settings(max_rows=500), SCHEMA, "outcome"), Inputs(table=table, schema=SCHEMA)


def test_a_column_that_nearly_decides_is_named(tmp_path: Path) -> None:
    task, inputs = task_and_inputs(tmp_path, 4)
    (line,) = OwnRows().remarks("a" * 32, task, inputs)
    words = "of your rows: is it known only after the outcome?"
    assert line == f"'race' alone predicts outcome = 'dead' correctly for 99% {words}"
    task, inputs = task_and_inputs(tmp_path, 40)
    assert OwnRows().remarks("a" * 32, task, inputs) == []


def test_a_job_that_is_looked_at_while_others_come_is_told_all_the_same(tmp_path: Path, monkeypatch: Any) -> None:
    """No more are kept than a bound; whoever waits for the table has what it says."""
    task, inputs = task_and_inputs(tmp_path, 0)
    first, go, wrong = threading.Event(), threading.Event(), list[Any]()

    def remarks(*_: Any) -> list[str]:
        first.set()
        assert go.wait(60)
        return ["a line"]

    monkeypatch.setattr(ExactTree, "remarks", remarks)
    monkeypatch.setattr(own_rows, "MOST_KEPT", 2)
    monkeypatch.setattr(threading, "excepthook", wrong.append)
    looks, told = OwnRows(), dict[str, list[str]]()

    def look(job: str) -> None:
        told[job] = looks.remarks(job, task, inputs)

    waiting = [threading.Thread(target=look, args=(job,)) for job in "abc"]
    for number, thread in enumerate(waiting):
        thread.start()
        assert first.wait(60)
        eventually(lambda number=number: "abc"[number] in looks._looks)  # type: ignore[misc]
    assert list(looks._looks) == ["b", "c"]
    assert all(one.daemon for one in threading.enumerate() if one.name == "smc-own-rows")
    go.set()
    for thread in waiting:
        thread.join()
    assert (told, wrong) == ({job: ["a line"] for job in "abc"}, [])


def test_the_table_is_read_once_and_only_for_jobs_that_fit(tmp_path: Path, monkeypatch: Any) -> None:
    task, inputs = task_and_inputs(tmp_path, 0)
    calls: list[int] = []
    monkeypatch.setattr(ExactTree, "remarks", lambda *_: calls.append(1) or ["a line"])
    looks = OwnRows()
    assert [looks.remarks("a" * 32, task, inputs) for _ in range(3)] == [["a line"]] * 3
    assert len(calls) == 1
    narrow = ExactTree(Id3Settings(max_rows=20), SCHEMA, "outcome")  # the bound of the job is below the table's
    assert looks.remarks("b" * 32, narrow, inputs) == []
    assert len(calls) == 1


def test_what_is_slow_or_away_keeps_nobody_waiting(tmp_path: Path, monkeypatch: Any) -> None:
    task, inputs = task_and_inputs(tmp_path, 0)
    go = threading.Event()

    def slow(*_: object) -> list[str]:
        go.wait(20)
        return ["late"]

    monkeypatch.setattr(own_rows, "SECONDS", 0.01)
    monkeypatch.setattr(ExactTree, "remarks", slow)
    looks = OwnRows()
    assert looks.remarks("a" * 32, task, inputs) == []
    go.set()
    monkeypatch.setattr(own_rows, "SECONDS", 60)
    assert looks.remarks("a" * 32, task, inputs) == ["late"]

    def away(*_: object) -> list[str]:
        raise AwayError("gone")

    monkeypatch.setattr(ExactTree, "remarks", away)
    assert looks.remarks("b" * 32, task, inputs) == []
