"""splink on pooled clear tables: the model that it estimates, and its pairs. Runs in an environment of its own.

    python splink_linkage.py TRAIN0 TRAIN1 [TABLE0 TABLE1 ...]

Prints JSON: `levels`, the m and u probabilities of each level of the model with Dice levels; and for the training
tables and each further pair of tables the numbers of right, found and true pairs of two models. `dice` has our levels,
`own` those of splink's library. The threshold of each model is the best one for the training tables.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pandas as pd
import splink.comparison_level_library as levels
import splink.comparison_library as library
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

NAMES = ("forename", "surname", "city")
RULES = ("sound+year", "born", "forename+surname")


def read(path: str) -> pd.DataFrame:
    """Return a table with columns for blocks and q-grams."""
    table = pd.read_csv(path, dtype=str).rename(columns={"id": "unique_id"})
    table["year"] = table.born.str[:4]
    for name in (*NAMES, "born"):
        table[f"{name}_grams"] = [
            None if pd.isna(text) else sorted({f" {text} "[i : i + 2] for i in range(len(text) + 1)})
            for text in table[name]
        ]
    return table


def dice(name: str, *thresholds: float) -> Any:
    """Return the comparison with Dice levels of a column."""
    left, right = f"{name}_grams_l", f"{name}_grams_r"
    ratio = f"2.0 * len(list_intersect({left}, {right})) / (len({left}) + len({right}))"
    return library.CustomComparison(
        output_column_name=name,
        comparison_levels=[
            levels.NullLevel(name),
            levels.ExactMatchLevel(name),
            *(levels.CustomLevel(f"{ratio} >= {least}", label_for_charts=f"dice@{least}") for least in thresholds),
            levels.ElseLevel(),
        ],
    )


MODELS = {
    "dice": [dice("forename", 0.8, 0.5), dice("surname", 0.8, 0.5), dice("born", 0.7), dice("city", 0.6)],
    "own": [
        library.NameComparison("forename"),
        library.NameComparison("surname"),
        library.DateOfBirthComparison("born", input_is_string=True),
        library.LevenshteinAtThresholds("city", 2),
    ],
}


def linker(pair: list[pd.DataFrame], model: Any) -> Linker:
    """Return a linker of two tables with a model: comparisons, or a trained one."""
    database = DuckDBAPI()
    settings = (
        model
        if isinstance(model, dict)
        else SettingsCreator(
            link_type="link_only",
            comparisons=model,
            blocking_rules_to_generate_predictions=[block_on(*rule.split("+")) for rule in RULES],
        )
    )
    return Linker([database.register(table) for table in pair], settings)


def trained(pair: list[pd.DataFrame], model: Any) -> dict[str, Any]:
    """Return the model with probabilities that splink estimates."""
    found = linker(pair, model)
    found.training.estimate_u_using_random_sampling(max_pairs=2e6, seed=1)
    for rule in (("born",), ("forename", "surname")):
        found.training.estimate_parameters_using_expectation_maximisation(block_on(*rule), fix_u_probabilities=True)
    return dict(found.misc.save_model_to_json())


def best_pairs(pair: list[pd.DataFrame], model: dict[str, Any]) -> pd.DataFrame:
    """Return the predicted pairs that are each other's best partner."""
    pairs = linker(pair, model).inference.predict().as_pandas_dataframe()
    for side in ("unique_id_l", "unique_id_r"):
        pairs = pairs[pairs.match_weight == pairs.groupby(side).match_weight.transform("max")]
    return pairs


def counts(pair: list[pd.DataFrame], pairs: pd.DataFrame, threshold: float) -> list[int]:
    """Return the numbers of right, found and true pairs."""
    found = pairs[pairs.match_weight >= threshold]
    true = len({*pair[0].unique_id} & {*pair[1].unique_id})
    return [int((found.unique_id_l == found.unique_id_r).sum()), len(found), true]


def f1(numbers: list[int]) -> float:
    """Return the harmonic mean of precision and recall."""
    return 2 * numbers[0] / (numbers[1] + numbers[2])


def main(paths: list[str]) -> None:
    """Print the results."""
    pairs = [[read(path) for path in paths[i : i + 2]] for i in range(0, len(paths), 2)]
    results: dict[str, Any] = {}
    for name, comparisons in MODELS.items():
        model = trained(pairs[0], comparisons)
        predicted = [best_pairs(pair, model) for pair in pairs]
        thresholds = [number / 2 for number in range(-20, 40)]
        threshold = max(thresholds, key=lambda least: f1(counts(pairs[0], predicted[0], least)))
        chance = model["probability_two_random_records_match"]
        results[name] = {
            "threshold": threshold,
            "probability_two_random_records_match": chance,
            "counts": [counts(pair, found, threshold) for pair, found in zip(pairs, predicted, strict=True)],
            "levels": {
                one["output_column_name"]: [
                    (level["label_for_charts"], level["m_probability"], level["u_probability"])
                    for level in one["comparison_levels"]
                    if not level.get("is_null_level")
                ]
                for one in model["comparisons"]
            },
        }
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
