"""Counting roles of oblivious transfer: the messages of the real roles, without the computation on secrets.

Each class replaces one of `smc.ot`. It inherits the methods that send and receive, and replaces the methods that
compute (their names begin with "_") by the time that they take. Blocks and keys are zeros that take no memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smc.counting.rates import (
    BASE_OT_SECONDS,
    CHECK_SECONDS,
    COT_SECONDS,
    PRODUCT_SECONDS,
    TRAPDOOR_SECONDS,
    TREE_SECONDS,
    VOLE_SECONDS,
)
from smc.counting.session import CountingSession, no_values
from smc.errors import InputError
from smc.hashing import Blocks
from smc.ot import (
    EllipticReceiver,
    EllipticSender,
    ExtensionReceiver,
    ExtensionSender,
    IknpReceiver,
    IknpSender,
    OTKind,
    SoftSpokenReceiver,
    SoftSpokenSender,
    Transfers,
    TrapdoorReceiver,
    TrapdoorSender,
)
from smc.ot.columns import ColumnReceiver, ColumnSender, Layout
from smc.ot.correlated import CorrelatedReceiver, CorrelatedSender
from smc.ot.ferret import FerretReceiver, FerretSender
from smc.ot.interface import Choices, Packed, Role
from smc.ot.lpn import Parameters
from smc.ot.vole import DIGEST, VoleReceiver, VoleSender
from smc.primitives.arrays import Octets


def _twin(role: type[Any]) -> type[Any]:
    """Return the counting twin of a role; raise InputError if there is none."""
    if role not in TWINS:
        raise InputError(f"smc/counting/roles.py: {role.__name__} has no twin that counts: add one to TWINS")
    return TWINS[role]


def _rate(kind: str) -> float:
    """Return the seconds of a correlated OT of a kind; raise InputError if no rate is listed."""
    if kind not in COT_SECONDS:
        raise InputError(f"smc/counting/rates.py: the kind of OT '{kind}' has no rate: add it to COT_SECONDS")
    return COT_SECONDS[kind]


class CountingTransfers(Transfers):
    """Oblivious transfers in both directions whose messages and work are counted, but not computed."""

    def __init__(self, session: CountingSession, kind: OTKind) -> None:
        super().__init__(session, kind, twin=_twin)

    def _room(self, *shape: int) -> Blocks:
        assert isinstance(self.session, CountingSession)
        self.session.hold(8 * math.prod(shape))
        return _zeros(*shape)

    def _put(self, *_: Any) -> None: ...

    def _correction(self, keys: Blocks, values: Packed) -> Packed:
        return values

    def _share(self, keys: Blocks, chosen: Blocks, correction: Packed, choice: Choices) -> Packed:
        return correction


def _zeros(*shape: int) -> NDArray[np.uint64]:
    return no_values(np.dtype(np.uint64), shape)


class _Counted(Role):
    """Role that counts the time of the computation that it omits."""

    def work(self, seconds: float) -> None:
        """Count computing time in seconds."""
        assert isinstance(self.session, CountingSession)
        self.session.work(seconds)

    def _room(self, *shape: int) -> Blocks:
        return _zeros(*shape)

    def _bytes(self, *shape: int) -> Octets:
        return no_values(np.dtype(np.uint8), shape)

    def _correction(self, keys: Blocks, values: Packed) -> Packed:
        return values

    def _share(self, keys: Blocks, *_: Any) -> Packed:
        return _zeros(keys.shape[-2])


class _EllipticSender(_Counted, EllipticSender):
    def _publish(self, *_: Any) -> None: ...

    def _derive(self, points: Octets, keys: Blocks) -> None:
        self.work(len(points) * BASE_OT_SECONDS)


class _EllipticReceiver(_Counted, EllipticReceiver):
    def _accept(self, *_: Any) -> None: ...

    def _choose(self, choice: Choices, choices: int, points: Octets) -> list[bytes]:
        self.work(len(points) * BASE_OT_SECONDS / 3)
        return []

    def _derive(self, secrets: list[bytes], points: Octets, keys: Blocks) -> None:
        self.work(len(points) * BASE_OT_SECONDS * 2 / 3)


class _Correlated(_Counted):
    """Counting role that omits the time of hashing, which is short compared with the correlated OTs."""

    def _hash(self, *_: Any) -> None: ...

    def _hash_strings(self, *_: Any) -> None: ...


class _CorrelatedSender(_Correlated, CorrelatedSender):
    def _hash_many(self, blocks: Blocks, choices: int, levels: int) -> Blocks:
        return _zeros(choices, len(blocks) // levels, 2)


class _CorrelatedReceiver(_Correlated, CorrelatedReceiver):
    def _hash_many(self, choice: Choices, blocks: Blocks, choices: int, levels: int) -> Blocks:
        return _zeros(len(choice), 2)


class _ColumnSender(_CorrelatedSender, ColumnSender):
    base_ot = _EllipticReceiver
    rate: OTKind

    def _seed(self, *_: Any) -> None: ...

    def _extend(self, layout: Layout, message: Octets, out: Blocks) -> None:
        self.work(64 * layout.words * _rate(self.rate))


class _ColumnReceiver(_CorrelatedReceiver, ColumnReceiver):
    base_ot = _EllipticSender
    rate: OTKind

    def _take_message(self, size: int) -> Octets:
        return self._bytes(size)

    def _seed(self, *_: Any) -> None: ...

    def _extend(self, layout: Layout, choice: Choices, message: Octets, out: Blocks) -> None:
        self.work(64 * layout.words * _rate(self.rate))


class _IknpSender(_ColumnSender, IknpSender):
    rate = "iknp"


class _IknpReceiver(_ColumnReceiver, IknpReceiver):
    rate = "iknp"


class _SoftSpokenSender(_ColumnSender, SoftSpokenSender):
    @property
    def rate(self) -> OTKind:  # type: ignore[override]
        return f"softspoken{self._k}"  # type: ignore[return-value]


class _SoftSpokenReceiver(_ColumnReceiver, SoftSpokenReceiver):
    @property
    def rate(self) -> OTKind:  # type: ignore[override]
        return f"softspoken{self._k}"  # type: ignore[return-value]


class _ExtensionSender(_SoftSpokenSender, ExtensionSender):
    few_ot = _EllipticSender


class _ExtensionReceiver(_SoftSpokenReceiver, ExtensionReceiver):
    few_ot = _EllipticReceiver


class _FerretSender(_CorrelatedSender, FerretSender):
    extension = _SoftSpokenSender

    def _start(self, number: int, here: Parameters, *_: Any) -> None:  # type: ignore[override]
        self.work(here.outputs * (TREE_SECONDS + CHECK_SECONDS))

    def _prove(self, *_: Any) -> None: ...

    def _take(self, blocks: Blocks) -> None:
        self.work(len(blocks) * _rate("ferret"))

    def _flip(self, *_: Any) -> None: ...


class _FerretReceiver(_CorrelatedReceiver, FerretReceiver):
    extension = _SoftSpokenReceiver

    def _start(self, number: int, here: Parameters, *_: Any) -> None:  # type: ignore[override]
        self.work(here.outputs * (TREE_SECONDS + CHECK_SECONDS))

    def _challenge(self, *_: Any) -> Octets:
        return self._bytes(0)

    def _compare(self, *_: Any) -> None: ...

    def _take(self, choice: Choices, blocks: Blocks) -> None:
        self.work(len(blocks) * _rate("ferret"))

    def _flip(self, *_: Any) -> None: ...


class _Vole(_Counted):
    """Counting side of vector OLE: its extension counts the correlated OTs."""

    def _joined(self, parts: list[Blocks], total: int) -> Blocks:
        return parts[0][:, :1]

    def _combine(self, cots: Any, out: Blocks) -> None:
        self.work(128 * out.shape[1] * PRODUCT_SECONDS)

    def _grow(self, number: int, here: Parameters, base: Blocks, *_: Any) -> Blocks:
        self.work(here.outputs * VOLE_SECONDS)
        return _zeros(base.ndim, here.outputs, 2)


class CountingVoleSender(_Vole, VoleSender):
    """Sender of vector OLE that counts."""

    cot = _FerretSender

    def _proven(self, made: Blocks, challenge: Blocks) -> Octets:
        return self._bytes(DIGEST)


class CountingVoleReceiver(_Vole, VoleReceiver):
    """Receiver of vector OLE that counts."""

    cot = _FerretReceiver

    def _challenge(self, made: Blocks) -> tuple[Blocks, Octets]:
        return _zeros(2, 2), self._bytes(0)

    def _compare(self, *_: Any) -> None: ...


class _TrapdoorSender(_Counted, TrapdoorSender):
    def _publish(self, *_: Any) -> None: ...

    def _invert(self, values: Octets, keys: Blocks) -> None:
        self.work(len(values) * TRAPDOOR_SECONDS["sender"])


class _TrapdoorReceiver(_Counted, TrapdoorReceiver):
    def _accept(self, *_: Any) -> None: ...

    def _choose(self, choice: Choices, choices: int, values: Octets) -> list[Any]:
        self.work(len(values) * TRAPDOOR_SECONDS["receiver"])
        return []

    def _derive(self, *_: Any) -> None: ...


TWINS: dict[type[Role], type[Role]] = {
    IknpSender: _IknpSender,
    IknpReceiver: _IknpReceiver,
    SoftSpokenSender: _SoftSpokenSender,
    SoftSpokenReceiver: _SoftSpokenReceiver,
    ExtensionSender: _ExtensionSender,
    ExtensionReceiver: _ExtensionReceiver,
    FerretSender: _FerretSender,
    FerretReceiver: _FerretReceiver,
    TrapdoorSender: _TrapdoorSender,
    TrapdoorReceiver: _TrapdoorReceiver,
}
