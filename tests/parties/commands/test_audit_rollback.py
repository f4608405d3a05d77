"""What an operator says of jobs that were lost in a rollback is what is charged."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.cli import run
from parties.link.identity import Identity, fingerprint
from tests.support.logs import Node

SCHEMA = '[attributes]\nplay = ["yes", "no"]\n'


@pytest.mark.parametrize(
    ("words", "spent"),
    [([], (2.0, 1e-6)), (["--lost", "0.5"], (0.5, 1e-6)), (["--lost", "0.5", "--lost-delta", "0"], (0.5, 0.0))],
)
def test_what_is_said_is_charged(
    tmp_path: Path,
    identities: dict[str, Identity],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    spent: tuple[float, float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    own, peer = identities["alice"], identities["bob"]
    Path("schema.toml").write_text(SCHEMA)
    Path("party.toml").write_text(
        f'[link]\nidentity = "{own.key_path}"\ncertificate = "{own.certificate_path}"\n'
        f'peer = "{peer.certificate_path}"\nlisten = "127.0.0.1:0"\n[node]\nstate = "alice"\n'
        '[tables.days]\nsource = "days.csv"\nschema = "schema.toml"\nbudget = { epsilon = 2.0, delta = 1e-6 }\n'
    )
    node = Node(tmp_path, own, peer)
    lost = {"whose": "us", "peer": "bob", "peer_fingerprint": fingerprint(peer.certificate)}
    node.add("rolled back", None, **lost, number=7, hash="ab" * 32)
    assert run(["audit", "accept-rollback", "--lost", "nan"]) == 2  # nothing is accepted
    assert run(["audit", "accept-rollback", *words]) == 0
    assert "jobs continue with 'bob': revoke again each certificate that you do not trust" in capsys.readouterr().err
    (entry,) = node.log.of_kind("spent")
    assert [(use["epsilon"], use["delta"]) for use in entry.fields["uses"]] == [spent]
    assert run(["audit", "accept-rollback"]) == 2  # nothing is left to accept
    node.connection.close()
