"""People with names: which calls of `Operator` a person may make, and under whose name a call is made.

Whoever asks a node, by its page or its API, asks as a `Person`; `as_person` is the one place where roles are checked.
Where no account has been made there is `UNNAMED`, who may do all and leaves no name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from parties.operator.interface import Operator, Role
from smc.errors import InputError

ROLES: tuple[Role, ...] = get_args(Role)
ALSO: dict[Role, str] = {"administer": "the page that prepares tables; `smc operator`"}  # what is no call of `Operator`
CALLS: dict[str, tuple[Role, ...]] = {
    name: call.roles for name, call in vars(Operator).items() if hasattr(call, "roles")
}

acting: ContextVar[str] = ContextVar("acting", default="")  # the name under which a call is made; empty: no name


class NotAllowedError(InputError):
    """A request that no role of this person's allows."""


@dataclass(frozen=True)
class Person:
    """A person, as of now. `stamp` is another one after each change of who may sign in, and of an account made anew."""

    name: str
    roles: frozenset[Role]
    stamp: str = field(default="", repr=False)

    def has(self, *roles: Role) -> bool:
        """Return whether one of these roles is this person's; who has any may see."""
        return bool(self.roles.intersection(roles)) or ("see" in roles and bool(self.roles))

    def check(self, *roles: Role) -> None:
        """Raise `NotAllowedError` unless one of these roles is this person's."""
        if not self.has(*roles):
            raise NotAllowedError(f"{self.name} may not do this: it needs the role {' or '.join(roles)}")

    @property
    def calls(self) -> frozenset[str]:
        """The calls of `Operator` that this person may make."""
        return frozenset(name for name, roles in CALLS.items() if self.has(*roles))


UNNAMED = Person("", frozenset(ROLES))


def as_person(operator: Operator, person: Person) -> Operator:
    """Return the operator's calls as this person may make them, each made under this person's name.

    `NotAllowedError` of any other.
    """
    return cast("Operator", _Acting(operator, person))


class _Acting:
    def __init__(self, operator: Operator, person: Person) -> None:
        self._operator, self._person = operator, person

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in CALLS:
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self._person.check(*CALLS[name])
            before = acting.set(self._person.name)
            try:
                return getattr(self._operator, name)(*args, **kwargs)
            finally:
                acting.reset(before)

        return call
