"""All kinds of jobs between two nodes: from tables and typed, what is kept of the latter, and what a crash changes."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from parties import cli
from tests.support.circuits import adder
from tests.support.coins import PLACE, noted
from tests.support.nodes import NodeProcess, Nodes, job, verified
from tests.support.registry import installed
from tests.support.waiting import eventually

ROWS = (
    "wind,rain,play\n" + 3 * "weak,no,yes\n" + 2 * "strong,much,no\n" + "weak,some,no\n",
    "wind,rain,play\n" + 2 * "weak,no,yes\n" + 4 * "strong,no,no\n",
)
SCHEMA = (
    'target = "play"\n[attributes]\nwind = ["weak", "strong"]\nrain = ["no", "some", "much"]\nplay = ["yes", "no"]\n'
)
CIRCUITS = '[circuits]\nadder = "adder.txt"\n'
WIDTH = 60  # of the adder's numbers


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the parties note their coins."""
    return tmp_path_factory.mktemp("coins")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, coins: Path) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("kinds"))
    nodes.furnish(ROWS, SCHEMA, (CIRCUITS, CIRCUITS))
    environment = installed(tmp_path_factory.mktemp("site"), {"coins": "tests.support.coins:Coins"})
    for node in (nodes.a, nodes.b):
        (node.directory / "adder.txt").write_text(adder(WIDTH))
        node.environment = environment | {PLACE: str(coins)}
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


Smc = Callable[..., str]


@pytest.fixture
def smc(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Smc:
    """A command of a node's operator in this process; what it prints, or the line in which it ends."""

    def call(node: NodeProcess, *words: str, code: int = 0, stdin: str = "") -> str:
        monkeypatch.chdir(node.directory)
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        found = cli.run(list(words))
        out, err = capsys.readouterr()
        assert found == code, err
        assert code == 0 or (err.startswith("smc: ") and err.count("\n") == 1), err
        return out if code == 0 else err

    return call


def counted(column: str, value: str) -> list[int]:
    """How many rows with this value each party has."""
    tables = [list(csv.DictReader(rows.splitlines())) for rows in ROWS]
    return [sum(row[column] == value for row in table) for table in tables]


def more(left: int, right: int) -> dict[str, Any]:
    """Who has more."""
    return {"result": "equal" if left == right else "party0" if left > right else "party1"}


def most(column: str, *values: str) -> dict[str, Any]:
    """The value that most rows have, the first among equals."""
    return {"result": max(values, key=lambda value: sum(counted(column, value)))}


FROM_TABLES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"protocol": "millionaires", "of": "rows"}, {"result": "equal"}),
    ({"protocol": "millionaires", "of": "wind=weak", "engine": "gmw"}, more(*counted("wind", "weak"))),
    ({"protocol": "millionaires", "of": "play=no", "bits": 17}, more(*counted("play", "no"))),
    ({"protocol": "equality", "of": "rows"}, {"result": True}),
    ({"protocol": "equality", "of": "rain=much", "engine": "gmw"}, {"result": False}),
    ({"protocol": "majority"}, most("play", "yes", "no")),
    ({"protocol": "majority", "target": "rain", "engine": "gmw"}, most("rain", "no", "some", "much")),
]


def test_from_tables(pair: Nodes) -> None:
    """All at once; nothing is asked of an operator but consent."""
    jobs = [pair.a.client.submit({"table": "rows", **fields}).id for fields, _ in FROM_TABLES]
    for identifier in jobs:
        assert job(pair.b, identifier).asked == []
        pair.b.client.approve(identifier)
    for identifier, (_, expected) in zip(jobs, FROM_TABLES, strict=True):
        finished(pair, identifier, expected)


def finished(pair: Nodes, identifier: str, expected: dict[str, Any]) -> None:
    """The job is done at both, with this result, and its secret is gone."""
    left, right = pair.finished(identifier)
    assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
    for node in (pair.a, pair.b):
        assert node.client.result(identifier).document == expected
        eventually(lambda node=node: shares(node, identifier) == [])


