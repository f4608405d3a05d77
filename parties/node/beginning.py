"""What a node looks at before it works: records that nobody has changed, tables that can be opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from parties.identity import Identity, fingerprint
from parties.node.events import Events
from parties.node.ledger import Ledger
from parties.node.offers import Offers
from parties.policy.rules import Rule, remarks
from parties.records import marker
from parties.records.database import signed_head
from parties.sources.opening import open_table
from smc.errors import InputError
from smc.kernels.warm import warm


def refuse_changed_records(ledger: Ledger, connection: sqlite3.Connection, identity: Identity, state: Path) -> None:
    """A node does not go on with records that somebody has changed: to go on would cover it up.

    `InputError` if they were; then the ledger is closed. `state` is the directory of the records.
    """
    signed = signed_head(connection)
    own = fingerprint(identity.certificate)
    if signed is not None and signed.fingerprint != own:
        ledger.close()
        raise InputError(
            f"the audit log is signed with another certificate, {signed.fingerprint:.23}; if the present one has "
            "replaced it: smc audit renew --config party.toml --former OLD.crt"
        )
    try:
        ledger.check(state / marker.FILE_NAME)
    except InputError as error:
        ledger.close()
        again = "to begin anew, move the directory away and keep it"
        raise InputError(f"the records in {state}: {error}; {again}") from None


def try_tables(policy: Sequence[Rule], offers: Offers, events: Events) -> None:
    """Tell at once, not at the first job, which tables cannot be opened. No value of theirs is looked at."""
    for remark in remarks(policy, {name: offer.schema.attributes for name, offer in offers.tables.items()}):
        events.log("policy", remark=remark)
    # Or the first job would wait for the compiler.
    warm(told=lambda done, total: events.log("compiling the inner loops", done=done, of=total))
    for name, offer in offers.tables.items():
        columns = list(offer.schema.attributes)
        try:
            open_table(offer.settings, offer.schema, columns[0], columns).close()
        except InputError as error:
            events.log("table not available", table=name, why=str(error))
