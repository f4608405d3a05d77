"""Profiles that suit a job. All are counted; both parties take the fastest one on their link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from parties.jobs.settings import ENGINE
from smc.engines import Profile

BOOLEAN = (
    Profile("yao"),
    Profile("yao", garbling="three-halves"),
    Profile("gmw", form="depth"),
    Profile("gmw", form="size"),
    Profile("gmw", "ferret", form="depth"),
    Profile("gmw", "ferret", form="size"),
)
INTEGER = (
    Profile("mixed"),
    Profile("mixed", garbling="three-halves"),
    Profile("mixed", "ferret", garbling="three-halves"),
    Profile("lean", form="depth"),
    Profile("lean", form="size"),
    Profile("lean", "ferret", form="depth"),
    Profile("lean", "ferret", form="size"),
)


def profiles(integers: bool) -> tuple[Profile, ...]:
    """Return all suitable profiles; those with additive shares only if the job computes with integers."""
    return INTEGER + BOOLEAN if integers else BOOLEAN


def contenders(integers: bool, shards: int = 1) -> tuple[Profile, ...]:
    """Return the profiles among which the engine "auto" chooses.

    Args:
        integers: Whether the job computes with integers. Then profiles that another one beats on every link are left
            out.
        shards: Number of shards of each profile.
    """
    return in_shards((*INTEGER, BOOLEAN[1]) if integers else BOOLEAN, shards)


def in_shards(several: tuple[Profile, ...], shards: int) -> tuple[Profile, ...]:
    """Return the profiles with their batches computed in `shards` shards.

    Args:
        several: The profiles.
        shards: Number of processes that compute a batch together.
    """
    return tuple(replace(profile, shards=shards) for profile in several)


def shards_of(specification: Mapping[str, Any]) -> int:
    """Return the number of shards in a specification."""
    return specification.get("shards") or 1


def named(specification: Mapping[str, Any]) -> Profile | None:
    """Return the profile that a specification names; None for the engine "auto"."""
    if specification["engine"] == "auto":
        return None
    return profile_of({name: specification[name] for name in ENGINE if name in specification}, shards_of(specification))


def profile_of(fields: Mapping[str, Any], shards: int) -> Profile:
    """Return the profile of the engine's settings.

    Args:
        fields: The settings by their names, the engine not "auto".
        shards: Number of shards.
    """
    gates = fields.get("gates")
    rest = {name: value for name, value in fields.items() if name != "gates"}
    return Profile(**rest, table_gates=None if gates is None else gates == "table", shards=shards)