def shares(node: NodeProcess, identifier: str) -> list[bytes]:
    """The shares, and the seeds of contributions, that a node keeps of a job; its database is for its owner only."""
    path = node.directory / "state" / "node.sqlite"
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT share, seed FROM openings WHERE job = ?", (identifier,)).fetchall()
    return [part for row in rows for part in row]


# Typed.

# So long that none stands in a digest or a signature by chance, in whatever digits; the latter fit the adder.
LARGE = (3735928559_000_000_007, 3735928559_000_000_011)
SMALL = (373592855_900_000_007, 288240001_800_000_011)
SUM = SMALL[0] + SMALL[1]
TYPED: list[tuple[dict[str, Any], tuple[str, str], dict[str, Any]]] = [
    ({"protocol": "millionaires", "bits": 64}, (f"value={LARGE[0]}", f"value={LARGE[1]}"), {"result": "party1"}),
    ({"protocol": "equality", "bits": 64}, (f"value={SMALL[0]}", f"value={SMALL[0]}"), {"result": True}),
    (
        {"protocol": "equality", "bits": 64, "engine": "gmw"},
        (f"value={SMALL[0]}", f"value={SMALL[1]}"),
        {"result": False},
    ),
    (
        {"protocol": "majority", "classes": ["p", "q", "r"], "bits": WIDTH},
        (f"counts={SMALL[0]},{SMALL[1]},5", f"counts=7,{SMALL[0]},{SMALL[1]}"),
        {"result": "q"},
    ),
    (
        {"protocol": "circuit", "circuit": "adder"},
        (f"input={SMALL[0]:#x}", f"input={SMALL[1]:0{WIDTH}b}"),
        {"outputs": [f"0x{SUM:0{(WIDTH + 4) // 4}x}"]},
    ),
]


def written(*numbers: int) -> list[bytes]:
    """The ways in which a number could stand in a file."""
    found = []
    for number in numbers:
        found += [f"{number}".encode(), f"{number:x}".encode(), f"{number:X}".encode(), f"{number:032b}".encode()]
        found += [number.to_bytes(8, "little"), number.to_bytes(8, "big")]
    return found


def holding(node: NodeProcess, wanted: list[bytes]) -> list[Path]:
    """The files of a node's directory, its log and records among them, in which any of these stand."""
    files = [path for path in node.directory.rglob("*") if path.is_file()]
    assert any(path.name == "node.sqlite" for path in files)
    return [path for path in files if any(text in path.read_bytes() for text in wanted)]


@pytest.mark.parametrize(("fields", "typed", "expected"), TYPED, ids=lambda value: str(value)[:40])
def test_typed_when_proposing_and_consenting(
    pair: Nodes, smc: Smc, fields: dict[str, Any], typed: tuple[str, str], expected: dict[str, Any]
) -> None:
    """One value is given on the command line, one on standard input; neither is in any file at any time."""
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
    (pair.a.directory / "job.toml").write_text(text + 'purpose = "typed"\n')
    asked = typed[0].partition("=")[0]
    assert f"{asked}: the job requires it" in smc(pair.a, "submit", "job.toml", code=2)
    smc(pair.a, "submit", "job.toml", "--input", typed[0])
    identifier = pair.a.client.jobs()[0].id
    assert [one.name for one in job(pair.b, identifier).asked] == [asked]
    assert pair.a.client.job(identifier).asked == []
    assert f"{asked}: the job requires it" in smc(pair.b, "approve", identifier, code=2)
    numbers = written(*LARGE, *SMALL)
    for node in (pair.a, pair.b):
        assert holding(node, numbers) == []
        assert holding(node, [identifier.encode()]), "what is written is not found"
    smc(pair.b, "approve", identifier, "--input", f"{asked}=-", stdin=typed[1].partition("=")[2] + "\n")
    finished(pair, identifier, expected)
    for node in (pair.a, pair.b):
        sum_is_public = fields["protocol"] == "circuit"
        assert not sum_is_public or holding(node, [f"{SUM:x}".encode()])
        assert holding(node, numbers) == []
        assert not any(text in str(node.client.audit(1000)).encode() for text in numbers)


