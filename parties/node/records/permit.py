"""A permit: an authority's signed statement of who may ask what of which tables, for a purpose, until a day.

The signature covers `smc.records.permit.v1`, a line feed, and the canonical JSON of the other fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from pydantic import BaseModel, ConfigDict, FailFast, Field, StringConstraints, ValidationError, field_validator

from parties.base import files
from parties.base.settings import at_key, explained, validated
from parties.base.text import printable, quoted
from parties.jobs import kinds
from parties.link.identity import Identity, common_name, fingerprint
from parties.node.records.kinds import FINGERPRINT, Fingerprint
from parties.node.records.signature import check_signature, sign
from smc.errors import InputError

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Names = Annotated[tuple[Name, ...], Field(max_length=1000), FailFast()]


class Terms(BaseModel):
    """The terms of a permit. `epsilon` and `delta` bound all jobs under it at each party together.

    Nothing bounds them if `epsilon` is null.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: Name
    purpose: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    holders: Annotated[tuple[Fingerprint, ...], Field(min_length=1, max_length=100), FailFast()]  # who may propose jobs
    tables: Names
    columns: Names
    kinds: Annotated[Names, Field(min_length=1)]
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    expires: str  # the last day, in UTC

    @field_validator("id", "purpose")
    @classmethod
    def _visible(cls, text: str) -> str:
        if printable(text) != text:
            raise ValueError("must not have control characters")
        return text

    @field_validator("expires")
    @classmethod
    def _day(cls, text: str) -> str:
        with suppress(ValueError):
            if date.fromisoformat(text).isoformat() == text:
                return text
        raise ValueError(f"must be a day such as 2026-12-31, not {quoted(text)}")


class Permit(Terms):
    """The signed document. `issuer` is the fingerprint of the authority's `certificate`, which is in PEM form."""

    issuer: Fingerprint
    certificate: Annotated[str, Field(max_length=10_000)] = ""  # in a record of a release that had none
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]

    @property
    def key(self) -> str:
        """Name of the permit among those of all authorities; a permit that is issued again keeps it."""
        return f"{self.issuer} {self.id}"

    @property
    def words(self) -> str:
        """The permit in a sentence of consent and record."""
        within = "without a bound on epsilon" if self.epsilon is None else f"{self.bound} in all"
        return f"permit {quoted(self.id)} of the authority {self.issuer[:23]}, {within}, until {self.expires}"

    @property
    def bound(self) -> str:
        """The privacy loss of all jobs under a permit that bounds epsilon."""
        return f"epsilon {self.epsilon:g} and delta {self.delta:g}"

    def flaw(self, issuers: Iterable[x509.Certificate], at: datetime) -> str:
        """Return why the permit is not valid; empty if it is.

        Args:
            issuers: Certificates of the accepted authorities.
            at: The time, aware.
        """
        issuer = next((one for one in issuers if fingerprint(one) == self.issuer), None)
        if issuer is None:
            return f"its issuer {self.issuer[:23]} is none of permits.issuers"
        if not check_signature(issuer, _document(self), bytes.fromhex(self.signature), "permit"):
            return f"it was changed, or {quoted(common_name(issuer))} did not sign it"
        if at.astimezone(UTC).date() > date.fromisoformat(self.expires):
            return f"it ended on {self.expires}"
        return ""


def issue(identity: Identity, fields: Mapping[str, Any]) -> Permit:
    """Sign a permit as its authority.

    Args:
        identity: The authority.
        fields: The terms.

    Raises:
        InputError: A term is missing or wrong, or the permit ends after the authority's certificate.
    """
    listed = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    listed["expires"] = str(listed.get("expires", ""))
    holders = listed.get("holders")
    for holder in holders if isinstance(holders, tuple) else ():
        if re.fullmatch(FINGERPRINT, str(holder)) is None:
            fact = f"{quoted(str(holder))} is no whole fingerprint"
            raise InputError(f"holders: {fact}; copy it from smc identity show CERTIFICATE")
    terms = validated(Terms, listed)
    with at_key("kinds"):
        [kinds.find(name) for name in terms.kinds]
    if date.fromisoformat(terms.expires) > (end := identity.certificate.not_valid_after_utc.date()):
        raise InputError(f"expires: {terms.expires} is after the authority's certificate, {end}; name an earlier day")
    issuer, pem = fingerprint(identity.certificate), identity.certificate.public_bytes(Encoding.PEM).decode()
    draft = Permit(**terms.model_dump(), issuer=issuer, certificate=pem, signature="0" * 128)
    return draft.model_copy(update={"signature": sign(identity, _document(draft), "permit").hex()})


def load(path: Path) -> Permit:
    """Read a permit. Its signature is not checked.

    Raises:
        InputError: The file is not a permit.
    """
    try:
        return Permit.model_validate_json(files.read_bytes(path))
    except ValidationError as error:
        if path.suffix == ".toml":
            raise InputError(f"{path}: holds terms, no permit; sign them first: smc permit sign") from None
        raise InputError(f"{path}: this is no permit of smc permit sign: {explained(error, Permit)}") from None


def _document(permit: Permit) -> dict[str, Any]:
    return permit.model_dump(mode="json", exclude={"signature"})
