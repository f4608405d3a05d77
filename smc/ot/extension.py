"""Default OT extension: SoftSpoken with k = 4 if there are more OTs than base OTs, else base OTs alone.

Of k = 2, 4 and 8, k = 4 is the fastest over most links: it sends 4 bytes an OT instead of the 8 of k = 2, for two more
AES blocks at either party. k = 8 halves the bytes once more for 28 more AES blocks, which is faster below about 100
MB/s.

A comparison of two numbers needs fewer OTs than an extension needs base OTs. If a program announces this
(`Role.expect`), only base OTs are made (`elliptic`). 16 bytes for each OT, sent after the receiver's points, correlate
them: 48 bytes an OT, 32 once, and no trees. These 16 bytes are not checked: a sender that leaves the protocol can use
another delta in an OT.
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
    """Role that makes OTs one by one, without an extension, if the program expects few."""

    _expected = _made = 0

    @override
    def expect(self, count: int) -> None:
        self._expected += count

    def takes(self, count: int) -> bool:
        """Return whether the next `count` OTs are made one by one, and count them if so."""
        few = not self.ready and 0 < self._made + count <= self._expected <= KAPPA
        self._made += count if few else 0
        return few


class ExtensionSender(_Expecting, SoftSpokenSender):
    """Sender of the default OT extension, SoftSpoken."""

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
    """Receiver of the default OT extension, SoftSpoken."""

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
