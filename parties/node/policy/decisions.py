"""The decision on a request, from all rules together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from parties.base.text import quoted
from parties.jobs.spending import EXACT
from parties.node.policy.request import Request
from parties.node.policy.rules import Rule, in_words
from parties.sources.settings import Combine

Effect: TypeAlias = Literal["permit", "deny", "ask"]


@dataclass(frozen=True)
class Decision:
    """The decision on a job: `permit` starts it, `deny` refuses it, `ask` leaves it to the operator.

    `rules` are the names of the rules that decided; `reason` is a line for our own operator: it quotes our rules.
    """

    effect: Effect
    rules: tuple[str, ...]
    reason: str

    @property
    def is_past_consent(self) -> bool:
        """True if no consent can permit the job: no permit allows it, or it opens values without noise."""
        return self.effect == "deny" and not self.rules

    @property
    def by(self) -> str:
        """The deciding rules, as records and views name them: `rule NAME`; empty if no rule decided."""
        return f"{'rule' if len(self.rules) == 1 else 'rules'} {', '.join(self.rules)}" if self.rules else ""


def decide(rules: Iterable[Rule], request: Request, combine: Combine = "deny-overrides") -> Decision:
    """Return deny if a rule denies, else permit if a rule permits, else ask; the order of rules does not matter.

    Each owner decides by its own rules first. Then `combine` combines the owners' decisions, as XACML 3.0 names it.
    With permit-overrides one owner that permits is enough, except for denials by rules without an owner, the party's
    own.

    A job that its permit does not allow is denied. A job that opens a joint number without noise, or anything of a
    table with a budget, is denied unless a rule that permits it has `exact = true`.

    Args:
        rules: The rules.
        request: The request.
        combine: How the owners' decisions are combined.
    """
    if request.unpermitted:
        return Decision("deny", (), f"denied: {request.unpermitted}")
    applying = sorted((rule for rule in rules if rule.applies(request)), key=lambda rule: rule.name)
    denying = [rule for rule in applying if rule.effect == "deny"]
    refusing = {rule.owner for rule in denying}
    permitting = [rule for rule in applying if rule.effect == "permit" and rule.owner not in refusing]
    names = tuple(rule.name for rule in permitting)
    overridden = ""
    if combine == "permit-overrides" and permitting and None not in refusing and denying:
        overridden = f", which overrides {_listed(denying)} ({combine})"
        denying = []
    if denying:
        return Decision("deny", tuple(rule.name for rule in denying), f"denied by {_because(denying, request)}")
    if request.exact and not any(rule.exact for rule in permitting):
        return Decision(
            "deny", (), f"denied: {_exactly(request)}; no rule permits it by exact = true ([[policy]], docs/policy.md)"
        )
    if permitting:
        return Decision("permit", names, f"permitted by {_because(permitting, request)}{overridden}")
    return Decision("ask", (), "no rule applies: the operator decides")


def _exactly(request: Request) -> str:
    if request.joint_number:
        return f"a joint number would be opened without noise, and {EXACT}"
    return "the table has a privacy budget, and the job opens exact values, which cost no epsilon"


def _because(rules: Iterable[Rule], request: Request) -> str:
    return ", and by ".join(f"rule {quoted(rule.name)}: {in_words(rule, request)}" for rule in rules)


def _listed(rules: Iterable[Rule]) -> str:
    return ", ".join(f"rule {quoted(rule.name)} of {quoted(rule.owner or '')}" for rule in rules)
