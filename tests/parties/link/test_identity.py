"""Keys and certificates: what is written, what is refused."""

from __future__ import annotations

import ipaddress
import os
import ssl
import stat
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from parties.cli import cli
from parties.link.identity import (
    create,
    describe,
    fingerprint,
    load_certificate,
    load_identity,
    load_key,
    short_fingerprint,
    tls_name,
)
from smc.errors import InputError


@pytest.fixture(scope="module")
def alice(tmp_path_factory):
    return create("alice", ["192.0.2.7", "2001:db8::7", "Clinic.Example"], tmp_path_factory.mktemp("ids"))


def test_files_are_loaded_again_as_they_were_made(alice):
    loaded = load_identity(alice.key_path, alice.certificate_path)
    assert loaded == alice
    assert loaded.name == "alice"
    assert sorted(os.listdir(alice.key_path.parent)) == ["alice.crt", "alice.key"]


def test_key_is_readable_by_its_owner_only_and_never_shown(alice):
    assert stat.S_IMODE(alice.key_path.stat().st_mode) == 0o600
    assert "PRIVATE" not in repr(alice)


def test_key_is_never_readable_by_others_even_with_an_open_umask(tmp_path, monkeypatch):
    modes = []
    real = os.open

    def spy(path, flags, mode=0o777, **rest):
        handle = real(path, flags, mode, **rest)
        modes.append((flags, stat.S_IMODE(os.fstat(handle).st_mode)))
        return handle

    previous = os.umask(0)
    try:
        monkeypatch.setattr(os, "open", spy)
        create("alice", [], tmp_path)
    finally:
        os.umask(previous)
    flags, mode = modes[0]  # the key comes first
    assert flags & os.O_EXCL
    assert mode == 0o600
    assert stat.S_IMODE((tmp_path / "alice.key").stat().st_mode) == 0o600


