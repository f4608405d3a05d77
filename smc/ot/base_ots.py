"""Base OTs of an extension: from public keys, or from the extension in the other direction."""

from __future__ import annotations

from typing import Generic, TypeVar

from typing_extensions import override

from smc.ot.interface import Receiver, Role, Sender

Base = TypeVar("Base", Sender, Receiver)


class Extension(Role, Generic[Base]):
    """Role that gets its base OTs from `base_ot`, or from an extension in the other direction.

    An extension returns random OTs like any other protocol, and the protocols compose. So the public-key operations of
    one direction serve both directions.
    """

    base_ot: type[Base]
    _other: Base | None = None

    @override
    def build_on(self, other: Role) -> bool:
        self._other = other  # type: ignore[assignment]
        return True

    def base(self) -> Base:
        """Return the role that makes the base OTs."""
        if self._other is None:
            return self.base_ot(self.session, f"{self.name}.base")
        self._other.begin()
        return self._other
