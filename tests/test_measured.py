"""The figures in docs/measured.md and README.md are those of benchmarks/results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parties.base.console import size
from tests.support.places import ROOT

README = " ".join((ROOT / "README.md").read_text().split())
PAGE = (ROOT / "docs" / "measured.md").read_text()
WORDS = " ".join(PAGE.split())


def results(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def rows(head: str) -> list[list[str]]:
    """The cells of the table whose head begins so."""
    _, _, table = PAGE.partition(f"| {head}")
    lines = table.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_beside_mpyc() -> None:
    measured = {one["data"]: one for one in results("peers")["results"]}
    shown = rows("data set")
    assert len(shown) == len(measured)
    for data, count, ours, theirs, our_bytes, their_bytes in shown:
        one = measured[data]
        smc, peer = one["programs"]["smc"], one["programs"][one["faster_peer"]]
        assert int(count.replace(",", "")) == one["rows"]
        assert (ours, theirs) == (f"{smc['seconds']['median']:.2f}", f"{peer['seconds']['median']:.2f}")
        assert our_bytes == size(smc["bytes"]["median"])
        assert their_bytes == size(peer["bytes"]["median"])


def test_the_bench() -> None:
    measured = {
        (one["protocol"], one["profile"], one["batch"]): one
        for one in results("bench")["rows"]
        if one["link"] == "loopback"
    }
    shown = rows("protocol")
    assert len(shown) >= 10
    for protocol, batch, profile, seconds, predicted, both, rounds, gates in shown:
        one = measured[protocol, profile, int(batch.replace(",", ""))]
        assert float(seconds) == pytest.approx(one["seconds"], abs=6e-4)
        assert float(predicted) == pytest.approx(one["predicted_seconds"], abs=6e-4)
        assert both == size(one["bytes_sent"] + one["bytes_received"])
        assert (rounds, gates.replace(",", "")) == (str(one["rounds"]), str(one["and_gates"]))


def test_what_is_foretold() -> None:
    from scripts.foretold import JOBS, markdown

    measured = results("foretold")["rows"]
    assert markdown(measured) in PAGE
    assert [row["job"] for row in measured] == [line for line in JOBS.splitlines() if line]


def test_columns_of_numbers_in_pieces() -> None:
    from benchmarks.streaming import markdown

    report = results("streaming")
    assert markdown(report) in PAGE
    assert (
        f"{report['streaming']['rows'] // 1_000_000} million rows of {report['streaming']['columns']} columns" in WORDS
    )


def test_counting_where_the_rows_live() -> None:
    counting = results("counting")["counting"]
    levels = counting["levels"]
    assert counting["rows"] == 10**8
    for part in (
        f"{counting['bytes'] / 1e9:.2f} GB",
        f"in {counting['read_seconds']:.0f} s",
        f"{min(level['seconds'] for level in levels):.1f} to {max(level['seconds'] for level in levels):.1f} s",
        f"{max(level['nodes'] for level in levels):,} open nodes",
        f"{counting['peak_memory_gb']:.2f} GB of memory",
    ):
        assert part in WORDS, part


def test_beside_peers_of_every_kind() -> None:
    measured = [
        [one["work"], one["ours"], "-" if one["theirs"].startswith("not ") else one["theirs"]]
        for one in results("peers_table")["rows"]
    ]
    assert [[work, ours, theirs] for work, ours, _, theirs in rows("work | smc | other program")] == measured


def test_auto_beside_the_best_engine() -> None:
    measured = results("auto_cost")
    tables = [one["ratio"] for one in measured["rows"]]
    wide = [one["ratio"] for one in measured["wide"] if "ratio" in one]
    assert len(tables) == 10
    assert f"took {min(tables):.3f} to {max(tables):.3f} times" in WORDS
    assert f"1,000 columns {min(wide):.3f} to {max(wide):.3f} times" in WORDS


def test_the_data_connection_beside_grpc() -> None:
    measured = []
    for work, ways in results("data_connection")["seconds_and_processor"].items():
        (before, busy_before), (after, busy_after) = ways["gRPC"], ways["data connection"]
        measured.append([work, f"{before:.3g}", f"{after:.3g}", f"{busy_before:.3g} / {busy_after:.3g}"])
    assert rows("work of two processes | gRPC, s") == measured


def test_the_figures_of_the_readme() -> None:
    (car,) = (one for one in results("peers")["results"] if one["data"] == "car")
    smc, peer = car["programs"]["smc"], car["programs"][car["faster_peer"]]
    for seconds, sent in ((smc["seconds"], smc["bytes"]), (peer["seconds"], peer["bytes"])):
        assert f"{seconds['median']:.2f} s and {size(sent['median'])}" in README
    assert f"{car['rows']:,} rows" in README


def test_forests_beside_scikit_learn() -> None:
    from benchmarks.forests import markdown

    assert markdown(results("forests")["results"]) in (ROOT / "docs" / "protocols.md").read_text()


def test_default_trees_beside_scikit_learn() -> None:
    from benchmarks.default_trees import markdown

    rows = results("default_trees")["results"]
    assert markdown(rows) in (ROOT / "docs" / "protocols.md").read_text()
    assert max(row["default leaves"] for row in rows) <= 200
    near = {way: sum(row[way] >= row["as deep"] - 0.02 for row in rows) for way in ("multiway", "default")}
    assert near == {"multiway": 4, "default": 8}
    assert all(row["default bytes"] <= row["default at most"] <= 263e6 for row in rows)


def test_pruned_trees_beside_scikit_learn() -> None:
    from benchmarks.pruning import markdown

    assert markdown(results("pruning")["results"]) in (ROOT / "docs" / "protocols.md").read_text()


def test_what_top_down_loses_beside_mondrian() -> None:
    """More on uniform numbers in large classes, less on clusters; a line of the table is measured again."""
    from benchmarks.recoding_loss import markdown, measured

    lines = results("recoding_loss")["results"]
    assert markdown(lines) in (ROOT / "docs" / "publish.md").read_text()
    for line in lines:
        if line["points"] == "clustered":
            assert line["top-down"] < line["mondrian"]
        elif line["k"] >= 10:
            assert line["top-down"] > line["mondrian"]
    again = next(line for line in lines if (line["points"], line["k"]) == ("uniform", 20))
    assert measured("uniform", 20) == again


def test_what_nodes_hold_that_run_for_long() -> None:
    found = results("soak")
    assert "".join(f"    {line}\n" for line in found["said"]) in PAGE
    assert f"{found['jobs']} in {found['minutes']:.0f} minutes" in WORDS
    assert found["ended"] == {"done": found["jobs"]}
    assert not [line for line in found["said"] if line.startswith(("descriptors", "threads")) and ": grows" in line]
