"""A forest of both parties' rows, as scikit-learn knows classifiers.

    JointForestClassifier().fit(X, y)                                   alone: one's own rows only, nothing private
    JointForestClassifier("schema.toml", peer="party.toml").fit(X, y)   with the peer: both parties' rows

What is learnt, and what that leaks, is that of the kind `forest`.
"""

from __future__ import annotations

from typing import ClassVar

from parties.jobs.tree.forest import Forest
from parties.jobs.tree.settings import ForestSettings
from parties.models.trees.tree import Node
from parties.notebook.binning import BINS
from parties.notebook.estimator import ALIKE, JointID3Classifier
from parties.notebook.parameters import parameters


@parameters(
    ForestSettings, "target", then=("trees", "attributes", "seed", *ALIKE, "bins"), defaults=True,
    described={"bins": BINS},
)  # fmt: skip
class JointForestClassifier(JointID3Classifier):
    """Many decision trees that vote, exact, each of rows that every party has drawn from its own.

    Parameters are those of `JointID3Classifier` but for `epsilon` and `t`, and those of `smc forest`: `trees`,
    `attributes` that a node chooses from, `seed` of these draws, which is public; with its defaults.

    After `fit`: `trees_`, and the same as a `JointID3Classifier` has.
    """

    _kind = Forest
    _named: ClassVar[tuple[str, ...]] = ("trees", "attributes", "seed", *ALIKE)

    @property
    def trees_(self) -> tuple[Node, ...]:
        """The trees."""
        return self.tree_file_.trees

    @property
    def tree_(self) -> Node:
        """The trees as the branches of one, as people read them."""
        from parties.models.trees.reading import simplified

        return simplified(self.tree_file_)
