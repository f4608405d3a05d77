"""The commands as operators use them: two processes, mutual TLS, files in and out."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import threading
from pathlib import Path

import pytest
from pyarrow.csv import read_csv
from pyarrow.parquet import write_table

from parties.tables.example import demo
from tests.support.cable import Cable
from tests.support.places import ROOT
from tests.support.ports import free_port
from tests.support.waiting import eventually

DEMO = demo()
TENNIS_TREE = {
    "attribute": "outlook",
    "branches": {
        "sunny": {"attribute": "humidity", "branches": {"high": {"class": "no"}, "normal": {"class": "yes"}}},
        "overcast": {"class": "yes"},
        "rain": {"attribute": "wind", "branches": {"weak": {"class": "yes"}, "strong": {"class": "no"}}},
    },
}
DEFAULT = ("mixed", "extension", "half")
COST_KEYS = {"bytes_sent", "bytes_received", "messages", "rounds", "seconds", "and_gates", "bits_opened"}


def id3(data: Path, *more: object) -> list[object]:
    plain = [] if {"--epsilon", "--k", "--l", "--t"} & {*map(str, more)} else ["--plain"]
    return ["id3", *plain, "--data", data, "--schema", DEMO.schema, *more]


@pytest.mark.parametrize(
    "engine", ["lean", "auto", *(pytest.param(name, marks=pytest.mark.campaign) for name in ("mixed", "yao", "gmw"))]
)
def test_two_processes_get_the_same_tree(processes, engine: str) -> None:
    done = processes.pair(
        id3(DEMO.clinic_a, "--engine", engine, "--out", "a.json", "--report", "a-cost.json", "--dot", "a.dot", "--svg",
            "a.svg"),
        id3(DEMO.clinic_b, "--engine", engine, "--out", "b.json", "--report", "b-cost.json"),
    )  # fmt: skip
    assert [one.code for one in done] == [0, 0]
    directory = processes.directory
    trees = [json.loads((directory / f"{name}.json").read_text()) for name in "ab"]
    assert trees[0] == trees[1]
    assert trees[0]["tree"] == TENNIS_TREE
    assert (trees[0]["target"], trees[0]["tolerance"]) == ("play", 0.001)
    costs = [json.loads((directory / f"{name}-cost.json").read_text()) for name in "ab"]
    for cost in costs:
        assert set(cost["total"]) == COST_KEYS
        assert all(set(phase) == COST_KEYS for phase in cost["phases"].values())
        assert "level 0/entropy" in cost["phases"]
    assert costs[0]["total"]["bytes_sent"] == costs[1]["total"]["bytes_received"] > 0
    assert costs[0]["total"]["bytes_received"] == costs[1]["total"]["bytes_sent"] > 0
    assert "outlook = overcast: yes" in done[0].out
    assert done[0].out == done[1].out
    assert (directory / "a.dot").read_text().count("->") == 7
    assert "<svg" in (directory / "a.svg").read_text()


def test_shards_find_the_same_tree_for_what_was_forecast(processes) -> None:
    done = processes.pair(
        id3(DEMO.clinic_a, "--engine", DEFAULT[0], "--shards", 2, "--out", "a.json", "--report", "cost.json"),
        id3(DEMO.clinic_b, "--engine", DEFAULT[0], "--shards", 2),
    )
    assert [one.code for one in done] == [0, 0], done[0].err
    assert json.loads((processes.directory / "a.json").read_text())["tree"] == TENNIS_TREE
    total = json.loads((processes.directory / "cost.json").read_text())["total"]
    estimate = processes.here(
        "estimate", "id3", "--plain", "--schema", DEMO.schema, "--tree", "a.json", "--shards", 2, "--json"
    )
    (counted,) = [
        row for row in json.loads(estimate.out)["estimates"] if (row["engine"], row["ot"], row["garbling"]) == DEFAULT
    ]
    foreseen = [counted[name] for name in ("party0_sends", "party1_sends", "messages", "and_gates", "party0_rounds")]
    assert [total[name] for name in ("bytes_sent", "bytes_received", "messages", "and_gates", "rounds")] == foreseen


def test_parquet_at_one_side_and_csv_at_the_other(processes) -> None:
    """What a party's file is, is its own business: in the other order of columns, with one that the schema lacks."""
    table = read_csv(DEMO.clinic_a)
    table = table.select(table.column_names[::-1]).append_column("number", [list(range(len(table)))])
    write_table(table, processes.directory / "mine.parquet")
    done = processes.pair(
        id3("mine.parquet", "--engine", "mixed", "--out", "a.json"),
        id3(DEMO.clinic_b, "--engine", "mixed", "--out", "b.json"),
    )
    assert [one.code for one in done] == [0, 0], (done[0].err, done[1].err)
    assert "it will cost about " in done[1].err.partition("dialling ")[0]
    trees = [json.loads((processes.directory / f"{name}.json").read_text()) for name in "ab"]
    assert trees[0] == trees[1]
    assert trees[0]["tree"] == TENNIS_TREE


