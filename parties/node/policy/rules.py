"""The rules of a policy, which permit or deny jobs without asking the operator.

    [[policy]]
    name = "coarse trees for research"
    effect = "permit"
    role = "university"
    table = "patients"
    purpose = ["research", "teaching"]
    max_depth.at_most = 4
    runs_today.below = 3

A rule applies if all its conditions hold. Deny overrides permit, unless a table with several owners sets another way;
where no rule applies, the operator decides.

An attribute may be unknown (the peer's address, for example). Then a condition on it neither holds nor fails, and the
rule is read to the safe side. A permitting rule does not apply; a denying rule applies unless another condition fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, create_model, model_validator

from parties.base.settings import Settings
from parties.base.text import instead, listed, printable, quoted
from parties.jobs import kinds
from parties.jobs.settings import public_parameters
from parties.node.policy.request import Request
from parties.node.policy.templates import ALIGNMENT, Template
from parties.node.policy.values import (
    WEEKDAYS,
    Attributes,
    Bounds,
    Columns,
    Fingerprints,
    Flag,
    Name,
    Names,
    Networks,
    Peers,
    Protocols,
    Rights,
    Weekdays,
    Window,
    Zone,
)

NO_LIMIT = "no limit"  # in the words of job parameters


class Conditions(Settings):
    """One `[[policy]]` table. A list holds if any of its values does; all conditions that are given must hold.

    In addition, every numeric parameter of a kind of job can be bounded. `time` includes its start and excludes its
    end. `time` and `weekdays` are those in `zone`, or of the machine.
    """

    name: Name
    effect: Literal["permit", "deny"]
    owner: Name | None = None  # the owner whose rule this is, if the table has several
    peer: Peers = ()  # names or full fingerprints
    role: Names = ()
    attributes: Attributes = Field(default_factory=dict)  # of the peer
    proposed_by: Literal["us", "peer"] | None = None
    table: Names = ()
    columns: Columns = Field(default_factory=Columns.model_construct)
    protocol: Protocols = ()
    template: Names = ()  # the question is that of one of these templates of the file
    permit: Names = ()  # the job has one of these permits
    engine: Names = ()  # as named by the job; "auto" is no engine
    runs_today: Bounds = Field(default_factory=Bounds.model_construct)
    exact: Flag | None = None
    analyst: Fingerprints = ()  # to which numbers are sealed
    purpose: Names = ()
    rights: Rights = Field(default_factory=Rights.model_construct)  # of the table
    time: Window | None = None
    weekdays: Weekdays = ()
    zone: Zone | None = None
    network: Networks = ()  # of the peer's address
    tls: Names = ()  # of the connection with the peer's node
    key_exchange: Names = ()  # the group of its key exchange
    post_quantum: Flag | None = None  # whether that group is post-quantum
    holders: Bounds = Field(default_factory=Bounds.model_construct)  # number of holders of rows
    compute: Fingerprints = ()  # both that compute a job with holders are among these

    @model_validator(mode="after")
    def _zone_of_something(self) -> Conditions:
        if self.zone is not None and self.time is None and not self.weekdays:
            raise ValueError("zone applies to time and weekdays: give one of them, or remove zone")
        return self

    def words(self) -> str:
        """Return the rule on one line, without its name."""
        whose = "" if self.owner is None else f" for the owner {quoted(self.owner)}"
        return f"{self.effect}{whose} {in_words(self)}"

    def applies(self, request: Request) -> bool:
        """Return whether the rule applies to a request; an unknown attribute is read to the safe side.

        At a holder, a rule permits if it holds for both nodes that compute, and denies if it holds for one of them.
        """
        if self.effect == "deny":
            return any(all(one.holds(view) is not False for one in conditions(self)) for view in request.views)
        return all(one.holds(view) is True for view in request.views for one in conditions(self))


@cache
def bounded() -> dict[str, str]:
    """Return the parameters of all kinds of jobs that a rule can bound, with the meaning of None for each."""
    parameters: dict[str, str] = {}
    for kind in kinds.every():
        parameters |= {
            parameter.key: parameter.none for parameter in public_parameters(kind.Settings) if parameter.is_number
        }
    return {name: none for name, none in parameters.items() if name not in Conditions.model_fields}


def unlimited() -> frozenset[str]:
    """Return the parameters for which None means no limit."""
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
    """Return the rules; raise ValueError if two have one name."""
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two rules have the name {quoted(name)}")
    return rules


def serves(rule: Rule, request: Request) -> bool:
    """Return whether the rule permits anything to the peer of a request: its conditions on the peer hold.

    Args:
        rule: The rule.
        request: The request.
    """
    who = {name: getattr(rule, name) for name in ("name", "effect", "peer", "role", "attributes", "network")}
    return rule.effect == "permit" and Rule.model_construct(**who).applies(request)


@dataclass(frozen=True)
class Condition:
    """A condition of a rule: its words, the attribute that it refers to, and the test of a value."""

    words: str
    value: Callable[[Request], Any]
    fits: Callable[[Any], bool]

    def holds(self, request: Request) -> bool | None:
        """Return whether the request meets the condition; None if the attribute is unknown."""
        value = self.value(request)
        return None if value is None else self.fits(value)


def conditions(rule: Rule) -> Iterator[Condition]:
    """Yield the conditions that the rule sets."""
    if names := rule.peer:
        yield Condition(
            f"the peer is {_or(names)}",
            lambda r: None if r.peer is None or r.fingerprint is None else {r.peer, r.fingerprint},
            lambda known: not known.isdisjoint(names),
        )
    if roles := rule.role:
        yield Condition(f"its role is {_or(roles)}", _attribute("roles"), lambda held: not held.isdisjoint(roles))
    for name, values in rule.attributes.items():
        yield Condition(f"its {printable(name)} is {_or(values)}", _of_peer(name), values.__contains__)
    if proposer := rule.proposed_by:
        words = "proposed by us" if proposer == "us" else "proposed by the peer"
        yield Condition(words, _attribute("proposed_by"), lambda by: by == proposer)
    yield from _one_of("table", rule.table)
    if within := rule.columns.within:
        yield Condition(
            f"all columns are among {listed(within)}", _attribute("columns"), lambda read: read.issubset(within)
        )
    if any_of := rule.columns.any_of:
        yield Condition(f"a column is {_or(any_of)}", _attribute("columns"), lambda read: not read.isdisjoint(any_of))
    yield from _one_of("protocol", rule.protocol)
    if templates := rule.template:
        words = f"the question is the template {_or(templates)}"
        yield Condition(words, _attribute("templates"), lambda fitting: not fitting.isdisjoint(templates))
    yield from _one_of("permit", rule.permit)
    yield from _one_of("engine", rule.engine)
    for name in bounded():
        bounds: Bounds = getattr(rule, name)
        if words := bounds.words():
            yield Condition(f"{name} {words}", _parameter(name), bounds.fits)
    if words := rule.runs_today.words():
        yield Condition(f"runs_today {words}", _attribute("runs_today"), rule.runs_today.fits)
    if (exact := rule.exact) is not None:
        some, of_table = ("a", "or anything") if exact else ("no", "nor anything")
        words = f"{some} joint number is opened without noise, {of_table} of a table with a budget"
        yield Condition(words, _attribute("exact"), lambda opened: opened == exact)
    if analysts := rule.analyst:
        yield Condition(f"numbers are sealed to {_or(analysts)}", _attribute("analyst"), lambda name: name in analysts)
    yield from _one_of("purpose", rule.purpose)
    yield from _about_rights(rule.rights)
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
    yield from _one_of("tls", rule.tls)
    yield from _one_of("key_exchange", rule.key_exchange)
    if (safe := rule.post_quantum) is not None:
        words = f"the key exchange is {'' if safe else 'not '}post-quantum"
        yield Condition(words, _attribute("post_quantum"), lambda post_quantum: post_quantum == safe)
    if words := rule.holders.words():
        yield Condition(f"the number of holders {words}", _attribute("holders"), rule.holders.fits)
    if nodes := rule.compute:
        words = f"both that compute are among {listed(nodes)}"
        yield Condition(words, _attribute("compute"), lambda computing: computing.issubset(nodes))


def _one_of(attribute: str, allowed: Collection[str]) -> Iterator[Condition]:
    if allowed:
        yield Condition(f"{attribute} is {_or(allowed)}", _attribute(attribute), lambda value: value in allowed)


def _about_rights(rights: Rights) -> Iterator[Condition]:
    """Yield the conditions on the table's rights; they are unknown if the table does not state them."""
    for name in ("legal_basis", "access", "erasure", "objection"):
        if allowed := getattr(rights, name):
            words = f"the table's {name.replace('_', ' ')} is {_or(allowed)}"
            yield Condition(words, _of_rights(name), allowed.__contains__)
    if (special := rights.special) is not None:
        words = "the table has data of art. 9" if special else "the table has no data of art. 9"
        yield Condition(words, _attribute("special"), lambda has: has == special)
    if (declared := rights.declared) is not None:
        words = f"the purpose is {'' if declared else 'not '}one that the table declares"
        yield Condition(words, _attribute("declared"), lambda is_one: is_one == declared)
    if words := rights.retention_days.words():
        yield Condition(f"the table's retention_days {words}", _of_rights("retention_days"), rights.retention_days.fits)


