"""splink's estimates from one clear table with duplicates. Runs in an environment of its own.

    python splink_own_weights.py TABLE [TABLE ...]

Prints JSON: for each table the m and u probabilities of each level of the model with Dice levels, by column. splink
does not train some levels; their probabilities are null.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from splink import DuckDBAPI, Linker, SettingsCreator, block_on
from splink_linkage import MODELS, RULES, read


def levels(path: str) -> dict[str, Any]:
    """Return the estimates from a table."""
    database = DuckDBAPI()
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=MODELS["dice"],
        blocking_rules_to_generate_predictions=[block_on(*rule.split("+")) for rule in RULES],
    )
    found = Linker(database.register(read(path)), settings)
    found.training.estimate_u_using_random_sampling(max_pairs=2e6, seed=1)
    for rule in (("born",), ("forename", "surname")):
        found.training.estimate_parameters_using_expectation_maximisation(block_on(*rule), fix_u_probabilities=True)
    model = found.misc.save_model_to_json()
    return {
        one["output_column_name"]: [
            (level.get("m_probability"), level.get("u_probability"))
            for level in one["comparison_levels"]
            if not level.get("is_null_level")
        ]
        for one in model["comparisons"]
    }


if __name__ == "__main__":
    print(json.dumps([levels(path) for path in sys.argv[1:]]))
