"""Classifiers by decision trees and forests with scikit-learn's interface, on your own rows or on both parties' rows.

    JointID3Classifier().fit(X, y)                                   alone: your own rows only, no protocol
    JointID3Classifier("schema.toml", peer="party.toml").fit(X, y)   with the peer: both parties' rows
    JointID3Classifier(peer=node).fit(table="patients")              by your node: consent, records, then the tree

    JointForestClassifier().fit(X, y)                                   alone: your own rows only, no protocol
    JointForestClassifier("schema.toml", peer="party.toml").fit(X, y)   with the peer: both parties' rows

The tree and its leakage are those of `protocols.id3`, or with epsilon of `protocols.release.tree`; the forest and its
leakage are those of `smc forest`. Alone, the same program runs on the clear engine.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from parties.base.settings import validated
from parties.jobs.execution.running import Report
from parties.jobs.kinds.forest import Forest
from parties.jobs.kinds.id3 import Id3
from parties.jobs.tree.settings import ForestSettings, Id3Settings
from parties.models.trees import prediction
from parties.models.trees.drawing import draw_svg
from parties.models.trees.reading import asking
from parties.models.trees.tree import Leaf, Node, TreeFile, domains, places
from parties.notebook import binning, coded, fitting
from parties.notebook.binning import BINS
from parties.notebook.parameters import parameters
from parties.notebook.reading import Reading
from parties.notebook.study import JointEstimator
from parties.operator.interface import Operator
from parties.tables import categories
from parties.tables.schema import Schema
from protocols.counts import Rows
from smc.errors import InputError


class Showing(BaseEstimator):  # type: ignore[misc]
    """Mixin of classifiers that draw their fitted tree."""

    tree_file_: TreeFile

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree on matplotlib's axes, or on new ones, and return the axes.

        Raises:
            NotFittedError: The classifier has no tree yet.
        """
        check_is_fitted(self)
        from parties.notebook.plotting import plot  # matplotlib takes its time to load

        return plot(self.tree_file_.tree, ax)

    def _html_repr(self) -> str:
        """Return the HTML for a notebook: scikit-learn's box, and after fit the tree.

        The tree is an embedded SVG document, which you can move and zoom. Notebooks that remove it show an image.
        """
        svg = self._repr_svg_()
        if svg is None:
            return str(estimator_html_repr(self))
        tree = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
        image = f'<img alt="decision tree" src="{tree}">'
        return f'{estimator_html_repr(self)}<object type="image/svg+xml" data="{tree}">{image}</object>'

    def _repr_svg_(self) -> str | None:
        """Return the tree as a picture, for programs that show pictures; None before fit."""
        if not self.__sklearn_is_fitted__():
            return None
        tree_file = self.tree_file_
        return draw_svg(tree_file.tree, tree_file.target, f"Decision tree for {tree_file.target}")


LIMITS = ("min_rows", "max_depth", "max_rows", "held_out", "fold")
ALIKE = ("criterion", "k", "l", "splits", "prune", "plain", "tolerance", *LIMITS, "engine")


