"""Base classes of estimators whose `fit` runs a job on the rows of both parties.

    JointSurvival("schema.toml", ...).fit(X)                       alone: your own rows only, no protocol
    JointSurvival("schema.toml", ..., peer="party.toml").fit(X)    with the peer: both parties' rows
    JointSurvival(..., peer=node).fit(table="patients")            by your node

The result and its leakage are those of the kind of job. Alone, the same program runs on the clear engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from parties.base import files
from parties.base.console import size
from parties.base.settings import validated
from parties.jobs.execution.running import Report
from parties.jobs.result_files import picture
from parties.jobs.settings import public_parameters
from parties.jobs.tabular import BySchema
from parties.notebook import coded
from parties.notebook.consortium import Holders
from parties.notebook.reading import OWN_ROWS, Reading, own_domain
from parties.operator.interface import Operator
from parties.tables import categories
from parties.tables.categories import Column
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from smc.errors import InputError

NOT_SETTINGS = ("schema", "peer", "holders")  # of the parameters


class JointEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of estimators of joint data: their parameters, and the result in `document_` after fit."""

    peer: Any
    holders: Holders | None

    def _no_holders(self) -> None:
        if self.holders is not None:
            raise InputError("holders: are for a link to the peer; remove holders, or give peer=, a party.toml")

    def _gives(self, X: Any) -> bool:
        """Return whether this party has rows. Raise InputError for rows of a party that only computes."""
        only = self.holders is not None and self.holders.compute_only
        if only and X is not None:
            raise InputError("X: the two that compute have no rows; remove X, or compute_only of the holders")
        return not only

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "document_")

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        # A pickled object travels. It keeps its result, but not the address of your node.
        state = super().__getstate__()
        return {**state, "peer": None} if hasattr(self.peer, "submit") else state


