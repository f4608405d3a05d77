"""Operators with names, whose passwords are quick to check, and a real ledger that answers them."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from parties.node.desk.operator_service import OperatorService
from parties.operator import accounts
from parties.operator.accounts import Account, Accounts, protected
from parties.operator.interface import Role
from tests.support.ledgers import Party


def password(name: str) -> str:
    return f"the password of {name}"


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Argon2id as weak as it can be: a test signs in often."""
    monkeypatch.setattr(accounts, "MEMORY", 8)
    monkeypatch.setattr(accounts, "ITERATIONS", 1)
    accounts._nobody.cache_clear()


def people(state: Path, **roles: str) -> Accounts:
    """Accounts of these names, each with roles and perhaps a Unix user: `anna="propose approve unix:smc"`."""
    made = {}
    for name, text in roles.items():
        words = [word for word in text.split() if not word.startswith("unix:")]
        unix = "".join(word.removeprefix("unix:") for word in text.split() if word.startswith("unix:"))
        salt, digest = protected(password(name))
        made[name] = Account(roles=cast("tuple[Role, ...]", tuple(words)), unix=unix, salt=salt, hash=digest)
    known = Accounts(state)
    known.write(made)
    return known


def desk(party: Party) -> OperatorService:
    """What an operator may ask of this ledger; no peer is connected."""
    return OperatorService(party.who.identity, party.ledger, {}, {"days": ["wind", "rain", "play"]}, str, "lan")
