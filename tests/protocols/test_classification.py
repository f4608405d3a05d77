"""Classes by a public tree whose columns lie apart: those of the joined rows, for one party alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.classification import PublicTree, Splits, classify
from smc.engines import make_engine
from smc.errors import ProtocolError
from smc.local import run_local
from smc.recipes import EngineName
from smc.session import Session

NAMES = ("a", "b", "c", "d")
SIZES = dict(zip(NAMES, (2, 3, 2, 4), strict=True))
ENGINES: list[EngineName] = ["clear", "yao", "gmw"]


def grown(rng: np.random.Generator, labels: int, left: tuple[str, ...] = NAMES, above: Splits = ()) -> list[Any]:
    """The leaves of a tree: multiway splits, and of each value whether it goes to the first of two branches."""
    if above and (not left or rng.random() < 0.3):
        return [(str(rng.integers(labels)), above)]
    name = left[rng.integers(len(left))]
    values, rest = np.arange(SIZES[name]), tuple(other for other in left if other != name)
    side = rng.permutation(values > 0)
    branches = [values == value for value in values] if rng.random() < 0.5 else [side, ~side]
    return [leaf for on in branches for leaf in grown(rng, labels, rest, (*above, (name, tuple(on.tolist()))))]


def in_clear(leaves: list[Any], cells: dict[str, np.ndarray], rows: int) -> list[str]:
    """The class of the first leaf whose whole path fits, row by row."""
    return [
        next(label for label, path in leaves if all(on[cells[name][row]] for name, on in path)) for row in range(rows)
    ]


def run(tree: PublicTree, cells: dict[str, np.ndarray], rows: int, name: EngineName = "gmw") -> list[Any]:
    def party(session: Session) -> Any:
        own = [cells[column] for column in NAMES if tree.owners[column] == session.party]
        engine = make_engine(session, name)
        engine.comfortable = 64  # several batches
        found = classify(engine, tree, np.array(own, dtype=np.int64).reshape(-1, rows).T)
        return None if found is None else tree.classes_of(found), session.meter.total

    return run_local(party)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1 << 20), rows=st.integers(1, 40), labels=st.integers(2, 5), data=st.data())
def test_the_class_is_that_of_the_joined_row(seed: int, rows: int, labels: int, data: Any) -> None:
    rng = np.random.default_rng(seed)
    leaves = [("0", ()), *grown(rng, labels)][1:]
    leaves[0] = (str(labels), leaves[0][1])  # two classes at least
    owners = {name: data.draw(st.integers(0, 1)) for name in NAMES}
    tree = PublicTree(tuple(leaves), owners, data.draw(st.integers(0, 1)))
    cells = {name: rng.integers(0, size, rows) for name, size in SIZES.items()}
    if len(tree.classes) < 2:
        return
    found = run(tree, cells, rows, data.draw(st.sampled_from(ENGINES)))
    assert found[tree.asks][0] == in_clear(leaves, cells, rows)
    assert found[1 - tree.asks][0] is None


ON = {0: (True, False), 1: (False, True)}
SIMPLE = PublicTree(
    (
        ("p", (("a", ON[0]), ("c", ON[0]))),
        ("q", (("a", ON[0]), ("c", ON[1]))),
        ("p", (("a", ON[1]), ("c", ON[0]))),
        ("r", (("a", ON[1]), ("c", ON[1]))),
    ),
    {"a": 0, "b": 0, "c": 1, "d": 1},
    1,
)


def test_leaves_of_one_party_and_of_the_most_frequent_class_cost_no_gate() -> None:
    assert SIMPLE.classes[0] == "p"
    assert SIMPLE.shared == (1, 2)
    cells = {name: np.zeros(50, dtype=np.int64) for name in NAMES}
    cost = run(SIMPLE, cells, 50)[0][1]
    assert (cost.and_gates, cost.bits_opened) == (2 * 50, 2 * 50)
    alone = PublicTree((("p", (("a", ON[0]),)), ("q", (("a", ON[1]), ("b", (True, False, False)))),
                        ("r", (("a", ON[1]), ("b", (False, True, True))))), SIMPLE.owners, 1)  # fmt: skip
    cost = run(alone, cells, 50)[0][1]
    assert cost.and_gates == 0


def opened_by(cells: dict[str, np.ndarray], rows: int) -> list[np.ndarray]:
    """The bits that the party without the classes sees opened."""
    seen: dict[int, np.ndarray] = {}

    def party(session: Session) -> None:
        engine = make_engine(session, "gmw")
        reveal = engine.reveal

        def noted(*secrets: Any) -> Any:
            opened = reveal(*secrets)
            seen[session.party] = opened[0]
            return opened

        engine.reveal = noted  # type: ignore[method-assign]
        own = [cells[column] for column in NAMES if SIMPLE.owners[column] == session.party]
        classify(engine, SIMPLE, np.array(own, dtype=np.int64).T)

    run_local(party)
    return [seen[0], seen[1]]


@pytest.mark.parametrize("value", [0, 1])
def test_the_opened_bits_are_uniform_whatever_the_rows_are(value: int) -> None:
    """Chi-square of the four opened codes over 4,000 equal rows; a test of a right program errs once in 10^9 runs."""
    rows = 4000
    cells = {name: np.full(rows, value, dtype=np.int64) for name in NAMES}
    opened = opened_by(cells, rows)[0]
    numbers = np.bincount(opened[0] + 2 * opened[1], minlength=4)
    assert ((numbers - rows / 4) ** 2 / (rows / 4)).sum() < 45  # 3 degrees of freedom


def test_a_code_that_no_class_has_is_the_peers_fault() -> None:
    """Party 0 enters a fit of two leaves at once: the XOR of their codes is that of no class."""

    def party(session: Session) -> Any:
        tree = SIMPLE
        if session.party == 0:
            both = (True, True)
            tree = PublicTree(tuple((label, (("a", both), path[1])) for label, path in SIMPLE.leaves), SIMPLE.owners, 1)
        found = classify(make_engine(session, "gmw"), tree, np.ones((1, 2), dtype=np.int64))
        return None if found is None else SIMPLE.classes_of(found)

    with pytest.raises(ProtocolError, match="the peer opened a code that no class has"):
        run_local(party)
