"""Application of a recoding to later rows, with a new check of the models."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from parties.alone.publish.cells import Cells
from parties.alone.publish.models.classes import layout_of
from parties.alone.publish.models.model import fitting
from parties.alone.publish.reading import in_order, recode, rows_of, texts, with_public
from parties.alone.publish.recoding.anonymising import Outcome, masks_of, order_of, report, suppressed_share
from parties.alone.publish.recoding.recoding import Recoding, broken
from parties.alone.publish.storing import put
from parties.alone.publish.versions import History, published
from parties.sources import PlaceSettings
from smc.errors import InputError


def apply(
    recoding: Recoding,
    place: PlaceSettings,
    out: Path | str,
    most: float | None = None,
    public: PlaceSettings | None = None,
    escape_formulas: bool = False,
    history: History | None = None,
) -> Outcome:
    """Write the rows of a source, recoded, and return the report on them.

    Rows in no class, or in a class in which these rows alone fail the models, are suppressed. Nothing is written after
    an error. Models of both parties' rows are not checked; the report names them. The publication is added to the
    history before its rows are written.

    Args:
        recoding: the recoding of earlier rows
        place: the source of the rows
        out: a file, or the name of a table in the source's database
        most: largest share of suppressed rows; None: that of the recoding
        public: for presence, a table of all people who could be in the source
        escape_formulas: escape cells that a spreadsheet would compute
        history: earlier publications of the table

    Raises:
        InputError: too many rows would be suppressed, a required public table or history is missing, or the rows or the
            history fail the models
    """
    if (row := recoding.history) is not None and (history is None or history.column != row):
        raise InputError(
            f"each publication of this recoding must be in a history; give --history, the history file of its plan, "
            f"and --row {row}"
        )
    models = recoding.made()
    if public is None and any(model.needs_public for model in models):
        descriptions = ", ".join(model.words for model in models if model.needs_public)
        raise InputError(
            f"{descriptions}: this model needs the public table of all people who may be in this one; give --public"
        )
    quasi, sensitive = recoding.named("quasi-identifier"), recoding.named("sensitive")
    with ExitStack() as opened:
        rows = opened.enter_context(rows_of(place))
        table = texts(rows, [*quasi, *sensitive])
        values, others, public_name = list(table.values), None, ""
        if public is not None:
            register = opened.enter_context(rows_of(public))
            others, public_name = texts(register, quasi), register.engine.place
            values = [[*a, *b] for a, b in zip(values, [*others.values, *([] for _ in sensitive)], strict=True)]
        hierarchies = [
            recoding.hierarchy(name, in_order(column))
            for name, column in zip([*quasi, *sensitive], values, strict=True)
        ]
        codes, n = recode(table, hierarchies), len(quasi)
        cells = Cells(tuple(hierarchies[:n]), tuple(hierarchies[n:]), codes[:n], codes[n:], table.counts)
        if others is not None:
            cells = with_public(cells, recode(others, hierarchies[:n]), others.counts, public_name)
        partition = recoding.partition(cells, models)
        share = suppressed_share(partition)
        most = recoding.max_suppressed if most is None else most
        if lost := broken(cells, partition, models):
            raise InputError(
                f"{rows.engine.place}: these rows do not satisfy {', '.join(lost)}; nothing was written; add rows, "
                "or anonymise these by a new recoding"
            )
        if share > most + 1e-12:
            classes = recoding.partition(cells, []).count(cells, layout_of(cells))
            failing = [model.words for model in models if not fitting(classes, [model]).all()]
            why = f"they do not satisfy {', '.join(failing)}" if failing else "they are in no class of the recoding"
            raise InputError(
                f"{rows.engine.place}: {partition.suppressed} of {cells.rows} rows would be left out ({why}), more "
                f"than the allowed share of {most:.4g}; nothing was written; raise --max-suppressed"
            )
        plans = recoding.plans()
        summary = report(cells, partition, models)
        if history is not None:
            verdicts = opened.enter_context(published(history, rows, cells, partition, models, recoding.hierarchy))
            summary["models"] += verdicts
        put(rows, out, order_of(plans, rows), cells, partition, masks_of(plans), escape_formulas)
    summary |= {"unchecked": unchecked} if (unchecked := recoding.unchecked()) else {}
    return Outcome(cells, partition, None if recoding.levels is None else tuple(recoding.levels), summary)
