"""Canonical JSON that is compared, signed or hashed, and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from smc.errors import InputError


def canonical(job: Mapping[str, Any]) -> str:
    """Return a job as canonical JSON: sorted keys, no spaces, ASCII only; raise InputError if it is not JSON."""
    try:
        return dump(job)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the job cannot be written as JSON: {error}") from None


def job_digest(job: Mapping[str, Any]) -> str:
    """Return SHA-256 of the canonical job, in hexadecimal."""
    return hashlib.sha256(canonical(job).encode()).hexdigest()


def dump(value: Any) -> str:
    """Return any JSON value in canonical form; raise ValueError or TypeError if it is not JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
