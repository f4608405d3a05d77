"""The policy: which jobs are permitted or denied without asking the operator. Rules, the request, the decision.

    [[policy]]
    name = "coarse trees for research"
    effect = "permit"
    role = "university"
    table = "patients"
    purpose = ["research", "teaching"]
    max_depth.at_most = 4
    runs_today.below = 3

A rule applies if all its conditions hold. Deny overrides permit; where no rule applies, the operator decides.

An attribute may be unknown (the peer's address, say). Then a condition on it neither holds nor fails, and the rule is
read to the safe side: one that permits does not apply, one that denies does unless another condition fails.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from ipaddress import IPv6Network, ip_network
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, create_model, model_validator

from parties.jobs import kinds
from parties.jobs.settings import public_parameters
from parties.jobs.spending import EXACT
from parties.policy.request import Request
from parties.settings import Settings
from parties.text import did_you_mean, listed, printable, quoted

Effect: TypeAlias = Literal["permit", "deny", "ask"]
Weekday: TypeAlias = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MAX_NAME = 80  # characters
NO_LIMIT = "no limit"  # as parameters of jobs say it

_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)")
_FINGERPRINT = re.compile(r"(?:[0-9A-F]{2}:?){31}[0-9A-F]{2}", re.IGNORECASE)


def _several(value: object) -> object:
    """One text, or a list that is not empty and has no empty text."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(item, str) for item in values):
        raise ValueError("must be text in quotes, or a list of such")
    if not values or "" in values:
        raise ValueError("must not be empty: leave the condition out if it does not matter")
    return tuple(values)


def _canonical_peer(value: str) -> str:
    """A fingerprint as `identity.fingerprint` writes it; a name as it is."""
    if not _FINGERPRINT.fullmatch(value):
        return value
    return bytes.fromhex(value.replace(":", "")).hex(":").upper()


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
        raise ValueError(f'must be a time from and to, such as "08:00-18:00" or "22:00-06:00", not {quoted(value)}')
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # the last: it is a directory of zones
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


Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_several)]
Networks: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_network)], ...], BeforeValidator(_several)]
Peers: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_canonical_peer)], ...], BeforeValidator(_several)]
Protocols: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_kind)], ...], BeforeValidator(_several)]
Weekdays: TypeAlias = Annotated[tuple[Weekday, ...], BeforeValidator(_several)]
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
        """Whether all comparisons hold."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def words(self) -> str:
        """The comparisons in words; empty if there is none."""
        given = ((name.replace("_", " "), getattr(self, name)) for name in type(self).model_fields)
        return " and ".join(f"{name} {value:.10g}" for name, value in given if value is not None)


class Columns(Settings):
    """What the job's columns must be: all of them among these; any of them among those."""

    within: Names = ()
    any_of: Names = ()

    @model_validator(mode="after")
    def _given(self) -> Columns:
        if not (self.within or self.any_of):
            raise ValueError("give within or any_of")
        return self


class Conditions(Settings):
    """One `[[policy]]` table. A list holds if any of its values does; all conditions that are given must hold.

    Besides what stands here, every parameter of a kind of job that is a number can be bounded. `time` begins at its
    first moment and ends just before its last. `time` and `weekdays` are those in `zone`, or of the machine.
    """

    name: Annotated[str, AfterValidator(_rule_name)]
    effect: Literal["permit", "deny"]
    peer: Peers = ()  # names or whole fingerprints
    role: Names = ()
    proposed_by: Literal["us", "peer"] | None = None
    table: Names = ()
    columns: Columns = Field(default_factory=Columns.model_construct)
    protocol: Protocols = ()
    runs_today: Bounds = Field(default_factory=Bounds.model_construct)
    exact: Annotated[bool, Field(strict=True)] | None = None
    purpose: Names = ()
    time: Annotated[str, AfterValidator(_window)] | None = None
    weekdays: Weekdays = ()
    zone: Annotated[str, AfterValidator(_zone)] | None = None
    network: Networks = ()  # of the peer's address

    @model_validator(mode="after")
    def _zone_of_something(self) -> Conditions:
        if self.zone is not None and self.time is None and not self.weekdays:
            raise ValueError("zone says where time and weekdays are meant: give one of them, or leave it out")
        return self

    def words(self) -> str:
        """The rule on one line, without its name."""
        return f"{self.effect} {_in_words(self)}"

    def applies(self, request: Request) -> bool:
        """Whether the rule has a say; what is not known is read to the safe side."""
        holds = [condition.holds(request) for condition in conditions(self)]
        return all(held is not False if self.effect == "deny" else held is True for held in holds)


