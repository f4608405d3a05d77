"""The policy request: a job with all attributes that a rule may refer to.

The node, which enforces the policy, collects the attributes (`request_for`), calls `policy.decide`, and obeys. The
decision sees nothing else: no clock, no network, no database.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Literal

from parties.sources.rights import RightsSettings

OF_PEER = ("peer", "fingerprint", "roles", "attributes", "runs_today", "address", "tls", "key_exchange", "post_quantum")
STATED = ("purpose", "tls", "key_exchange")  # texts that are unknown if empty


@dataclass(frozen=True)
class Request:
    """All attributes of a job that a rule may refer to; None: unknown, or not an attribute of the protocol.

    `at` is the time, aware, in the machine's own time zone. `table` is ours. `columns` are all that the job reads.
    `numbers` are the kind's parameters that can be bounded, infinite where there is no limit. `runs_today` is the
    number of jobs with this peer on our table that we have approved since midnight. `attributes` are our file's
    statements about the peer, `rights` those about the people in the table. `joint_number`: a joint number is opened
    without noise. `past_budget`: our table has a privacy budget, and the job opens exact values, which cost no
    epsilon. Decisions are exact values too.
    """

    peer: str | None
    fingerprint: str | None
    roles: frozenset[str]
    proposed_by: Literal["us", "peer"]
    table: str
    columns: frozenset[str] | None
    protocol: str
    numbers: Mapping[str, float]
    runs_today: int | None
    purpose: str | None
    at: datetime
    address: IPv4Address | IPv6Address | None
    joint_number: bool = False
    past_budget: bool = False
    analyst: str = ""  # fingerprint of the certificate that numbers are sealed to, if any
    attributes: Mapping[str, bool | str] = field(default_factory=dict)
    rights: RightsSettings | None = None
    tls: str | None = None  # version of the connection with the peer's node, the present or the last one
    key_exchange: str | None = None  # the group of its key exchange
    post_quantum: bool | None = None  # whether that group is post-quantum
    engine: str | None = None  # as named by the job
    holders: int = 0  # number of holders of rows, beside the two that compute
    compute: frozenset[str] | None = None  # fingerprints of those that compute, in a job with holders
    unlike: Mapping[str, str] = field(default_factory=dict)  # by our template: where the job differs; empty if nowhere
    permit: str | None = None  # identifier of the permit that the job names
    unpermitted: str = ""  # why no permit allows the job; empty if its permit does, or it needs none
    other: Request | None = None  # at a holder: the request with computing party 1 as the peer

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("the moment of a request needs a time zone")

    @property
    def views(self) -> list[Request]:
        """The request for each node that computes the job, as the peer: one, or two at a holder."""
        if self.other is None:
            return [self]
        return [self, replace(self, other=None, **{name: getattr(self.other, name) for name in OF_PEER})]

    @property
    def templates(self) -> frozenset[str]:
        """Names of our templates whose question the job asks."""
        return frozenset(name for name, difference in self.unlike.items() if not difference)

    @property
    def exact(self) -> bool:
        """True if something is opened without noise that only a rule with `exact = true` permits."""
        return self.joint_number or self.past_budget

    @property
    def special(self) -> bool | None:
        """True if the table has data of GDPR art. 9; None if it does not state that."""
        return None if self.rights is None else self.rights.special is not None

    @property
    def declared(self) -> bool | None:
        """True if the purpose is one of those that the table declares; None if either is unknown."""
        if self.rights is None or not self.rights.purposes or self.purpose is None:
            return None
        return self.purpose in self.rights.purposes


def request_for(
    *,
    roles: Iterable[str],
    columns: Iterable[str] | None,
    parameters: Mapping[str, object],
    unlimited: Collection[str],
    address: str | None,
    attributes: Mapping[str, bool | str] | None = None,
    compute: Iterable[str] = (),
    **others: Any,
) -> Request:
    """Return the request from the node's values: the job's parameters as they are, the address as text.

    Invalid values become unknown: an empty list of columns, an empty purpose, a parameter that is no number, no IP
    address.

    Args:
        roles: Roles of the peer in our file.
        columns: Columns that the job reads.
        parameters: Parameters of the job.
        unlimited: Parameters for which None means no limit.
        address: IP address of the peer.
        attributes: Attributes of the peer in our file.
        compute: Fingerprints of those that compute, in a job with holders.
        others: All other attributes of `Request`, by name.
    """
    numbers = {name: _number(value, name in unlimited) for name, value in parameters.items()}
    return Request(
        roles=frozenset(roles),
        columns=frozenset(columns or ()) or None,
        numbers={name: number for name, number in numbers.items() if number is not None},
        address=_ip(address),
        attributes=attributes or {},
        compute=frozenset(compute) or None,
        engine=None if parameters.get("engine") is None else str(parameters["engine"]),
        **others | {name: others.get(name) or None for name in STATED},
    )


def _number(value: object, unlimited: bool) -> float | None:
    """Return a number, None if the value is not one; None of an `unlimited` parameter stands for infinity."""
    if value is None and unlimited:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def _ip(text: str | None) -> IPv4Address | IPv6Address | None:
    """Return the IP address; a socket for both IP versions shows an IPv4 peer as ::ffff:a.b.c.d."""
    try:
        address = ip_address(text or "")
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
