"""A tree over columns that lie apart, by the commands of docs/alignment*.md, between two processes."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from tests.support.places import ROOT
from tests.support.processes import Done, Processes, here

PAGES = [
    (ROOT / "docs" / name).read_text() for name in ("alignment.md", "alignment-judging.md", "alignment-classes.md")
]
PAGE = "".join(PAGES).replace("\\\n", "")
COMMANDS = re.findall(r"^    (bank|shop)\$ smc (.*)$", PAGE, re.MULTILINE)
PAGE_HIDDEN = (ROOT / "docs" / "alignment-hidden.md").read_text().replace("\\\n", "")
HIDDEN = re.findall(r"^    (bank|shop)\$ smc (.*)$", PAGE_HIDDEN, re.MULTILINE)
SCHEMA = """target = "late"
[attributes]
income = ["low", "middle", "high"]
employed = ["no", "yes"]
orders = ["0", "1", "2"]
late = ["False", "True"]
"""
LISTENER = ["--listener-columns", "income,employed"]


def write(path: Path, names: list[str], rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def people() -> list[dict[str, str]]:
    rng = random.Random(4)
    columns = {"income": ["low", "middle", "high"], "employed": ["no", "yes"], "orders": ["0", "1", "2"]}
    rows = [{name: rng.choice(values) for name, values in columns.items()} for _ in range(80)]
    for number, row in enumerate(rows):
        row |= {"tax_number": str(number), "late": str((row["income"] == "low") == (row["orders"] > "0"))}
    return rows


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    rows = people()
    write(tmp_path / "bank.csv", ["tax_number", "income", "employed"], rows[:70])
    write(tmp_path / "shop.csv", ["late", "orders", "tax_number", "employed"], rows[:9:-1])
    started = Processes(tmp_path)
    yield started
    started.stop()


def words(command: str, party: str) -> list[str]:
    """The words of a command; both parties run here in one directory, and the shop's outputs have other names."""
    command = command.replace(" --config party.toml", "")
    for name in ("aligned.csv", "schema.toml", "tree.json") if party == "shop" else ():
        command = command.replace(name, f"shop-{name}")
    return shlex.split(command)


def by_the_page(processes: Processes) -> list[Done]:
    """Run all commands of the page: those with a peer in pairs."""
    done, waiting = [], None
    for party, command in COMMANDS:
        if command.startswith("schema --data shop.csv"):
            command += " --exclude employed"  # the bank's column, which this table has too
        typed = words(command, party)
        if not command.startswith(("align exact", "id3", "evaluate", "classify")):
            done.append(processes.here(*typed))
        elif party == "bank":
            waiting = typed
        else:
            assert waiting is not None
            done += processes.pair([*waiting, "--json"], [*typed, "--json"])
    return done


def test_the_commands_of_the_page_learn_the_tree_of_the_joined_rows(processes: Processes, tmp_path: Path) -> None:
    done = by_the_page(processes)
    assert [one.code for one in done] == [0] * len(COMMANDS), [one.err for one in done]
    assert (tmp_path / "schema.toml").read_text() == (tmp_path / "shop-schema.toml").read_text()
    left, right = (json.loads(done[place].out) for place in (6, 7))
    assert left["tree"] == right["tree"]
    assert "also in your table, taken from the peer: 'employed'" in done[7].err
    joined = people()[10:70]
    write(tmp_path / "joined.csv", ["tax_number", "income", "employed", "orders"], joined)
    classes = list(csv.DictReader((tmp_path / "classes.csv").open(newline="")))
    predicted = here(tmp_path, "predict", "--tree", "tree.json", "--data", "joined.csv").out.splitlines()
    assert [line["late"] for line in sorted(classes, key=lambda line: int(line["tax_number"]))] == predicted
    late, called = [row["late"] == "True" for row in joined], [label == "True" for label in predicted]
    answers = [json.loads(done[place].out)["answer"] for place in (9, 10)]
    assert answers == 2 * [roc_auc_score(late, called) >= 0.9]
    learnt, other = (json.loads(done[place].out) for place in (11, 12))
    assert {name: value for name, value in learnt.items() if name != "cost"} == {
        name: value for name, value in other.items() if name != "cost"
    }
    assert "classes.csv" not in str(learnt)
    counted = json.loads(here(tmp_path, *words(COMMANDS[-1][1], "bank"), "--json").out)["estimates"]
    sent = learnt["cost"]["bytes_sent"], learnt["cost"]["bytes_received"]
    assert sent in [(exact["party0_sends"], exact["party1_sends"]) for exact in counted]
    for party, part in enumerate((joined[:30], joined[30:])):
        write(tmp_path / f"{party}.csv", ["income", "employed", "orders", "late"], part)
    together = ["id3", "--schema", "schema.toml", "--against", "public", "--max-rows", "30", "--json"]
    expected, _ = processes.pair([*together, "--data", "0.csv"], [*together, "--data", "1.csv"])
    assert left["tree"] == json.loads(expected.out)["tree"]
    counted = ["--schema", "schema.toml", *LISTENER, "--against", "public", "--max-rows", "60", "--tree", "tree.json"]
    estimates = json.loads(here(tmp_path, "estimate", "id3", *counted, "--json").out)["estimates"]
    total = left["cost"]["total"]
    sent = total["bytes_sent"], total["bytes_received"]
    assert sent in [(exact["party0_sends"], exact["party1_sends"]) for exact in estimates], left["cost"]["profile"]


