"""What a session does: the last common level, the rows that are counted, what a worker tells."""

from __future__ import annotations

import gc
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np
import pytest

from parties.base.console import MEASURING
from parties.jobs.execution import profiles
from parties.jobs.execution.engine_selection import Choice, choice_for
from parties.jobs.inputs import AwayError, Inputs
from parties.jobs.kind import digest
from parties.jobs.spending import PureLoss, exact
from parties.link.identity import Identity
from parties.node.acts.accounts import Earlier, Terms
from parties.node.exchanges import checkpoint
from parties.node.exchanges.openings import Stored
from parties.node.links import executor
from parties.node.links.executor import Event, Order
from parties.node.proposal import Proposal, propose, read_job
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from protocols.tree import Open, Tree, cut
from smc.errors import InputError, JobMismatchError, LinkError, PeerLeftError, ProtocolError
from smc.link_shape import LinkShape
from smc.local import run_local
from smc.meter import Cost
from smc.session import Session
from tests.support import coins as coins_module
from tests.support.ledgers import OTHER, STAGES, TASK, TREE
from tests.support.proposals import proposal_of
from tests.support.registry import registered
from tests.support.workers import Heard, breaks_at, peace, worked

pytestmark = pytest.mark.slow


def met(own: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
    left, right = run_local(lambda session: checkpoint.common(session, TASK, own[session.party], Stored())[0])
    return left, right


@pytest.mark.parametrize(("left", "right"), [(0, 0), (1, 1), (3, 3), (0, 1), (1, 0), (2, 1), (2, 3), (3, 2)])
def test_the_last_common_level(left: int, right: int) -> None:
    expected = cut(TREE, min(left, right))
    assert met((cut(TREE, left), cut(TREE, right))) == (expected, expected)


@pytest.mark.parametrize(("sent", "sessions"), [(1 << 20, 1), (0, 16), (1 << 16, 8)])
def test_what_sessions_leave_in_circles_is_gone_once_it_is_worth_it(
    monkeypatch: pytest.MonkeyPatch, sent: int, sessions: int
) -> None:
    class Circle:
        def __init__(self) -> None:
            self.itself = self

    made = []

    def dial() -> Any:
        made.append(ref(Circle()))
        raise LinkError("nobody is there")

    monkeypatch.setattr(executor, "_garbage", executor._Garbage())
    order: Any = SimpleNamespace(job=SimpleNamespace(id="ab" * 16))
    gc.disable()
    try:
        for session in range(sessions):
            assert all(circle() is not None for circle in made), session
            worker = executor.Worker(order, dial, lambda event: None, lambda: None)
            worker._total.bytes_sent = sent
            worker.start()
            worker._thread.join()
        assert all(circle() is None for circle in made)
    finally:
        gc.enable()


def test_what_stays_is_not_looked_through_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand jobs that are kept cost a session nothing; circles among them are found one time in `WHOLE`."""

    class Circle:
        def __init__(self) -> None:
            self.itself = self

    leavings, frozen, before = executor._Garbage(), list[int](), gc.get_freeze_count()
    kept = [Circle() for _ in range(1000)]
    try:
        leavings.add(executor.WORTH_BYTES)
        assert gc.get_freeze_count() >= before + 1000
        watched = ref(kept.pop())
        for _ in range(executor.WHOLE - 1):
            leavings.add(executor.WORTH_BYTES)
            frozen.append(gc.get_freeze_count())
            assert watched() is not None, "it was among what stays"
        assert len(set(frozen)) == 1
        leavings.add(executor.WORTH_BYTES)
        assert watched() is None
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("depth", [2, 3])
def test_two_trees_have_no_common_level(depth: int) -> None:
    with pytest.raises(ProtocolError, match="differ"):
        met((cut(TREE, depth), cut(OTHER, 3)))


@pytest.mark.parametrize("claimed", [-1, -(2**63), 2**62])
def test_a_level_that_cannot_be(claimed: int) -> None:
    """A number that no honest peer has stands for the nearest that one could have, or ends the session."""

    def program(session: object) -> object:
        if session.party == 0:  # type: ignore[attr-defined]
            return checkpoint.common(session, TASK, STAGES[1], Stored())[0]  # type: ignore[arg-type]
        start = cut(STAGES[1], 0 if claimed < 0 else 1)
        told = np.array([claimed, -1, 0, 0], dtype=np.int64)
        session.send("checkpoint.levels", told)  # type: ignore[attr-defined]
        session.receive("checkpoint.levels", np.int64, (4,))  # type: ignore[attr-defined]
        session.send("checkpoint.digest", np.frombuffer(digest(TASK, start), dtype=np.uint8))  # type: ignore[attr-defined]
        session.receive("checkpoint.digest", np.uint8, (32,))  # type: ignore[attr-defined]
        return start

    try:
        left, right = run_local(program)  # type: ignore[arg-type]
    except ProtocolError:
        return
    assert left == right


def test_a_peer_cannot_have_lost_more_than_a_level() -> None:
    """A level is on both disks before the next one is computed: who says otherwise would see another tree's top."""
    with pytest.raises(ProtocolError, match="level"):
        met((TREE, cut(TREE, 1)))


OURS = Schema({"p": ("0", "1"), "q": ("0", "1"), "y": ("n", "y")}, "y")
ROWS = "p,q,y\n0,1,n\n0,1,y\n0,0,y\n"


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    OURS.save(tmp_path / "schema.toml")
    (tmp_path / "rows.csv").write_text(ROWS)
    table = {"source": str(tmp_path / "rows.csv"), "schema": str(tmp_path / "schema.toml"), "max_rows": 100}
    return Inputs(1, TableSettings.model_validate(table), OURS)


def order_of(job: Proposal, inputs: Inputs, identity: Identity, known: str = "") -> Order:
    return Order(job, inputs, None, "", known, identity)


@pytest.mark.parametrize("order", [("p", "q", "y"), ("q", "p", "y"), ("y", "q", "p"), ("q", "y"), ("y", "p")])
def test_rows_are_counted_in_the_order_of_the_job(
    inputs: Inputs, identities: dict[str, Identity], order: tuple[str, ...]
) -> None:
    """The parties' schemas may list the attributes in different orders: the job's is what counts."""
    job = proposal_of(Schema({name: OURS.attributes[name] for name in order}, "y"), party=1)
    expected = {"p": [[1, 2], [0, 0]], "q": [[0, 1], [1, 1]]}
    with executor.opened(order_of(job, inputs, identities["alice"])) as (ours, _):
        counts = ours.data.level(Open(), attributes=True)
    assert counts.classes.tolist() == [[1, 2]]
    assert [table[0].tolist() for table in counts.values] == [expected[name] for name in order if name != "y"]


def test_changed_rows_do_not_go_on(inputs: Inputs, identities: dict[str, Identity], tmp_path: Path) -> None:
    def fingerprint(job: Proposal, who: str, known: str = "") -> str:
        with executor.opened(order_of(job, inputs, identities[who], known)) as (_, found):
            return found

    job = proposal_of(OURS, party=1)
    known = fingerprint(job, "alice")
    assert fingerprint(job, "alice", known) == known
    assert fingerprint(proposal_of(OURS, party=1), "alice") != known, "two jobs' fingerprints can be compared"
    assert fingerprint(job, "bob") != known, "who knows the counts could compute it"
    (tmp_path / "rows.csv").write_text(ROWS + "1,1,y\n")
    with pytest.raises(InputError, match="changed"):
        fingerprint(job, "alice", known)


def test_a_job_is_held_against_the_bounds_of_the_table_not_its_rows(
    inputs: Inputs, identities: dict[str, Identity], tmp_path: Path
) -> None:
    """Were rows held against the job's, whoever proposes jobs could find their number by halves."""
    (tmp_path / "rows.csv").unlink()
    job = proposal_of(OURS, party=1, max_rows=2, k=1)
    with (
        pytest.raises(InputError, match="must be at least 100, the public bound of the table"),
        executor.opened(order_of(job, inputs, identities["alice"])),
    ):
        pass


def test_a_table_that_is_not_there_is_away(inputs: Inputs, identities: dict[str, Identity], tmp_path: Path) -> None:
    (tmp_path / "rows.csv").unlink()
    order = order_of(proposal_of(OURS, party=1), inputs, identities["alice"])
    with pytest.raises(AwayError, match=r"rows\.csv"), executor.opened(order):
        pass


def test_what_is_typed_wrongly_is_not_away(identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch) -> None:
    """No table would come back: the job ends. It is the same if the peer is told of a table's rows."""
    job = propose(read_job({"protocol": "millionaires"}), Inputs())

    @contextmanager
    def wrong(self: Any, _: Inputs) -> Iterator[Any]:
        raise InputError("no number")
        yield

    monkeypatch.setattr(type(job.task), "open", wrong)
    order = order_of(job, Inputs(1), identities["alice"])
    with pytest.raises(InputError, match="no number") as caught, executor.opened(order):
        pass
    assert not isinstance(caught.value, AwayError)


def test_what_is_secret_or_long_is_not_shown(inputs: Inputs, identities: dict[str, Identity]) -> None:
    order = order_of(proposal_of(OURS, party=1), inputs, identities["alice"])
    assert "identity=" not in repr(order)
    assert "stored=" not in repr(order)
    assert "4711" not in repr(executor.Finished(None, Cost(), {"seconds": 4711}))


AUTO = propose(read_job({"protocol": "millionaires", "engine": "auto", "bits": 8}), Inputs())
NAMES = [str(profile) for profile in profiles.contenders(AUTO.task.about.integers, 1)]
NONE = len(NAMES)  # for what a party does not know


def agreed_on(identities: dict[str, Identity], known: str, says: tuple[int, int]) -> str:
    """The profile with which a party goes on that knows this one, of sessions before, if the peer says so."""
    order = Order(AUTO, Inputs(1), None, known, "", identities["alice"])

    def program(session: Session) -> str:
        if session.party == 0:
            session.channel.send("checkpoint.profile", bytes(says))
            return str(list(bytes(session.channel.receive("checkpoint.profile", 2))))
        link: Any = SimpleNamespace(session=lambda: session, options=None, measured=LinkShape.parse("lan"), pace=1.0)
        return str(executor._profile(link, order))

    return str(run_local(program)[1])


def test_two_parties_go_on_with_the_profile_of_the_sessions_before(identities: dict[str, Identity]) -> None:
    """That of either, if the other has lost it; a new one is that which both would choose."""
    chosen = choice_for(AUTO.task, Inputs(1)).profile
    own = NONE if chosen is None else NAMES.index(str(chosen))
    assert agreed_on(identities, "", (NONE, own)) in NAMES
    for number, name in enumerate(NAMES):
        for known, says in ((name, NONE), (name, number), ("", number)):
            assert agreed_on(identities, known, (says, own)) == name


def test_two_parties_that_know_different_profiles_do_not_go_on(identities: dict[str, Identity]) -> None:
    chosen = choice_for(AUTO.task, Inputs(1)).profile
    own = NONE if chosen is None else NAMES.index(str(chosen))
    other = (own + 1) % (NONE + 1)
    for known, says in ((NAMES[0], (1, own)), ("", (NONE, other)), ("", (NONE + 1, own)), (NAMES[0], (255, own))):
        with pytest.raises(ProtocolError, match="have used different profiles"):
            agreed_on(identities, known, says)


@pytest.mark.parametrize(("options", "looked"), [(None, 0), ({"ray": None}, 1), ({"ray": "ray://a"}, 0)])
def test_what_shards_take_is_looked_for_where_they_begin(
    identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any] | None, looked: int
) -> None:
    """On this machine, but for those of a Ray."""
    found: list[Choice] = []
    monkeypatch.setattr(executor, "check_memory", found.append)
    job = propose(read_job({"protocol": "millionaires", "engine": "yao"}), Inputs())
    link: Any = SimpleNamespace(options=None if options is None else SimpleNamespace(**options))
    assert executor._profile(link, order_of(job, Inputs(1), identities["alice"])).engine == "yao"
    assert len(found) == looked


