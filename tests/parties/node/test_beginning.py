"""What a node looks at before it works: it does not go on with changed records, and says which tables it lacks."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path
from typing import Any, cast

import pytest

from parties.link.identity import Identity
from parties.node import beginning
from parties.node.events import Events
from parties.node.ledger import Ledger
from parties.node.offers import Offer, Offers
from parties.node.peers import MisnamedError
from parties.node.policy.rules import Rule
from parties.node.records.chain import Head, SignedHead, sign_head
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError

SCHEMA = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")


class Checked:
    """A ledger that finds this wrong with its records."""

    def __init__(self, wrong: Exception | None = None) -> None:
        self.wrong, self.is_closed, self.checked = wrong, False, Path()

    def check(self, marker: Path) -> None:
        self.checked = marker
        if self.wrong is not None:
            raise self.wrong

    def close(self) -> None:
        self.is_closed = True


def refusal(monkeypatch: pytest.MonkeyPatch, ledger: Checked, signed: SignedHead | None, identity: Identity) -> str:
    """Why a node with this ledger, whose log has this signature, does not begin; empty if it does."""
    monkeypatch.setattr(beginning, "signed_head", lambda _: signed)
    try:
        connection = cast("sqlite3.Connection", None)
        beginning.refuse_changed_records(cast("Ledger", ledger), connection, identity, Path("state"))
    except InputError as error:
        return str(error)
    return ""


def test_a_node_goes_on_with_its_own_whole_records_only(
    identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is refused lets go of the records: the commands that put them right need them."""
    alice, bob = identities["alice"], identities["bob"]
    of_alice, of_bob = (sign_head(one, Head(number=1, hash="ab" * 32)) for one in (alice, bob))
    again = "to begin anew, move the directory away and keep it"
    for wrong, signed, said in (
        (None, None, ""),
        (None, of_alice, ""),
        (None, of_bob, "the audit log is signed with another certificate"),
        (InputError("entry 3 is gone"), of_alice, f"the records in state: entry 3 is gone; {again}"),
        (MisnamedError("who is bob?"), of_alice, "who is bob?"),
    ):
        ledger = Checked(wrong)
        found = refusal(monkeypatch, ledger, signed, alice)
        assert found.startswith(said)
        assert (ledger.is_closed, bool(found)) == (bool(said), bool(said))
        assert ledger.checked == (Path() if signed is of_bob else Path("state/log.json"))


def test_tables_that_cannot_be_opened_are_told_at_once(tmp_path: Path) -> None:
    """And rules that name what no table has, or that bound nothing: the budget of a table bounds epsilon."""
    (tmp_path / "there.csv").write_text("wind,play\nweak,yes\n")
    tables = {
        name: TableSettings.model_validate({"source": str(tmp_path / f"{name}.csv"), "schema": "s.toml", **more})
        for name, more in {"there": {"max_rows": 9, "budget": {"epsilon": 1}}, "gone": {"max_rows": 9}}.items()
    }
    rules = [Rule.model_validate({"name": name, "effect": "permit", "table": name}) for name in ("there", "nights")]
    stream = io.StringIO()
    offers = Offers({name: Offer(table, SCHEMA) for name, table in tables.items()}, {})
    beginning.try_tables(rules, offers, Events(stream))
    told: list[dict[str, Any]] = [json.loads(line) for line in stream.getvalue().splitlines()]
    (gone,) = (line for line in told if line["event"] == "table not available")
    assert gone["table"] == "gone"
    assert "gone.csv" in gone["why"]
    remarks = [line["remark"] for line in told if line["event"] == "policy"]
    assert len(remarks) == len(told) - 1
    assert "there is no table 'nights'" in remarks[0]
    assert [("'there'" in remark, "epsilon" in remark) for remark in remarks[1:]] == [(True, False), (False, True)]
