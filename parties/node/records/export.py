"""Export of the audit log: as lines of JSON, which the certificate suffices to check, or as CSV.

A line is an entry in canonical JSON, in the order of numbers; the last line is the signed head. CSV has the entries
only, and so cannot be checked. An archive has the jobs that left the log: for each a line with the node's record of it
and the lines of its entries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from parties.base import files
from parties.base.canonical import canonical
from parties.base.text import csv_text
from parties.node.records.chain import EMPTY, Archive, Row, SignedHead
from parties.node.records.statements import Head
from smc.errors import InputError

OTLP_SCOPE = "smc.audit"  # scope of the OpenTelemetry log records that contain entries


def to_lines(rows: Iterable[Row], signed: SignedHead | None) -> str:
    """Return all entries and the head as lines of JSON. Raise InputError for an unreadable entry.

    Args:
        rows: The entries.
        signed: The head.
    """
    lines = [line(row) for row in rows]
    if signed is not None:
        head = {**signed.head.model_dump(), "fingerprint": signed.fingerprint, "signature": signed.signature.hex()}
        lines.append(canonical({"head": head}))
    return "".join(f"{line}\n" for line in lines)


def to_archive(job: str, record: Mapping[str, Any], rows: Iterable[Row]) -> str:
    """Return an archived job as lines of JSON: the node's record of it, then its entries.

    Args:
        job: Identifier of the job.
        record: The node's record of the job, as JSON.
        rows: Entries of the job.
    """
    lines = [canonical({"archived": job, "job": record}), *map(line, rows)]
    return "".join(f"{line}\n" for line in lines)


def read_archives(paths: Iterable[Path], read: Callable[[Path], bytes] = files.read_bytes) -> Archive:
    """Return the content of archive files.

    An entry's hash proves that it was in the log; `Archive.contents` proves the rest.

    Args:
        paths: The files, as `to_archive` wrote them.
        read: Function that reads a file.

    Raises:
        InputError: A line is not one of an archive; the message names it.
    """
    rows: dict[int, Row] = {}
    jobs: dict[str, str] = {}
    for path in paths:
        job = ""
        for number, line in enumerate(_split(files.decode(path, read(path))), start=1):
            try:
                value = json.loads(line)
                if set(value) == {"archived", "job"}:
                    job = value["archived"]
                    jobs[job] = ""
                else:
                    row = _row(value)
                    rows[row.number] = row
                jobs[job] += f"{line}\n"
            except (ValueError, TypeError, KeyError, RecursionError, InputError):
                raise InputError(
                    f"{path}, line {number}: not a line of an archive, or changed; give the original file"
                ) from None
    return Archive(rows, {job: hashlib.sha256(lines.encode()).hexdigest() for job, lines in jobs.items()})


def to_csv(rows: Iterable[Row]) -> str:
    """Return all entries as CSV with a header; the fields are one JSON object."""
    return csv_text([Row._fields, *rows])


def read_lines(path: Path) -> tuple[list[Row], SignedHead | None]:
    """Return the entries of an export, and its head or None. Raise InputError with a line of another form."""
    rows: list[Row] = []
    head: SignedHead | None = None
    for number, line in enumerate(_split(files.read_text(path)), start=1):
        try:
            value = json.loads(line)
            if head is not None or canonical(value) != line:  # a line must have one encoding only
                raise ValueError
            if set(value) == {"head"}:
                head = _head(**value["head"])
            else:
                rows.append(_row(value))
        except (ValueError, TypeError, KeyError, RecursionError, InputError):
            raise InputError(
                f"{path}, line {number}: not a line of an export, or changed; give the original file"
            ) from None
    return rows, head


def _head(number: int, hash: str, fingerprint: str, signature: str) -> SignedHead:  # noqa: A002 (the file's word)
    signed = SignedHead(Head(number=number, hash=hash), fingerprint, bytes.fromhex(signature))
    if signed.signature.hex() != signature:
        raise ValueError
    return signed


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def line(row: Row) -> str:
    """Return an entry as a line. Raise InputError if it is unreadable."""
    return canonical(row._asdict() | {"fields": _parsed(row)})


def one_row(text: str) -> Row:
    """Return the entry of a line. Raise InputError if the line is invalid."""
    try:
        value = json.loads(text)
        if canonical(value) != text:
            raise ValueError
        row = _row(value)
        if not isinstance(row.number, int) or not isinstance(row.hash, str):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError("not a line of an export, or it was changed") from None
    return row


def _row(value: dict[str, Any]) -> Row:
    """Return the entry of a parsed line; an entry without content has null there."""
    return Row(**value | {"fields": EMPTY if value["fields"] is None else canonical(value["fields"])})


def _parsed(row: Row) -> Any:
    if row.is_empty:
        return None
    try:
        return json.loads(row.fields)
    except (ValueError, TypeError, RecursionError):
        raise InputError(f"entry {row.number} was changed and cannot be exported; run `smc audit verify`") from None
