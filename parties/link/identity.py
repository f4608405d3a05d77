"""Identity of a party: an EC P-256 key and a self-issued certificate, pinned by the peer as a whole.

There is no authority above the two parties. Each operator hands the certificate file to the other one, who compares its
fingerprint over another channel (telephone) and trusts exactly that file.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from parties.base import keyfile
from parties.base.files import (
    create_private,
    ensure_private,
    ensure_writable,
    is_in_token,
    make_directory,
    read_bytes,
    write_bytes,
)
from parties.base.text import quoted
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.base.token_key import TokenKey

SHORT = 23  # characters of a short fingerprint: eight bytes
VALID_DAYS = 5 * 365
CLOCK_SKEW = timedelta(hours=1)  # the peer's clock may be behind ours
SOON = timedelta(days=30)  # time before its end at which a certificate should be replaced

# it becomes a file name and a common name (64 characters at most)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")


@dataclass(frozen=True)
class Identity:
    """A party's own key and certificate, checked to belong together. For a key in a `token`, `key_pem` is empty."""

    key_path: Path
    certificate_path: Path
    certificate: x509.Certificate
    key_pem: bytes = field(repr=False)
    token: TokenKey | None = field(default=None, repr=False)
    is_made: bool = field(default=True, compare=False)  # False if the token already had the key

    @property
    def name(self) -> str:
        """The name in the certificate."""
        return common_name(self.certificate)

    @property
    def is_in_files(self) -> bool:
        """False if the key is in a token, or in a shard's process, which gets the key without files."""
        return self.token is None and self.key_path != Path()

    @cached_property
    def key(self) -> ec.EllipticCurvePrivateKey:
        """The private key for signing."""
        if self.token is not None:
            return self.token
        key = load_pem_private_key(self.key_pem, password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)  # of the certificate's type
        return key

    @property
    def secret(self) -> bytes:
        """Secret bytes, constant as long as the key is: the private key in PEM, or 32 bytes derived in a token."""
        return self.key_pem if self.token is None else self.token.secret

    def require_file(self) -> None:
        """Raise InputError if the key is in a token: gRPC supports that for the dialling end only."""
        if self.token is not None:
            raise InputError(
                f"{self.token.place.name}: the key of a listening party must be in a file, because gRPC can use a "
                f"token only when it dials; set connect instead of listen here, or name a key file as identity"
            )


def refuse_present(*paths: Path) -> None:
    """Raise InputError if a file exists, as `create` would, before a passphrase is asked for."""
    for path in paths:
        if os.path.lexists(path):
            raise InputError(f"{path} exists already; choose another name or directory, or remove it first")


