"""What is opened may be anything if messages are wrong: a value in range comes out, or a `ProtocolError`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.circuit import evaluate
from protocols.counts import RowCounts
from protocols.equality import equal
from protocols.id3 import Leaf, Problem, Split, Tree, id3
from protocols.logarithm import open_logarithm
from protocols.majority import majority
from protocols.millionaires import NAMES, strict, three_way
from protocols.opened import index_below
from protocols.release.choice import choice_law
from protocols.release.exact import exact_sums
from protocols.release.median import noisy_median
from protocols.release.top import noisy_top
from protocols.tree import walk
from smc.agreement import DIGEST_BYTES
from smc.circuit import Builder
from smc.engines import Engine, GmwEngine, make_engine
from smc.errors import ProtocolError
from smc.local import run_local
from smc.primitives import bits as bitpack
from tests.support.faults import Damage, Damaged

pytestmark = pytest.mark.slow

NUMBERS = np.arange(24).reshape(2, 12)
DOMAINS, CLASSES = (3, 2, 3), 3
ROWS = np.random.default_rng(3).integers(0, (*DOMAINS, CLASSES), (60, 4))


def product(engine: Engine) -> list[np.ndarray]:
    builder = Builder()
    builder.output(builder.input(6) * builder.input(6))
    return evaluate(engine, builder.build(), bitpack.from_integers(NUMBERS[engine.party], 6))


def tree(engine: Engine) -> Tree:
    own = ROWS[engine.party :: 2]
    problem = Problem(DOMAINS, CLASSES, max_rows=60, delta=0.1)
    return id3(engine, problem, RowCounts(DOMAINS, CLASSES, own[:, :-1], own[:, -1]))


def is_tree(found: Tree) -> bool:
    return all(
        (0 <= node.label < CLASSES)
        if isinstance(node, Leaf)
        else isinstance(node, Split) and len(node.children) == DOMAINS[node.attribute]
        for node, _ in walk(found)
    )


PROTOCOLS: dict[str, tuple[Callable[[Engine], Any], Callable[[Any], bool]]] = {
    "strict": (lambda e: strict(e, NUMBERS[e.party], 6), lambda found: found.shape == (12,)),
    "three_way": (lambda e: three_way(e, NUMBERS[e.party], 6), lambda found: set(found) <= set(NAMES)),
    "equal": (lambda e: equal(e, NUMBERS[e.party], 6), lambda found: found.shape == (12,)),
    "majority": (
        lambda e: majority(e, NUMBERS[e.party].reshape(3, 4), 6),
        lambda found: found.min() >= 0 and found.max() < 3,
    ),
    "median": (
        lambda e: noisy_median(e, *NUMBERS.reshape(2, 3, 4), 6, choice_law(Fraction(1), 1, True, 12)),
        lambda found: found.shape == (4,) and found.max() < 3,
    ),
    "top": (
        lambda e: noisy_top(e, NUMBERS[e.party].reshape(3, 4), 2, 6, choice_law(Fraction(1), 2, True, 12)),
        lambda found: found.shape == (2, 4) and (found[0] != found[1]).all(),
    ),
    "exact_sums": (lambda e: exact_sums(e, NUMBERS[e.party], 6), lambda found: found.shape == (12,)),
    "open_logarithm": (lambda e: open_logarithm(e, NUMBERS[e.party], 100, 0.1), lambda found: found.shape == (12,)),
    "circuit": (product, lambda found: found[0].shape == (12, 12)),
    "id3": (tree, is_tree),
}


def outcomes(name: str, engine: str, step: str, damage: Callable[[], Damage], times: int = 1) -> tuple[Any, Any]:
    """Each party's results or `ProtocolError`s; both parties' messages of the step are damaged in the same way.

    What both refuse they refuse at the same step, so the session serves for the next time.
    """
    program, _ = PROTOCOLS[name]

    def once(running: Engine) -> Any:
        try:
            return program(running)
        except ProtocolError as error:
            return error

    def party(session: Any) -> list[Any]:
        running = make_engine(session, engine)
        return [once(running) for _ in range(times)]

    return run_local(party, wrap=lambda _, channel: Damaged(channel, step, damage()))


def flips(seed: int) -> Damage:
    """Some bits of every message change, but not those of the digest in front."""
    rng = np.random.default_rng(seed)

    def damage(payload: bytes) -> bytes:
        mask = rng.integers(0, 256, len(payload)) & rng.integers(0, 256, len(payload))
        mask[:DIGEST_BYTES] = 0
        return bytes(np.frombuffer(payload, np.uint8) ^ mask.astype(np.uint8))

    return damage


@pytest.mark.parametrize("engine", ["yao", "gmw", "mixed"])
@pytest.mark.parametrize("name", PROTOCOLS)
@settings(max_examples=2)
@given(seed=st.integers(0, 1 << 30))
def test_a_value_in_range_or_a_protocol_error(name: str, engine: str, seed: int) -> None:
    for one, two in zip(*outcomes(name, engine, "reveal", lambda: flips(seed), times=5), strict=True):
        assert repr(one) == repr(two)
        assert isinstance(one, ProtocolError) or PROTOCOLS[name][1](one)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("three_way", "who has more was opened as 3, must be below 3"),
        ("majority", "a majority's class was opened as 3, must be below 3"),
        ("id3", "a leaf's class was opened as 3, must be below"),
    ],
)
def test_what_is_out_of_range_is_named(monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    monkeypatch.setattr(GmwEngine, "reveal", lambda _, *secrets: [np.ones_like(secret.data) for secret in secrets])
    (one,), _ = outcomes(name, "gmw", "", lambda: flips(0))
    assert isinstance(one, ProtocolError)
    assert message in str(one)


def reveals(answers: list[list[int]]) -> Any:
    """Columns of bits that the next openings give, whatever is computed."""
    left = {0: list(answers), 1: list(answers)}

    def reveal(engine: Engine, *secrets: Any) -> list[np.ndarray]:
        shape = secrets[0].data.shape
        return [bitpack.from_integers(left[engine.party].pop(0), shape[0])]

    return reveal


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([[0], [3]], "a node's attribute was opened as 3, must be below 3"),
        ([[2]], "a leaf's class was opened as 1, must be below 1"),  # of a node that is none
        ([[0], [0], [0, 0, 0], [0, 0, 0], [1, 0, 1, 0, 1, 1], [0, 1, 3, 5, 1, 1]], "splits was opened as 1"),
    ],
)
def test_a_tree_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, answers: Any, message: str) -> None:
    monkeypatch.setattr(GmwEngine, "reveal", reveals(answers))
    (one,), _ = outcomes("id3", "gmw", "", lambda: flips(0))
    assert isinstance(one, ProtocolError)
    assert message in str(one)


@given(st.integers(1, 62), st.data())
def test_numbers_below_their_bounds_pass(width: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, (1 << width) - 1), max_size=5))
    bits = bitpack.from_integers(numbers, width)
    bound = max(numbers, default=0) + 1
    assert index_below(bits, bound, "x").tolist() == numbers
    assert index_below(bits, np.array(numbers, dtype=np.int64) + 1, "x").tolist() == numbers
    if numbers:
        with pytest.raises(ProtocolError, match=f"^x was opened as {bound - 1}, must be below {bound - 1}"):
            index_below(bits, bound - 1, "x")
