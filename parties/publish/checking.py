"""A published table held against a plan: its classes are rows with the same text in all quasi-identifiers."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from parties.publish.anonymising import checked
from parties.publish.presence import Presence
from parties.publish.reading import read
from parties.publish.rollup import Rollup
from parties.publish.rules import Rule
from parties.publish.settings import PublishPlan
from parties.settings import validated
from parties.sources import PlaceSettings, open_rows
from smc.errors import InputError


def check(plan: PublishPlan, data: str | None) -> dict[str, Any]:
    """The report on a published table, or on the plan's own source as it is. `InputError` if it has no rows.

    Presence is counted only in the plan's own source: published text is not that of the public table.
    """
    models = plan.check()
    if data is not None:
        models = [model for model in models if model.name != Presence.name]
    quasi = plan.named("quasi-identifier")
    rules = {name: Rule() for name in quasi} | {name: plan.columns[name] for name in plan.named("sensitive")}
    place = plan if data is None else validated(PlaceSettings, {"source": data})
    with ExitStack() as opened:
        rows = open_rows(place)
        opened.callback(rows.engine.close)
        public = None
        if data is None and plan.public is not None:
            public = open_rows(plan.public)
            opened.callback(public.engine.close)
        cells = read(rows, quasi, plan.named("sensitive"), rules, public)
    if not cells.rows:
        raise InputError(f"{place.label}: the table has no rows")
    classes = Rollup(cells).classes((0,) * len(quasi))
    sizes = classes.sizes[classes.sizes > 0]
    found = {"rows": cells.rows, "classes": len(sizes), "smallest_class": int(sizes.min())}
    return found | {"average_class": float(sizes.mean())} | checked(classes, models)
