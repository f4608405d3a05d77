"""A small made OMOP database: its tables as rows of texts, and plain counts over them."""

from __future__ import annotations

import csv
import random
from datetime import date, timedelta
from pathlib import Path

Rows = list[dict[str, str]]
Model = dict[str, Rows]

METFORMIN, BELOW_METFORMIN = "1503297", "40164897"


def made(seed: int, people: int = 120) -> Model:
    """Tables in which values are missing, in other units and out of bounds, and several fall on one day."""
    draw = random.Random(seed)

    def day() -> str:
        return (date(2016, 1, 1) + timedelta(days=draw.randrange(3650))).isoformat()

    def who() -> str:
        return str(draw.randint(1, people))

    return {
        "person": [
            {
                "person_id": str(i),
                "gender_concept_id": draw.choice(["8507", "8532", "8532", "0"]),
                "year_of_birth": str(draw.randint(1930, 2010)),
                "month_of_birth": "",
                "race_concept_id": draw.choice(["8527", "8516", "0"]),
            }
            for i in range(1, people + 1)
        ],
        "condition_occurrence": [
            {
                "condition_occurrence_id": str(i),
                "person_id": who(),
                "condition_concept_id": draw.choice(["201826", "201254", "320128"]),
                "condition_start_date": draw.choice([day(), "2018-01-01", "2017-12-31", "2024-12-31", "2025-01-01"]),
            }
            for i in range(people)
        ],
        "drug_exposure": [
            {
                "drug_exposure_id": str(i),
                "person_id": who(),
                "drug_concept_id": draw.choice([METFORMIN, BELOW_METFORMIN, "1539403"]),
                "drug_exposure_start_date": day(),
            }
            for i in range(people // 2)
        ],
        "measurement": [
            {
                "measurement_id": str(i),
                "person_id": who(),
                "measurement_concept_id": draw.choice(["3004410", "3025315"]),
                "measurement_date": draw.choice([day(), "2020-02-02"]),
                "value_as_number": draw.choice([str(round(draw.uniform(2, 20), 1)), ""]),
                "unit_concept_id": draw.choice(["8554", "8554", "9579", ""]),
            }
            for i in range(4 * people)
        ],
        "concept_ancestor": [
            {"ancestor_concept_id": METFORMIN, "descendant_concept_id": below} for below in (METFORMIN, BELOW_METFORMIN)
        ],
    }


def write(model: Model, folder: Path) -> None:
    """As CSV files."""
    folder.mkdir(parents=True)
    for name, rows in model.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def columns(model: Model, take: str = "last") -> list[tuple[str, str, str, str, str]]:
    """Age, sex, diabetes, metformin and HbA1c of each person by the rules of docs/omop.md, without SQL."""
    found = []
    for person in model["person"]:
        mine = {
            name: [row for row in rows if row.get("person_id") == person["person_id"]] for name, rows in model.items()
        }
        ill = any(
            row["condition_concept_id"] in ("201826", "201254") and "2018" <= row["condition_start_date"] < "2025"
            for row in mine["condition_occurrence"]
        )
        treated = any(row["drug_concept_id"] in (METFORMIN, BELOW_METFORMIN) for row in mine["drug_exposure"])
        values = sorted(
            (row["measurement_date"], int(row["measurement_id"]), float(row["value_as_number"]))
            for row in mine["measurement"]
            if (row["measurement_concept_id"], row["unit_concept_id"]) == ("3004410", "8554") and row["value_as_number"]
        )
        numbers = [value for _, _, value in values if 3 <= value <= 18]
        ways = {"last": numbers[-1:], "first": numbers[:1], "min": sorted(numbers)[:1], "max": sorted(numbers)[-1:]}
        chosen = [_range(x, 5.7, 6.5, ("under 5.7", "5.7 to under 6.5", "6.5 and over")) for x in ways[take]]
        found.append(
            (
                _range(2025 - int(person["year_of_birth"]), 40, 65, ("under 40", "40 to 64", "65 and over")),
                {"8507": "male", "8532": "female"}.get(person["gender_concept_id"], "other"),
                "yes" if ill else "no",
                "yes" if treated else "no",
                chosen[0] if chosen else "?",
            )
        )
    return found


def _range(number: float, low: float, high: float, names: tuple[str, str, str]) -> str:
    return names[(number >= low) + (number >= high)]
