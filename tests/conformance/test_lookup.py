"""Lookups in a long list: by hand between two processes, once with the list and then without; and by two nodes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from parties.jobs.align import kept_list
from parties.jobs.align.settings import LookupSettings
from parties.jobs.kinds.align.lookup import AlignLookup
from smc.errors import InputError
from tests.support.nodes import Nodes, cost_as_predicted
from tests.support.processes import Done, Processes, here

LIST = "tax,name,play\n" + "".join(f"{number},n{number},yes\n" for number in range(40))
ASKED = "tax,name,play\n7,x,no\n39,y,no\n40,z,no\n,v,yes\n"
WORDS = ["align", "lookup", "--by", "tax", "--learns", "dialler", "--listener-keys", "50", "--keys", "6"]
SCHEMA = 'target = "play"\n[attributes]\nplay = ["yes", "no"]\n'
RULE = """max_rows = {rows}

[[policy]]
name = "few"
effect = "permit"
protocol = "align lookup"
keys.at_most = 20
"""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    (tmp_path / "list.csv").write_text(LIST)
    (tmp_path / "asked.csv").write_text(ASKED)
    started = Processes(tmp_path)
    yield started
    started.stop()


def found_in(path: Path) -> list[str]:
    with path.open(newline="") as file:
        return [row["tax"] for row in csv.DictReader(file)]


def pair(processes: Processes, listed: list[str], asked: list[str]) -> list[Done]:
    return processes.pair([*WORDS, *listed, "--json"], [*WORDS, *asked, "--json"])


def test_the_list_is_sent_once_and_the_keys_are_found(processes: Processes, tmp_path: Path) -> None:
    done = pair(
        processes,
        ["--data", "list.csv", "--kept", "owner.npz"],
        ["--data", "asked.csv", "--kept", "asker.npz", "--aligned", "found.csv"],
    )
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    first = [json.loads(one.out) for one in done]
    assert (first[0]["matched"], first[0]["reason"]) == (None, "only the dialling party learns it")
    assert first[1]["matched"] == 2
    assert found_in(tmp_path / "found.csv") == ["7", "39"]
    for name in ("owner.npz", "asker.npz"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    (tmp_path / "asked.csv").write_text("tax\n40\n0\n")
    (tmp_path / "list.csv").unlink()  # it is not read again
    kept = [["--list", "kept", "--kept", name] for name in ("owner.npz", "asker.npz")]
    done = pair(processes, kept[0], [*kept[1], "--data", "asked.csv", "--aligned", "more.csv"])
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    later = [json.loads(one.out) for one in done]
    assert found_in(tmp_path / "more.csv") == ["0"]
    assert later[1]["list_of"] == datetime.now(UTC).date().isoformat()
    for results, words in ((first, []), (later, ["--list", "kept"])):
        (costs,) = json.loads(here(tmp_path, "estimate", *WORDS, *words, "--json").out)["estimates"][:1]
        assert [result["cost"]["bytes_sent"] for result in results] == [costs["party0_sends"], costs["party1_sends"]]


def test_a_kept_list_that_does_not_fit_is_a_line(processes: Processes, tmp_path: Path) -> None:
    assert pair(processes, ["--data", "list.csv", "--kept", "o"], ["--data", "asked.csv", "--kept", "k"])[0].code == 0
    listens, dials = ["--listen", "127.0.0.1:0"], ["--connect", "127.0.0.1:9", "--data", "asked.csv"]

    def refused(*more: str, asks: bool = True) -> str:
        done = here(tmp_path, *WORDS, "--list", "kept", *(dials if asks else listens), *more)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
        return done.err

    assert "--kept is missing" in refused()
    assert "cannot read other" in refused("--kept", "other")
    assert "o: is the file of the owner of the list; --kept names another file here" in refused("--kept", "o")
    assert "k: is the file of the party that asks" in refused("--kept", "k", asks=False)
    assert "k: has 50 entries of 7 bytes, and this run needs 60 of 7; give its keys" in refused(
        "--kept", "k", "--listener-keys", "60"
    )
    assert "k: was made with another by, forms or learns" in refused("--kept", "k", "--forms", "tax=zeros")
    assert "--aligned: this party learns no rows" in refused("--kept", "o", "--aligned", "x.csv", asks=False)
    data = (tmp_path / "k").read_bytes()
    (tmp_path / "k").write_bytes(data[:-100])
    assert "k: is no list of smc align lookup; agree on a new one with --list sent" in refused("--kept", "k")
    (tmp_path / "k").write_bytes(data)
    with np.load(tmp_path / "k") as stored:
        values = {**stored, "made": np.array((datetime.now(UTC).date() - timedelta(31)).isoformat())}
    np.savez((tmp_path / "k").open("wb"), **values)
    assert "k: the list is 31 days old, 30 are allowed; agree on --list sent" in refused("--kept", "k")
    (tmp_path / "k").chmod(0o644)
    assert "can be read by other users" in refused("--kept", "k")


def test_a_command_plans_a_lookup_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asked.csv").write_text(ASKED)
    settings = LookupSettings.model_validate(
        {"by": ("tax",), "learns": "dialler", "list": "kept", "data": tmp_path / "asked.csv"}
    )
    planned, lists = AlignLookup.planned, ["list of the owner", "list of the party that asks"]
    plans: list[object] = []

    def counted(settings: LookupSettings) -> AlignLookup:
        plans.append(settings)
        return planned(settings)

    monkeypatch.setattr(AlignLookup, "planned", counted)
    monkeypatch.setattr(kept_list, "read", lambda settings, terms, is_owner: (lists[not is_owner], "2026-01-31"))
    for party in (0, 1):
        task, data, _ = AlignLookup.alone(settings, party)
        assert (task._kept, len(plans), data[0] is None) == (lists[party], 1 + party, party == 0)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--by", "tax,name", "--learns", "dialler"], "by: a lookup compares one key; its columns are joined by +"),
        (["--by", "tax"], "--learns is missing"),
        (["--by", "tax", "--learns", "dialler", "--listener-keys", "39"], "40 rows, more than the agreed 39 (keys)"),
        (["--by", "tax", "--learns", "listener", "--keys", "39"], "40 rows, more than the agreed 39 (keys)"),
        (["--by", "play", "--learns", "dialler"], "key play: rows with the key of an earlier row: 39"),
    ],
)
def test_a_table_that_cannot_take_part_is_a_line(tmp_path: Path, words: list[str], line: str) -> None:
    (tmp_path / "list.csv").write_text(LIST)
    done = here(tmp_path, "align", "lookup", "--data", "list.csv", "--listen", "127.0.0.1:0", *words)
    assert done.code == 2
    assert line in done.err
    assert len(done.err.splitlines()) == 1


def test_by_nodes_the_party_that_asks_keeps_its_rows(tmp_path_factory: pytest.TempPathFactory) -> None:
    nodes = Nodes(tmp_path_factory.mktemp("lookup"))
    nodes.furnish((LIST, ASKED), SCHEMA, (RULE.format(rows=50), RULE.format(rows=6)))
    try:
        nodes.start()
        fields = {
            "protocol": "align lookup",
            "table": "rows",
            "by": ["tax"],
            "learns": "dialler",
            "purpose": "research",
        }
        with pytest.raises(InputError, match="list = kept runs by hand only"):
            nodes.b.client.submit({**fields, "listener_keys": 50, "list": "kept"})
        identifier = nodes.b.client.submit({**fields, "listener_keys": 50}).id
        left, right = nodes.finished(identifier)
        assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
        assert "The dialling party can ask for guessed keys, at most 6 people a run." in left.reveals
        assert here(nodes.b.directory, "align", "rows", identifier[:8], "--out", "found.csv").code == 0
        assert found_in(nodes.b.directory / "found.csv") == ["7", "39"]
        assert here(nodes.a.directory, "align", "rows", identifier[:8]).code == 2
        assert nodes.a.client.result(identifier).document["matched"] is None
        cost_as_predicted(nodes.a, left)
    finally:
        nodes.close()
