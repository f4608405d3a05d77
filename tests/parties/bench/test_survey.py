"""The bench: measuring one small case between real processes, what is checked on the way, and the files."""

from __future__ import annotations

import csv
import io
import json
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from parties.bench import cases, survey
from parties.bench.measuring import COUNTS, Measurement, _compare, _Run, exclusive, measure
from parties.cli import cli
from smc.engines import engine_of
from smc.errors import InputError
from smc.link_shape import PRESETS, LinkShape
from smc.local import run_local
from smc.meter import Meter
from smc.session import Session

EVERY = (*cases.default_cases(), *cases.batch_cases(), *cases.crossover_cases())
TREE = cases.find("ID3, tennis, yao extension three-halves, batch 1")
ONE = cases.find("millionaires 32, gmw extension depth, batch 1")


def test_the_command_measures_on_each_link_and_writes_what_it_found(tmp_path: Path) -> None:
    out = tmp_path / "new" / "results"
    only = "ID3, tennis, yao extension three"
    arguments = ["--only", only, "--links", "loopback;1gbit,30ms", "--repeats", "2", "--out", str(out)]
    done = CliRunner().invoke(cli, ["bench", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    assert "1gbit,30ms" in done.stdout
    assert "three-halves" in done.stdout
    assert sorted(path.name for path in out.iterdir()) == ["bench.csv", "bench.json"]  # no pictures of one case
    document = json.loads((out / "bench.json").read_text())
    assert socket.gethostname() not in json.dumps(document)
    here, there = document["rows"]
    assert (here["link"], there["link"]) == ("loopback", "1gbit,30ms")
    for name in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates"):
        assert here[name] == there[name] > 0
    assert here["bytes_sent"] + here["bytes_received"] == here["predicted_bytes"]
    for row in (here, there):
        assert row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
    assert there["seconds"] > here["rounds"] * 0.015  # every round waits for a delay at least
    assert there["predicted_seconds"] > here["predicted_seconds"]
    rows = list(csv.DictReader((out / "bench.csv").open()))
    assert [row["seconds"] for row in rows] == [str(row["seconds"]) for row in document["rows"]]


def played(case: cases.Case) -> tuple[Any, tuple[Meter, Meter]]:
    meters: dict[int, Meter] = {}

    def both(session: Session) -> Any:
        meters[session.party] = session.meter
        return case.play(engine_of(session, case.profile))

    return run_local(both)[0], (meters[0], meters[1])


@pytest.mark.parametrize("workload", {case.workload.name: case for case in EVERY}.values(), ids=lambda c: c.title)
def test_every_workload_knows_a_right_result_from_a_wrong_one(workload: cases.Case) -> None:
    small = cases.Case(workload.workload, cases.YAO, 3)
    result, meters = played(small)
    small.check(result)
    _compare(small, small.forecast(), _Run(0.1, (meters[0], meters[1].total)))
    wrong: Any = None
    match result:
        case np.ndarray():
            wrong = result.copy()
            wrong[1] = 1 - wrong[1]
        case [np.ndarray(), *_]:
            wrong = [result[0] ^ 1, *result[1:]]
    with pytest.raises(RuntimeError, match="wrong result"):
        small.check(tuple(wrong) if isinstance(result, tuple) else wrong)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("party", [0, 1])
def test_a_forecast_that_is_off_by_one_is_an_error(name: str, party: int) -> None:
    _, meters = played(ONE)
    cost = meters[party].total
    setattr(cost, name, getattr(cost, name) + 1)
    with pytest.raises(RuntimeError, match=f"party {party} measured {name}"):
        _compare(ONE, ONE.forecast(), _Run(0.1, (meters[0], meters[1].total)))


def test_phases_add_up_to_the_total() -> None:
    _, (meter, _) = played(cases.Case(cases.TREE, cases.MIXED, 1))
    shares = exclusive(meter, 5.0)
    steps = {"normalise", "look up", "series", "times x"}
    assert {"base ot", "leaves", "entropy", "argmin", "other"} | steps == set(shares)
    assert sum(share["bytes"] for share in shares.values()) == meter.total.bytes_sent + meter.total.bytes_received
    assert sum(share["seconds"] for share in shares.values()) == pytest.approx(5.0)


def test_what_would_take_too_long_is_left_out_before_any_peer_starts() -> None:
    rows, skipped = measure("slow", LinkShape.parse("1kbit"), [TREE], 1, lambda step: None)
    assert rows == []
    (one,) = skipped
    assert (one.protocol, one.batch) == ("ID3, tennis", 1)
    assert one.predicted_seconds > 1000


def test_titles_name_one_case_and_batches_suit_the_link() -> None:
    on = {name: [case for case in cases.default_cases() if case.suits(shape)] for name, shape in PRESETS.items()}
    for name, chosen in on.items():
        titles = [case.title for case in chosen]
        assert len(set(titles)) == len(titles)
        assert [cases.find(title).title for title in titles] == titles
        assert len({case.workload.name for case in chosen}) == 7
        assert any(case.batch == 10**6 for case in chosen) == (name == "loopback")


def test_links_are_presets_or_shapes() -> None:
    assert survey.parse_links("loopback,lan,wan") == PRESETS
    assert survey.parse_links("LAN; 50mbit,80ms ;5ms") == {
        "lan": PRESETS["lan"],
        "50mbit,80ms": LinkShape(50e6, 0.04),
        "5ms": LinkShape(None, 0.0025),
    }


@pytest.mark.parametrize("text", ["", "lan,", "lan,fast", "1gbit,1ms,2ms", "lan;;wan"])
def test_other_links_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--links"):
        survey.parse_links(text)


def test_a_directory_that_cannot_be_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(cli, ["bench", "--only", "ID3", "--out", str(tmp_path / "file" / "deeper")])
    assert isinstance(done.exception, InputError)
    assert "cannot make the directory" in str(done.exception)


def test_only_a_known_case() -> None:
    done = CliRunner().invoke(cli, ["bench", "--only", "nonsense"])
    assert isinstance(done.exception, InputError)
    assert "no case has 'nonsense'" in str(done.exception)


def test_csv_quotes_what_has_commas() -> None:
    row = dict.fromkeys(Measurement.__dataclass_fields__, 1) | {"protocol": 'a, "b"', "link": "1gbit,1ms"}
    (read,) = csv.DictReader(io.StringIO(survey.as_csv([row])))
    assert read["protocol"] == 'a, "b"'
    assert read["link"] == "1gbit,1ms"
    assert "phases" not in read
