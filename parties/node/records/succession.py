"""A party's announcement, signed with its present key, that another certificate will replace the present one.

It is a file that the peer's operator names in `party.toml`; until the stated day, the peer's node trusts both
certificates. The signature covers `smc.records.succession.v1`, a line feed, and the canonical JSON of `former`,
`successor` (the two certificates' fingerprints) and `until`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parties.base import files
from parties.link.identity import Identity, fingerprint, parse_certificate, short_fingerprint
from parties.node.records.signature import check_signature, sign
from smc.errors import InputError


class Succession(BaseModel):
    """The file. `certificate` is the new one in PEM, `until` the last day of the former one (ISO 8601, UTC)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    former: str
    certificate: str
    until: str
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


@dataclass(frozen=True)
class Successor:
    """A peer's new certificate, and the last day of the present one. `word` is the announcement."""

    certificate: x509.Certificate
    until: date
    word: Succession | None = field(default=None, compare=False)

    @property
    def is_due(self) -> bool:
        """True if the last day of the former certificate is over."""
        return datetime.now(UTC).date() > self.until


def succession(identity: Identity, certificate: x509.Certificate, until: date) -> Succession:
    """Sign that a certificate replaces the identity's.

    Args:
        identity: The present identity.
        certificate: The new certificate.
        until: Last day of the present certificate.

    Raises:
        InputError: The new certificate ends before that day, or the day is past.
    """
    if until < (today := datetime.now(UTC).date()):
        raise InputError(f"--until {until} is past: name {today} or a later day")
    _check_until(until, certificate, "--until")
    former, pem = fingerprint(identity.certificate), certificate.public_bytes(Encoding.PEM).decode()
    signature = sign(identity, _document(former, certificate, until.isoformat()), "succession").hex()
    return Succession(former=former, certificate=pem, until=until.isoformat(), signature=signature)


def load(path: Path, former: x509.Certificate) -> Successor:
    """Read an announcement by the holder of the former certificate.

    Args:
        path: The file.
        former: The former certificate.

    Raises:
        InputError: The file is another party's, or was changed.
    """
    try:
        word = Succession.model_validate_json(files.read_bytes(path))
        until = date.fromisoformat(word.until)
    except (ValidationError, ValueError):
        raise InputError(
            f"{path} is not an announcement of a new certificate by smc identity succeed; ask the peer for that file"
        ) from None
    certificate = announced(word, former, path)
    _check_until(until, certificate, f"{path}: until")
    return Successor(certificate, until, word)


def announced(word: Succession, former: x509.Certificate, place: Path) -> x509.Certificate:
    """Return the new certificate of an announcement by the holder of the former certificate.

    Args:
        word: The announcement.
        former: The former certificate.
        place: Where the announcement comes from, for the error.

    Raises:
        InputError: The announcement is another party's, or was changed.
    """
    certificate = parse_certificate(word.certificate.encode(), place)
    if word.former != fingerprint(former):
        raise InputError(f"{place} announces the successor of {word.former[:23]}, not of {short_fingerprint(former)}")
    if not check_signature(
        former, _document(word.former, certificate, word.until), bytes.fromhex(word.signature), "succession"
    ):
        raise InputError(f"{place} is not signed with the key of the certificate {short_fingerprint(former)}")
    return certificate


def _check_until(until: date, certificate: x509.Certificate, where: str) -> None:
    if until > (end := certificate.not_valid_after_utc.date()):
        raise InputError(f"{where} {until} is after the new certificate's last day, {end}: name an earlier one")


def _document(former: str, certificate: x509.Certificate, until: str) -> dict[str, Any]:
    return {"former": former, "successor": fingerprint(certificate), "until": until}