class JointStudy(Reading, JointEstimator):
    """Estimator of a kind of job on rows. A subclass has the kind's settings as parameters, and `schema` and `peer`.

    After `fit` there are:

    - `document_`: the content of the job's JSON file;
    - `cost_`: communication cost (None alone or by a node);
    - `job_`: the node's job (None otherwise);
    - `schema_`: the schema, if there is one.
    """

    kind: Any  # of job, a class of `BySchema`
    _learns_alone: ClassVar[bool] = False  # whether it runs on your own rows though the kind's command does not
    schema: Schema | Path | str | None

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
    ) -> Self:
        """Run the job, keep its result, and return the estimator itself.

        Alone or with the peer you pass rows; at a node you name a table, or a job that was submitted before.

        Args:
            X: Data frame (pandas, Polars, Arrow) with the schema's columns, or an array in the schema's order. With
                the schema of your own rows, the columns of an array are x0, x1, ... At a node: None.
            y: Class or number of each row, for models; others ignore it. At a node: None.
            table: Name of the rows at your node.
            peer_table: Name of the rows at the peer's node. Default: `table`.
            purpose: Purpose of the job, shown to the peer. Policies may require it.
            job: Identifier of a job that was submitted to the node before, to wait for its result.
            deadline: Seconds to wait for the node's job, consent included. Default: no limit.

        Raises:
            InputError: A parameter is wrong, or a cell is outside the schema.
            LinkError: The peer cannot be reached, or the node's job was refused, failed or did not end in time.
            JobMismatchError: The peer wants another job.
        """
        settings, kind = self._settings(), self.kind
        agreed = coded.agreed(self.schema)
        self.cost_: Report | None = None
        self.job_: str | None = None
        if hasattr(self.peer, "submit"):
            self._no_holders()
            if X is not None or y is not None or (table is None) == (job is None):
                raise InputError("a node reads its own tables: give either table=NAME or job=ID, and no rows")
            fields = {"protocol": kind.name, "table": table, "peer_table": peer_table, "purpose": purpose, **settings}
            view, result = coded.by_node(cast("Operator", self.peer), fields, job, deadline)
            self.job_, self._by_name = view.id, True
            return self._take(result.document, agreed)
        if settings.get("at_most") is not None:
            raise InputError("at_most: a frame does not name its people; remove at_most, or ask your node")
        has_rows, link = self._gives(X), coded.link_to(self.peer)
        of_own_rows = self.schema == OWN_ROWS and link is None
        if (has_rows and X is None) or (agreed is None and not of_own_rows):
            raise InputError("X and schema are needed: the rows, and the values that are public")
        self._by_name = agreed is not None or (y is None and categories.frame(X) is not None)
        if agreed is None:
            agreed = self._own_schema(X, y)
        if link is None and not (self._learns_alone or kind.runs_alone):
            raise InputError(f"peer: is missing; {kind.name} needs two parties: give a party.toml or your node")
        valid, givers = validated(kind.Settings, settings), None
        if self.holders is not None:
            valid, givers = self.holders.joined(valid, link)
        task = kind.canonical(valid, agreed)
        counts = self._rows_of(task, X, y) if has_rows else None
        state, self.cost_ = coded.learnt(task, counts, link, givers)
        return self._take(task.document(state), agreed)

    def _settings(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.get_params(deep=False) if name not in NOT_SETTINGS}
        if (model := values.pop("model", None)) is not None:
            values["classifier"] = files.read_text(Path(model))
        known = {parameter.field: parameter for parameter in public_parameters(self.kind.Settings)}
        settings: dict[str, Any] = {}
        for name, value in values.items():
            if isinstance(value, str) and name in known and known[name].type is tuple:
                value = [value]
            elif isinstance(value, Sequence) and not isinstance(value, str):
                value = list(value)
            if value is not None:
                settings[known[name].key if name in known else name] = value
        return settings

    def _own_schema(self, X: Any, y: Any) -> Schema:
        """Return a schema with the values and bounds of your own rows."""
        return Schema({column.name: own_domain(column) for column in self._columns(X, None, reset=True)[0]})

    def _cells(self, X: Any, names: Sequence[str], reset: bool = False) -> list[Column]:
        """Return the columns of rows in this order.

        Args:
            X: Frame, or an array of these columns; of all columns if the schema is that of your own rows.
            names: Names of the columns.
            reset: Whether to keep names and number of the columns, in `fit`.
        """
        self._order = tuple(names) if reset else self._order
        columns, _ = self._columns(X, self._order if self._by_name else None, reset, names)
        found = {column.name: column for column in columns}
        return [found[name] for name in names]

    def _rows_of(self, task: BySchema, X: Any, y: Any) -> Any:
        by = () if task.rows_taken is None else task.rows_taken.split.columns  # to tell which rows take part
        read = (*task.schema.features(task.target), *by)
        order = (*dict.fromkeys(name for name in read if name != task.target), task.target)
        return coded.counted(task, self._cells(X, order, reset=True))

    def _texts(self, X: Any, labelled: Sequence[str]) -> Columns:
        """Return the columns that `fit` has read as texts, as a model reads them.

        Args:
            X: Rows, see `_cells`.
            labelled: Columns whose cells become categories of the schema, if there is one.
        """
        known = {} if self.schema_ is None else self.schema_.attributes
        columns = self._cells(X, self._order)
        chosen = {name for name in labelled if name in known}
        cells = [coded.labelled(each, known[each.name]) if each.name in chosen else each for each in columns]
        return coded.spelled(cells, len(columns[0].cells))

    def _take(self, document: dict[str, Any], agreed: Schema | None) -> Self:
        self.document_, self.schema_ = document, agreed
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = getattr(self, "epsilon", None) is not None
        return tags

    @property
    def text_(self) -> str:
        """The result as text, as the command prints it."""
        check_is_fitted(self)
        text: str = self.kind.text(self.document_, 0)
        return text

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the parameters; after fit also the epsilon that was spent, and the cost."""
        text: str = super().__repr__(N_CHAR_MAX=N_CHAR_MAX)
        if not self.__sklearn_is_fitted__():
            return text
        epsilon, total = self.document_.get("epsilon"), (self.cost_ or {}).get("total")
        spent = [] if epsilon is None else [f"epsilon {epsilon:g} spent"]
        cost = [] if total is None else [f"{size(total['bytes_sent'] + total['bytes_received'])} both ways"]
        return f"{text}  # {', '.join([*spent, *cost]) or 'nothing spent, no traffic'}"

    def _repr_svg_(self) -> str | None:
        """Return the result as a picture, for programs that show pictures; None before fit, or if it has no picture."""
        return picture(self.kind.files(), self.document_) if self.__sklearn_is_fitted__() else None
