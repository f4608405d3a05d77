"""Vector OLE: the relation in an independent GF(2^128), its parameters, and senders that cheat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smc import kernels
from smc.errors import ProtocolError
from smc.kernels.native import Kernel
from smc.local import run_local
from smc.ot import ferret, vole
from smc.ot.lpn import Parameters
from smc.ot.vole import SETS, VoleParameters, VoleReceiver, VoleSender
from smc.session import Session

TINY = (VoleParameters(trees=28, depth=4, log_secret=5), VoleParameters(trees=22, depth=5, log_secret=6))


def number(block: np.ndarray) -> int:
    return int.from_bytes(block.tobytes(), "little")


def times(left: int, right: int) -> int:
    """The product in GF(2^128), by long division."""
    product = 0
    for i in range(128):
        product ^= (left << i) * (right >> i & 1)
    for i in range(254, 127, -1):
        product ^= (1 << 128 | 0x87) << i - 128 if product >> i & 1 else 0
    return product


def test_the_kernels_compute_in_the_field() -> None:
    words = np.random.default_rng(1).integers(0, 2**64, (42, 2), dtype=np.uint64)
    words[1], words[2] = 2**64 - 1, 0
    source, target = words[2:22], words[22:].copy()
    kernels.field_add_products(words[0], source, target)
    for one, before, after in zip(source, words[22:], target, strict=True):
        assert number(after) == number(before) ^ times(number(words[0]), number(one))
    values = np.empty((5, 2), dtype=np.uint64)
    kernels.field_evaluate(words[1], source, values)
    for place, value in enumerate(values):
        expected = 0
        for one in source[4 * place : 4 * place + 4][::-1]:
            expected = times(expected, number(words[1])) ^ number(one)
        assert number(value) == expected


def made(count: int, sets: tuple[Parameters, ...] = TINY, sender: type[VoleSender] = VoleSender) -> Any:
    """The difference, B, A and C."""
    roles: dict[int, VoleSender] = {}

    def program(session: Session) -> Any:
        if session.party:
            return VoleReceiver(session, "vole", sets).entries(count)
        roles[0] = sender(session, "vole", sets)
        return roles[0].entries(count)

    results: list[Any] = list(run_local(program))
    (own,), (left, right) = results
    return roles[0].delta, own, left, right


@pytest.mark.parametrize("count", [1, 59, 60, 300, 1500])  # of correlated OTs, then one iteration, two and four
def test_entries_are_a_times_delta(count: int) -> None:
    delta, own, left, right = made(count)
    assert len(own) == len(left) == count
    assert number(delta) & 1
    for b, a, c in zip(own, left, right, strict=True):
        assert number(c) == times(number(a), number(delta)) ^ number(b)
    assert len({number(a) for a in left}) == count
    if count == 1500:
        assert abs(np.unpackbits(left.view(np.uint8)).mean() - 0.5) < 0.006  # 5 deviations of 192,000 bits


def test_the_sets_have_the_noise_of_ferret_in_every_bit() -> None:
    for ours, theirs in zip(SETS, ferret.SETS, strict=True):
        assert ours.trees == 2 * theirs.trees  # a bit of a value is 0 with probability 1/2
        assert (ours.outputs, ours.secret) == (theirs.outputs, theirs.secret)
        assert ours.base == ours.secret + ours.trees


class WrongLeaf(VoleSender):
    """A sender whose message shifts the noisy leaf of a tree."""

    def _grow(self, number: int, here: Parameters, base: Any, pairs: Any, message: Any) -> Any:
        out = super()._grow(number, here, base, pairs, message)
        message[10, -1, 0] ^= np.uint64(1)
        return out


class WrongEntry(VoleSender):
    """A sender that shifts an entry made of correlated OTs."""

    def _combine(self, cots: Any, out: Any) -> None:
        super()._combine(cots, out)
        out[0, 0, 1] ^= np.uint64(4)


@pytest.mark.parametrize(("sender", "count"), [(WrongLeaf, 300), (WrongEntry, 300), (WrongEntry, 20)])
def test_a_sender_with_wrong_entries_is_a_line(sender: type[VoleSender], count: int) -> None:
    with pytest.raises(ProtocolError, match=r"vole\.trees fails its check"):
        made(count, sender=sender)


def test_a_second_call_gives_other_entries() -> None:
    def program(session: Session) -> list[np.ndarray]:
        role = (VoleReceiver if session.party else VoleSender)(session, "vole", TINY)
        return [role.entries(200), role.entries(3)]

    _, (first, second) = run_local(program)
    assert not set(map(number, first[0])) & set(map(number, second[0]))


def test_the_module_names_its_kernels() -> None:
    assert set(vole.KERNELS) <= set(Kernel.registry)
