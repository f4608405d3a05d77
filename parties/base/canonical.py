"""The one way to write JSON that is compared, signed or hashed, and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from smc.errors import InputError


def canonical(job: Mapping[str, Any]) -> str:
    """Return the one way to write a job: JSON with sorted keys, no spaces, ASCII only. `InputError` if it cannot be."""
    try:
        return dump(job)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the job cannot be written as JSON: {error}") from None


def job_digest(job: Mapping[str, Any]) -> str:
    """Return SHA-256 of the canonical job, in hexadecimal."""
    return hashlib.sha256(canonical(job).encode()).hexdigest()


def dump(value: Any) -> str:
    """Write any JSON value so. ValueError or TypeError if it cannot be."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
