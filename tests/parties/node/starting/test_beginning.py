"""What a node looks at before it works: it does not go on with changed records, and says which tables it lacks."""

from __future__ import annotations

import errno
import io
import json
import sqlite3
from pathlib import Path
from typing import Any, cast

import pytest

from parties.cli import EXIT_CODES
from parties.link.identity import Identity
from parties.node.events import Events
from parties.node.log.jobs import Jobs
from parties.node.offers import Offer, Offers
from parties.node.peers import MisnamedError
from parties.node.policy.rules import Rule
from parties.node.records.chain import Head, SignedHead, sign_head
from parties.node.settings import NodeFile
from parties.node.starting import beginning
from parties.node.starting.beginning import passing_troubles
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError, MachineError

SCHEMA = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")


class Checked:
    """Jobs with their log, which finds this wrong with its records."""

    def __init__(self, wrong: Exception | None = None) -> None:
        self.wrong, self.is_closed, self.checked = wrong, False, Path()
        self.log = self

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
        beginning.refuse_changed_records(cast("Jobs", ledger), connection, identity, Path("state"))
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
    beginning.try_tables(rules, offers, Events(stream), NodeFile(policy=tuple(rules), tables=tables).unbounded())
    told: list[dict[str, Any]] = [json.loads(line) for line in stream.getvalue().splitlines()]
    (gone,) = (line for line in told if line["event"] == "table not available")
    assert gone["table"] == "gone"
    assert "gone.csv" in gone["why"]
    remarks = [line["remark"] for line in told if line["event"] == "policy"]
    assert len(remarks) == len(told) - 1
    assert "there is no table 'nights'" in remarks[0]
    assert [("'there'" in remark, "epsilon" in remark) for remark in remarks[1:]] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    ("first", "is_passing"),
    [
        (sqlite3.OperationalError("database or disk is full"), True),
        (sqlite3.OperationalError("database is locked"), True),
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (sqlite3.DatabaseError("No space left on device"), True),
        (sqlite3.OperationalError("attempt to write a readonly database"), False),
        (OSError(errno.EMFILE, "Too many open files"), False),
        (sqlite3.OperationalError("no such table: jobs"), False),
        (PermissionError(errno.EACCES, "Permission denied"), False),
        (InputError("node.web: nonsense"), False),
    ],
)
def test_a_start_that_may_go_well_later_has_an_exit_code_of_its_own(first: Exception, is_passing: bool) -> None:
    """Also behind an error in other words, from None: 2 would keep a supervisor from trying again."""

    def start(words: Exception | None) -> None:
        with passing_troubles():
            try:
                raise first
            except Exception:
                if words is not None:
                    raise words from None
                raise

    for words in (None, InputError("node.state: cannot be used")):
        with pytest.raises((OSError, sqlite3.Error, InputError)) as caught:
            start(words)
        assert isinstance(caught.value, MachineError) is is_passing
    assert next(code for kind, code in EXIT_CODES.items() if isinstance(MachineError(""), kind)) == 5
