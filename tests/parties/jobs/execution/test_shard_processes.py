"""What processes of shards are told, where they meet, and that none is left: without any process."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from parties.base.address import Address
from parties.jobs.execution import ray_shards, shard_processes, sharding
from parties.jobs.execution.shard_processes import Order, Processes, _Dead, _plain, door
from parties.link.identity import Identity
from parties.link.options import LinkOptions
from smc.engines import Profile
from smc.engines.shards import NOWHERE, Failed
from smc.errors import LinkError, MachineError
from smc.link_shape import LinkShape

PROFILE = Profile("mixed", shards=4)


class Process:
    """A process that only notes what is done with it."""

    def __init__(self) -> None:
        self.pid, self.done = 7, list[str]()

    def join(self, seconds: float | None = None) -> None:
        self.done.append("join" if seconds is None else f"join {seconds:g}")

    def kill(self) -> None:
        self.done.append("kill")


class Line:
    """A way to a shard that says these things, and nobody is there any more."""

    def __init__(self, *says: Any) -> None:
        self.says, self.told = list(says), list[Any]()

    def send(self, task: Any) -> None:
        if self.says == ["closed"]:
            raise BrokenPipeError
        self.told.append(task)

    def recv(self) -> Any:
        if not self.says:
            raise EOFError
        return self.says.pop(0)


class Begun(Processes):
    """Shards that are never begun: the orders that they would have."""

    def __init__(self, options: LinkOptions) -> None:
        session: Any = SimpleNamespace(party=0, derive=lambda name, size: name.encode().ljust(size, b"."))
        super().__init__(session, options, PROFILE)
        self.orders: list[Order] = []

    def _begin(self, number: int, order: Order) -> Any:
        self.orders.append(order)
        self._processes[number] = Process()
        return Line(Address("", 7001 + number))


@pytest.fixture
def options(identities: dict[str, Identity]) -> LinkOptions:
    return LinkOptions(identities["alice"], identities["bob"].certificate, listen="0.0.0.0:7000")


def test_a_shard_is_told_which_it_is_and_for_which_time(options: LinkOptions) -> None:
    """So both parties' say the same of themselves or do not talk; a line of the job's rate is shared by all."""
    shards = Begun(replace(options, shape=LinkShape(8e6, 0.02), timeout=11.0))
    shards._listening([1, 3])
    shards._listening([3])
    of = b"shards".ljust(32, b".").hex()
    assert [(order.job["protocol"], order.job["of"]) for order in shards.orders] == [("shard", of)] * 3
    assert [(order.job["shard"], order.job["time"]) for order in shards.orders] == [(1, 1), (3, 1), (3, 2)]
    assert {order.rate for order in shards.orders} == {LinkShape(2e6, 0.02)}
    assert {order.profile for order in shards.orders} == {replace(PROFILE, shards=1)}
    assert shards.orders[0].options["timeout"] == 11.0
    assert shards.pids == {1: 7, 3: 7}
    assert options.identity.key_pem.decode() not in repr(shards.orders), "a key is not shown"
    endless = Begun(replace(options, shape=LinkShape(delay=0.02)))
    endless._listening([0])
    assert endless.orders[0].rate == LinkShape(delay=0.02)


@pytest.mark.parametrize(
    ("listen", "label", "ports"),
    [("0.0.0.0:7000", "", [7001, 7003]), ("0.0.0.0:0", "", [0, 0]), ("0.0.0.0:7000", "job", [0, 0])],
)
def test_where_shards_listen(options: LinkOptions, listen: str, label: str, ports: list[int]) -> None:
    """The jobs of a node have shards at the same time: theirs have no ports of their own."""
    shards = Begun(replace(options, listen=listen, label=label))
    assert [where[-1] for _, where in shards._listening([0, 2])] == [7001, 7003], "as they say"
    assert [order.listen for order in shards.orders] == [f"0.0.0.0:{port}" for port in ports]
    assert {order.connect for order in shards.orders} == {None}


def test_a_shard_that_has_no_door(options: LinkOptions) -> None:
    shards = Begun(options)
    assert door(Address("", 7)) == (0, 0, 0, 0, 0, 0, 0, 0, 7)
    dead = _Dead(LinkError("gone"))
    assert shards._told(dead) == (dead, NOWHERE)
    line, where = shards._told(Line())
    assert where == NOWHERE
    assert str(line.recv().error) == "its process has not started"
    with pytest.raises(LinkError, match="the port is in use"):
        shards._told(Line(Failed(LinkError("the port is in use"))))


def test_what_the_peers_shard_is_met_at(options: LinkOptions) -> None:
    """A time that the peer could not begin counts as one: both say the same number the next time."""
    shards = Begun(replace(options, listen=None, connect="peer.example:7000"))
    answer = shards._calling(2, NOWHERE).recv()
    assert isinstance(answer, Failed)
    assert str(answer.error) == "a shard of the peer could not start; ask its operator for the reason"
    for host in ("127.0.0.1", "192.0.2.8", "198.51.100.1"):
        with pytest.raises(MachineError, match=f"has the address {host}, which is not the host of the session"):
            shards._calling(2, door(Address(host, 80)))
    assert shards.orders == []
    shards._options = replace(shards._options, shards_at=("192.0.2.0/29",))
    for number, where in ((2, door(Address("", 7003))), (1, door(Address("192.0.2.7", 7002)))):
        shards._calling(number, where)
    told = [(order.connect, order.listen, order.job["shard"], order.job["time"]) for order in shards.orders]
    assert told == [("peer.example:7003", None, 2, 2), ("192.0.2.7:7002", None, 1, 1)]


def test_none_is_left(options: LinkOptions) -> None:
    shards = Begun(options)
    shards._lines = {0: Line("closed"), 1: Line()}
    shards._processes = {number: Process() for number in range(3)}
    processes = list(shards._processes.values())
    shards.finish()
    assert shards._lines[1].told == [None]
    assert [process.done for process in processes] == [["join 10"]] * 3
    shards._end(1)
    shards._end(1)
    assert shards.pids == {0: 7, 2: 7}
    shards.kill()
    # Looked at before it is killed: of one that has ended the number may be another process's by now.
    assert [process.done[-3:] for process in processes] == [["join 0", "kill", "join"]] * 3
    assert shards.pids == {}


def test_an_error_that_is_not_ours_leaves_its_process_by_its_words() -> None:
    ours = Failed(LinkError("the link broke"))
    assert _plain(ours) is ours
    assert _plain(3) == 3
    other = _plain(Failed(KeyError("x"))).error
    assert (type(other), str(other)) == (RuntimeError, "KeyError: 'x'")


class Made(Processes):
    """Shards that note what is done with all of them."""

    def __init__(self, *_: Any) -> None:
        self.done, self.killed = list[str](), threading.Event()

    def finish(self) -> None:
        self.done.append("finish")

    def kill(self) -> None:
        self.done.append("kill")
        self.killed.set()


@pytest.mark.parametrize("ends", ["well", "wrong", "with the link"])
def test_an_engine_has_shards_while_its_work_lasts(monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    monkeypatch.setattr(sharding, "Processes", Made)
    over = threading.Event()
    options = SimpleNamespace(ray=None)
    link: Any = SimpleNamespace(options=options, session=lambda: None, channel=SimpleNamespace(ended=over))
    engine: Any = SimpleNamespace(shards=None)
    with sharding.sharded(link, engine, replace(PROFILE, shards=1)):
        assert engine.shards is None
    try:
        with sharding.sharded(link, engine, PROFILE):
            shards = engine.shards
            assert {thread.daemon for thread in threading.enumerate() if thread.name == "smc-shards"} == {True}
            if ends == "with the link":
                over.set()
                assert shards.killed.wait(10)
            elif ends == "wrong":
                raise LookupError
    except LookupError:
        assert ends == "wrong"
    assert engine.shards is None
    assert shards.done[:2] == {"well": ["finish", "kill"], "wrong": ["kill"], "with the link": ["kill", "finish"]}[ends]
    assert shards.done[-1] == "kill"
    over.set()


@pytest.mark.parametrize("memory", [{}, {"memory": 5}])
def test_shards_on_ray_are_told_how_much_memory_they_take(
    monkeypatch: pytest.MonkeyPatch, memory: dict[str, int]
) -> None:
    told = list[Any]()

    class OnRay(Made):
        def __init__(self, *arguments: Any) -> None:
            super().__init__()
            told.append(arguments)

    monkeypatch.setattr(ray_shards, "OnRay", OnRay)
    over = threading.Event()
    over.set()
    options = SimpleNamespace(ray="auto")
    link: Any = SimpleNamespace(options=options, session=lambda: "session", channel=SimpleNamespace(ended=over))
    engine: Any = SimpleNamespace(shards=None)
    with sharding.sharded(link, engine, PROFILE, **memory):
        assert isinstance(engine.shards, OnRay)
    assert told == [("session", options, PROFILE, memory.get("memory", 0))]


@pytest.mark.parametrize(
    ("platform", "version", "method"),
    [("linux", (3, 11, 1), "forkserver"), ("linux", (3, 11, 0), "spawn"), ("darwin", (3, 13, 0), "spawn")],
)
def test_processes_are_forks_where_that_is_safe(
    monkeypatch: pytest.MonkeyPatch, platform: str, version: tuple[int, ...], method: str
) -> None:
    """Of a process that has loaded the protocols, too."""
    loaded = list[str]()
    context = SimpleNamespace(set_forkserver_preload=loaded.extend)
    methods = SimpleNamespace(get_context=lambda name: SimpleNamespace(name=name, **vars(context)))
    modules = {"protocols.id3": None, "numpy": None}
    monkeypatch.setattr(shard_processes, "multiprocessing", methods)
    monkeypatch.setattr(
        shard_processes, "sys", SimpleNamespace(platform=platform, version_info=version, modules=modules)
    )
    assert shard_processes._context().name == method
    expected = [
        "parties.jobs.execution.fork_server",
        "parties.jobs.execution.shard_processes",
        *shard_processes.COMMAND,
        "protocols.id3",
    ]
    assert loaded == (expected if method == "forkserver" else [])


def test_a_process_ends_with_its_work_or_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not by what its whole group is sent: the job's process ends it."""
    done = list[Any]()
    numbers = SimpleNamespace(**{name: getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIG_IGN", "SIG_DFL")})
    numbers.signal = lambda *to: done.append(to)
    thread = SimpleNamespace(start=lambda: done.append("watches"))
    begun = list[dict[str, Any]]()
    monkeypatch.setattr(shard_processes, "signal", numbers)
    monkeypatch.setattr(shard_processes, "threading", SimpleNamespace(Thread=lambda **how: begun.append(how) or thread))
    monkeypatch.setattr(shard_processes, "os", SimpleNamespace(_exit=lambda code: done.append(f"exit {code}")))
    monkeypatch.setattr(shard_processes, "serve", lambda *_: done.append("serves"))
    shard_processes._work(Line(), None)  # type: ignore[arg-type]
    assert done[:2] == [(signal.SIGINT, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_DFL)]
    assert done[2:] == ["watches", "serves", "exit 0"]
    assert begun == [{"target": shard_processes._leave_with_parent, "daemon": True}]
    parent = SimpleNamespace(join=lambda: done.append("parent is gone"))
    monkeypatch.setattr(shard_processes, "multiprocessing", SimpleNamespace(parent_process=lambda: parent))
    shard_processes._leave_with_parent()
    assert done[-2:] == ["parent is gone", "exit 1"]


@pytest.mark.parametrize("starts", [True, False])
def test_a_shard_whose_process_cannot_start_is_dead(
    options: LinkOptions, monkeypatch: pytest.MonkeyPatch, starts: bool
) -> None:
    """Its end of the pipe is closed here in any case: else this one would wait for ever for what has died."""
    closed: list[str] = []

    class Context:
        def Pipe(self) -> tuple[Any, Any]:  # noqa: N802
            return Line(), SimpleNamespace(close=lambda: closed.append("there"))

        def Process(self, **_: Any) -> Any:  # noqa: N802
            return SimpleNamespace(start=self._start, pid=7)

        def _start(self) -> None:
            if not starts:
                raise BrokenPipeError

    monkeypatch.setattr(shard_processes, "_context", Context)
    shards = Processes(Begun(options).session, options, PROFILE)
    ((line, where),) = shards._listening([0])
    assert (where, shards.pids, closed) == (NOWHERE, {0: 7} if starts else {}, ["there"])
    assert str(line.recv().error) == "its process has not started"


def test_processes_begin_while_another_thread_loads_modules() -> None:
    """A session that began shards beside another one's first import ended its job."""
    stop, interval = threading.Event(), sys.getswitchinterval()

    def load() -> None:
        while not stop.is_set():
            for number in range(50):
                sys.modules[f"_none_{number}"] = sys
            for number in range(50):
                del sys.modules[f"_none_{number}"]

    loading = threading.Thread(target=load, daemon=True)
    sys.setswitchinterval(1e-6)
    try:
        loading.start()
        for _ in range(300):
            shard_processes._context()
    finally:
        stop.set()
        loading.join()
        sys.setswitchinterval(interval)