@pytest.mark.parametrize(
    ("fields", "typed", "message"),
    [
        ({"protocol": "millionaires"}, "value=4294967296", ": value does not fit 32 bits"),
        ({"protocol": "millionaires"}, "value=-1", "--value: must be a whole number from 0 up"),
        ({"protocol": "equality"}, "value=", "--value: must be a whole number from 0 up"),
        ({"protocol": "equality"}, "value=x", "--value: must be a whole number from 0 up"),
        ({"protocol": "equality"}, "value=-", "standard input is empty or closed"),
        ({"protocol": "equality"}, "number=5", "--input: must be NAME=VALUE, with NAME from 'value'"),
        ({"protocol": "equality"}, "5", "--input: must be NAME=VALUE"),
        ({"protocol": "majority", "classes": ["p", "q"]}, "counts=1", "--counts: 1 counts; give 2, one for each class"),
        ({"protocol": "majority", "classes": ["p", "q"]}, "counts=1,-2", "--counts: must be whole numbers"),
        ({"protocol": "majority", "classes": ["p", "q"]}, "counts=", "counts"),
        ({"protocol": "circuit", "circuit": "adder"}, f"input={1 << WIDTH:#x}", f"--input: {WIDTH + 1} bits"),
        ({"protocol": "circuit", "circuit": "adder"}, "input=12", "--input: must be binary digits"),
        ({"protocol": "circuit", "circuit": "ader"}, "input=1", "did you mean 'adder'"),
        ({"protocol": "equality", "of": "rows", "table": "rows"}, "value=5", "value: the job has no such input"),
        ({"protocol": "millionaires", "of": "hail=no", "table": "rows"}, "", "no attribute 'hail'"),
        ({"protocol": "millionaires", "of": "wind=week", "table": "rows"}, "", "did you mean 'weak'"),
        ({"protocol": "millionaires", "of": "rows"}, "", "table: is missing"),
        ({"protocol": "milionaires"}, "", "did you mean 'millionaires'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_proposed(pair: Nodes, smc: Smc, fields: dict[str, Any], typed: str, message: str) -> None:
    known = len(pair.a.client.jobs())
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
    (pair.a.directory / "job.toml").write_text(text)
    told = smc(pair.a, "submit", "job.toml", *(["--input", typed] if typed else []), code=2)
    assert message in told
    assert len(pair.a.client.jobs()) == known


def test_what_cannot_be_consented_to(pair: Nodes, smc: Smc) -> None:
    """What the peer's operator types is checked the same, and so is what comes over the interface of programs."""
    identifier = pair.a.client.submit({"protocol": "equality", "value": 5}).id
    job(pair.b, identifier)
    for typed, message in (
        ("value=4294967296", ": value does not fit 32 bits"),
        ("value=", "--value: must be a whole number"),
        ("counts=5", "NAME from 'value'"),
    ):
        assert message in smc(pair.b, "approve", identifier, "--input", typed, code=2)
    for value in (-1, "5", 5.5, True, [5], None):
        with pytest.raises(Exception, match="value") as failed:
            pair.b.client.approve(identifier, {"value": value})
        assert type(failed.value).__name__ == "InputError"
    assert job(pair.b, identifier).state == "waiting"
    pair.b.client.refuse(identifier, "not today")
    assert pair.finished(identifier)[0].state == "refused"


# Crashes.


def test_what_was_typed_is_asked_for_again_after_a_crash(pair: Nodes, smc: Smc) -> None:
    """Both nodes are killed between consent and run: the job stays, the numbers are typed again, with a line for it."""
    identifier = pair.a.client.submit({"protocol": "millionaires", "bits": 64, "value": LARGE[0]}).id
    job(pair.b, identifier)
    pair.a.kill()
    eventually(lambda: not pair.b.client.node().connected)
    smc(pair.b, "approve", identifier, "--input", f"value={LARGE[1]}")
    assert job(pair.b, identifier).state == "queued"
    assert job(pair.b, identifier).asked == []
    pair.b.kill()
    for node in (pair.a, pair.b):
        assert holding(node, written(*LARGE)) == []
        node.start()
    pair.await_both()
    needed = f"needs value to be typed: smc approve {identifier[:8]} --input value=VALUE"
    for node, other in ((pair.b, pair.a), (pair.a, pair.b)):
        eventually(lambda node=node: job(node, identifier).why == needed)
        assert "asks for    value: Your number, private" in smc(node, "show", identifier)
        eventually(lambda other=other: job(other, identifier).state == "queued")
        assert needed in smc(node, "jobs", "--json")
        assert "value: the job requires it" in smc(node, "approve", identifier, code=2)
        number = LARGE[0] if node is pair.a else LARGE[1]
        assert "queued" in smc(node, "approve", identifier, "--input", f"value={number}")
        assert job(node, identifier).asked == []
    finished(pair, identifier, {"result": "party1"})
    for node in (pair.a, pair.b):
        assert holding(node, written(*LARGE)) == []
        assert verified(node)["ok"]


def test_coins_are_the_same_after_a_crash(pair: Nodes, coins: Path) -> None:
    """Both nodes are killed in the second toss, when it is open but not written down: it is not tossed anew."""
    hold = coins / "hold 1"
    hold.touch()
    identifier = pair.a.client.submit({"protocol": "coins"}).id
    job(pair.b, identifier)
    pair.b.client.approve(identifier)
    eventually(lambda: all(len(noted(coins, party)) == 2 for party in (0, 1)))
    kept = [shares(node, identifier) for node in (pair.a, pair.b)]
    assert [[len(part) for part in one] for one in kept] == [[4, 16]] * 2
    for node in (pair.a, pair.b):
        node.kill()
    hold.unlink()
    for node in (pair.a, pair.b):
        node.start()
    pair.await_both()
    first, second = (toss for _, toss in noted(coins, 0)[:2])  # the second is noted again once the job goes on
    finished(pair, identifier, {"coins": [first, second]})
    for party in (0, 1):
        assert noted(coins, party) == [(0, first), (1, second), (1, second)]
    assert first != second
    for node in (pair.a, pair.b):
        starts = [e.fields["depth"] for e in node.client.audit(1000) if e.kind == "started" and e.job == identifier]
        assert starts == [1, 0]
        assert shares(node, identifier) == []
        assert verified(node)["ok"]

    again = pair.b.client.submit({"protocol": "coins", "engine": "gmw"}).id
    job(pair.a, again)
    pair.a.client.approve(again)
    pair.finished(again)
    tosses = [toss for _, toss in noted(coins, 0)[3:]]
    finished(pair, again, {"coins": tosses})
    assert len({tuple(toss) for toss in (first, second, *tosses)}) == 4


def test_a_job_that_is_ended_leaves_no_secret(pair: Nodes, coins: Path) -> None:
    """Cancelled in the middle: what was kept for it goes at both nodes."""
    hold = coins / "hold 0"
    hold.touch()
    known = [len(noted(coins, party)) for party in (0, 1)]
    identifier = pair.b.client.submit({"protocol": "coins"}).id
    job(pair.a, identifier)
    pair.a.client.approve(identifier)
    eventually(lambda: all(len(noted(coins, party)) == known[party] + 1 for party in (0, 1)))
    assert shares(pair.a, identifier) != []
    pair.b.client.cancel(identifier, "enough")
    hold.unlink()
    assert [view.state for view in pair.finished(identifier)] == ["cancelled", "cancelled"]
    for node in (pair.a, pair.b):
        eventually(lambda node=node: shares(node, identifier) == [])
