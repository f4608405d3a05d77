"""Rules of the handshake: the agreement of both parties before any secret is used.

A job is the public specification of a run as a JSON object. Both parties send theirs in canonical form. Equal text
means equal jobs; any difference is shown to both operators field by field.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from parties.base.canonical import canonical, dump
from parties.base.text import quoted
from parties.link.exchange_pb2 import Hello
from smc.errors import InputError, JobMismatchError, ProtocolError

WIRE_VERSION = 8
NONCE_BYTES = 16
MAX_JOB_BYTES = 1 << 19  # a tree on 10,000 columns of four values has 440 kB
SHOWN_DIFFERENCES = 8


def make_hello(
    party: int, job: Mapping[str, Any], measure: bool = False, pace: int = 0, data_connection: bool = False
) -> Hello:
    """Return this party's first message, with a fresh nonce.

    Args:
        party: Number of this party.
        job: The job.
        measure: Ask for a measurement of the link.
        pace: This machine's time in hundredths of the usual machine's (`parties.link.pace`); 0 states none.
        data_connection: Offer a data connection if we listen, else permit one.

    Raises:
        InputError: The job is too large for a session.
    """
    text = canonical(job)
    if len(text) > MAX_JOB_BYTES:
        raise InputError(
            f"the job has {len(text)} bytes, more than the {MAX_JOB_BYTES} that a session can carry; "
            "take fewer columns or values"
        )
    nonce = secrets.token_bytes(NONCE_BYTES)
    wishes: dict[str, Any] = {"measure": measure, "pace": pace, "data_connection": data_connection}
    return Hello(wire_version=WIRE_VERSION, party=party, job=text, nonce=nonce, **wishes)


def agree(ours: Hello, theirs: Hello) -> bytes:
    """Return the session identifier, 32 bytes: SHA-256 over wire version, both nonces in party order, and the job.

    Args:
        ours: Our hello.
        theirs: The peer's hello.

    Raises:
        JobMismatchError: Version, job or request to measure differ; the message has both values.
        ProtocolError: The peer's hello is not one that an honest party sends.
    """
    if theirs.wire_version != ours.wire_version:
        raise JobMismatchError(
            f"wire version: ours {ours.wire_version}, peer's {theirs.wire_version}; run the same release on both sides"
        )
    if theirs.party != 1 - ours.party:
        why = f"the peer says that it is party {theirs.party}, expected party {1 - ours.party}"
        raise ProtocolError(f"{why}: its program does not follow the protocol")
    if len(theirs.nonce) != NONCE_BYTES or theirs.nonce == ours.nonce:
        raise ProtocolError("the peer's hello has no fresh nonce")
    if theirs.job != ours.job:
        job, other = json.loads(ours.job), _parse_job(theirs.job)
        differing = differences(job, other)
        if not differing:
            raise ProtocolError("the peer's job is not in canonical form")
        error = JobMismatchError("the two parties want to run different jobs: " + "; ".join(differing))
        error.ours, error.theirs = job, other
        raise error
    if theirs.measure != ours.measure:
        raise JobMismatchError(
            f"measuring the link: ours {_wish(ours)}, peer's {_wish(theirs)}; both parties must ask for it, or neither"
        )
    from smc.session import derive  # loads numpy: not before the peer has been called

    nonces = ours.nonce + theirs.nonce if ours.party == 0 else theirs.nonce + ours.nonce
    return derive(nonces, "smc.exchange", ours.wire_version, ours.job, size=32)


def differences(ours: Any, theirs: Any, names: tuple[str, str] = ("ours", "peer's")) -> list[str]:
    """Return the differences of two JSON values, `path: ours X, peer's Y`: at most eight, then the number of others.

    If the jobs' protocols differ, only that difference is returned.

    Args:
        ours: Our value.
        theirs: The peer's value.
        names: Names of the two values.
    """
    differing = list(_walk("", ours, theirs, names))
    protocol = [difference for difference in differing if difference.startswith("protocol: ")]
    differing = protocol or differing  # two protocols' jobs differ in the other fields anyway
    first = differing[:SHOWN_DIFFERENCES]
    return first if len(differing) == len(first) else [*first, f"and {len(differing) - len(first)} more"]


def _walk(path: str, ours: Any, theirs: Any, names: tuple[str, str]) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            inner = f"{path}.{_name(key)}" if path else _name(key)
            yield from _walk(inner, ours.get(key, _Absent), theirs.get(key, _Absent), names)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (left, right) in enumerate(zip(ours, theirs, strict=True)):
            yield from _walk(f"{path}[{_place(index, left, right)}]", left, right, names)
    elif _show(ours) != _show(theirs):  # compares text: Python's 1 == 1.0 == True are three values here
        left, right = _shortened(_show(ours), _show(theirs))
        yield f"{path or 'job'}: {names[0]} {left}, {names[1]} {right}"


def _wish(hello: Hello) -> str:
    return "yes" if hello.measure else "no"


def _place(index: int, left: Any, right: Any) -> str:
    """Return the label of the items `left` and `right` at an index of two lists: the `name` both have, or the index."""
    names = [part.get("name") for part in (left, right) if isinstance(part, dict)]
    return (
        quoted(names[0], 40) if len(names) == 2 and isinstance(names[0], str) and names[0] == names[1] else str(index)
    )


class _Absent:
    """Placeholder for a field that one side does not have."""


def _name(key: str) -> str:
    """Return a key as part of a path: unchanged if it is a plain word, otherwise quoted."""
    return key if key.isascii() and key.isprintable() and 0 < len(key) <= 40 else quoted(key, 40)


def _show(value: Any) -> str:
    return "nothing" if value is _Absent else dump(value)


def _shortened(left: str, right: str, limit: int = 60) -> tuple[str, str]:
    """Return two different texts cut to `limit` characters around the first difference."""
    same = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    start = max(0, same - limit // 3) if max(len(left), len(right)) > limit else 0

    def cut(text: str) -> str:
        piece = text[start : start + limit]
        return ("…" if start else "") + piece + ("…" if start + limit < len(text) else "")

    return cut(left), cut(right)


def _parse_job(text: str) -> dict[str, Any]:
    """Return the peer's job. Raise ProtocolError for anything but a JSON object."""

    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    try:
        job = json.loads(text, parse_constant=refuse)
        dump(job)  # 1e999 reads as infinity, which has no JSON form
    except (ValueError, RecursionError):
        raise ProtocolError("the peer's job is not JSON") from None
    if not isinstance(job, dict):
        raise ProtocolError("the peer's job is not a JSON object")
    return job