def aligned(path: Path, rows: range, alignment: str = "ab") -> list[str]:
    numbered = [{"tax_number": str(row), f"row of {alignment}": str(number)} for number, row in enumerate(rows, 1)]
    write(path, ["tax_number", f"row of {alignment}"], numbered)
    return ["--aligned", path.name]


@pytest.mark.parametrize(
    ("rows", "alignment", "line"),
    [(range(10, 50), "cd", "alignment: ours "), (range(10, 49), "ab", "max_rows: ours ")],
)
def test_files_of_two_alignments_do_not_fit(
    processes: Processes, tmp_path: Path, rows: range, alignment: str, line: str
) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    common = ["id3", "--schema", "schema.toml", "--plain", *LISTENER]
    done = processes.pair(
        [*common, "--data", "bank.csv", *aligned(tmp_path / "0.csv", range(10, 50))],
        [*common, "--data", "shop.csv", *aligned(tmp_path / "1.csv", rows, alignment)],
    )
    assert [one.code for one in done] == [4, 4]
    for one in done:
        assert line in one.message


def test_without_a_peer_and_by_a_node_it_is_a_line(tmp_path: Path) -> None:
    write(tmp_path / "bank.csv", ["tax_number", "income", "employed"], people())
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "party.toml").write_text('[tables.bank]\nsource = "bank.csv"\nschema = "schema.toml"\nmax_rows = 99\n')
    (tmp_path / "job.toml").write_text('protocol = "id3"\ntable = "bank"\nlistener_columns = ["income"]\n')
    files = ["--data", "bank.csv", "--schema", "schema.toml", *aligned(tmp_path / "0.csv", range(10, 50))]
    alone = here(tmp_path, "id3", "--alone", "--plain", *LISTENER, *files)
    node = here(tmp_path, "policy", "--job", "job.toml", "--config", "party.toml")
    assert (alone.code, node.code) == (2, 2)
    assert alone.err == "smc: --alone: cannot be combined with --listener-columns; remove one of them\n"
    assert node.err == "smc: listener_columns cannot be set in a job: only commands by hand have --listener-columns\n"


def test_the_commands_on_hidden_rows_learn_the_tree_of_the_joined_rows(processes: Processes, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    done: dict[str, list[Any]] = {}
    waiting: list[str] = []
    for party, command in HIDDEN:
        typed = [*words(command.replace("hidden.json", f"{party}.json"), party), "--json"]
        typed = ["schema.toml" if word == "shop-schema.toml" else word for word in typed]
        if command.startswith("estimate"):
            done[command.split(" --")[0]] = [json.loads(here(tmp_path, *typed).out)]
        elif party == "bank":
            waiting = typed
        else:
            both = processes.pair(waiting, typed)
            assert [one.code for one in both] == [0, 0], [one.err for one in both]
            done[command.split(" --")[0]] = [json.loads(one.out) for one in both]
    for name in ("bank.json", "shop.json"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    left, right = done["align hidden"]
    assert "own" not in str(left)
    assert (left["bins"], left["holder"]) == (right["bins"], "listener")
    (counted,) = done["estimate align hidden"]
    sent = left["cost"]["bytes_sent"], left["cost"]["bytes_received"]
    assert sent in [(one["party0_sends"], one["party1_sends"]) for one in counted["estimates"]]
    assert done["align exact"][0]["enough"] is done["align exact"][1]["enough"] is True
    (one,), (other,) = (answer["numbers"] for answer in done["release count"])
    assert one["value"] == other["value"]
    assert abs(one["value"] - 60) < 40  # wrong with a probability of e^-40
    assert done["estimate id3"][0]["estimates"]
    joined = people()[10:70]
    for party, part in enumerate((joined[:30], joined[30:])):
        write(tmp_path / f"{party}.csv", ["income", "employed", "orders", "late"], part)
    together = ["id3", "--schema", "schema.toml", "--against", "public", "--max-rows", "30", "--json"]
    expected, _ = processes.pair([*together, "--data", "0.csv"], [*together, "--data", "1.csv"])
    assert done["id3"][0]["tree"] == done["id3"][1]["tree"] == json.loads(expected.out)["tree"]