def _of_rights(name: str) -> Callable[[Request], Any]:
    return lambda request: getattr(request.rights, name, None)


def _of_peer(name: str) -> Callable[[Request], bool | str | None]:
    return lambda request: request.attributes.get(name)


def _attribute(name: str) -> Callable[[Request], Any]:
    return lambda request: getattr(request, name)


def _parameter(name: str) -> Callable[[Request], float | None]:
    return lambda request: request.numbers.get(name)


def _moment(rule: Rule) -> Callable[[Request], datetime]:
    return lambda request: request.at if rule.zone is None else request.at.astimezone(ZoneInfo(rule.zone))


def _inside(window: str, time: str) -> bool:
    """Return whether a time is in a window, which may span midnight. As text, HH:MM sorts like the time."""
    start, end = window.split("-")
    return start <= time < end if start < end else time >= start or time < end


def _or(names: Iterable[str | bool]) -> str:
    return " or ".join(quoted(name) if isinstance(name, str) else str(name).lower() for name in names)


def in_words(rule: Rule, request: Request | None = None) -> str:
    """Return the conditions of a rule in words.

    Args:
        rule: The rule.
        request: Conditions on attributes that this request lacks are marked.
    """
    parts = []
    for condition in conditions(rule):
        unknown = request is not None and condition.holds(request) is None
        parts.append(condition.words + (", which is not known" if unknown else ""))
    return "if " + "; ".join(parts) if parts else "always"


