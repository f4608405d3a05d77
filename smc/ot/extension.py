"""The OT extension to use where no other is asked for: SoftSpoken, k = 4, where there are more OTs than base OTs.

Of k = 2, 4 and 8 it is the fastest over most links: 4 bytes an OT where k = 2 sends 8, for two AES blocks more at
either party. k = 8 halves the bytes once more for 28 AES blocks more, which pays below about 100 MB/s.

Who compares two numbers needs fewer OTs than an extension needs base OTs. Where a program says so (`Role.expect`) base
OTs are all that is made (`elliptic`), correlated by 16 bytes each that follow on the receiver's points: 48 bytes an OT,
32 once, and no trees. Nothing checks these 16 bytes: a sender that leaves the protocol can take another delta in an OT.
"""

from __future__ import annotations

from typing_extensions import override

from smc.hashing import Blocks
from smc.ot.columns import KAPPA
from smc.ot.elliptic import EllipticReceiver, EllipticSender
from smc.ot.interface import Choices, Role
from smc.ot.softspoken import DEFAULT, SoftSpokenReceiver, SoftSpokenSender
from smc.session import Session


class _Expecting(Role):
    """Counts the OTs that are expected, and those that were made one by one."""

    _expected = _made = 0

    @override
    def expect(self, count: int) -> None:
        self._expected += count

    def takes(self, count: int) -> bool:
        """Return whether the next `count` OTs are made one by one."""
        few = not self.ready and 0 < self._made + count <= self._expected <= KAPPA
        self._made += count if few else 0
        return few


class ExtensionSender(_Expecting, SoftSpokenSender):
    """Sender of the default kind."""

    few_ot = EllipticSender

    def __init__(self, session: Session, name: str, k: int = DEFAULT) -> None:
        super().__init__(session, name, k)
        self._few = self.few_ot(session, f"{name}.few")
        self._few.delta = self.delta

    @override
    def correlated(self, count: int) -> Blocks:
        if not self.takes(count):
            return super().correlated(count)
        with self.session.phase("base ot"):
            return self._few.correlated(count)


class ExtensionReceiver(_Expecting, SoftSpokenReceiver):
    """Receiver of the default kind."""

    few_ot = EllipticReceiver

    def __init__(self, session: Session, name: str, k: int = DEFAULT) -> None:
        super().__init__(session, name, k)
        self._few = self.few_ot(session, f"{name}.few")

    @override
    def correlated(self, choice: Choices) -> Blocks:
        if not self.takes(len(choice)):
            return super().correlated(choice)
        with self.session.phase("base ot"):
            return self._few.correlated(choice)