def test_certificate_says_what_it_should(alice):
    certificate = alice.certificate
    extensions = certificate.extensions
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("192.0.2.7"),
        ipaddress.ip_address("2001:db8::7"),
    ]
    assert names.get_values_for_type(x509.DNSName) == ["clinic.example"]
    assert certificate.subject == certificate.issuer
    assert [a.value for a in certificate.subject] == ["alice"]
    assert extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert not usage.key_cert_sign
    purposes = set(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    assert purposes == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert isinstance(certificate.public_key().curve, ec.SECP256R1)
    assert 0 < certificate.serial_number < 1 << 159
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    assert start < datetime.now(UTC) < end
    assert timedelta(days=5 * 365) <= end - start < timedelta(days=5 * 365, hours=2)
    certificate.verify_directly_issued_by(certificate)


def test_serial_numbers_differ(tmp_path):
    serials = {create(name, [], tmp_path).certificate.serial_number for name in ("a", "b", "c")}
    assert len(serials) == 3


def test_openssl_agrees_on_the_fingerprint(alice):
    try:
        shown = subprocess.run(
            ["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", alice.certificate_path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except FileNotFoundError:
        pytest.skip("there is no openssl command here")
    assert shown.strip().split("=")[1] == fingerprint(alice.certificate)


def test_fingerprint_and_description(alice):
    der = ssl.PEM_cert_to_DER_cert(alice.certificate_path.read_text())
    digest = hashes.Hash(hashes.SHA256())
    digest.update(der)
    assert fingerprint(alice.certificate) == digest.finalize().hex(":").upper()
    assert fingerprint(alice.certificate).startswith(short_fingerprint(alice.certificate) + ":")
    shown = describe(alice.certificate)
    assert shown["name"] == "alice"
    assert shown["hosts"] == ["192.0.2.7", "2001:db8::7", "clinic.example"]
    assert shown["fingerprint"] == fingerprint(alice.certificate)
    assert datetime.fromisoformat(shown["valid_from"]) == alice.certificate.not_valid_before_utc
    assert datetime.fromisoformat(shown["valid_until"]) == alice.certificate.not_valid_after_utc


def test_it_is_shown_in_words(alice):
    shown = CliRunner().invoke(cli, ["identity", "show", str(alice.certificate_path)]).output
    assert "valid until" in shown
    assert "_" not in shown


def test_no_hosts_means_localhost_and_twins_are_dropped(tmp_path):
    assert describe(create("a", [], tmp_path).certificate)["hosts"] == ["localhost"]
    assert describe(create("b", ["h", "H", "::1", "0:0::1"], tmp_path).certificate)["hosts"] == ["h", "::1"]
    assert tls_name(create("c", ["bücher.example"], tmp_path).certificate) == "xn--bcher-kva.example"


NO_NAMES = ["", " ", "a b", "-h", "h-", "a..b", "a_b", "*.example", "x" * 64, ".".join(["x" * 60] * 5)]
NO_ADDRESSES = ["999.1.1.1", "1.2.3", "[::1]", "192.0.2.0/24", "fe80::1%eth0", "host:7000", "https://h"]


@pytest.mark.parametrize("host", NO_NAMES + NO_ADDRESSES)
def test_bad_hosts(tmp_path, host):
    with pytest.raises(InputError, match="neither an IP address nor a DNS name"):
        create("alice", [host], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "-x", "a b", "é", "x" * 65, "a\n"])
def test_bad_names(tmp_path, name):
    with pytest.raises(InputError, match="the name"):
        create(name, [], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("days", [0, -1, 36501])
def test_bad_days(tmp_path, days):
    with pytest.raises(InputError, match="days"):
        create("alice", [], tmp_path, days)


@pytest.mark.parametrize("suffix", ["key", "crt"])
def test_nothing_is_overwritten(tmp_path, suffix):
    path = tmp_path / f"alice.{suffix}"
    path.write_text("precious")
    with pytest.raises(InputError, match=rf"alice\.{suffix} exists already"):
        create("alice", [], tmp_path)
    assert path.read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 1


def test_key_that_appears_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "lexists", lambda path: False)
    (tmp_path / "alice.key").write_text("precious")
    with pytest.raises(InputError, match=r"cannot write .*alice\.key: File exists"):
        create("alice", [], tmp_path)
    assert (tmp_path / "alice.key").read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 1


def test_no_key_stays_behind_if_the_certificate_cannot_be_written(tmp_path, monkeypatch):
    def fail(path, data):
        raise InputError(f"cannot write {path}: no space")

    monkeypatch.setattr("parties.link.identity.write_bytes", fail)
    with pytest.raises(InputError, match="no space"):
        create("alice", [], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_directory_is_made_and_a_file_is_none(tmp_path):
    assert create("alice", [], tmp_path / "new" / "keys").key_path.is_file()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot make the directory .*file"):
        create("alice", [], tmp_path / "file")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_key_that_others_can_read_is_refused(tmp_path, mode):
    alice = create("alice", [], tmp_path)
    alice.key_path.chmod(mode)
    with pytest.raises(InputError, match=rf"run: chmod 600 {alice.key_path}"):
        load_identity(alice.key_path, alice.certificate_path)


def test_key_and_certificate_must_belong_together(alice, tmp_path):
    other = create("other", [], tmp_path)
    with pytest.raises(InputError, match="does not belong to the certificate"):
        load_identity(other.key_path, alice.certificate_path)


def test_files_that_are_missing_or_no_pem(alice, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_certificate(tmp_path / "none.crt")
    with pytest.raises(InputError, match="no such file"):
        load_identity(tmp_path / "none.key", alice.certificate_path)
    junk = tmp_path / "junk"
    for content in (b"", b"hello", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", os.urandom(99)):
        junk.write_bytes(content)
        junk.chmod(0o600)
        with pytest.raises(InputError, match="junk holds no readable certificate"):
            load_certificate(junk)
        with pytest.raises(InputError, match="junk holds no readable private key"):
            load_identity(junk, alice.certificate_path)


def test_a_certificate_given_as_key_is_called_one(alice):
    """Not: make it private. Certificates are readable by everybody."""
    assert alice.certificate_path.stat().st_mode & 0o044
    for read in (lambda path: load_identity(path, path), load_key):
        with pytest.raises(InputError, match=r"crt holds a certificate, not a private key; give the key \(\.key\)"):
            read(alice.certificate_path)


def test_encrypted_key_without_a_passphrase(alice, tmp_path):
    path = tmp_path / "locked.key"
    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pass")))
    path.chmod(0o600)
    with pytest.raises(InputError, match="nothing has its passphrase"):
        load_identity(path, alice.certificate_path)


def test_certificate_file_with_a_private_key_is_refused(alice, tmp_path):
    both = tmp_path / "both.pem"
    both.write_bytes(alice.certificate_path.read_bytes() + alice.key_pem)
    with pytest.raises(InputError, match=r"both\.pem holds a private key"):
        load_certificate(both)


def test_two_certificates_are_refused(alice, tmp_path):
    two = tmp_path / "two.crt"
    two.write_bytes(2 * alice.certificate_path.read_bytes())
    with pytest.raises(InputError, match="holds 2 certificates, expected one"):
        load_certificate(two)


def made_elsewhere(path, key=None, name="old", hosts=("h",), start=-1, end=1):
    """A certificate that `create` would not make; start and end in days from now."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=start))
        .not_valid_after(now + timedelta(days=end))
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(h) for h in hosts]), critical=False)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    path.write_bytes(builder.sign(key, algorithm).public_bytes(Encoding.PEM))
    return path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"start": -9, "end": -1}, "expired on .*; its owner makes a new one"),
        ({"start": 1, "end": 9}, "not valid before"),
        ({"hosts": ()}, "names no party or no host"),
        ({"name": ""}, "names no party or no host"),
        ({"key": ed25519.Ed25519PrivateKey.generate()}, "not EC P-256"),
        ({"key": ec.generate_private_key(ec.SECP384R1())}, "not EC P-256"),
    ],
)
def test_unfit_certificates(tmp_path, fields, message):
    path, key_pem = made_elsewhere(tmp_path / "x.crt", **fields)
    with pytest.raises(InputError, match=message) as caught:
        load_certificate(path)
    assert str(path) in str(caught.value)
    key_path = tmp_path / "x.key"
    key_path.write_bytes(key_pem)
    key_path.chmod(0o600)
    with pytest.raises(InputError, match=message):
        load_identity(key_path, path)


def test_certificate_made_elsewhere_is_fine_if_it_fits(tmp_path):
    path, _ = made_elsewhere(tmp_path / "x.crt", name="evil\n\x1b[31m")
    assert describe(load_certificate(path))["name"] == "evil??[31m"
