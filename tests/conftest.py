"""What all tests share: where the real data are, and how a program is run by two parties."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smc.channel import Buffer, Channel
from smc.engines import Engine, make_engine
from smc.local import run_local
from smc.meter import Meter
from tests.support import examples, short, slow
from tests.support.places import SHARED

examples.load_profile()


@pytest.fixture(scope="session")
def example_round(request: pytest.FixtureRequest) -> int:
    """Which round of a campaign's examples it is: see `tests.support.examples.repeat`."""
    number: int = request.param
    return number


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect 14,000 tests without looking for garbage among them, nor at any of them later.

    They live as long as the process. To walk over them took half of the collection, and a tenth of the tests after it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    examples.repeat(metafunc)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave slow files out of `make quick` before they are imported, which alone takes its time."""
    return True if slow.is_quick(config) and slow.says_slow(collection_path) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    if slow.starts(item):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)  # before `-m campaign` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    short.mark_the_rest(items)
    if examples.EXPLORING:
        return
    skip = pytest.mark.skip(reason="a campaign: run `make campaign`")
    for item in items:
        if "campaign" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real tables and circuits that may stand beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("the folder `shared` with real tables and circuits is not beside the repository")
    return SHARED


class Recorder(Channel):
    """Passes messages through and keeps them: (step, bytes) of each direction."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner
        self.sent: list[tuple[str, bytes]] = []
        self.received: list[tuple[str, bytes]] = []

    def send(self, step: str, payload: Buffer) -> None:
        self.sent.append((step, bytes(payload)))
        self._inner.send(step, payload)

    def receive(self, step: str, size: int) -> Buffer:
        payload = self._inner.receive(step, size)
        self.received.append((step, bytes(payload)))
        return payload

    def digest(self) -> str:
        """SHA-256 over everything sent."""
        state = hashlib.sha256()
        for step, payload in self.sent:
            state.update(f"{step} {len(payload)} ".encode() + payload)
        return state.hexdigest()


class Run:
    """The results of one two-party run, with both meters and, if recorded, both recorders."""

    def __init__(self, results: tuple[Any, Any], meters: tuple[Meter, Meter], recorders: list[Recorder]) -> None:
        self.results = results
        self.meters = meters
        self.recorders = recorders

    @property
    def agreed(self) -> Any:
        """The result, which both parties must have alike."""
        assert repr(self.results[0]) == repr(self.results[1])
        return self.results[0]

    @property
    def agreed_array(self) -> np.ndarray:
        """The result, a large array that both parties must have alike."""
        assert np.array_equal(*self.results)
        return self.results[0]


Play = Callable[..., Run]


@pytest.fixture(scope="session")
def play() -> Play:
    """play(program, engine, ot=..., seed=...): run program(engine) as both parties in this process.

    Engines by name; "gmw table" has AND gates by the four-row table over any OT, "yao three-halves" (or mixed) another
    garbling scheme.
    """

    def run(program: Callable[[Engine], Any], name: str, ot: str = "extension", seed: bytes | None = None) -> Run:
        meters: dict[int, Meter] = {}
        recorders: list[Recorder] = []

        def wrap(party: int, channel: Channel) -> Channel:
            del party
            recorders.append(Recorder(channel))
            return recorders[-1]

        def both(session: Any) -> Any:
            meters[session.party] = session.meter
            engine, _, variant = name.partition(" ")
            options: dict[str, Any] = {"table": {"table_gates": True}, "three-halves": {"garbling": "three-halves"}}
            return program(make_engine(session, engine, ot, **options.get(variant, {})))  # type: ignore[arg-type]

        results = run_local(both, seed=seed, wrap=wrap)
        return Run(results, (meters[0], meters[1]), recorders)

    return run
