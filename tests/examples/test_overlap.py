"""A kind of job in one file, found by its entry point: engine, command, estimate, two nodes, page, policy, records."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.overlap import Overlap, OverlapSettings, overlap
from parties.jobs.kind import Inputs
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.chromium import chromium
from tests.support.nodes import Nodes, cost_as_predicted, job
from tests.support.places import ROOT
from tests.support.processes import Processes, here
from tests.support.registry import installed as install
from tests.support.registry import registered
from tests.support.waiting import PATIENCE

KIND = {"overlap": "examples.overlap:Overlap"}
SUBSETS = st.integers(1, 40).flatmap(
    lambda size: st.tuples(st.just(size), *(st.sets(st.integers(0, size - 1)) for _ in (0, 1)))
)


def bits(size: int, elements: set[int]) -> Any:
    return np.isin(np.arange(size), list(elements)).astype(np.uint8)


def test_the_file_shows_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.overlap"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout == "in both sets, as either party learns it: (2, 2)\n"


@settings(max_examples=20)
@given(SUBSETS, st.sampled_from(["yao", "gmw", "clear"]))
def test_the_number_is_that_of_the_intersection(case: tuple[int, set[int], set[int]], engine: Any) -> None:
    size, *sets = case
    found = run_local(lambda s: overlap(engine_of(s, Profile(engine)), bits(size, sets[s.party])))
    assert found == (len(sets[0] & sets[1]),) * 2


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw"), Profile("gmw", "ferret")], ids=str)
def test_the_estimate_is_what_is_measured(size: int, profile: Profile) -> None:
    counted = forecast(Overlap(OverlapSettings(size=size)).cost(Inputs()).program, profile)
    meters: dict[int, Any] = {}

    def program(session: Any) -> int:
        meters[session.party] = session.meter
        return overlap(engine_of(session, profile), np.ones(size, dtype=np.uint8))

    assert run_local(program) == (size, size)
    for party in (0, 1):
        for name in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened"):
            assert getattr(counted.costs[party], name) == getattr(meters[party].total, name), name


@pytest.mark.parametrize("text", ["64", "-1", "a", "1;2"])
def test_elements_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="below 64"):
        Overlap(OverlapSettings()).own({"elements": text})


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which another package names the kind, as `pip install` leaves it."""
    return install(tmp_path_factory.mktemp("site"), KIND)


def smc(directory: Path, *words: str, code: int = 0) -> str:
    with registered(*KIND.items()):
        done = here(directory, *words)
    assert done.code == code, done.err
    return done.out if code == 0 else done.err


@pytest.fixture
def processes(installed: dict[str, str], tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path, installed)
    yield started
    started.stop()


def test_command_and_estimate(processes: Processes, tmp_path: Path) -> None:
    assert "  overlap " in smc(tmp_path, "--help-all")
    assert "--elements N,N,..." in smc(tmp_path, "overlap", "--help")
    estimates = json.loads(smc(tmp_path, "estimate", "overlap", "--size", "100", "--json"))["estimates"]
    counted = next(row for row in estimates if (row["engine"], row["garbling"]) == ("yao", "three-halves"))
    words = ["overlap", "--size", "100", "--json", "--elements"]
    done = processes.pair([*words, "3,14,15,92"], [*words, "1,14,92"])
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    found, second = (json.loads(one.out) for one in done)
    assert found["common"] == second["common"] == 2
    assert found["cost"]["bytes_sent"] == counted["party0_sends"]
    assert second["cost"]["bytes_sent"] == counted["party1_sends"]
    wrong = smc(tmp_path, "overlap", "--size", "9", "--elements", "9", "--listen", "127.0.0.1:0", code=2)
    assert wrong == "smc: --elements: must be whole numbers below 9, with commas between them\n"


RULES = '[[policy]]\nname = "small"\neffect = "permit"\nprotocol = "overlap"\nsize.at_most = 3\npurpose = "research"\n'
SCHEMA = 'target = "play"\n[attributes]\nwind = ["weak", "strong", "none"]\nplay = ["yes", "no"]\n'


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, installed: dict[str, str]) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("overlap"))
    rows = ("wind,play\nweak,yes\nstrong,no\n", "wind,play\nstrong,yes\nnone,no\n")
    nodes.furnish(rows, SCHEMA, (RULES, RULES))
    for node in (nodes.a, nodes.b):
        node.environment = installed
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


def test_from_tables_by_a_rule_of_the_policy(pair: Nodes, installed: dict[str, str]) -> None:
    """A rule bounds the kind's own parameter; the job runs, is recorded, signed, and brings its result."""
    text = 'protocol = "overlap"\ntable = "rows"\npurpose = "research"\ncolumn = "wind"\nsize = 3\n'
    (pair.a.directory / "job.toml").write_text(text)
    # In a process of its own: what a rule can bound is settled when the rules are loaded.
    words = [sys.executable, "-m", "parties.cli", "policy", "--job", "job.toml"]
    done = subprocess.run(
        words, cwd=pair.a.directory, env=installed, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    decided = done.stdout
    assert "size at most 3" in decided
    assert decided.rstrip().splitlines()[-1].startswith("permit")
    shown = smc(pair.a.directory, "submit", "job.toml", "--wait")
    identifier = pair.a.client.jobs()[0].id
    left, right = pair.finished(identifier)
    assert (left.state, right.state) == ("done", "done"), (shown, left.why, right.why)
    assert right.ours.by == "rule small"
    for node in (pair.a, pair.b):
        assert node.client.result(identifier).document == {"common": 1}
        assert node.client.result(identifier).opened == {"number of common elements": 1}
        assert "whole" in smc(node.directory, "audit", "verify")  # as a program that knows the kind
    assert smc(pair.b.directory, "result", identifier) == "1 in common\n"
    entry = next(e for e in pair.b.client.audit() if e.kind == "proposed")
    assert (entry.fields["protocol"], entry.fields["target"]) == ("overlap", "wind")
    assert entry.fields["parameters"]["size"] == 3
    cost_as_predicted(pair.a, left)


def test_typed_and_consented_to_on_the_page(pair: Nodes) -> None:
    """Alice types her elements when she proposes, Bob on the page when he consents; neither is written anywhere."""
    typed = {"elements": "41,42,43"}
    identifier = pair.a.client.submit({"protocol": "overlap", "size": 50, "purpose": "by hand", **typed}).id
    view = job(pair.b, identifier)
    assert [one.name for one in view.asked] == ["elements"]
    missing = smc(pair.b.directory, "approve", identifier, code=2)
    assert "elements: the job requires it" in missing
    with chromium() as browser:
        page = browser.new_page()
        page.goto(pair.b.client.login())
        page.goto(f"{pair.b.client.login().rpartition('/login')[0]}/jobs/{identifier}")
        assert "how many of our own" in page.locator("#revealed").inner_text()
        page.get_by_label("Elements").fill("42,43,44")
        page.get_by_role("button", name="Approve").click()
        page.get_by_text("2 in common").wait_for()
        page.goto(f"{pair.b.client.login().rpartition('/login')[0]}/propose?kind=overlap")
        page.locator("summary", has_text="More:").click()
        assert page.get_by_label("Domain").is_visible()
    left, right = pair.finished(identifier)
    assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
    for node in (pair.a, pair.b):
        kept = b"".join(path.read_bytes() for path in (node.directory / "state").rglob("*") if path.is_file())
        assert b"41,42,43" not in kept
        assert b"42,43,44" not in kept
