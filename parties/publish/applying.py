"""Later rows recoded as earlier ones were, and checked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parties.publish.anonymising import masks_of, order_of, report, suppressed_share
from parties.publish.cells import Cells
from parties.publish.classes import layout_of
from parties.publish.models import fitting
from parties.publish.presence import Presence
from parties.publish.reading import in_order, recode, texts
from parties.publish.recoding import Recoding
from parties.publish.storing import put
from parties.settings import validated
from parties.sources import PlaceSettings, open_rows
from smc.errors import InputError


def apply(
    recoding: Recoding, source: str, table: str | None, out: Path | str, most: float | None = None
) -> dict[str, Any]:
    """Write the rows of a source, recoded, to a file or a table of its database; returns the report on them.

    What is in no class, or in one that does not fit the models by these rows alone, is left out. `InputError`, and
    nothing written, if that is more than a share of `most`, which the recoding says if nothing else does. Presence
    needs the public table, and is not checked.
    """
    models = [model for model in recoding.made() if model.name != Presence.name]
    rows = open_rows(validated(PlaceSettings, {"source": source, "table": table}))
    try:
        quasi, sensitive = recoding.named("quasi-identifier"), recoding.named("sensitive")
        found = texts(rows, [*quasi, *sensitive])
        made = [
            recoding.hierarchy(name, in_order(values))
            for name, values in zip([*quasi, *sensitive], found.values, strict=True)
        ]
        codes, n = recode(found, made), len(quasi)
        cells = Cells(tuple(made[:n]), tuple(made[n:]), codes[:n], codes[n:], found.counts)
        partition = recoding.partition(cells, models)
        share = suppressed_share(partition)
        most = recoding.max_suppressed if most is None else most
        if share > most + 1e-12:
            classes = recoding.partition(cells, []).count(cells, layout_of(cells))
            failing = [model.words for model in models if not fitting(classes, [model]).all()]
            why = f"they do not satisfy {', '.join(failing)}" if failing else "they are in no class of the recoding"
            raise InputError(
                f"{rows.engine.place}: {partition.suppressed} of {cells.rows} rows would have to be left out ({why}), "
                f"and at most a share of {most:.4g} may be; nothing was written"
            )
        plans = recoding.plans()
        put(rows, out, order_of(plans, rows), cells, partition, masks_of(plans))
    finally:
        rows.engine.close()
    return report(cells, partition, models)
