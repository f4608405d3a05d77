"""Jobs and log on disk must say the same: whoever changes a row, takes one away, or the whole log, is noticed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parties.node.acts.ledger import Ledger
from parties.node.records.marker import FILE_NAME
from smc.errors import InputError
from smc.meter import Cost
from tests.support.ledgers import OTHER, TASK, TREE, Pair, Party, agreed, propose

pytestmark = pytest.mark.slow

Row = dict[str, Any]


def jobs(pair: Pair) -> dict[str, str]:
    """Of alice's: one done, one that waits, one cut short with a level, one cancelled."""
    done, cut = agreed(pair), agreed(pair)
    pair.session(done)
    pair.deliver()
    assert pair.parties[0].state(done) == "done"
    ledger = pair.parties[0].ledger
    ledger.runs.begin(cut, "bob")
    ledger.runs.met(cut, 0, "mixed")
    ledger.runs.reached(cut, TASK.states.encode(TASK.states.cut(TREE, 1)), Cost(1, 2, 3, 4))
    ledger.runs.broke(cut, "the link broke", Cost(1, 2, 3, 4))
    ledger.runs.over(cut)
    cancelled = propose(pair)
    ledger.decisions.cancel(cancelled)
    return {"done": done, "cut": cut, "waits": propose(pair), "cancelled": cancelled}


def marker(alice: Party) -> Path:
    return alice.path.parent / FILE_NAME


def changed(alice: Party, job: str, change: Callable[[Row], object]) -> None:
    """Change a row in the file, as anybody could who may write it, and start anew."""
    (text,) = alice.connection.execute("SELECT record FROM jobs WHERE id = ?", (job,)).fetchone()
    row = json.loads(text)
    change(row)
    with alice.connection:
        alice.connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (json.dumps(row), job))
    alice.crash()


def problem(ledger: Ledger, path: Path) -> str:
    with pytest.raises(InputError) as caught:
        ledger.jobs.check(path)
    return str(caught.value)


def test_what_nobody_changed_is_whole(pair: Pair) -> None:
    jobs(pair)
    alice = pair.parties[0]
    alice.ledger.log.remember(marker(alice))
    alice.crash()
    alice.ledger.jobs.check(marker(alice))


@pytest.mark.parametrize(
    ("which", "change", "field"),
    [
        ("done", lambda row: row["ours"]["proposal"].update(purpose="another"), "purpose"),
        ("waits", lambda row: row["ours"]["proposal"].update(tables=["nights", "days"]), "table"),
        ("waits", lambda row: row["ours"]["proposal"].update(proposed_at="2020-01-01T00:00:00Z"), "digest"),
        ("done", lambda row: row.update(tree=TASK.states.encode(OTHER)), "tree"),
        ("done", lambda row: row.update(tree=["nonsense"]), "tree"),
        ("cut", lambda row: row.update(tree=TASK.states.encode(TASK.states.cut(OTHER, 2))), "tree"),
        ("waits", lambda row: row["ours"].update(verdict="refused"), "verdict (us)"),
        ("waits", lambda row: row.update(theirs={**row["ours"], "verdict": "approved"}), "verdict (peer)"),
        ("cut", lambda row: row["ours"].update(end="cancelled"), "end"),
        ("cancelled", lambda row: row["ours"].update(end=""), ""),
    ],
)
def test_a_changed_row_is_named_with_its_field(
    pair: Pair, which: str, change: Callable[[Row], object], field: str
) -> None:
    alice, job = pair.parties[0], jobs(pair)[which]
    changed(alice, job, change)
    found = problem(alice.ledger, marker(alice))
    assert job[:8] in found
    assert field in found


def test_a_row_that_is_gone_and_one_that_nobody_wrote(pair: Pair) -> None:
    alice, job = pair.parties[0], jobs(pair)["done"]
    (text,) = alice.connection.execute("SELECT record FROM jobs WHERE id = ?", (job,)).fetchone()
    with alice.connection:
        alice.connection.execute("DELETE FROM jobs WHERE id = ?", (job,))
    alice.crash()
    assert problem(alice.ledger, marker(alice)).startswith(f"job {job[:8]}: it is in the audit log")
    forged = text.replace(job, "0" * 32)
    with alice.connection:
        alice.connection.execute("INSERT INTO jobs (id, record) VALUES (?, ?)", (job, text))
        alice.connection.execute("INSERT INTO jobs (id, record) VALUES (?, ?)", ("0" * 32, forged))
    alice.crash()
    assert "job 00000000: its proposal" in problem(alice.ledger, marker(alice))


def test_a_dropped_table(pair: Pair) -> None:
    alice = pair.parties[0]
    jobs(pair)
    with alice.connection:
        alice.connection.execute("DROP TABLE jobs")
    alice.crash()
    assert "its row is gone" in problem(alice.ledger, marker(alice))


@pytest.mark.parametrize("damage", ["no JSON", '{"ours": 1}', ""])
def test_a_row_that_cannot_be_read_ends_the_start_with_one_line(pair: Pair, damage: str) -> None:
    alice, job = pair.parties[0], jobs(pair)["waits"]
    with alice.connection:
        alice.connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (damage, job))
    with pytest.raises(InputError, match=f"row of job {job[:8]} is damaged") as caught:
        alice.crash()
    assert "\n" not in str(caught.value)


def test_an_emptied_database_is_missed(pair: Pair) -> None:
    """And so is a copy of the file from before in its place."""
    alice = pair.parties[0]
    first = alice.path.with_suffix(".first")
    jobs(pair)
    alice.ledger.log.remember(marker(alice))
    with sqlite3.connect(first) as copy:
        alice.connection.backup(copy)
    copy.close()
    propose(pair)
    alice.ledger.log.remember(marker(alice))
    for path in alice.path.parent.glob("node.sqlite*"):
        path.unlink()
    alice.crash()
    assert "lacks entry" in problem(alice.ledger, marker(alice))
    alice.connection.close()
    for path in alice.path.parent.glob("node.sqlite*"):
        path.unlink()
    first.chmod(0o600)
    first.rename(alice.path)
    alice.crash()
    assert "lacks entry" in problem(alice.ledger, marker(alice))


def test_a_damaged_marker_is_one_line(pair: Pair) -> None:
    alice = pair.parties[0]
    marker(alice).write_text("nonsense")
    assert "remove it" in problem(alice.ledger, marker(alice))
