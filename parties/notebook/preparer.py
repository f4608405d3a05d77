"""Transformer from raw frames to typed columns, like `smc prepare` and the mapping of a table in party.toml.

    preparer = Preparer("outcome").fit(frame)            # looks at the frame and proposes a schema: preparer.schema_
    preparer = Preparer(schema="agreed.toml").fit(frame) # or maps it to one that exists
    rows = preparer.transform(frame)                     # each cell the category that it is counted by

A frame gets the same result as a file with its rows.
"""

from __future__ import annotations

from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from parties.alone.preparing import deriving, fitting, proposing, writing
from parties.alone.preparing.profile import profile_derived, profile_rows
from parties.alone.preparing.readings import Choices, Question, guess
from parties.base.settings import Settings, validated
from parties.base.text import quoted
from parties.notebook import coded
from parties.notebook.parameters import parameters
from parties.sources.derived import with_derived
from parties.sources.frames import FRAME, frame_rows
from parties.sources.labels import keyed_codes
from parties.sources.mapping import rules
from parties.sources.settings import ColumnSettings, DerivedSettings, FormatSettings, PlaceSettings
from parties.tables import categories
from parties.tables.schema import Schema
from smc.errors import InputError


@parameters(
    Settings, "target", then=("schema", "exclude", "readings", "guess", "derive"),
    fixed={"exclude": (), "guess": False, "derive": ()},
    described={
        "target": "the class column, for a proposal.",
        "schema": "a schema that exists, a file or a `Schema`.",
        "exclude": "columns that a proposal leaves out.",
        "readings": "a reading by column, such as `{\"born\": \"day-first\"}`, or a list; `*` is every column.",
        "guess": "take the first reading where several fit, with a remark; else `fit` refuses the frame.",
        "derive": "columns to compute, such as `[\"age=age born 2026-01-01\"]`; the forms are those of `smc prepare`.",
    },
    joint=False,
)  # fmt: skip
class Preparer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Proposes a public schema of typed columns for a frame, or maps it to a given schema; then transforms frames.

    After `fit` there are:

    - `schema_`: the schema, public; agree on it with the peer (`schema_.save(path)`);
    - `mapping_` and `spelling_`: the spelling of the frame's cells;
    - `derived_`: the definitions of the computed columns;
    - `report_`: contents and treatment of each column, private;
    - `remarks_`: remarks on the proposal.
    """

    schema_: Schema
    mapping_: dict[str, ColumnSettings]
    spelling_: FormatSettings
    derived_: dict[str, DerivedSettings]
    report_: list[dict[str, Any]]
    remarks_: list[str]

    def fit(self, X: Any, y: Any = None) -> Preparer:
        """Propose a schema for a frame, or map it to the given schema, and return the preparer itself.

        Args:
            X: Data frame (pandas, Polars, Arrow) of raw cells; private.
            y: Ignored; scikit-learn passes it.

        Raises:
            InputError: No column can be counted, a name is wrong, a column can be read in several ways, or `schema` is
                combined with `target` or `exclude`.
        """
        agreed = coded.agreed(self.schema)
        if agreed is not None and (self.target is not None or self.exclude):
            raise InputError("schema already sets the columns; remove target and exclude")
        place, choices = PlaceSettings(source=FRAME), self._choices().remembered()
        derived = deriving.declared("derive", self.derive)
        categories.named_frame(X)
        with frame_rows(X, place.memory) as rows:
            table = profile_rows(rows, None if derived else self.target, place, choices)
        if derived:
            with frame_rows(X, place.memory) as rows:
                table = profile_derived(rows, table, derived, self.target, place, choices)
        for name in self.exclude:
            if name not in rows.types:
                raise InputError(f"exclude: there is no column {quoted(name)}; check the name")
        proposal = proposing.propose(table, self.target, self.exclude) if agreed is None else fitting.fit(table, agreed)
        self.schema_, self.spelling_, self.derived_ = proposal.schema, table.spelling, dict(table.derived)
        self.mapping_ = {name: validated(ColumnSettings, fields) for name, fields in proposal.mapping.items()}
        document = writing.to_json(table, proposal)
        self.report_, self.remarks_ = document["columns"], document["remarks"]
        return self

    def _choices(self) -> Choices:
        given = {name: (names,) if isinstance(names, str) else names for name, names in (self.readings or {}).items()}
        return Choices(given, guess if self.guess else _refuse)

    def transform(self, X: Any) -> Any:
        """Return the schema's columns of a frame as categories, in a frame of its kind; new rows need no target.

        Raises:
            InputError: The schema has no category for a cell; the message names row and column.
        """
        check_is_fitted(self)
        frame, schema = categories.named_frame(X), self.schema_
        wanted = rules(self.mapping_, schema, list(schema.attributes), self.spelling_)
        if schema.target is not None:
            wanted = [
                rule
                for rule in wanted
                if rule.attribute != schema.target or rule.column in (*frame.columns, *self.derived_)
            ]
        with frame_rows(X, PlaceSettings(source=FRAME).memory) as rows:
            _, columns = keyed_codes(with_derived(rows, self.derived_, self.spelling_), wanted, ())
        labels = {}
        for rule, codes in zip(wanted, columns, strict=True):
            if len(unknown := np.flatnonzero(codes < 0)):
                cell = frame[rule.column][int(unknown[0])] if rule.column in frame.columns else None
                where = f"row {unknown[0]} (the first is 0), column {quoted(rule.column)}"
                raise InputError(f"{where}: {rule.complaint(None if cell is None else categories.spell(cell))}")
            labels[rule.attribute] = np.array(rule.categories, dtype=object)[codes].tolist()
        return nw.from_dict(labels, backend=frame.implementation).to_native()


def _refuse(question: Question) -> NoReturn:
    answer = {question.column: next(iter(question.options))}
    raise InputError(f"{question.text}: choose with readings={answer}, or set guess=True")