def create(
    name: str,
    hosts: Sequence[str],
    directory: Path,
    days: int = VALID_DAYS,
    passphrase: str | None = None,
    token: Path | None = None,
) -> Identity:
    """Make a key and a certificate: DIRECTORY/NAME.key (mode 0600) and DIRECTORY/NAME.crt.

    Args:
        name: Name of the party.
        hosts: IP addresses and DNS names of this party; if empty, as for a party that only dials, `localhost`.
        directory: Directory of the files; made if it does not exist.
        days: Days that the certificate is valid.
        passphrase: Passphrase that encrypts the key; None leaves it plain.
        token: URI of a token in which the key is made, or found under its name, in place of a key file.

    Raises:
        InputError: The name, a host or the days are invalid, or a file exists already.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"the name {quoted(name)} must be 1 to 64 of A-Z a-z 0-9 . _ - and start with a letter or digit"
        )
    if not 1 <= days <= 36500:
        raise InputError(f"a certificate can be valid for 1 to 36500 days, not {days}")
    alternatives = list(dict.fromkeys(_general_name(host) for host in hosts or ["localhost"]))
    key_path, certificate_path = token or directory / f"{name}.key", directory / f"{name}.crt"
    refuse_present(key_path, certificate_path)
    make_directory(directory)
    if token is not None:
        from parties.base import token_key

        ensure_writable(certificate_path)
        in_token = token_key.of(token)
        is_made = in_token.make()
        in_token.check()
        certificate = _self_issue(in_token, name, alternatives, days)
        write_bytes(certificate_path, certificate.public_bytes(Encoding.PEM))
        return Identity(token, certificate_path, certificate, b"", in_token, is_made)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _self_issue(key, name, alternatives, days)
    key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    create_private(key_path, key_pem if passphrase is None else keyfile.encrypt(key_pem, passphrase))
    try:
        write_bytes(certificate_path, certificate.public_bytes(Encoding.PEM))
    except InputError:
        key_path.unlink()
        raise
    return Identity(key_path, certificate_path, certificate, key_pem)


def load_identity(key_path: Path, certificate_path: Path) -> Identity:
    """Read this party's own key and certificate.

    Args:
        key_path: The key.
        certificate_path: The certificate.

    Raises:
        InputError: A file is unreadable, others may read the key, its passphrase (`keyfile`) is not available, the two
            do not belong together, or the certificate is not valid now.
    """
    certificate = load_certificate(certificate_path)
    token = _in_token(key_path)
    key_pem = _read_key(key_path) if token is None else b""
    if (token or _private_key(key_path, key_pem)).public_key() != certificate.public_key():
        raise InputError(
            f"the key {key_path} does not belong to the certificate {certificate_path}; "
            "give the pair that belongs together"
        )
    identity = Identity(key_path, certificate_path, certificate, key_pem, token)
    _ = identity.secret  # a token may have to permit this: now, not in the middle of a job
    return identity


def protect(path: Path, passphrase: str) -> bool:
    """Encrypt a private key's file with a new passphrase, in place.

    Args:
        path: The file.
        passphrase: The new passphrase.

    Returns:
        True if decryption gives the original bytes; False if the key was in SEC1, or in another encoding of PKCS#8.

    Raises:
        InputError: The file cannot be read or written.
    """
    plain = _read_key(path)
    _private_key(path, plain)
    write_bytes(path, keyfile.encrypt(plain, passphrase), private=True)
    return keyfile.as_written(plain) == plain


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Read a private key alone. Raise InputError if it is unreadable, readable by others, or not EC P-256."""
    key = _in_token(path) or _private_key(path, _read_key(path))
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise InputError(f"{path}: the key is not EC P-256, as smc identity create makes it")
    return key


def load_certificate(path: Path) -> x509.Certificate:
    """Read one certificate, such as the peer's.

    Raise InputError if it is not exactly one EC P-256 certificate in PEM form with a name and a host, or is not valid
    now. Also refuse a file with a private key, which must never be handed over.
    """
    return parse_certificate(read_bytes(path), path)


def parse_certificate(pem: bytes, path: Path) -> x509.Certificate:
    """Return the certificate in a file's content. Raise InputError as `load_certificate` does.

    Args:
        pem: Content of the file.
        path: The file, for messages.
    """
    if b"PRIVATE KEY" in pem:
        raise InputError(f"{path} holds a private key; give the certificate (.crt) only, and never share a key")
    try:
        certificates = x509.load_pem_x509_certificates(pem)
        certificate, names = certificates[0], _hosts(certificates[0])
        key = certificate.public_key()
    except Exception:  # the library raises many kinds of errors for a malformed file
        raise InputError(f"{path} holds no readable certificate in PEM form; give the .crt file") from None
    if len(certificates) != 1:
        raise InputError(
            f"{path} holds {len(certificates)} certificates, expected one; give a file with one certificate"
        )
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise InputError(f"{path}: the certificate's key is not EC P-256; make one with `smc identity create`")
    if not names or not common_name(certificate):
        raise InputError(f"{path}: the certificate names no party or no host; make one with `smc identity create`")
    _check_validity(path, certificate)
    return certificate


def read_certificate(path: Path) -> x509.Certificate:
    """Return a certificate, valid now or not, for its old signatures. Raise InputError if the file holds none."""
    try:
        return x509.load_pem_x509_certificate(read_bytes(path))
    except ValueError:
        raise InputError(f"{path} holds no readable certificate in PEM form; give the .crt file") from None


