"""A link whose dialling end has its key in a token: real gRPC, the real SoftHSM."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from parties.base.token_key import TokenError
from parties.base.trust import client_context
from parties.commands.identity import group
from parties.link import tls
from parties.link.identity import Identity, create, load_identity
from parties.link.opening import Link
from parties.party_file import load
from smc.errors import InputError, LinkError
from tests.support.links import Parties
from tests.support.ports import free_port
from tests.support.tokens import SoftHsm

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def of_token(hsm: SoftHsm, tmp_path_factory: pytest.TempPathFactory) -> Identity:
    folder = tmp_path_factory.mktemp("bob")
    made = create("bob", [], folder, token=hsm.uri("bob", "away"))
    again = load_identity(made.key_path, made.certificate_path)
    assert (again.certificate, again.secret, again.key_pem) == (made.certificate, made.secret, b"")
    assert not list(folder.glob("*.key"))
    return again


@pytest.fixture
def both(identities: dict[str, Identity], of_token: Identity) -> Parties:
    return Parties({**identities, "bob": of_token})


def protected(link: Link) -> tuple[str, str]:
    link.channel.send("data", b"x" * 3000)
    assert len(link.channel.receive("data", 3000)) == 3000
    return link.tls, link.group


def test_a_session(both: Parties) -> None:
    """Nothing else is weaker for it."""
    (version, group), at_bob = both.run(protected, protected)
    assert at_bob == (version, group) == (tls.VERSION, "X25519MLKEM768")


def test_the_dialling_party_may_start_first(both: Parties) -> None:
    port = free_port()
    dialling = both.connect(f"127.0.0.1:{port}", protected)
    time.sleep(0.2)
    listening, _ = both.listen(protected, listen=f"127.0.0.1:{port}")
    assert listening.outcome() == dialling.outcome()


def test_another_key_than_that_of_the_certificate(
    both: Parties, hsm: SoftHsm, of_token: Identity, tmp_path: Path, enough: threading.Event
) -> None:
    other = create("other", [], tmp_path, token=hsm.uri("other", "away"))
    with pytest.raises(InputError, match=r"the key pkcs11:.* does not belong to the certificate .*bob\.crt"):
        load_identity(other.key_path, of_token.certificate_path)
    both.identities["bob"] = Identity(other.key_path, other.certificate_path, of_token.certificate, b"", other.token)
    listening, address = both.listen(protected, wait=0.1)
    assert isinstance(both.connect(address, protected).outcome(), LinkError)
    enough.set()
    assert isinstance(listening.outcome(), LinkError)


def test_a_peer_that_does_not_know_us(both: Parties, enough: threading.Event) -> None:
    listening, address = both.listen(protected, peer="mallory", wait=0.1)
    error = both.connect(address, protected).outcome()
    assert isinstance(error, LinkError)
    assert "does not trust our certificate bob" in str(error)
    enough.set()
    assert isinstance(listening.outcome(), LinkError)


def test_a_peer_that_is_another(both: Parties, enough: threading.Event) -> None:
    listening, address = both.listen(protected, wait=0.1)
    error = both.connect(address, protected, peer="mallory").outcome()
    assert "presents certificate" in str(error)
    enough.set()
    assert isinstance(listening.outcome(), LinkError)


def test_a_token_that_is_away(both: Parties, hsm: SoftHsm) -> None:
    """The one line says so; once it is back the next link is as before."""
    listening, address = both.listen(protected, wait=60)
    with hsm.away("away"):
        error = both.connect(address, protected).outcome()
    assert isinstance(error, TokenError)
    assert str(error).startswith("pkcs11:token=away;object=bob: ")
    assert both.connect(address, protected).outcome() == listening.outcome()


def test_the_command_makes_a_key_in_a_token(hsm: SoftHsm, tmp_path: Path) -> None:
    """Or takes that which is there; party.toml names it as it is."""
    uri = hsm.uri("dora", "away")
    shown = [
        CliRunner().invoke(group, ["create", "dora", "--out", str(tmp_path / name), "--token", str(uri)]).stdout
        for name in ("first", "again")
    ]
    assert all(
        text.startswith(f"private key   {uri}   ({words} token")
        for text, words in zip(shown, ("made in its", "was in its"), strict=True)
    )
    first, again = (load_identity(uri, tmp_path / name / "dora.crt") for name in ("first", "again"))
    assert first.certificate.public_key() == again.certificate.public_key()
    file = tmp_path / "party.toml"
    file.write_text(f'[link]\nidentity = "{uri}"\ncertificate = "first/dora.crt"\n')
    assert load(file).link.identity == uri
    for words, problem in (
        (["--token", str(tmp_path / "eve.key")], "--token: must be a URI, pkcs11:token="),
        (["--token", str(uri), "--passphrase"], "--token: excludes a passphrase"),
    ):
        assert str(CliRunner().invoke(group, ["create", "eve", *words]).exception).startswith(problem)
    assert "has a PIN, not a passphrase" in str(CliRunner().invoke(group, ["passphrase", str(uri)]).exception)
    assert not (tmp_path / "eve.crt").exists()


def test_python_s_own_tls_takes_no_token(hsm: SoftHsm, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Python's TLS cannot use a key in a token; name a key file"):
        client_context(None, tmp_path / "a.crt", hsm.uri("a"))


def test_who_listens_needs_a_file(both: Parties) -> None:
    with pytest.raises(InputError, match=r"bob: the key of a listening party must be in a file"):
        both.options("bob", "alice", listen="127.0.0.1:0")
