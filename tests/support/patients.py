"""A table of patients, a plan to publish it, and the commands on it; all in the working directory."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pyarrow.parquet

from parties import cli

PLAN = """
source = "patients.csv"
max_suppressed = 0.1
{more}
[columns]
name = {{ role = "identifier" }}
zip = {{ role = "quasi-identifier", prefixes = [4, 3, 2] }}
age = {{ role = "quasi-identifier", ranges = [5, 10, 20] }}
sex = {{ role = "quasi-identifier" }}
disease = {{ role = "sensitive", tree = "disease.csv" }}
visit = {{ role = "other" }}
{columns}
[[models]]
model = "k-anonymity"
k = 4
[[models]]
model = "l-diversity"
column = "disease"
l = 2
{models}
"""
DISEASES = {"flu": "lung", "asthma": "lung", "ulcer": "stomach", "gastritis": "stomach"}


def patients(path: Path, rows: int, seed: int) -> list[dict[str, str]]:
    """Random patients in a file; a visit tells two of them apart, and most others."""
    draw = random.Random(seed)
    found = []
    for i in range(rows):
        found.append(
            {
                "name": f"name {i}",
                "visit": f"v{i // 2}",
                "zip": f"53{draw.choice([7, 8])}{draw.randrange(3)}{draw.randrange(4)}",
                "age": str(draw.randrange(18, 60)),
                "sex": draw.choice("mf"),
                "disease": draw.choice(list(DISEASES)),
            }
        )
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    return found


def written(path: Path) -> list[dict[str, str]]:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path).to_pylist()
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def plan(more: str = "", columns: str = "", models: str = "") -> None:
    Path("publish.toml").write_text(PLAN.format(more=more, columns=columns, models=models))


def smc(*arguments: str) -> int:
    return cli.run(["publish", *arguments])


def stands_for(label: str, value: str) -> bool:
    """Whether a published cell may be the original one."""
    if label.startswith("["):
        low, high = (float(x) for x in label.strip("[]").split(","))
        return low <= float(value) < high + label.endswith("]") * 1e-9
    return label in ("*", value) or (
        len(label) == len(value) and all(a in ("*", b) for a, b in zip(label, value, strict=True))
    )


def laid_out() -> list[dict[str, str]]:
    """The plan, the tree of diseases, and 300 patients, who are returned."""
    Path("disease.csv").write_text("".join(f"{name};{part};*\n" for name, part in DISEASES.items()))
    plan()
    return patients(Path("patients.csv"), 300, 1)
