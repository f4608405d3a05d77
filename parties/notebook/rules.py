"""Association rules as scikit-learn knows transformers: rows may be another organisation's as well.

    JointRules("schema.toml").fit(X)                       alone: one's own rows only, nothing private
    JointRules("schema.toml", peer="party.toml").fit(X)    with the peer: both parties' rows
    JointRules(peer=node).fit(table="patients")            by one's node

What is learnt, and what that leaks, is that of `smc rules`; alone, the same program runs on the clear engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from parties.base.settings import validated
from parties.jobs.rules.rules import AssociationRules
from parties.jobs.rules.settings import RulesSettings
from parties.jobs.running import Report
from parties.link.settings import LinkSettings
from parties.models.rules import Rules, words
from parties.notebook import coded
from parties.tables import categories
from parties.tables import schema as schemas
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.operator.interface import Operator

DEFAULTS = RulesSettings()
PARAMETERS = (
    *("columns", "transaction", "support", "confidence", "lift", "max_length", "k", "show", "most"),
    *("epsilon", "first", "adjacency", "max_rows"),
)


class JointRules(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Frequent sets and association rules of both parties' rows.

    Parameters. `schema`: the public schema, a file or a `Schema`, which a node has itself; others as for `smc rules`,
    the same for both parties. `peer`: None; the way to the other party, a `party.toml` or a `LinkSettings`; or one's
    own node, a `NodeClient`.

    After `fit`: `sets_`, lists of "column=value"; `rules_`, {"if": [...], "then": [...]}; `document_`, the content of
    rules.json; `cost_`, what the conversation cost (None alone); `job_`, the node's job (None otherwise).
    """

    def __init__(
        self,
        schema: Schema | Path | str | None = None,
        columns: Sequence[str] | None = None,
        *,
        transaction: str | None = None,
        support: float = DEFAULTS.support,
        confidence: float = DEFAULTS.confidence,
        lift: float = DEFAULTS.lift,
        max_length: int = DEFAULTS.max_length,
        k: int = DEFAULTS.k,
        show: str = DEFAULTS.show,
        most: int | None = None,
        epsilon: float | None = None,
        first: int | None = None,
        adjacency: str = DEFAULTS.adjacency,
        max_rows: int | None = None,
        peer: LinkSettings | Path | str | Operator | None = None,
    ) -> None:
        self.schema = schema
        self.columns = columns
        self.transaction = transaction
        self.support = support
        self.confidence = confidence
        self.lift = lift
        self.max_length = max_length
        self.k = k
        self.show = show
        self.most = most
        self.epsilon = epsilon
        self.first = first
        self.adjacency = adjacency
        self.max_rows = max_rows
        self.peer = peer

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        table: str | None = None,
        peer_table: str | None = None,
        purpose: str | None = None,
        job: str | None = None,
        deadline: float | None = None,
    ) -> JointRules:
        """Learn the rules; returns the transformer itself. `y` is not read.

        Alone or with the peer: X is a data frame with the schema's columns. At a node: `table` is its name for the
        rows, `job` one that was submitted before.

        `InputError`: a parameter is wrong, or a cell is outside the schema. `LinkError`, `JobMismatchError`: the peer
        is not there or wants another job.
        """
        settings = {name: value for name in PARAMETERS if (value := getattr(self, name)) is not None}
        settings = {name: list(value) if name == "columns" else value for name, value in settings.items()}
        agreed = schemas.load(Path(self.schema)) if isinstance(self.schema, str | Path) else self.schema
        self.cost_: Report | None = None
        self.job_: str | None = None
        if hasattr(self.peer, "submit"):
            if X is not None or (table is None) == (job is None):
                raise InputError("a node reads its own tables: give table=NAME, or job=ID, instead of rows")
            fields = {"protocol": "rules", "table": table, "peer_table": peer_table, "purpose": purpose, **settings}
            view, result = coded.by_node(cast("Operator", self.peer), fields, job, deadline)
            self.job_ = view.id
            return self._take(result.document, agreed)
        if X is None or agreed is None:
            raise InputError("X and schema are needed: the rows, and the values that are public")
        task = AssociationRules.canonical(validated(RulesSettings, settings), agreed)
        order = (*task.schema.features(task.target), task.target)
        frame = categories.named_frame(X)
        columns = coded.columns_of(frame.to_native(), order)
        counts: Any
        if (key := self.transaction) is None:
            counts = coded.counted(task, columns)
        else:
            counts = coded.in_baskets(task, columns, categories.select(frame, (key,))[key].to_list())
        state, self.cost_ = coded.learnt(task, counts, self.peer)
        return self._take(task.document(state), agreed)

    def transform(self, X: Any) -> NDArray[np.bool_]:
        """Return which rules speak of which rows: bool[rows, rules], in the order of `rules_`."""
        return self.model_.fire(self._rows(X))

    def holds(self, X: Any) -> NDArray[np.bool_]:
        """Return for which rows what a rule is about, and what follows from it, are both there: bool[rows, rules]."""
        return self.model_.hold(self._rows(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the rules as texts, for the columns of `transform`."""
        check_is_fitted(self)
        return np.array([f"if {words(a)} then {words(b)}" for a, b in self.model_.rules], dtype=object)

    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointRules:
        self.document_, self.model_, self.schema_ = document, Rules.parse(document), agreed
        self.sets_, self.rules_ = document["sets"], document["rules"]
        return self

    def _rows(self, X: Any) -> Columns:
        """Return rows as the schema's values, where there is one."""
        check_is_fitted(self)
        frame = categories.named_frame(X)
        cells: dict[str, list[str]] = {}
        for column in coded.columns_of(frame.to_native(), self.model_.columns) if self.model_.columns else ():
            if self.schema_ is None:
                cells[column.name] = [categories.spell(cell) for cell in column.cells]
            else:
                values = self.schema_.attributes[column.name]
                cells[column.name] = [values[code] for code in coded.codes(column, values)]
        return Columns(Path("X"), cells, range(1, len(frame) + 1), unit="row")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_clone__(self) -> JointRules:
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        # What is pickled travels: it transforms, but it does not carry the way to one's node.
        state = super().__getstate__()
        return {**state, "peer": None} if hasattr(self.peer, "submit") else state
