"""Makes the rows of this example: invented patients of a hospital, and invented people whom an insurer insures."""

from __future__ import annotations

import csv
import random
from pathlib import Path

HERE = Path(__file__).parent
HOSPITAL = ("insurance_number", "age", "ward", "stay")
INSURER = ("insurance_number", "chronic", "plan", "readmitted")
PATIENTS, INSURED, BOTH = 800, 900, 600  # 600 people are in both tables


def people(number: int, rng: random.Random) -> list[dict[str, str]]:
    """Return invented people; old people with a chronic disease come back to a hospital more often.

    Args:
        number: Number of people.
        rng: Source of chance.
    """
    rows = []
    for person in rng.sample(range(10**8, 10**9), number):
        digits = f"756{person}1"
        age, chronic = rng.choice(["18-49", "50-74", "75+", "75+"]), rng.choice(["no", "yes", "yes"])
        likely = 0.1 if chronic == "no" else 0.9 if age == "75+" else 0.2
        rows.append(
            {
                "insurance_number": f"{digits[:3]}.{digits[3:7]}.{digits[7:11]}.{digits[11:]}",
                "age": age,
                "ward": rng.choice(["heart", "lung", "surgery"]),
                "stay": rng.choice(["days", "weeks"]),
                "chronic": chronic,
                "plan": rng.choice(["basic", "extra"]),
                "readmitted": "yes" if rng.random() < likely else "no",
            }
        )
    return rows


def write(path: Path, rows: list[dict[str, str]], names: tuple[str, ...]) -> None:
    """Write some columns of rows as CSV.

    Args:
        path: The file.
        rows: The rows.
        names: The columns.
    """
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write the rows of both parties, each in an order of its own."""
    rng = random.Random(47)
    rows = people(PATIENTS + INSURED - BOTH, rng)
    hospital, insurer = rows[:PATIENTS], rows[PATIENTS - BOTH :]
    insurer = [row | {"insurance_number": row["insurance_number"].replace(".", "")} for row in insurer]
    rng.shuffle(hospital)
    rng.shuffle(insurer)
    write(HERE / "hospital" / "patients.csv", hospital, HOSPITAL)
    write(HERE / "insurer" / "insured.csv", insurer, INSURER)


if __name__ == "__main__":
    main()
