"""State directories as a release leaves them, for the tests of upgrades.

    python -m tests.support.states tests/parties/node/starting/states

writes what the present code keeps, as SQL text under its number, with the certificate that the log is signed by. Made
once a number: by the last commit that keeps it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding

from parties.link.identity import Identity, create
from tests.support.ledgers import OTHER, agreed, paired, propose


def main(folder: Path) -> None:
    """Write the state of a party with a job of each kind of end, and two that wait."""
    with tempfile.TemporaryDirectory() as place:
        identities = {name: create(name, ["localhost"], Path(place), days=36500) for name in ("alice", "bob")}
        write(folder, Path(place), identities)


def write(folder: Path, place: Path, identities: dict[str, Identity]) -> None:
    """Write Alice's state."""
    with paired(place, identities) as pair:
        pair.session(agreed(pair))  # done
        pair.session(agreed(pair), until=(3, 3))  # to go on
        pair.session(agreed(pair), (OTHER, OTHER), until=(1, 1))
        alice = pair.parties[0].ledger
        alice.decisions.cancel(propose(pair), "asked too early")
        refused = propose(pair, 1)
        pair.deliver()
        alice.decisions.decide(refused, "refused", "not of this table")
        propose(pair, 0, purpose="yet to be decided")
        pair.deliver()
        connection = pair.parties[0].connection
        number = connection.execute("PRAGMA user_version").fetchone()[0]
        (folder / f"{number}.sql").write_text("\n".join(connection.iterdump()) + "\n")
    (folder / f"{number}.crt").write_bytes(identities["alice"].certificate.public_bytes(Encoding.PEM))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
