"""The decision: what the rules, taken together, say of a request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from parties.jobs.spending import EXACT
from parties.policy.request import Request
from parties.policy.rules import Rule, in_words
from parties.text import quoted

Effect: TypeAlias = Literal["permit", "deny", "ask"]


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
            because = ", and by ".join(f"rule {quoted(rule.name)}: {in_words(rule, request)}" for rule in found)
            if effect == "permit" and request.exact and not any(rule.exact for rule in found):
                break
            return Decision(effect, tuple(rule.name for rule in found), f"{done} by {because}")
    if request.exact:
        why = f"a joint number would be opened without noise, and {EXACT}"
        return Decision("deny", (), f"denied: {why}; no rule permits it by exact = true")
    return Decision("ask", (), "no rule applies: the operator decides")
