"""Which values go together, and which rules follow, in the rows of both parties?"""

from __future__ import annotations

from typing_extensions import override

from parties.jobs.rules.exact import ExactRules
from parties.jobs.rules.joint import RulesOfBoth
from parties.jobs.rules.noisy import NoisyRules
from parties.jobs.rules.settings import RulesSettings
from parties.tables.schema import Schema


class AssociationRules(RulesOfBoth):
    """Which values go together, and which rules follow, in the rows of both parties? Both learn the rules.

    Which sets of values are frequent, and which rules hold, is decided in secret, without any number. With epsilon
    the most frequent sets are chosen and counted with noise.
    """

    @classmethod
    @override
    def of(cls, settings: RulesSettings, schema: Schema) -> RulesOfBoth:
        return ExactRules(settings, schema) if settings.epsilon is None else NoisyRules(settings, schema)
