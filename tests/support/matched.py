"""A table with own columns alone, of people whom an earlier job of two nodes has matched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from parties.jobs.inputs import Inputs, Matching
from parties.sources.settings import TableSettings
from tests.support.columns_apart import read, write

JOB = "ab" * 16  # that has matched them


def matched(inputs: Inputs, directory: Path, rows: int) -> Inputs:
    """These inputs with the first two columns at party 0 and the others at party 1; the first rows are matched."""
    table, schema = inputs.required()
    names = list(schema.attributes)
    sides = [schema.only(names[:2]), schema.only(names[2:])]
    place = directory / f"matched{inputs.party}"
    place.mkdir(exist_ok=True)
    for party, side in enumerate(sides):
        replace(side, target=None).save(place / f"{party}.toml")
    own = sides[inputs.party]
    if Path(table.source).exists():
        numbered = [{**row, "id": str(number)} for number, row in enumerate(read(Path(table.source)))]
        write(place / "rows.csv", numbered, ["id", *own.attributes])
    ours, theirs = (str(place / f"{party}.toml") for party in (inputs.party, 1 - inputs.party))
    settings = {"source": str(place / "rows.csv"), "schema": ours, "beside": theirs, "max_rows": table.max_rows}
    keys = f"id,row of {JOB[:16]}\n" + "".join(f"{row},{row + 1}\n" for row in range(rows))
    return replace(
        inputs,
        table=TableSettings.model_validate(settings),
        schema=own,
        matching=lambda name: Matching(JOB, rows, lambda: keys),
    )