@cache
def bounded() -> dict[str, str]:
    """The parameters that a rule can bound, of all kinds of jobs, and what None of each means."""
    found: dict[str, str] = {}
    for kind in kinds.every():
        found |= {one.key: one.none for one in public_parameters(kind.Settings) if one.is_number}
    return {name: none for name, none in found.items() if name not in Conditions.model_fields}


def unlimited() -> frozenset[str]:
    """Those of which None means that there is no limit."""
    return frozenset(name for name, none in bounded().items() if none == NO_LIMIT)


if TYPE_CHECKING:
    Rule = Conditions
else:
    Rule = create_model(
        "Rule",
        __base__=Conditions,
        **{name: (Bounds, Field(default_factory=Bounds.model_construct)) for name in bounded()},
    )


def check_names(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules; ValueError if two have one name."""
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two rules have the name {quoted(name)}")
    return rules


@dataclass(frozen=True)
class Condition:
    """A condition of a rule: in words, the attribute that it asks for, and whether a value fits."""

    words: str
    value: Callable[[Request], Any]
    fits: Callable[[Any], bool]

    def holds(self, request: Request) -> bool | None:
        """Whether the request meets it; None if the attribute is not known."""
        value = self.value(request)
        return None if value is None else self.fits(value)


def conditions(rule: Rule) -> Iterator[Condition]:
    """The conditions that the rule gives."""
    if names := rule.peer:
        yield Condition(
            f"the peer is {_or(names)}",
            lambda r: None if r.peer is None or r.fingerprint is None else {r.peer, r.fingerprint},
            lambda known: not known.isdisjoint(names),
        )
    if roles := rule.role:
        yield Condition(f"its role is {_or(roles)}", _attribute("roles"), lambda own: not own.isdisjoint(roles))
    if proposer := rule.proposed_by:
        said = "proposed by us" if proposer == "us" else "proposed by the peer"
        yield Condition(said, _attribute("proposed_by"), lambda by: by == proposer)
    yield from _one_of("table", rule.table)
    if within := rule.columns.within:
        yield Condition(
            f"all columns are among {listed(within)}", _attribute("columns"), lambda read: read.issubset(within)
        )
    if any_of := rule.columns.any_of:
        yield Condition(f"a column is {_or(any_of)}", _attribute("columns"), lambda read: not read.isdisjoint(any_of))
    yield from _one_of("protocol", rule.protocol)
    for name in bounded():
        bounds: Bounds = getattr(rule, name)
        if said := bounds.words():
            yield Condition(f"{name} {said}", _parameter(name), bounds.fits)
    if said := rule.runs_today.words():
        yield Condition(f"runs_today {said}", _attribute("runs_today"), rule.runs_today.fits)
    if (exact := rule.exact) is not None:
        said = "a joint number is opened without noise" if exact else "no joint number is opened without noise"
        yield Condition(said, _attribute("exact"), lambda opened: opened == exact)
    yield from _one_of("purpose", rule.purpose)
    where = "" if rule.zone is None else f" ({rule.zone})"
    if window := rule.time:
        yield Condition(f"the time is {window}{where}", _moment(rule), lambda at: _inside(window, f"{at:%H:%M}"))
    if days := rule.weekdays:
        yield Condition(
            f"the day is {' or '.join(days)}{where}", _moment(rule), lambda at: WEEKDAYS[at.weekday()] in days
        )
    if rule.network:
        networks = [ip_network(network) for network in rule.network]
        yield Condition(
            f"the peer's address is in {' or '.join(rule.network)}",
            _attribute("address"),
            lambda address: any(address in network for network in networks),
        )


def _one_of(attribute: str, allowed: Collection[str]) -> Iterator[Condition]:
    if allowed:
        yield Condition(f"{attribute} is {_or(allowed)}", _attribute(attribute), lambda value: value in allowed)


def _attribute(name: str) -> Callable[[Request], Any]:
    return lambda request: getattr(request, name)


def _parameter(name: str) -> Callable[[Request], float | None]:
    return lambda request: request.numbers.get(name)


def _moment(rule: Rule) -> Callable[[Request], datetime]:
    """The moment on the clock that the rule means."""
    return lambda request: request.at if rule.zone is None else request.at.astimezone(ZoneInfo(rule.zone))


def _inside(window: str, time: str) -> bool:
    """Whether a time, HH:MM, is in a window, which may go over midnight. As text: HH:MM sorts like the time."""
    start, end = window.split("-")
    return start <= time < end if start < end else time >= start or time < end


def _or(names: Iterable[str]) -> str:
    return " or ".join(quoted(name) for name in names)


def _in_words(rule: Rule, request: Request | None = None) -> str:
    """The conditions; those whose attribute the request does not have are marked."""
    said = []
    for condition in conditions(rule):
        unknown = request is not None and condition.holds(request) is None
        said.append(condition.words + (", which is not known" if unknown else ""))
    return "if " + "; ".join(said) if said else "always"


def remarks(rules: Iterable[Rule], tables: Mapping[str, Collection[str]]) -> list[str]:
    """What may be a mistake in rules for tables with these attributes: the rules are valid all the same."""
    attributes = sorted({attribute for known in tables.values() for attribute in known})
    found = []
    for rule in rules:
        unknown: list[tuple[str, str, Collection[str]]]
        unknown = [("table", name, tables) for name in rule.table if name not in tables]
        columns = (*rule.columns.within, *rule.columns.any_of)
        unknown += [("column", name, attributes) for name in columns if name not in attributes]
        for kind, name, known in unknown:
            hint = did_you_mean(name, known)
            found.append(f"rule {quoted(rule.name)}: there is no {kind} {quoted(name)}{hint}")
        if not list(conditions(rule)):
            found.append(f"rule {quoted(rule.name)} has no condition: it says {rule.effect} to every job")
    return found


@dataclass(frozen=True)
class Decision:
    """What becomes of a job: `permit` starts it, `deny` refuses it, `ask` leaves it to the operator.

    `rules` are the names of the rules that made it; `reason` is a line for our own operator: it quotes our rules.
    """

    effect: Effect
    rules: tuple[str, ...]
    reason: str

    @property
    def by(self) -> str:
        """Who decided, as records and views name it: `rule NAME`; empty if nobody has."""
        return f"{'rule' if len(self.rules) == 1 else 'rules'} {', '.join(self.rules)}" if self.rules else ""


def decide(rules: Iterable[Rule], request: Request) -> Decision:
    """The decision: deny if a rule denies, else permit if a rule permits, else ask. The order of rules is no matter.

    A job that opens a joint number without noise is denied unless a rule that permits it says `exact = true`.
    """
    applying = sorted((rule for rule in rules if rule.applies(request)), key=lambda rule: rule.name)
    effects: tuple[tuple[Effect, str], ...] = (("deny", "denied"), ("permit", "permitted"))
    for effect, done in effects:
        if found := [rule for rule in applying if rule.effect == effect]:
            because = ", and by ".join(f"rule {quoted(rule.name)}: {_in_words(rule, request)}" for rule in found)
            if effect == "permit" and request.exact and not any(rule.exact for rule in found):
                break
            return Decision(effect, tuple(rule.name for rule in found), f"{done} by {because}")
    if request.exact:
        why = f"a joint number would be opened without noise, and {EXACT}"
        return Decision("deny", (), f"denied: {why}; no rule permits it by exact = true")
    return Decision("ask", (), "no rule applies: the operator decides")
