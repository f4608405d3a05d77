"""Values in the conditions of rules: texts, bounds, columns, times, networks, checked as they are read."""

from __future__ import annotations

import math
import re
from ipaddress import IPv6Network, ip_network
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from parties.base.settings import Settings
from parties.base.text import canonical_fingerprint, did_you_mean, printable, quoted
from parties.jobs import kinds
from parties.sources.rights import Access, Basis, Erasure, Objection
from parties.sources.settings import Fingerprint

Weekday: TypeAlias = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MAX_NAME = 80  # characters

_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)")


def _several(value: object) -> object:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(item, str) for item in values):
        raise ValueError("must be text in quotes, or a list of texts")
    if not values or "" in values:
        raise ValueError("must not be empty; add a value, or remove the condition")
    return tuple(values)


def _flag_or_several(value: object) -> object:
    return (value,) if isinstance(value, bool) else _several(value)


def _canonical_peer(value: str) -> str:
    """Return a fingerprint in the form of `identity.fingerprint`, and a name unchanged."""
    return canonical_fingerprint(value) or value


def _network(value: str) -> str:
    try:
        network = ip_network(value)
    except ValueError as error:
        raise ValueError(f"{error}; write it as 192.0.2.0/24 or 2001:db8::/32") from None
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
        raise ValueError(f"{quoted(value)} must be written as the IPv4 network that it stands for")
    return str(network)


def _window(value: str) -> str:
    start, _, end = value.partition("-")
    if not _WINDOW.fullmatch(value) or start == end:
        raise ValueError(f'must be a time range, such as "08:00-18:00" or "22:00-06:00", not {quoted(value)}')
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # the last for a directory of zones
        hint = did_you_mean(value, available_timezones())
        raise ValueError(f"this machine knows no time zone {quoted(value)}{hint}") from None
    return value


def _kind(value: str) -> str:
    if not kinds.is_known(value):
        raise ValueError(f"there is no kind of job {quoted(value)}{did_you_mean(value, kinds.names())}")
    return value


def _rule_name(value: str) -> str:
    if not value.strip() or value != printable(value) or len(value) > MAX_NAME:
        raise ValueError(f"must be a line of 1 to {MAX_NAME} characters")
    return value


Flag: TypeAlias = Annotated[bool, Field(strict=True)]
Name: TypeAlias = Annotated[str, AfterValidator(_rule_name)]
Window: TypeAlias = Annotated[str, AfterValidator(_window)]
Zone: TypeAlias = Annotated[str, AfterValidator(_zone)]
Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_several)]
Fingerprints: TypeAlias = Annotated[tuple[Fingerprint, ...], BeforeValidator(_several)]
Networks: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_network)], ...], BeforeValidator(_several)]
Peers: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_canonical_peer)], ...], BeforeValidator(_several)]
Protocols: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_kind)], ...], BeforeValidator(_several)]
Weekdays: TypeAlias = Annotated[tuple[Weekday, ...], BeforeValidator(_several)]
Attributes: TypeAlias = dict[str, Annotated[tuple[Flag | str, ...], BeforeValidator(_flag_or_several)]]
Number: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Bounds(Settings):
    """Comparisons of a number; all that are given must hold."""

    at_least: Number | None = None
    above: Number | None = None
    at_most: Number | None = None
    below: Number | None = None

    @model_validator(mode="after")
    def _something_fits(self) -> Bounds:
        lowest = max((x for x in (self.at_least, self.above) if x is not None), default=-math.inf)
        highest = min((x for x in (self.at_most, self.below) if x is not None), default=math.inf)
        if not self.words():
            raise ValueError("give at_least, above, at_most or below")
        if lowest > highest or (lowest == highest and not self.fits(lowest)):
            raise ValueError(f"no number is {self.words()}")
        return self

    def fits(self, value: float) -> bool:
        """Return whether all comparisons hold."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def words(self) -> str:
        """Return the comparisons in words; empty if there is none."""
        bounds = ((name.replace("_", " "), getattr(self, name)) for name in type(self).model_fields)
        return " and ".join(f"{name} {value:.10g}" for name, value in bounds if value is not None)


class Rights(Settings):
    """Conditions on the table's `rights`; one value of a list applies. `declared`: the table declares the purpose."""

    legal_basis: Annotated[tuple[Basis, ...], BeforeValidator(_several)] = ()
    access: Annotated[tuple[Access, ...], BeforeValidator(_several)] = ()
    erasure: Annotated[tuple[Erasure, ...], BeforeValidator(_several)] = ()
    objection: Annotated[tuple[Objection, ...], BeforeValidator(_several)] = ()
    special: Flag | None = None  # whether it has data of art. 9
    declared: Flag | None = None
    retention_days: Bounds = Field(default_factory=Bounds.model_construct)

    @model_validator(mode="after")
    def _given(self) -> Rights:
        if self == Rights.model_construct():
            raise ValueError("give legal_basis, access, erasure, objection, special, declared or retention_days")
        return self


class Columns(Settings):
    """Conditions on the job's columns: all are in `within`; at least one is in `any_of`. Empty means no condition."""

    within: Names = ()
    any_of: Names = ()

    @model_validator(mode="after")
    def _given(self) -> Columns:
        if not (self.within or self.any_of):
            raise ValueError("give within or any_of")
        return self