def test_rules_for_the_leaves(processes) -> None:
    """No leaf of fewer than four rows of both: the first question may be asked, the next ones of the tree not."""
    rules = ["--k", "4", "--against", "public", "--t", "0.5", "--distance", "ordered", "--splits", "multiway"]
    done = processes.pair(
        id3(DEMO.clinic_a, *rules, "--out", "a.json", "--report", "a-cost.json"), id3(DEMO.clinic_b, *rules)
    )
    assert [one.code for one in done] == [0, 0]
    tree = json.loads((processes.directory / "a.json").read_text())["tree"]
    assert tree == {
        "attribute": "outlook",
        "branches": {"sunny": {"class": "no"}, "overcast": {"class": "yes"}, "rain": {"class": "yes"}},
    }
    assert "level 0/rules/closeness" in json.loads((processes.directory / "a-cost.json").read_text())["phases"]


def test_json_output_and_prediction(processes) -> None:
    first, second = processes.pair(id3(DEMO.clinic_a, "--json", "--out", "tree.json"), id3(DEMO.clinic_b, "--json"))
    printed = json.loads(second.out)
    assert printed["tree"] == TENNIS_TREE
    assert set(printed["cost"]["total"]) == COST_KEYS
    assert json.loads(first.out)["schema_digest"] == printed["schema_digest"]
    predicted = json.loads(processes.here("predict", "--tree", "tree.json", "--data", DEMO.clinic_b, "--json").out)
    with DEMO.clinic_b.open() as stream:
        assert predicted["predictions"] == [row["play"] for row in csv.DictReader(stream)]
    assert predicted["accuracy"] == 1.0


def test_a_tree_larger_than_allowed_ends_in_order_on_both_sides(processes) -> None:
    """Nobody is at a terminal: both say the same line, exit alike, and the way out works."""
    done = processes.pair(*(id3(rows, "--most-bytes", 1000) for rows in (DEMO.clinic_a, DEMO.clinic_b)))
    assert [one.code for one in done] == [2, 2]
    assert done[0].err.splitlines()[-1] == done[1].err.splitlines()[-1]
    assert "the tree is larger than forecast: " in done[0].err
    assert "Traceback" not in done[0].err + done[1].err
    more = ("--most-bytes", 10_000_000, "--json")
    again = processes.pair(id3(DEMO.clinic_a, *more), id3(DEMO.clinic_b, *more))
    assert json.loads(again[1].out)["tree"] == TENNIS_TREE


def test_leaves_are_counted_with_noise_if_asked(processes) -> None:
    more = ("--support-epsilon", 16, "--json", "--out", "tree.json")
    _, second = processes.pair(id3(DEMO.clinic_a, *more), id3(DEMO.clinic_b, *more[:-2]))
    document = json.loads(second.out)
    leaf = document["tree"]["branches"]["overcast"]
    assert (leaf["class"], set(leaf["counts"])) == ("yes", {"no", "yes"})
    assert abs(leaf["counts"]["yes"] - 4) <= 3
    assert "leaf counts" in document["cost"]["phases"]
    scored = processes.here("predict", "--tree", "tree.json", "--data", DEMO.clinic_b, "--score")
    assert "accuracy 1.0000" in scored.out


def test_a_forest_with_noise_in_two_processes_and_its_votes(processes) -> None:
    """Both have the same trees, and epsilon stands in them; what they say of a row is what most of them say."""
    more = ("--epsilon", 4, "--max-depth", 2, "--trees", 3, "--quality", "gini", "--adjacency", "replace")
    done = processes.pair(
        id3(DEMO.clinic_a, *more, "--out", "a.json", "--dot", "a.dot", "--svg", "a.svg"),
        id3(DEMO.clinic_b, *more, "--out", "b.json"),
    )
    assert [one.code for one in done] == [0, 0], (done[0].err, done[1].err)
    directory = processes.directory
    made = [json.loads((directory / f"{name}.json").read_text()) for name in "ab"]
    assert made[0] == made[1]
    assert (made[0]["epsilon"], made[0]["adjacency"], made[0]["quality"]) == (4, "replace", "gini")
    assert len(made[0]["trees"]) == 3
    assert "tree 3" in done[0].out
    assert "<svg" in (directory / "a.svg").read_text()
    said = json.loads(processes.here("predict", "--tree", "a.json", "--data", DEMO.clinic_a, "--json").out)
    assert len(said["predictions"]) == 7
    assert set(said["predictions"]) <= {"yes", "no"}