@parameters(
    Id3Settings, "target", then=("epsilon", *ALIKE[:3], "t", *ALIKE[3:5], "holdout", *ALIKE[5:], "bins"),
    defaults=True, described={"bins": BINS},
)  # fmt: skip
class JointID3Classifier(ClassifierMixin, Reading, Showing, JointEstimator):  # type: ignore[misc]
    """A decision tree over categorical attributes, exact or with noise: of your own rows, or of two organisations'.

    After `fit` there are:

    - `tree_`: the tree;
    - `tree_file_`: the tree with target, tolerance and the schema's digest; `dump(path)` writes `tree.json`;
    - `classes_`: the classes in the schema's order and the type of y;
    - `n_features_in_`, and `feature_names_in_` unless X was an array;
    - `attributes_`: the tree's names of the columns;
    - `edges_`: edges of the binned columns;
    - `schema_`: the schema (None at a node unless given);
    - `cost_`: communication cost (None alone);
    - `job_`: the node's job (None otherwise).
    """

    _kind: ClassVar[type[Id3 | Forest]] = Id3
    _named: ClassVar[tuple[str, ...]] = ("epsilon", "t", "holdout", *ALIKE)
    classes_: NDArray[Any]
    attributes_: tuple[str, ...]
    schema_: Schema | None
    cost_: Report | None
    job_: str | None

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        table: str | None = None,
        peer_table: str | None = None,
        purpose: str | None = None,
        columns: Sequence[str] | None = None,
        job: str | None = None,
        deadline: float | None = None,
    ) -> JointID3Classifier:
        """Learn the tree, and return the classifier itself.

        Alone or with the peer you pass rows; at a node you name a table. There are no sample weights: every row counts
        as one.

        Args:
            X: Data frame (pandas, Polars, Arrow) or 2-D array of categories [rows, attributes]. With a schema, further
                columns of a frame are ignored, and an array has the schema's attributes without the target. X may also
                be a source of counts (`protocols.counts.Counts`) made for the schema. At a node: None.
            y: Class of each row, [rows]. Default: the column `target` of the frame. At a node: None.
            table: Name of the rows at your node.
            peer_table: Name of the rows at the peer's node. Default: `table`.
            purpose: Purpose of the job, shown to the peer. Policies may require it.
            columns: Columns to read at the node. Default: all.
            job: Identifier of a job that was submitted to the node before, to wait for its tree.
            deadline: Seconds to wait for the node's job, consent included. Default: no limit.

        Raises:
            InputError: A parameter is wrong, or a cell is outside the schema; the message names row, column and value.
            LinkError: The peer cannot be reached, or the node's job was refused, failed or did not end in time.
            JobMismatchError: The peer wants another job.
        """
        settings = self._settings()
        fields = {"table": table, "peer_table": peer_table, "purpose": purpose, "columns": columns}
        typed = {name: value for name, value in fields.items() if value is not None}
        if hasattr(self.peer, "submit"):
            self._no_holders()
            if X is not None or y is not None:
                raise InputError("a node reads its own tables: give table=NAME instead of rows")
            return self._fit_at_node(cast("Operator", self.peer), {**settings, **typed}, job, deadline)
        if typed or job is not None:
            raise InputError(
                f"{', '.join(typed) or 'job'} works only with a node as peer; give peer=NodeClient.from_config(...)"
            )
        return self._fit_rows(X, y, validated(self._kind.Settings, settings))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row, [rows], in the type of `classes_`.

        X has columns as for `fit`. Only the values of the attributes on a row's path are read.

        Raises:
            InputError: The tree has no branch for a value; the message names the first row of this kind.
            NotFittedError: The classifier has no tree yet.
        """
        check_is_fitted(self)
        trees = asking(self.tree_file_).trees
        columns, rows = self._columns(X, self.attributes_, reset=False, wanted=domains(trees))
        labels = prediction.vote(trees, coded.spelled(self._binned(columns), rows))
        places = {categories.spell(name): place for place, name in enumerate(self.classes_.tolist())}
        return self.classes_[[places[label] for label in labels]]

    @property
    def tree_(self) -> Node:
        """Root of the learnt tree."""
        return self.tree_file_.tree

    def _settings(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self._named}
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
        return {name: value for name, value in plain.items() if value is not None}

    def _fit_rows(self, X: Any, y: Any, settings: Any) -> JointID3Classifier:
        link, schema = coded.link_to(self.peer), coded.agreed(self.schema)
        self.edges_ = binning.checked(self.bins, shared=link is not None or schema is not None)
        if link is not None and schema is None:
            raise InputError("schema is missing: both parties need the same one, which `smc schema` proposes")
        givers = None
        if self.holders is not None:
            settings, givers = self.holders.joined(settings, link)
        rows: Rows | None  # one tree asks a source for what `Counts` has, nothing else
        if not self._gives(X):
            assert schema is not None  # there is a link
            rows, agreed, target = None, schema, schema.choose_target(self.target)
            task = self._kind.of(settings, agreed, target)
            self._take_names(agreed.features(target))
            classes = np.array(agreed.attributes[target], dtype=object)
        elif callable(getattr(type(X), "level", None)):  # of the type: a frame may have a column of that name
            if settings.held_out is not None:
                raise InputError("held_out: a source of counts cannot part its rows; give a frame or an array")
            if schema is None or y is not None:
                raise InputError("a source of counts needs its own schema, and no y")
            rows, agreed, target = X, schema, schema.choose_target(self.target)
            task = self._kind.of(settings, agreed, target)
            self._take_names(agreed.features(target))
            classes = np.array(agreed.attributes[target], dtype=object)
        else:
            agreed, target, columns, labels = self._read(X, y, schema)
            task = self._kind.of(settings, agreed, target)
            rows = fitting.counted(task, columns, categories.column(target, labels.tolist()))
            classes = categories.typed(agreed.attributes[target], labels)
        task.check()
        tree, cost = coded.learnt(task, rows, link, givers)
        tree_file = task.tree_file(tree)
        self.tree_file_, self.classes_, self.attributes_ = tree_file, classes, agreed.features(target)
        self.schema_, self.cost_, self.job_ = agreed, cost, None
        return self

    def _fit_at_node(
        self, node: Operator, fields: dict[str, Any], job: str | None, deadline: float | None
    ) -> JointID3Classifier:
        """Submit a job, or find the one with the identifier `job`, and wait for its end. The node checks the fields."""
        self.edges_ = binning.checked(self.bins, shared=True)
        if (job is None) == ("table" not in fields):
            raise InputError("at a node give either table=NAME, or job=ID of a job that was submitted before")
        if self.target is not None:
            fields["target"] = self.target
        if "columns" in fields:
            fields["columns"] = list(fields["columns"])
        if self._kind is not Id3:
            fields["protocol"] = self._kind.name
        submitted = node.submit(fields) if job is None else node.job(job)
        view, result = fitting.at_node(node, submitted, deadline)
        tree_file = TreeFile.parse(result.tree)
        if tree_file.others and self._kind is Id3:
            raise InputError(
                f"job {view.id} has brought {len(tree_file.trees)} trees that vote: smc predict classifies by them"
            )
        agreed = coded.agreed(self.schema)
        if agreed is not None:
            agreed = agreed.only(view.columns)
            if agreed.digest() != tree_file.schema_digest:
                raise InputError(f"job {view.id} has another schema than the given one; give its schema")
        every = [place.node for tree in tree_file.trees for place in places(tree)]
        leaves = {node.label for node in every if isinstance(node, Leaf)}
        classes = sorted(leaves) if agreed is None else agreed.attributes[tree_file.target]
        self.tree_file_, self.classes_ = tree_file, np.array(classes, dtype=object)
        self.attributes_ = tuple(name for name in view.columns if name != view.target)
        self._take_names(self.attributes_)
        self.schema_, self.cost_, self.job_ = agreed, result.cost, view.id
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_file_")


@parameters(
    ForestSettings, "target", then=("trees", "attributes", "seed", *ALIKE, "bins"), defaults=True,
    described={"bins": BINS},
)  # fmt: skip
class JointForestClassifier(JointID3Classifier):
    """Many exact decision trees that vote. For each tree every party draws rows from its own, with replacement.

    Parameters are those of `JointID3Classifier` without `epsilon`, `t` and `holdout`, and three of `smc forest`.
    `trees` is the number of trees. `attributes` is the number of candidate splits that are drawn for each node. `seed`
    is the public seed of these candidates; the draws of rows are secret. The defaults are those of `smc forest`.

    After `fit` there are `trees_`, and the attributes of a `JointID3Classifier`.
    """

    _kind = Forest
    _named: ClassVar[tuple[str, ...]] = ("trees", "attributes", "seed", *ALIKE)

    @property
    def trees_(self) -> tuple[Node, ...]:
        """Roots of the learnt trees."""
        return self.tree_file_.trees

    @property
    def tree_(self) -> Node:
        """Learnt trees as the branches of one tree, for display."""
        from parties.models.trees.reading import simplified

        return simplified(self.tree_file_)