def remarks(rules: Iterable[Rule], tables: Mapping[str, Collection[str]]) -> list[str]:
    """Return possible mistakes in valid rules.

    Args:
        rules: The rules.
        tables: Attributes of the tables.
    """
    attributes = sorted({attribute for candidates in tables.values() for attribute in candidates})
    remarks = []
    for rule in rules:
        unknown_names: list[tuple[str, str, Collection[str]]]
        unknown_names = [("table", name, tables) for name in rule.table if name not in tables]
        columns = (*rule.columns.within, *rule.columns.any_of)
        unknown_names += [("column", name, attributes) for name in columns if name not in attributes]
        for kind, name, candidates in unknown_names:
            hint = instead(name, candidates)
            remarks.append(f"rule {quoted(rule.name)}: there is no {kind} {quoted(name)}{hint}")
        if not list(conditions(rule)):
            remarks.append(f"rule {quoted(rule.name)} has no condition: it applies {rule.effect} to every job")
    return remarks


def strangers(rules: Iterable[Rule], known: Collection[str]) -> list[str]:
    """Return a line for each fingerprint in `compute` that is neither ours nor a peer's.

    Args:
        rules: The rules.
        known: Fingerprints of this node and its peers.
    """
    return [
        f"rule {quoted(rule.name)}: compute has {node[:23]}…, which no peer here has; see smc identity show"
        for rule in rules
        for node in rule.compute
        if node not in known
    ]


# Bounds on an answer: the parameter, and comparisons; a rule must have one of them.
BOUNDS = {
    "epsilon": ("at_most", "below"),
    "support_epsilon": ("at_most", "below"),
    "k": ("at_least", "above"),
    "max_depth": ("at_most", "below"),
    "shards": ("at_most", "below"),
    "max_rows": ("at_most", "below"),
    "keys": ("at_most", "below"),
    "listener_keys": ("at_most", "below"),
    "runs_today": ("at_most", "below"),
}


def unbounded(rules: Iterable[Rule], budgeted: Mapping[str, bool], templates: Mapping[str, Template]) -> list[str]:
    """Return a line for each permitting rule with the bounds that it lacks.

    Only the kinds of jobs that the rule permits matter: a rule for `equality` alone needs no `k`. A template fixes all
    numbers but its parameters and, without an alignment, `max_rows`.

    Args:
        rules: The rules.
        budgeted: Whether each table has a budget, which bounds epsilon as a rule does.
        templates: The templates that rules name.
    """
    lines = []
    for rule in rules:
        if rule.effect != "permit":
            continue
        asked = [templates[name] for name in rule.template]
        names = {one.protocol for one in asked} or rule.protocol
        permitted = [kind for kind in kinds.every() if kind.name in names or not names]
        keys = {p.key for kind in permitted for p in public_parameters(kind.Settings) if p.is_number}
        tables = rule.table or tuple({one.table for one in asked} or budgeted)
        if all(budgeted.get(name, False) for name in tables) and tables:
            keys -= {"epsilon", "support_epsilon"}
        open_ = [
            f"{name}.{sides[0]}"
            for name, sides in BOUNDS.items()
            if name in keys | {"runs_today"} and all(getattr(getattr(rule, name), side) is None for side in sides)
            if not asked or name == "runs_today" or any(_leaves_open(one, name, sides) for one in asked)
        ]
        if open_:
            lines.append(f"rule {quoted(rule.name)} permits without a bound: it lacks {' and '.join(open_)}")
    return lines


def _leaves_open(template: Template, name: str, sides: Iterable[str]) -> bool:
    if name == "max_rows":
        return ALIGNMENT not in template.job(template.parameters)
    bounds = template.parameters.get(name)
    return isinstance(bounds, Bounds) and all(getattr(bounds, side) is None for side in sides)