# What a worker tells. The task tosses coins in two steps.


@pytest.fixture
def coins(identities: dict[str, Identity]) -> Iterator[Callable[..., tuple[Order, Order]]]:
    """Both parties' orders of one job, made anew for every session: from these states on."""
    with registered(("coins", "tests.support.coins:Coins")):
        jobs: dict[str, Proposal] = {}

        def orders(states: tuple[Any, Any] = (None, None), engine: str = "yao") -> tuple[Order, Order]:
            job = jobs.setdefault(engine, propose(read_job({"protocol": "coins", "engine": engine}), Inputs()))
            left, right = (Order(job, Inputs(party), states[party], "", "", identities["alice"]) for party in (0, 1))
            return left, right

        yield orders


Orders = Callable[..., tuple[Order, Order]]
STEP = ["Reached", "Written", "Leaving"]
WHOLE = ["Linked", "Met", *STEP, *STEP, "Finished"]
ENDS = ["Failing", "Stopped"]  # by an error


def test_events_of_a_session(coins: Orders) -> None:
    """Every step is told before it begins, with the state before it and the costs so far; the end comes once."""
    for heard in worked(coins()):
        assert heard.kinds == WHOLE
        assert heard.overs == 1
        linked, met, first, _, _, second, _, _, finished = heard.events
        assert isinstance(linked, executor.Linked)
        assert met == executor.Met(0, "yao extension half")
        assert isinstance(first, executor.Reached)
        assert isinstance(second, executor.Reached)
        assert isinstance(finished, executor.Finished)
        assert [(one.step, one.size, one.words) for one in (first, second)] == [(0, 4, "toss 0"), (1, 4, "toss 1")]
        assert first.state is None
        assert second.state == finished.state[:1]
        assert len(finished.state) == 2
        assert finished.report["total"]["bytes_sent"] == finished.total.bytes_sent > 0
        assert finished.report[MEASURING]["bytes_sent"] == 1000
        assert finished.total is linked.total, "it goes on counting"


