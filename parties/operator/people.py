"""People with names: the calls of `Operator` that a person may make, and the name under which a call is made.

Every request to a node, by its page or its API, is made as a `Person`; `as_person` is the one place where roles are
checked. Without any account there is `UNNAMED`, who may do everything and leaves no name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from parties.operator.interface import Operator, Role
from smc.errors import InputError

ROLES: tuple[Role, ...] = get_args(Role)
# rights beyond the calls of `Operator`
ALSO: dict[Role, str] = {"administer": "the page that prepares tables; `smc operator`"}
CALLS: dict[str, tuple[Role, ...]] = {
    name: call.roles for name, call in vars(Operator).items() if hasattr(call, "roles")
}

acting: ContextVar[str] = ContextVar("acting", default="")  # the name under which a call is made; empty: no name


class NotAllowedError(InputError):
    """Error for a request that no role of this person permits."""


@dataclass(frozen=True)
class Person:
    """A person with present roles. `stamp` changes with the log-in data, and if the account is made anew."""

    name: str
    roles: frozenset[Role]
    stamp: str = field(default="", repr=False)

    def has(self, *roles: Role) -> bool:
        """Return whether the person has one of these roles; any role includes "see"."""
        return bool(self.roles.intersection(roles)) or ("see" in roles and bool(self.roles))

    def check(self, *roles: Role) -> None:
        """Raise NotAllowedError unless the person has one of these roles."""
        if not self.has(*roles):
            raise NotAllowedError(
                f"{self.name} may not do this: it needs the role {' or '.join(roles)}; "
                "ask an operator with the role administer"
            )

    @property
    def calls(self) -> frozenset[str]:
        """The calls of `Operator` that this person may make."""
        return frozenset(name for name, roles in CALLS.items() if self.has(*roles))


UNNAMED = Person("", frozenset(ROLES))


def as_person(operator: Operator, person: Person) -> Operator:
    """Return the operator's calls restricted to this person's roles, each made under this person's name.

    Other calls raise NotAllowedError.

    Args:
        operator: The node.
        person: The person.
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
