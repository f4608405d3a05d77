"""A forest of both parties' rows, as scikit-learn knows classifiers.

    JointForestClassifier().fit(X, y)                                   alone: one's own rows only, nothing private
    JointForestClassifier("schema.toml", peer="party.toml").fit(X, y)   with the peer: both parties' rows

What is learnt, and what that leaks, is that of the kind `forest`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from parties.jobs.tree.forest import Forest
from parties.jobs.tree.settings import ForestSettings
from parties.link.settings import LinkSettings
from parties.models.trees.tree import Node
from parties.notebook.binning import Bins
from parties.notebook.estimator import ALIKE, JointID3Classifier
from parties.tables.schema import Schema

if TYPE_CHECKING:
    from parties.operator.interface import Operator

DEFAULTS = ForestSettings()


class JointForestClassifier(JointID3Classifier):
    """Many decision trees that vote, exact, each of rows that every party has drawn from its own.

    Parameters are those of `JointID3Classifier` but for `epsilon` and `t`, and those of `smc forest`: `trees`,
    `attributes` that a node chooses from, `seed` of these draws, which is public; with its defaults.

    After `fit`: `trees_`, and the same as a `JointID3Classifier` has.
    """

    _kind = Forest
    _named: ClassVar[tuple[str, ...]] = ("trees", "attributes", "seed", *ALIKE)

    def __init__(
        self,
        schema: Schema | Path | str | None = None,
        target: str | None = None,
        *,
        trees: int = DEFAULTS.trees,
        attributes: int | None = DEFAULTS.attributes,
        seed: int = DEFAULTS.seed,
        criterion: str = DEFAULTS.criterion,
        k: int | None = DEFAULTS.k,
        l: float = DEFAULTS.l,  # noqa: E741 (its name everywhere)
        splits: str = DEFAULTS.splits,
        prune: str = DEFAULTS.prune,
        plain: bool = DEFAULTS.plain,
        tolerance: float = DEFAULTS.tolerance,
        min_rows: int = DEFAULTS.min_rows,
        max_depth: int | None = DEFAULTS.max_depth,
        max_rows: int | None = None,
        engine: str = DEFAULTS.engine,
        bins: Bins = None,
        peer: LinkSettings | Path | str | Operator | None = None,
    ) -> None:
        self.schema = schema
        self.target = target
        self.trees = trees
        self.attributes = attributes
        self.seed = seed
        self.criterion = criterion
        self.k = k
        self.l = l
        self.splits = splits
        self.prune = prune
        self.plain = plain
        self.tolerance = tolerance
        self.min_rows = min_rows
        self.max_depth = max_depth
        self.max_rows = max_rows
        self.engine = engine
        self.bins = bins
        self.peer = peer

    @property
    def trees_(self) -> tuple[Node, ...]:
        """The trees."""
        return self.tree_file_.trees

    @property
    def tree_(self) -> Node:
        """The trees as the branches of one, as people read them."""
        from parties.models.trees.reading import simplified

        return simplified(self.tree_file_)