def test_two_parties_with_other_neighbours_do_not_begin(processes) -> None:
    more = ("--epsilon", 1, "--max-depth", 1)
    done = processes.pair(id3(DEMO.clinic_a, *more), id3(DEMO.clinic_b, *more, "--adjacency", "replace"))
    assert [one.code for one in done] == [4, 4]
    assert 'adjacency: ours "add-remove", peer\'s "replace"' in done[0].err


def test_a_party_without_rows_and_public_stopping_rules(processes) -> None:
    empty = processes.directory / "empty.csv"
    empty.write_text("play,wind,outlook,humidity,temperature\n")
    rules = ["--max-depth", "1", "--min-rows", "4", "--json"]
    first, second = processes.pair(id3(empty, *rules), id3(DEMO.clinic_a, *rules))
    assert (first.code, second.code) == (0, 0)
    assert json.loads(first.out)["tree"] == json.loads(second.out)["tree"]


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (2**32 - 1, 2**32 - 1, "equal"),
        pytest.param(5, 3, "party0", marks=pytest.mark.campaign),
        pytest.param(3, 2**32 - 1, "party1", marks=pytest.mark.campaign),
    ],
)
def test_millionaires(processes, left: int, right: int, result: str) -> None:
    common = ["millionaires", "--json"]
    done = processes.pair([*common, "--value", left], [*common, "--value", right])
    for one in done:
        printed = json.loads(one.out)
        assert printed["result"] == result
        assert set(printed["cost"]) == COST_KEYS
        assert printed["cost"]["and_gates"] == 64


@pytest.mark.parametrize("engine", ["gmw", pytest.param("yao", marks=pytest.mark.campaign)])
def test_millionaires_over_trapdoor_ot(processes, engine: str) -> None:
    common = ["millionaires", "--engine", engine, "--ot", "trapdoor", "--bits", "8"]
    done = processes.pair([*common, "--value", 200], [*common, "--value", 100])
    assert [one.out.split(":")[0] for one in done] == ["party0", "party0"]
    assert "this party has more" in done[0].out
    assert "the peer has more" in done[1].out


def test_a_value_from_standard_input_and_a_configuration_file(processes) -> None:
    zero, address = processes.listen("millionaires", "--value", "12", "--json")
    (processes.directory / "party.toml").write_text(
        f'[link]\nidentity = "b.key"\ncertificate = "b.crt"\npeer = "a.crt"\nconnect = "{address}"\n'
        "[millionaires]\nbits = 16\n"
    )
    one = processes.start(
        "millionaires", "--config", "party.toml", "--bits", "32", "--value", "-", "--json", stdin="13\n"
    )
    assert [json.loads(processes.wait(process).out)["result"] for process in (zero, one)] == ["party1"] * 2


def test_who_starts_first_does_not_matter(processes) -> None:
    """Who dials first asks again until the other listens: the relay between them hangs up until then."""
    common = ["millionaires", "--json", "--value"]
    relay = Cable(free_port())
    one = processes.start(*common, 1, *processes.link("b", "a"), "--connect", f"127.0.0.1:{relay.port}")
    eventually(lambda: relay.refused)
    zero = processes.start(*common, 2, *processes.link("a", "b"), "--listen", f"127.0.0.1:{relay.target}")
    assert [json.loads(processes.wait(process).out)["result"] for process in (zero, one)] == ["party0"] * 2
    relay.close()


@pytest.mark.parametrize("engine", ["gmw", pytest.param("yao", marks=pytest.mark.campaign)])
def test_aes_from_a_bristol_file(processes, shared: Path, engine: str) -> None:
    circuit = shared / "circuits" / "aes_128.txt"
    common = ["circuit", circuit, "--engine", engine, "--json", "--input"]
    done = processes.pair(
        [*common, "0x000102030405060708090a0b0c0d0e0f"], [*common, "0x00112233445566778899aabbccddeeff"]
    )
    for one in done:  # FIPS-197, appendix C.1
        assert json.loads(one.out)["outputs"] == ["0x69c4e0d86a7b0430d8cdb78070b4c55a"]