@lru_cache(maxsize=256)
def fingerprint(certificate: x509.Certificate) -> str:
    """Return SHA-256 of the certificate, as 32 upper-case hexadecimal bytes joined by colons."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def short_fingerprint(certificate: x509.Certificate) -> str:
    """Return the first eight bytes of the fingerprint, enough to distinguish two certificates in a message."""
    return fingerprint(certificate)[:SHORT]


def common_name(certificate: x509.Certificate) -> str:
    """Return the party's name, empty if there is none, as one printable line whoever made the certificate."""
    for attribute in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        return "".join(c if c.isprintable() else "?" for c in str(attribute.value))
    return ""


def tls_name(certificate: x509.Certificate) -> str:
    """Return the certificate's host that TLS is to expect at any dialled address; the pin authenticates the peer."""
    return _hosts(certificate)[0]


def describe(certificate: x509.Certificate) -> dict[str, str | list[str]]:
    """Return the certificate's facts for an operator: name, hosts, fingerprint, validity (ISO, UTC)."""
    return {
        "name": common_name(certificate),
        "hosts": _hosts(certificate),
        "fingerprint": fingerprint(certificate),
        "valid_from": certificate.not_valid_before_utc.isoformat(),
        "valid_until": certificate.not_valid_after_utc.isoformat(),
    }


def _in_token(path: Path) -> TokenKey | None:
    if not is_in_token(path):
        return None
    from parties.base import token_key  # loads its library

    return token_key.opened(path)


def _read_key(path: Path) -> bytes:
    """Return the content of a key file. Raise InputError for a certificate, before any advice to make it private."""
    pem = read_bytes(path)
    if b"PRIVATE KEY" not in pem:
        with suppress(ValueError):
            x509.load_pem_x509_certificate(pem)
            raise InputError(f"{path} holds a certificate, not a private key; give the key (.key) that belongs to it")
    ensure_private(path)
    return keyfile.read(path)


def _private_key(path: Path, pem: bytes) -> PrivateKeyTypes:
    try:
        return load_pem_private_key(pem, password=None)
    except Exception:  # the library raises many kinds of errors for a malformed file
        raise InputError(f"{path} holds no readable private key in PEM form; give the .key file") from None


def _self_issue(
    key: ec.EllipticCurvePrivateKey, name: str, alternatives: Sequence[x509.GeneralName], days: int
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=True,  # for data sealed to the certificate: parties.alone.publish.sealing.sealing
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    purposes = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(int.from_bytes(secrets.token_bytes(20)) >> 1 | 1)  # positive in 20 bytes (RFC 5280)
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(purposes, critical=False)
        .sign(key, hashes.SHA256())
    )


def _general_name(host: str) -> x509.GeneralName:
    """Return an IP address or a DNS name (international ones in their ASCII form)."""
    with suppress(ValueError):
        if "%" not in host:  # a zone is meaningful on its own machine only
            return x509.IPAddress(ipaddress.ip_address(host))
    try:
        name = host.encode("idna").decode().lower()
    except UnicodeError:
        name = ""
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels) or labels[-1].isdigit():
        raise InputError(f"the host {quoted(host)} is neither an IP address nor a DNS name (give no port or scheme)")
    return x509.DNSName(name)


def _hosts(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(name.value) for name in names if isinstance(name, x509.DNSName | x509.IPAddress)]


def _check_validity(path: Path, certificate: x509.Certificate) -> None:
    now = datetime.now(UTC)
    if now < certificate.not_valid_before_utc:
        start = certificate.not_valid_before_utc.isoformat(" ", "seconds")
        raise InputError(f"{path}: the certificate is not valid before {start}; check the clock of this machine")
    if now > certificate.not_valid_after_utc:
        end = certificate.not_valid_after_utc.isoformat(" ", "seconds")
        raise InputError(f"{path}: the certificate expired on {end}; its owner makes a new one: smc identity create")
