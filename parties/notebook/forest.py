"""Forest classifier with scikit-learn's interface, on the rows of one or both parties.

    JointForestClassifier().fit(X, y)                                   alone: your own rows only, no protocol
    JointForestClassifier("schema.toml", peer="party.toml").fit(X, y)   with the peer: both parties' rows

The forest and its leakage are those of `smc forest`.
"""

from __future__ import annotations

from typing import ClassVar

from parties.jobs.kinds.forest import Forest
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
    """Many exact decision trees that vote. For each tree every party draws rows from its own, with replacement.

    Parameters are those of `JointID3Classifier` without `epsilon` and `t`, and those of `smc forest`: `trees`,
    `attributes` that a node chooses from, and `seed` of these draws, which is public. The defaults are those of `smc
    forest`.

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
