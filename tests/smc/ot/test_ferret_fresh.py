"""What an iteration of Ferret starts from serves once: no block twice, no block that was also given out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smc.local import run_local
from smc.ot import ferret
from smc.ot.ferret import FerretReceiver, FerretSender, _Check
from smc.ot.half_tree import ReceiverTrees, SenderTrees
from smc.ot.lpn import LinearCode, Parameters
from smc.session import Session

TINY = (Parameters(trees=28, depth=4, log_secret=5), Parameters(trees=22, depth=5, log_secret=6))
COUNT = 1500  # four iterations


class Seen:
    """What both parties put into trees and codes, iteration by iteration."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tree_keys: list[bytes] = []
        self.code_keys: list[bytes] = []
        self.roots: list[np.ndarray] = []
        self.sums: list[np.ndarray] = []
        self.choices: list[np.ndarray] = []
        self.tables: list[np.ndarray] = []  # of both parties
        self.messages: list[np.ndarray] = []
        self.hidden: list[np.ndarray] = []  # what hides the answers to checks, of both parties
        monkeypatch.setattr(ferret, "SenderTrees", self._sender_trees)
        monkeypatch.setattr(ferret, "ReceiverTrees", self._receiver_trees)
        monkeypatch.setattr(ferret, "LinearCode", self._code)
        monkeypatch.setattr(ferret, "_Check", self._check)

    def _sender_trees(self, key: bytes, delta: np.ndarray, roots: np.ndarray, depth: int) -> SenderTrees:
        trees = SenderTrees(key, delta, roots, depth)
        self.tree_keys.append(key)
        self.roots.append(roots.copy())
        self.sums.append(trees.sums.copy())
        return trees

    def _receiver_trees(self, key: bytes, known: np.ndarray, choices: np.ndarray) -> ReceiverTrees:
        self.choices.append(choices.copy())
        return ReceiverTrees(key, known, choices)

    def _code(self, key: bytes, table: np.ndarray) -> LinearCode:
        self.code_keys.append(key)
        self.tables.append(table.copy())
        return LinearCode(key, table)

    def _check(self, *arguments: Any) -> Any:
        self.hidden.append(arguments[-1].copy())
        return _Check(*arguments)

    def program(self, session: Session) -> Any:
        if session.party == 1:
            choice, _ = FerretReceiver(session, "silent", TINY).random_correlated(COUNT)
            return choice
        send = session.send

        def watched(step: str, array: np.ndarray) -> None:
            if step == "silent.trees":
                self.messages.append(np.array(array))
            send(step, array)

        session.send = watched  # type: ignore[method-assign]
        sender = FerretSender(session, "silent", TINY)
        return sender.delta, sender.random_correlated(COUNT)


def modulo(blocks: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """One of block and block ^ delta, the same for both: so the parties' blocks can be compared."""
    return blocks ^ (np.uint64(0) - (blocks[:, :1] & np.uint64(1)) & delta)


def test_base_blocks_serve_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    (delta, q), _ = run_local(seen.program)
    iterations = len(seen.messages)
    assert iterations == ferret.iterations(COUNT, TINY) == 4
    masks = [(message ^ sums).reshape(-1, 2) for message, sums in zip(seen.messages, seen.sums, strict=True)]
    tables = np.unique(np.concatenate([modulo(table, delta) for table in seen.tables]), axis=0)
    assert len(tables) == sum(ferret.parameters(i, TINY).secret for i in range(iterations))  # each at both parties
    assert [len(hidden) for hidden in seen.hidden] == [64] * 2 * iterations
    hidden = np.unique(np.concatenate([modulo(blocks, delta) for blocks in seen.hidden]), axis=0)
    assert len(hidden) == 64 * iterations
    blocks = np.concatenate([*masks, tables, hidden, q])
    assert len(np.unique(blocks, axis=0)) == len(blocks)


def test_keys_and_roots_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    run_local(seen.program)
    roots = np.concatenate(seen.roots)
    assert len(np.unique(roots[:, 0])) == len(np.unique(roots[:, 1])) == len(roots)  # every word is random
    keys = {*seen.tree_keys, *seen.code_keys}
    assert len(set(seen.tree_keys)) == len(set(seen.code_keys)) == 4
    assert len(keys) == 8


def test_roots_are_private_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sessions of one identifier: nothing public decides on them."""
    runs = []
    for _ in range(2):
        seen = Seen(monkeypatch)

        def program(session: Session, seen: Seen = seen) -> Any:
            return seen.program(Session(session.party, session.channel, bytes(32), session.prg))

        run_local(program)
        monkeypatch.undo()
        runs.append(seen)
    one, other = runs
    assert one.tree_keys == other.tree_keys  # public, and bound to the session
    assert not {root.tobytes() for root in np.concatenate(one.roots)} & {
        root.tobytes() for root in np.concatenate(other.roots)
    }
    mine, theirs = (np.concatenate([choices.reshape(-1) for choices in seen.choices]) for seen in runs)
    assert (
        0.3 < (mine != theirs).mean() < 0.7
    )  # nor on the noise's places: 396 bits, eight standard deviations: 5 10^-16


def test_noise_of_an_iteration_is_uniform_and_of_each_tree_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    run_local(seen.program, seed=bytes(16))
    for choices in seen.choices:
        assert len(np.unique(choices, axis=0)) > len(choices) // 3
        assert abs(choices.mean() - 0.5) < 5 / (2 * np.sqrt(choices.size))
