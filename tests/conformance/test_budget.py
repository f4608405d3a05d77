"""Privacy budgets of two real nodes: spent once, when a share leaves; refused before; asked again for nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import load_certificate
from parties.operator.budget import Registered
from parties.tables import example
from tests.support.coins import PLACE, noted
from tests.support.nodes import RESEARCH, NodeProcess, Nodes, cost_as_predicted, job, submit, verified
from tests.support.processes import here
from tests.support.register import is_registered_by
from tests.support.registry import installed, registered
from tests.support.waiting import eventually

KIND = {"noisy": "tests.support.noisy:Noisy"}
VERSION = 'version = "November"\n'
BUDGET = "[tables.rows.budget]\nepsilon = 2\ndelta = 1e-7\n"
EXACT = '[[policy]]\nname = "exact"\neffect = "permit"\nexact = true\npurpose = "research"\n'


def furnished(nodes: Nodes, place: Path, more: tuple[str, str]) -> Nodes:
    """The bundled clinics; both know the kind for tests, and note in `place` what they see opened."""
    (place / "site").mkdir()
    environment = installed(place / "site", KIND) | {PLACE: str(place)}
    demo = example.demo()
    nodes.furnish((demo.clinic_a.read_text(), demo.clinic_b.read_text()), demo.schema.read_text(), more)
    for node in (nodes.a, nodes.b):
        node.environment = environment
    return nodes


@pytest.fixture
def pair(nodes: Nodes, tmp_path: Path) -> Nodes:
    """Only b has a budget; what is for research both permit by a rule. Both say which rows their tables have."""
    furnished(nodes, tmp_path, (VERSION + RESEARCH, VERSION + BUDGET + RESEARCH))
    nodes.start()
    return nodes


def spent(node: NodeProcess) -> list[dict[str, Any]]:
    return [entry.fields | {"job": entry.job} for entry in node.client.audit(1000) if entry.kind == "spent"]


def smc(node: NodeProcess, *words: str, code: int = 0) -> str:
    with registered(*KIND.items()):
        done = here(node.directory, *words, "--config", "party.toml")
    assert done.code == code, done.out + done.err
    return done.out if code == 0 else done.err


def noisy(nodes: Nodes, node: NodeProcess | None = None, **fields: Any) -> tuple[str, str, str]:
    """A job of the kind for tests, to its end: its identifier and its state at a and b."""
    identifier = submit(node or nodes.a, protocol="noisy", purpose="research", **fields)
    left, right = nodes.finished(identifier)
    return identifier, left.state, right.state


def test_a_budget_is_spent_asked_again_for_nothing_and_then_used_up(pair: Nodes, tmp_path: Path) -> None:
    first, *states = noisy(pair, epsilon=1.5)
    assert states == ["done", "done"]
    for node in (pair.a, pair.b):
        (entry,) = spent(node)
        use = {"mechanism": "noisy coins", "epsilon": 1.5, "delta": 0.0, "times": 1}
        use["adjacency"] = "add-remove"
        assert (entry["job"], entry["table"], entry["uses"]) == (first, "rows", [use])
    view = job(pair.b, first)
    assert view.price is not None
    assert view.price.epsilon == 1.5
    assert view.price.charged_at is not None
    cost_as_predicted(pair.b, view)

    # The same of the same versions: the earlier result, whoever asks, and nothing is opened or spent.
    opened = len(noted(tmp_path, 0))
    again, *states = noisy(pair, pair.b, epsilon=1.5)
    assert states == ["done", "done"]
    for node in (pair.a, pair.b):
        one, other = node.client.result(first), node.client.result(again)
        assert one.document == other.document
        assert other.summary["result"]["repeats"] == first
        assert len(spent(node)) == 1
        shown = job(node, again).price
        assert shown is not None
        assert (shown.charged_at, shown.repeats) == (None, first)
    assert len(noted(tmp_path, 0)) == opened

    # Another question of 1.5 does not fit any more: b's node says the three numbers, before anything starts.
    other, *states = noisy(pair, epsilon=1.5, times=2)
    assert states == ["refused", "refused"]
    assert job(pair.b, other).ours.by == "budget"
    numbers = "spent epsilon 1.5, asked 3, left 0.5"
    assert numbers in job(pair.b, other).ours.reason
    assert numbers in job(pair.a, other).why
    assert [len(spent(node)) for node in (pair.a, pair.b)] == [1, 1]
    assert noisy(pair, epsilon=0.5)[1:] == ("done", "done")

    # The operator's commands, which change nothing.
    (pair.b.directory / "job.toml").write_text('protocol = "noisy"\ntable = "rows"\nepsilon = 0.25\n')
    refused = smc(pair.b, "budget", "simulate", "job.toml", code=2)
    assert "spent epsilon 2, asked 0.25, left 0" in refused
    (pair.b.directory / "job.toml").write_text('protocol = "noisy"\ntable = "rows"\nepsilon = 1.5\n')
    assert first[:8] not in smc(pair.b, "budget", "simulate", "job.toml")  # the latest that asked the same
    assert again[:8] in smc(pair.b, "budget", "simulate", "job.toml")
    flags = ["noisy", "--table", "rows", "--epsilon", "1.5", "--peer"]
    assert again[:8] in smc(pair.b, "budget", "simulate", *flags, "a")
    assert "there is no peer" in smc(pair.b, "budget", "simulate", *flags, "nobody", code=2)
    shown = smc(pair.b, "budget", "show")
    assert "epsilon 2   left 0" in shown
    assert "\n  with a      left 0; pure epsilon 2;" in shown
    (table,) = json.loads(smc(pair.b, "budget", "show", "--json", "--group", "4"))
    assert (table["budget"], table["spent"], table["now"]["epsilon"], table["group"]) == (2, 2, 8, 4)
    assert [one["epsilon"] for one in table["jobs"]] == [2, 6]
    (free,) = pair.a.client.budget()
    assert (free.budget, free.left, free.spent) == (None, None, 2)
    published = json.loads(smc(pair.b, "budget", "export", "--json", "--out", "entry.json"))
    assert json.loads((pair.b.directory / "entry.json").read_text()) == published
    assert [len(one["releases"]) for one in published["entry"]["tables"]] == [2]
    found = Registered.model_validate(published)
    assert is_registered_by(found, load_certificate(pair.b.directory / "b.crt"))
    assert not is_registered_by(found, load_certificate(pair.b.directory / "a.crt"))
    for node in (pair.a, pair.b):
        assert verified(node)["ok"]

    # A row that changes changes nothing that a peer can see, as long as the version stands: no answer tells of it.
    rows = pair.b.directory / "rows.csv"
    rows.write_text(rows.read_text() + rows.read_text().splitlines()[-1] + "\n")
    assert noisy(pair, epsilon=1.5)[1:] == ("done", "done")
    assert [len(spent(node)) for node in (pair.a, pair.b)] == [2, 2]

    # What was spent is there after a start, too, and of another version every question is a new one.
    assert pair.b.stop() == 0
    file = pair.b.directory / "party.toml"
    file.write_text(file.read_text().replace("November", "December"))
    pair.b.start()
    pair.await_both()
    changed, *states = noisy(pair, epsilon=1.5)
    assert states == ["refused", "refused"]
    assert "spent epsilon 2, asked 1.5, left 0" in job(pair.b, changed).ours.reason
    assert [len(spent(node)) for node in (pair.a, pair.b)] == [2, 2]
    assert noisy(pair, epsilon=0.5)[1:] == ("refused", "refused")


def test_a_table_that_is_renamed_has_its_budget_still(pair: Nodes) -> None:
    """And a second name for its rows is refused in a line, by `smc check` and at the start."""
    assert noisy(pair, epsilon=1.5)[1:] == ("done", "done")
    assert pair.b.stop() == 0
    file = pair.b.directory / "party.toml"
    as_it_was = file.read_text()
    table, _, budget = as_it_was.partition("[tables.rows]\n")[2].partition("[tables.rows.budget]\n")
    file.write_text(f"{as_it_was}\n[tables.visits]\n{table}[tables.visits.budget]\n{budget.partition('[[')[0]}")
    remedy = 'and rows have one budget: set same_rows_as = "rows" in place of [tables.visits.budget]'
    shown = here(pair.b.directory, "check", "--config", "party.toml", "--wait", "0.1")
    assert (shown.code, remedy in shown.out) == (2, True)
    assert smc(pair.b, "node", code=2).endswith(f"{remedy}\n")
    file.write_text(as_it_was.replace("[tables.rows", "[tables.visits").replace("rows.csv", "./rows.csv"))
    pair.b.start()
    pair.await_both()
    again, *states = noisy(pair, epsilon=1.0, peer_table="visits")
    assert states == ["refused", "refused"]
    assert "spent epsilon 1.5, asked 1, left 0.5" in job(pair.b, again).ours.reason
    shown = smc(pair.b, "budget", "show")
    assert "table visits\n  same rows   'rows': charges under all of these names count\n" in shown
    assert "table rows" not in shown
    assert noisy(pair, epsilon=0.5, peer_table="visits")[1:] == ("done", "done")
    assert {one["table"] for one in spent(pair.b)} == {"rows", "visits"}
    assert verified(pair.b)["ok"]


def test_what_no_rule_permits(nodes: Nodes, tmp_path: Path) -> None:
    """Two jobs wait for the operator, each of which fits; after the first the second cannot be approved.

    An exact result needs a rule that says so, even where another rule permits the rest.
    """
    furnished(nodes, tmp_path, (EXACT, BUDGET + RESEARCH))
    nodes.start()
    one, two = (submit(nodes.a, protocol="noisy", epsilon=value) for value in (1.5, 1.25))
    assert {job(nodes.b, identifier).state for identifier in (one, two)} == {"waiting"}
    smc(nodes.b, "approve", one)
    nodes.finished(one)
    assert "spent epsilon 1.5, asked 1.25, left 0.5" in smc(nodes.b, "approve", two, code=2)
    assert job(nodes.b, two).state == "waiting"

    free = submit(nodes.a, protocol="majority", table="rows", purpose="research")
    eventually(lambda: job(nodes.a, free).state == job(nodes.b, free).state == "refused")
    assert "the table has a privacy budget" in job(nodes.b, free).ours.reason
    identifier, *states = noisy(nodes, without_noise=1)
    assert states == ["refused", "refused"]
    assert "this tells each party the other's number" in job(nodes.b, identifier).ours.reason
    assert job(nodes.a, identifier).exact
    assert any("this tells each party the other's number" in line for line in job(nodes.a, identifier).reveals)
    proposed = next(e for e in nodes.b.client.audit(100) if (e.kind, e.job) == ("proposed", identifier))
    assert proposed.fields["exact"] == "this tells each party the other's number"
    assert nodes.b.stop() == 0
    file = nodes.b.directory / "party.toml"
    file.write_text(file.read_text() + EXACT)
    nodes.b.start()
    nodes.await_both()
    assert noisy(nodes, without_noise=1)[1:] == ("done", "done")
    nodes.finished(submit(nodes.a, protocol="majority", table="rows", purpose="research"))
    (nodes.b.directory / "job.toml").write_text('protocol = "noisy"\ntable = "rows"\nwithout_noise = 1\n')
    assert "no rule permits it by exact = true" in smc(nodes.b, "submit", "job.toml", code=2)


@pytest.mark.parametrize(
    "victims",
    [("b", "ab"), *(pytest.param((name, name), marks=pytest.mark.campaign) for name in ("a", "b", "ab"))],
    ids="-".join,
)
def test_killed_in_every_step_it_is_spent_once(nodes: Nodes, tmp_path: Path, victims: tuple[str, str]) -> None:
    """kill -9 in each step, when it is open but not written down: one entry in each ledger, and no coin tossed anew."""
    furnished(nodes, tmp_path, ("", BUDGET + RESEARCH))
    holds = [tmp_path / "hold 0", tmp_path / "hold 1"]
    for hold in holds:
        hold.touch()
    nodes.start()
    identifier = submit(nodes.a, protocol="noisy", purpose="research", epsilon=1.5)
    for step, hold in enumerate(holds):
        killed = [node for name, node in (("a", nodes.a), ("b", nodes.b)) if name in victims[step]]
        eventually(lambda step=step: all(step in dict(noted(tmp_path, party)) for party in (0, 1)))
        for node in killed:
            node.kill()
        hold.unlink()
        for node in killed:
            node.start()
        nodes.await_both()
    assert [view.state for view in nodes.finished(identifier)] == ["done", "done"]
    for party, node in enumerate((nodes.a, nodes.b)):
        assert [entry["job"] for entry in spent(node)] == [identifier]
        assert verified(node)["ok"]
        result = node.client.result(identifier).document["coins"]
        seen = noted(tmp_path, party)
        assert {(step, tuple(coins)) for step, coins in seen} == set(enumerate(map(tuple, result)))
        assert len(seen) > 2, "nothing was computed again"


def test_a_count_is_bisected_as_far_as_the_bits_go(nodes: Nodes) -> None:
    """a asks b's node again and again whether a variance is above a bound: each answer halves b's number of ones."""
    ones = (10, 19)  # of 40 rows at each party
    rows = tuple("sick,sex\n" + "1,f\n" * own + "0,f\n" * (40 - own) for own in ones)
    schema = '[attributes]\nsick = ["0", "1"]\nsex = ["f", "m"]\n'
    nodes.furnish((rows[0], rows[1]), schema, (EXACT, "[tables.rows.budget]\nepsilon = 1\nbits = 4\n" + EXACT))
    nodes.start()

    def between(number: int) -> float:
        """A bound between the variances of so many ones of b and of one more."""
        least, greatest = ((10 + x) / 80 * (1 - (10 + x) / 80) for x in (number, number + 1))
        return round((least + greatest) / 2, 5)

    def asked(number: int) -> str:
        question = {"protocol": "variance", "column": "sick", "above": between(number), "purpose": "research"}
        return submit(nodes.a, **question)

    low, high = 0, 28
    for spent in range(1, 5):
        middle = (low + high) // 2
        done = asked(middle)
        assert [view.state for view in nodes.finished(done)] == ["done", "done"]
        cost_as_predicted(nodes.b, job(nodes.b, done))
        exposure = job(nodes.b, done).exposure
        assert exposure is not None
        assert (exposure.at_most, exposure.opened) == (1, 1)
        low, high = (middle + 1, high) if nodes.a.client.result(done).document["answer"] else (low, middle)
        (table,) = nodes.b.client.budget()
        assert table.bits is not None
        assert (table.bits.spent, table.bits.left, table.bits.peers) == (spent, 4 - spent, {"a": spent})
    assert low <= ones[1] <= high
    assert low < high, "one question more would tell b's number"
    last = asked((low + high) // 2)
    for view in nodes.finished(last):
        assert view.state == "refused"
        assert "the job opens 1 bit of exact answers, more than table 'rows' has left (bits in its budget)" in view.why
    assert "exact bits  4 opened by exact answers; 0 left of 4" in smc(nodes.b, "budget", "show")
    assert "exact bits  4 opened by exact answers; not bounded" in smc(nodes.a, "budget", "show")
    for node in (nodes.a, nodes.b):
        assert verified(node)["ok"]
        assert sum(entry.kind == "counted" for entry in node.client.audit(1000)) == 4