def test_a_circuit_with_one_input(processes, shared: Path) -> None:
    common = ["circuit", shared / "circuits" / "zero_equal.txt"]
    first, second = processes.pair([*common, "--input", "0" * 64], common)
    assert (first.out, second.out) == ("0x1\n", "0x1\n")


def test_car_within_the_traffic_and_memory_promised(processes, shared: Path) -> None:
    with (shared / "data" / "car.csv").open() as stream:
        header, *rows = stream.read().splitlines()
    for name, part in (("a", rows[::2]), ("b", rows[1::2])):
        (processes.directory / f"{name}.csv").write_text("\n".join([header, *part]) + "\n")
    car = shared / "data" / "car.csv"
    assert processes.here("schema", "--data", car, "--target", "class", "--out", "s.toml").code == 0
    common = ["--plain", "--schema", "s.toml", "--min-rows", "86", "--json"]
    peaks: dict[int, int] = {}
    over = threading.Event()
    watcher = threading.Thread(target=_watch_memory, args=(processes, peaks, over))
    watcher.start()
    done = processes.pair(["id3", "--data", "a.csv", *common], ["id3", "--data", "b.csv", *common])
    over.set()
    watcher.join()
    for one in done:
        total = json.loads(one.out)["cost"]["total"]
        assert total["bytes_sent"] + total["bytes_received"] < 60e6
    assert len(peaks) >= 2
    assert 50_000 < max(peaks.values()) < 500_000  # KiB
    tree = {key: part for key, part in json.loads(done[0].out).items() if key not in ("cost", "party")}
    (processes.directory / "tree.json").write_text(json.dumps(tree))
    _, _, example = (ROOT / "docs" / "measured.md").read_text().partition("    smc estimate ")
    command, _, *shown = example.splitlines()[:11]
    found = processes.here("estimate", *command.replace("car.toml", "s.toml").split())
    assert found.code == 0, found.err
    said = [line.split()[:-2] for line in found.out.splitlines()]
    assert all(line.split()[:-2] in said for line in shown)  # but for times, which are this machine's


def _watch_memory(processes, peaks: dict[int, int], over: threading.Event) -> None:
    """Keep the highest memory of each running process, which the kernel tells as long as it runs."""
    while not over.wait(0.01):
        for process in processes.running():
            with contextlib.suppress(OSError, AttributeError):
                status = Path(f"/proc/{process.pid}/status").read_text()
                peaks[process.pid] = int(re.search(r"VmHWM:\s+(\d+)", status).group(1))


def test_the_demo(processes) -> None:
    done = processes.run("demo", "--svg", "tree.svg")
    assert done.code == 0
    assert "outlook = overcast: yes" in done.out
    assert "AND gates" in done.out
    assert (processes.directory / "tree.svg").exists()


def test_the_bench_measures_the_same_conversation_on_every_link(processes) -> None:
    asked = ("bench", "--repeats", "1", "--only")
    links = ("--links", "loopback;1gbit,1ms", "--json")
    table = json.loads(processes.run(*asked, "equality 32, yao", *links).out)
    rows: dict[str, list[dict[str, object]]] = {}
    for row in table["rows"]:
        rows.setdefault(f"{row['protocol']} {row['profile']} {row['batch']}", []).append(row)
    compared = 0
    for same in rows.values():
        for key in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates"):
            assert len({row[key] for row in same}) == 1
        compared += len(same) == 2
    assert compared >= 2
    assert "equality 32" in processes.run(*asked, "equality 32, yao extension half", "--links", "loopback").out
    assert processes.here("bench", "--only", "nonsense").code == 2


def test_identities_by_command(processes) -> None:
    made = processes.here(
        "identity", "create", "clinic", "--host", "10.0.0.5", "--host", "c.example.org", "--out", "keys"
    )
    assert made.code == 0
    assert (processes.directory / "keys" / "clinic.key").stat().st_mode & 0o777 == 0o600
    shown = json.loads(processes.here("identity", "show", "keys/clinic.crt", "--json").out)
    assert shown["name"] == "clinic"
    assert shown["hosts"] == ["10.0.0.5", "c.example.org"]
    assert shown["fingerprint"] in made.out