def test_a_repeat_reads_no_rows(coins: Orders, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both learn first that an earlier job has answered theirs: so a table that fails costs nothing."""
    monkeypatch.setattr(executor, "opened", lambda order: pytest.fail("the table is opened"))
    told = coins_module.Coins.disclosure.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(
        coins_module.Coins,
        "disclosure",
        property(lambda task: replace(told(task), spends=(PureLoss("laplace", exact(1.0)),))),
    )
    orders = [replace(one, terms=Terms(Earlier(one.job, [[1, 2, 3, 4], [5, 6, 7, 8]]))) for one in coins()]
    for heard in worked((orders[0], orders[1])):
        assert heard.kinds == ["Linked", "Met", "Finished"]
        assert isinstance(heard.events[1], executor.Met)
        assert heard.events[1].repeats == orders[0].job.id


def test_what_is_decided_already_is_not_computed(coins: Orders) -> None:
    done = [[1, 2, 3, 4], [5, 6, 7, 8]]
    for heard in worked(coins((done, done))):
        assert heard.kinds == ["Linked", "Met", "Finished"]
        assert heard.events[1] == executor.Met(2, "")
        assert isinstance(heard.events[2], executor.Finished)
        assert heard.events[2].state == done


@pytest.mark.parametrize(
    ("step", "times", "told"),
    [
        ("checkpoint.levels", 1, ["Linked", *ENDS]),
        ("checkpoint.digest", 1, ["Linked", *ENDS]),
        ("ready", 1, [*WHOLE[:4], *ENDS]),
        ("reveal", 1, [*WHOLE[:5], *ENDS]),
        ("ready", 2, [*WHOLE[:7], *ENDS]),
        ("reveal", 2, [*WHOLE[:8], *ENDS]),
        ("goodbye", 1, [*WHOLE[:8], *ENDS]),
    ],
)
def test_a_line_that_is_lost(coins: Orders, step: str, times: int, told: list[str]) -> None:
    """The party whose line fails says so after all that it did; its peer, which hears no more, stops at that step."""
    left, right = worked(coins(), (peace, breaks_at(step, times)))
    assert left.kinds == right.kinds == told
    assert left.overs == right.overs == 1
    assert str(error_of(right)) == "the line is lost"
    assert isinstance(error_of(left), PeerLeftError)


def test_an_error_is_told_before_our_shards_end(coins: Orders, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their end breaks the links to the peer's shards, and the job must be charged before the peer sees anything."""
    order: dict[int, list[str]] = defaultdict(list)  # by thread
    tell = Heard.tell

    def heard(self: Heard, event: Event) -> None:
        order[threading.get_ident()].append(type(event).__name__)
        tell(self, event)

    @contextmanager
    def shards(*_: object) -> Iterator[None]:
        try:
            yield
        finally:
            order[threading.get_ident()].append("shards end")

    monkeypatch.setattr(Heard, "tell", heard)
    monkeypatch.setattr(executor, "sharded", shards)
    worked(coins(), (breaks_at("reveal", 1), peace))
    assert len(order) == 2
    assert all(told[-3:] == ["Failing", "shards end", "Stopped"] for told in order.values()), order


def error_of(heard: Heard) -> BaseException:
    last = heard.events[-1]
    assert isinstance(last, executor.Stopped)
    return last.error


@pytest.mark.parametrize("error", [LinkError("nobody there"), JobMismatchError("another job"), OSError("no socket")])
def test_a_peer_that_is_not_reached(coins: Orders, error: Exception) -> None:
    def dial() -> None:
        raise error

    left, right = worked(coins(), dial=dial)
    assert right.kinds == ["Stopped"]
    assert error_of(right) is error
    assert right.overs == 1
    assert left.kinds == ["Linked", *ENDS]


def test_states_that_cannot_meet(coins: Orders) -> None:
    """Nothing is opened, and nobody is told of a session, if the two have different coins or are two steps apart."""
    one, other = [[1, 2, 3, 4]], [[1, 2, 3, 5]]
    for states, words in (((one, other), "differ"), ((None, one * 2), "propose the job anew")):
        for heard in worked(coins(states)):
            assert heard.kinds == ["Linked", *ENDS]
            assert isinstance(error_of(heard), ProtocolError)
            assert words in str(error_of(heard))


@pytest.mark.parametrize("step", [0, 1])
def test_a_task_that_raises(coins: Orders, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is: the worker tells it and ends, and so does the peer's."""
    error = ZeroDivisionError("in the task")

    def fails(party: int, number: int, found: list[int]) -> None:
        if (party, number) == (1, step):
            raise error

    monkeypatch.setattr(coins_module, "note", fails)
    left, right = worked(coins())
    assert right.kinds == [*WHOLE[: 5 + 3 * step], *ENDS]
    assert error_of(right) is error
    assert isinstance(error_of(left), PeerLeftError)
    assert left.overs == right.overs == 1


@pytest.mark.parametrize("refused", ["Linked", "Met", "Reached", "Written", "Leaving", "Finished"])
def test_what_the_node_will_not_hear_ends_the_session(coins: Orders, refused: str) -> None:
    """A ledger that refuses an event, for the job was cancelled or the disk is full: nothing more is done."""

    def refuses(event: Event) -> None:
        if type(event).__name__ == refused:
            raise LinkError("the job was ended")

    left, right = worked(coins(), refuses=refuses)
    assert right.kinds == [*WHOLE[: WHOLE.index(refused) + 1], *ENDS]
    assert str(error_of(right)) == "the job was ended"
    assert (left.kinds[-1] == "Finished") == (refused == "Finished")
