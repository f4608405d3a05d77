"""Find frequent sets of values and association rules."""

from __future__ import annotations

from typing_extensions import override

from parties.jobs.rules.exact import ExactRules
from parties.jobs.rules.joint import RulesOfBoth
from parties.jobs.rules.noisy import NoisyRules
from parties.jobs.rules.settings import RulesSettings
from parties.tables.schema import Schema


class AssociationRules(RulesOfBoth):
    """Find the values that occur together in the rows of both parties, and the rules that follow. Both learn the
    rules.

    The protocol decides in secret which sets are frequent and which rules hold; no number is opened. With
    epsilon the most frequent sets are chosen and counted with noise.
    """

    @classmethod
    @override
    def of(cls, settings: RulesSettings, schema: Schema) -> RulesOfBoth:
        return ExactRules(settings, schema) if settings.epsilon is None else NoisyRules(settings, schema)
