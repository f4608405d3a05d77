"""Holders and two computing nodes over real links: answers of the union, and what is refused, a line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.base.console import StatusLine
from parties.jobs import contributing, kinds
from parties.jobs.contributing import contribute
from parties.jobs.execution.running import Connection
from parties.jobs.holders import SIZE_BYTES, Givers, Holders, check_holders, open_holders
from parties.jobs.kind import revealed
from parties.link.identity import create, fingerprint, load_certificate, load_identity, short_fingerprint
from parties.link.options import LinkOptions
from parties.link.settings import LinkSettings
from parties.sources.settings import TableSettings
from parties.tables import schema as schemas
from protocols.counts import RowCounts
from protocols.shares import SEED_BYTES
from protocols.tree import Leaf, Open, Split
from smc.engines import Profile, engine_of
from smc.errors import InputError, JobMismatchError, LinkError, ProtocolError, SmcError
from smc.local import run_local

NAMES = ("a", "b", "anna", "bert", "cleo")  # two nodes, then holders
ROWS = (30, 20, 25, 0, 17)
MOST = 40
NO_COLUMN: Any = (Split("wind", (Open(),) * 2), True)  # type: ignore[arg-type]
SCHEMA = """target = "play"
[attributes]
wind = ["weak", "strong"]
rain = ["no", "some", "much"]
sun = ["low", "mid", "high"]
play = ["yes", "no"]
"""


class Consortium:
    """Keys, tables and addresses of two nodes and three holders in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name in NAMES:
            create(name, ["127.0.0.1"], directory)
        (directory / "schema.toml").write_text(SCHEMA)
        self.schema = schemas.load(directory / "schema.toml")
        random = np.random.default_rng(3)
        self.cells = [
            np.array([random.integers(0, len(values), rows) for values in self.schema.attributes.values()]).T
            for rows in ROWS
        ]
        for name, cells in zip(NAMES, self.cells, strict=True):
            values = [*self.schema.attributes.values()]
            lines = [",".join(domain[i] for domain, i in zip(values, row, strict=True)) for row in cells]
            (directory / f"{name}.csv").write_text("\n".join([",".join(self.schema.attributes), *lines, ""]))
        self.ports = [f"127.0.0.1:{port}" for port in ports(3)]

    def certificate(self, name: str) -> Any:
        return load_certificate(self.directory / f"{name}.crt")

    def identity(self, name: str) -> Any:
        return load_identity(self.directory / f"{name}.key", self.directory / f"{name}.crt")

    def counts(self, task: Any, cells: Any) -> RowCounts:
        """Rows as the task counts them."""
        names, sizes = [*self.schema.attributes], [len(values) for values in self.schema.attributes.values()]
        order = [names.index(name) for name in (*task.schema.features(task.target), task.target)]
        columns = cells[:, order]
        return RowCounts([sizes[i] for i in order[:-1]], sizes[order[-1]], columns[:, :-1], columns[:, -1])

    def task(self, name: str, rows: int, **settings: Any) -> Any:
        kind: Any = kinds.find(name)
        return kind.canonical(
            kind.Settings.model_validate({"max_rows": rows, "engine": "gmw", **settings}), self.schema
        )

    def givers(self, party: int, holders: Sequence[str] = NAMES[2:]) -> Givers:
        return Givers(tuple(map(self.certificate, holders)), self.ports[party], MOST, nodes_give=True)

    def node(self, party: int, task: Any, givers: Givers | None) -> Any:
        own, peer = NAMES[party], NAMES[1 - party]
        way = {"listen": self.ports[2]} if party == 0 else {"connect": self.ports[2]}
        paths = {"identity": f"{own}.key", "certificate": f"{own}.crt", "peer": f"{peer}.crt"}
        files = {key: self.directory / path for key, path in paths.items()}
        link = LinkSettings.model_validate({**files, **way, "wait": 20.0, "timeout": 20.0})
        data = task.own_rows(self.counts(task, self.cells[party]))
        return Connection(link).run_task(task, data, StatusLine(None), givers=givers)

    def ways(self, name: str, order: Sequence[int] = (0, 1)) -> list[LinkOptions]:
        more: dict[str, Any] = {"wait": 20.0, "timeout": 20.0, "kernels": []}
        identity = self.identity(name)
        return [LinkOptions(identity, self.certificate(NAMES[i]), connect=self.ports[i], **more) for i in order]

    def table(self, name: str, rows: int = MOST) -> TableSettings:
        source = {"source": str(self.directory / f"{name}.csv"), "schema": self.directory / "schema.toml"}
        return TableSettings.model_validate({**source, "max_rows": rows})

    def holder(self, name: str, table: TableSettings | None = None, order: Sequence[int] = (0, 1)) -> int:
        return contribute(
            self.ways(name, order), table or self.table(name), lambda lines, parameters: None, StatusLine(None)
        )

    def shown(self, party: int, job: dict[str, Any], use: Callable[[Holders], Any]) -> Any:
        """A node that shows anna this job, and then does as it likes."""
        arguments = (
            self.identity(NAMES[party]),
            self.givers(party, ("anna",)),
            party,
            job,
            20.0,
            20.0,
            StatusLine(None),
        )
        with open_holders(*arguments) as holders:
            return use(holders)

    def job(self, **changes: Any) -> dict[str, Any]:
        task = self.task("id3", MOST * 3 // 2, plain=True)
        nodes = [fingerprint(self.certificate(name)) for name in NAMES[:2]]
        terms = {
            "nodes": nodes,
            "holders": [fingerprint(self.certificate("anna"))],
            "holder_rows": MOST,
            "nodes_give": True,
        }
        return {**task.specification(), **terms, **changes}


def ports(count: int) -> list[int]:
    """Several free ports, different ones."""
    import socket

    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Consortium:
    return Consortium(tmp_path_factory.mktemp("consortium"))


@pytest.fixture
def consortium(keys: Consortium) -> Consortium:
    keys.ports = [f"127.0.0.1:{port}" for port in ports(3)]
    return keys


def together(*works: Callable[[], Any]) -> list[Any]:
    """The results of works that run at the same time; or their errors."""

    def ended(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except SmcError as error:
            return error

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(ended, works))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("id3", {"plain": True}),
        ("id3", {"k": 2, "against": "public", "max_depth": 2}),  # binary splits
        ("boost", {"exact": True, "rounds": 2, "depth": 2}),
        ("rules", {"support": 0.1, "confidence": 0.5, "k": 2}),
        ("release table", {"by": ("wind", "rain"), "exact": True}),
        ("forest", {"plain": True, "trees": 2, "max_depth": 1}),
    ],
)
def test_the_answer_is_that_of_the_union(consortium: Consortium, name: str, settings: dict[str, Any]) -> None:
    task = consortium.task(name, MOST * 5 // 2, **settings)
    nodes = [lambda party=party: consortium.node(party, task, consortium.givers(party)) for party in (0, 1)]
    orders = zip(NAMES[2:], [(0, 1), (1, 0), (0, 1)], strict=True)  # whichever node a holder names first
    holders = [lambda name=name, order=order: consortium.holder(name, order=order) for name, order in orders]
    (one, cost), (other, cost_b), *answered = together(*nodes, *holders)
    assert task.states.encode(one) == task.states.encode(other)
    assert len(set(answered)) == 1
    assert answered[0] >= 1
    phases = [report["phases"]["holders"] for report in (cost, cost_b)]
    assert phases[0]["bytes_received"] == len(holders) * answered[0] * SEED_BYTES
    assert phases[1]["bytes_received"] % (len(holders) * 8) == 0
    assert phases[0]["bytes_sent"] == phases[1]["bytes_sent"] >= len(holders) * answered[0] * SIZE_BYTES
    if name == "forest":  # each holder draws rows of its own
        return
    whole = np.concatenate(consortium.cells)
    parts = [task.own_rows(consortium.counts(task, cells)) for cells in (whole[:46], whole[46:])]

    def union(session: Any) -> Any:
        engine = engine_of(session, Profile("gmw"))
        return task.run(engine, parts[session.party], task.states.beginning, lambda step: None), session.meter.report()

    (expected, report), _ = run_local(union)
    assert task.states.encode(one) == task.states.encode(expected)
    if "plain" in settings or name == "boost":  # the shares enter where own numbers do
        bits = [cost["total"]["bits_opened"], report["total"]["bits_opened"]]
        assert bits[0] == bits[1]


def test_nodes_that_show_different_jobs_get_nothing(consortium: Consortium) -> None:
    one, other, holder = together(
        lambda: consortium.shown(0, consortium.job(), lambda holders: None),
        lambda: consortium.shown(1, consortium.job(min_rows=7), lambda holders: None),
        lambda: consortium.holder("anna"),
    )
    assert isinstance(holder, JobMismatchError)
    assert "min_rows: ours 0, peer's 7" in str(holder)
    assert isinstance(one, LinkError)
    assert isinstance(other, LinkError)


@pytest.mark.parametrize(
    ("first", "second", "error", "message"),
    [
        ((Open(), False), (Open(), True), JobMismatchError, "attributes: ours false, peer's true"),
        ((Open(), True), (Split(0, (Open(), Leaf(0))), True), JobMismatchError, "tree: "),
        ((Split(7, (Open(),)), True), (Split(7, (Open(),)), True), ProtocolError, "cannot have"),
        ((Split(0, (Open(),) * 5), True), (Split(0, (Open(),) * 5), True), ProtocolError, "cannot have"),
        (NO_COLUMN, NO_COLUMN, ProtocolError, "cannot have"),
        (None, None, ProtocolError, "numbers that the job does not have"),
        ([[1]], [[1]], ProtocolError, "numbers that the job does not have"),
        ([[1]], [[2]], JobMismatchError, "after"),
    ],
)
def test_a_holder_answers_only_what_both_ask_of_this_job(
    consortium: Consortium, first: Any, second: Any, error: type[SmcError], message: str
) -> None:
    *nodes, holder = together(
        lambda: consortium.shown(0, consortium.job(), lambda holders: holders.ask(first, 3)),
        lambda: consortium.shown(1, consortium.job(), lambda holders: holders.ask(second, 3)),
        lambda: consortium.holder("anna"),
    )
    assert isinstance(holder, error)
    assert message in str(holder)
    assert all(isinstance(node, LinkError) for node in nodes)


def test_a_question_out_of_turn_is_not_answered(consortium: Consortium) -> None:
    def ask(holders: Holders) -> Any:
        holders._number = 4
        return holders.ask((Open(), False), 2)

    *_, holder = together(
        lambda: consortium.shown(0, consortium.job(), ask),
        lambda: consortium.shown(1, consortium.job(), ask),
        lambda: consortium.holder("anna"),
    )
    assert str(holder) == "the nodes ask for question 4, expected 0: nothing is answered"


def test_a_share_of_another_length_names_the_holder(consortium: Consortium, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contributing, "_numbers", lambda data, question: np.zeros(3, dtype=np.int64))
    _, node, _ = together(
        lambda: consortium.shown(0, consortium.job(), lambda holders: holders.ask((Open(), False), 2)),
        lambda: consortium.shown(1, consortium.job(), lambda holders: holders.ask((Open(), False), 2)),
        lambda: consortium.holder("anna"),
    )
    assert isinstance(node, ProtocolError)
    assert str(node).startswith("the share of holder anna: ")
    assert "24" in str(node)


def other_schema(consortium: Consortium) -> TableSettings:
    path = consortium.directory / "other.toml"
    path.write_text(SCHEMA.replace('"much"', '"plenty"'))
    return consortium.table("anna").model_copy(update={"schema_file": path})


@pytest.mark.parametrize(
    ("changes", "table", "message"),
    [
        ({}, other_schema, "the schema or the bounds here do not fit the job: .*rain"),
        ({}, lambda c: c.table("anna", MOST + 1), "max_rows of the table is 41, more than the job's 40 of a holder"),
        ({"at_most": 2}, None, "at_most of the job is 2, but the table here is of rows, not of people"),
        ({"max_rows": MOST}, None, "the job computes with 80 rows at most, but 3 parties may have 40 each"),
        ({"holders": ["AA:BB"]}, None, "the job must list this holder exactly once"),
        ({"nodes": ["AA:BB", "CC:DD"]}, None, "computed by other parties than these two"),
        ({"protocol": "equality"}, None, "cannot be read|cannot take rows of holders"),
        (
            {"l": 2.0, "plain": False, "splits": "multiway"},
            None,
            "cannot take rows of holders: l and t against the peer",
        ),
        ({"protocol": "id4"}, None, "cannot be read: there is no kind of job 'id4'"),
    ],
)
def test_a_job_that_does_not_fit_is_refused_in_a_line(
    consortium: Consortium, changes: dict[str, Any], table: Any, message: str
) -> None:
    own = None if table is None else table(consortium)
    *nodes, holder = together(
        *(
            lambda party=party: consortium.shown(party, consortium.job(**changes), lambda holders: None)
            for party in (0, 1)
        ),
        lambda: consortium.holder("anna", own),
    )
    assert isinstance(holder, InputError | ProtocolError)
    with pytest.raises(type(holder), match=message):
        raise holder
    assert "\n" not in str(holder)
    assert all(isinstance(node, LinkError) for node in nodes)
    if isinstance(holder, InputError):  # the nodes see no reason
        assert {str(node) for node in nodes} == {"the job does not fit anna's table or settings"}


def refused(lines: Any, parameters: Any) -> None:
    raise InputError("you have not consented")


def test_a_refusal_reaches_both_nodes_without_its_reason(consortium: Consortium) -> None:
    give = (consortium.ways("anna"), consortium.table("anna"), refused, StatusLine(None))
    *nodes, holder = together(
        *(lambda party=party: consortium.shown(party, consortium.job(), lambda holders: None) for party in (0, 1)),
        lambda: contribute(*give),
    )
    assert isinstance(holder, InputError)
    assert [str(node) for node in nodes] == ["anna did not consent"] * 2


def test_rows_that_do_not_fit_are_no_fact_for_the_nodes(consortium: Consortium) -> None:
    odd = consortium.directory / "odd.csv"
    odd.write_text("wind,rain,sun,play\nhail,no,low,yes\n")
    *nodes, holder = together(
        *(lambda party=party: consortium.shown(party, consortium.job(), lambda holders: None) for party in (0, 1)),
        lambda: consortium.holder("anna", consortium.table("anna").model_copy(update={"source": str(odd)})),
    )
    assert "'hail'" in str(holder)
    assert {str(node) for node in nodes} == {"the job does not fit anna's table or settings"}


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("release count", {"epsilon": 16.0}, ["epsilon 16.0", "adjacency add-remove", "e^16"]),
        ("release count", {"epsilon": 1.0, "delta": 1e-6}, ["epsilon 1.0", "delta 1e-06", "e^1 "]),
        ("id3", {"k": 7, "against": "public", "max_depth": 2}, ["k 7", "max_depth 2", "wind, rain, sun, play"]),
        ("release count", {"exact": True}, ["exactly: this tells each party the other's number", "then know yours"]),
    ],
)
def test_a_holder_reads_all_that_a_node_consents_to(
    consortium: Consortium, name: str, settings: dict[str, Any], expected: list[str]
) -> None:
    task = consortium.task(name, MOST * 3 // 2, **settings)
    terms = {key: consortium.job()[key] for key in ("nodes", "holders", "holder_rows", "nodes_give")}
    job = contributing.Job({**task.specification(), **terms})
    text = "\n".join(job.lines(dict(zip(terms["nodes"], NAMES[:2], strict=True))))
    for part in [*expected, *revealed(task, "b")]:
        assert part in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": MOST + 1}, "--compute-only: --max-rows is 40 here, 41 at the peer"),
        ({"nodes_give": False}, "--compute-only: --compute-only is given at the peer only"),
        ({"certificates": NAMES[2:4]}, f"--compute-only: the peer's --holders lacks {NAMES[4]} ("),
        (None, "the peer's command has no --holders; both need it, with equal lists: "),
    ],
)
def test_the_two_nodes_compare_their_terms_before_a_holder_is_asked(
    consortium: Consortium, change: dict[str, Any] | None, message: str
) -> None:
    task = consortium.task("id3", MOST * 5 // 2, plain=True)
    if change and "certificates" in change:
        change = {"certificates": tuple(map(consortium.certificate, change["certificates"]))}
    other = None if change is None else replace(consortium.givers(1), **change)
    one, two = together(lambda: consortium.node(0, task, consortium.givers(0)), lambda: consortium.node(1, task, other))
    assert isinstance(one, JobMismatchError)
    assert isinstance(two, JobMismatchError)
    assert message in str(one)
    if change is None:
        assert str(two).startswith("this command has no --holders")
    if change and "certificates" in change:
        missing = short_fingerprint(consortium.certificate(NAMES[4]))
        assert str(two).endswith(f": --holders here lacks the certificate {missing}")


def test_a_node_that_leaves_while_the_other_waits_for_a_holder_is_named(consortium: Consortium) -> None:
    task = consortium.task("id3", MOST * 5 // 2, plain=True)
    away = replace(consortium.givers(1), address="192.0.2.1:1")  # no address of this machine
    one, two = together(lambda: consortium.node(0, task, consortium.givers(0)), lambda: consortium.node(1, task, away))
    assert isinstance(one, LinkError)
    assert "b" in str(one).split()
    assert "anna" not in str(one)
    assert "cannot listen" in str(two)


def test_a_certificate_that_does_not_fit_names_the_settings_of_a_holder(
    consortium: Consortium, capfd: pytest.CaptureFixture[str]
) -> None:
    def node(party: int) -> Any:
        giving = Givers((consortium.certificate("bert"),), consortium.ports[party], MOST, nodes_give=True)
        arguments = (consortium.identity(NAMES[party]), giving, party, consortium.job(), 2.0, 5.0, StatusLine(None))
        with open_holders(*arguments):
            pass

    def swapped() -> Any:
        ways = [
            replace(way, connect=port)
            for way, port in zip(consortium.ways("bert"), consortium.ports[1::-1], strict=True)
        ]
        return contribute(ways, consortium.table("bert"), refused, StatusLine(None))

    *nodes, mixed, unlisted = together(lambda: node(0), lambda: node(1), swapped, lambda: consortium.holder("anna"))
    assert "check --nodes, and that --at has the addresses in the order" in str(mixed)
    assert "both parties that compute must list it in --holders" in str(unlisted)
    assert "--peer" not in f"{mixed}{unlisted}"
    assert all("another one is refused; check --holders" in str(node) for node in nodes)
    said = capfd.readouterr().err
    assert f"waiting for holder bert on {consortium.ports[0]}" in said
    assert f"dialling a at {consortium.ports[0]}, for 20 s at most" in said


def test_holders_are_others_than_the_nodes_and_each_is_one(consortium: Consortium) -> None:
    certificates = {name: consortium.certificate(name) for name in NAMES}
    own, peer, anna = (certificates[name] for name in NAMES[:3])
    check_holders({"anna.crt": anna}, own, peer, compute_only=False)
    for holders, only, message in (
        ({"anna.crt": anna, "copy.crt": anna}, False, "--holders: anna.crt and copy.crt are one certificate"),
        ({"a.crt": own}, False, "--holders: a.crt is this node's own certificate"),
        ({"b.crt": peer}, False, "--holders: b.crt is the peer's certificate"),
        ({"anna.crt": anna}, True, "--compute-only: with one holder"),
    ):
        with pytest.raises(InputError, match=message):
            check_holders(holders, own, peer, compute_only=only)


def test_a_holder_that_stays_away_is_named(consortium: Consortium) -> None:
    with (
        pytest.raises(LinkError, match=r"holder anna did not connect to .* within 0.1 s"),
        open_holders(
            consortium.identity("a"), consortium.givers(0, ("anna",)), 0, consortium.job(), 0.1, 5.0, StatusLine(None)
        ),
    ):
        pass
