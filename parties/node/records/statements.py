"""Signed statements of a party: its commitment to its rows at a job's start, and the result with its log's head.

Each party keeps the other's signatures in its log, as evidence of the other's log. A party that later writes a new log
and signs it contradicts its own signatures there.
"""

from __future__ import annotations

from typing import Annotated, Any

from cryptography import x509
from pydantic import BaseModel, ConfigDict, Field

from parties.link.identity import Identity, fingerprint
from parties.node.records.signature import check_signature, sign


class Head(BaseModel):
    """The last entry of an audit log at some moment: its number, 0 if there is none yet, and its hash."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    number: Annotated[int, Field(ge=0)]
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Signed(BaseModel):
    """A result, public values only, with the head of the signer's log, and the signature of both."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    result: dict[str, Any]
    head: Head
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]

    def document(self) -> dict[str, Any]:
        """Return the signed document: the result, and the head of the log."""
        return {"result": self.result, "head": self.head.model_dump()}

    def is_signed_by(self, certificate: x509.Certificate) -> bool:
        """Return whether the holder of the certificate's key signed this result and head."""
        return check_signature(certificate, self.document(), bytes.fromhex(self.signature))

    def evidence(self, certificate: x509.Certificate) -> Evidence:
        """Return the head and the result as evidence that names the signer's certificate."""
        signer = fingerprint(certificate)
        return Evidence(head=self.head, fingerprint=signer, result=self.result, signature=self.signature)


class Evidence(BaseModel):
    """A head of a log, signed by its owner under this certificate: alone, or together with a result."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    head: Head
    fingerprint: Annotated[str, Field(pattern=r"^([0-9A-F]{2}:){31}[0-9A-F]{2}$")]
    result: dict[str, Any] | None = None
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]

    def is_signed_by(self, certificate: x509.Certificate) -> bool:
        """Return whether the holder of the certificate signed it; the certificate must be the named one."""
        if fingerprint(certificate) != self.fingerprint:
            return False
        if self.result is not None:
            return Signed(result=self.result, head=self.head, signature=self.signature).is_signed_by(certificate)
        document = head_document(self.head, self.fingerprint)
        return check_signature(certificate, document, bytes.fromhex(self.signature), "head")


def head_document(head: Head, signer: str) -> dict[str, Any]:
    """Return the signed document of a log's head alone: number, hash and signer.

    Args:
        head: The head.
        signer: Fingerprint of the signer's certificate.
    """
    return {"number": head.number, "hash": head.hash, "fingerprint": signer}


class Committed(BaseModel):
    """A commitment to the rows of a party in a job, SHA-256, and its signature."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    rows: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]

    def is_signed_by(self, certificate: x509.Certificate, job: str) -> bool:
        """Return whether the holder of the certificate's key signed the commitment for a job.

        Args:
            certificate: The certificate.
            job: Digest of the job.
        """
        return check_signature(certificate, _of_rows(job, self.rows), bytes.fromhex(self.signature), "rows")


class Withdrawal(BaseModel):
    """A party's signed statement that the result of this digest must not be used any more. `at`: ISO 8601."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    result: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    why: Annotated[str, Field(max_length=500)]
    at: Annotated[str, Field(max_length=40)]
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]

    def is_signed_by(self, certificate: x509.Certificate, job: str) -> bool:
        """Return whether the holder of the certificate's key signed the withdrawal for a job.

        Args:
            certificate: The certificate.
            job: Digest of the job.
        """
        return check_signature(certificate, _withdrawn(job, self), bytes.fromhex(self.signature), "withdrawal")


def withdrawal(identity: Identity, job: str, result: str, why: str, at: str) -> Withdrawal:
    """Sign that a job's result is withdrawn.

    Args:
        identity: Identity of the party.
        job: Digest of the job, in hexadecimal.
        result: Digest of the result, in hexadecimal.
        why: The reason.
        at: The time, ISO 8601.
    """
    unsigned = Withdrawal(result=result, why=why, at=at, signature="0" * 128)
    return unsigned.model_copy(update={"signature": sign(identity, _withdrawn(job, unsigned), "withdrawal").hex()})


def _withdrawn(job: str, word: Withdrawal) -> dict[str, Any]:
    return {"job": job, "result": word.result, "why": word.why, "at": word.at}


def commit(identity: Identity, job: str, rows: str) -> Committed:
    """Sign the commitment to rows for a job.

    Args:
        identity: Identity of the party.
        job: Digest of the job, in hexadecimal.
        rows: The commitment, in hexadecimal.
    """
    return Committed(rows=rows, signature=sign(identity, _of_rows(job, rows), "rows").hex())


def _of_rows(job: str, rows: str) -> dict[str, Any]:
    return {"job": job, "rows": rows}
