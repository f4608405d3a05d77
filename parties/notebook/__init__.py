"""Classes with scikit-learn's conventions: classifiers, rules, joint studies, anonymised frames, pseudonyms, tools."""

from typing import Any

from parties.base.extras import importing

with importing("parties.notebook"):
    from parties.notebook.anonymiser import Anonymiser
    from parties.notebook.binning import bin_labels, equal_width
    from parties.notebook.blurred import BlurredTreeClassifier
    from parties.notebook.consortium import Contributor, Holders
    from parties.notebook.estimator import JointForestClassifier, JointID3Classifier
    from parties.notebook.inference import (
        JointEvaluation,
        JointKMeans,
        JointLogRank,
        JointQuantile,
        JointRanking,
        JointSurvival,
        JointSynthesizer,
        JointTest,
    )
    from parties.notebook.models import (
        JointBoostClassifier,
        JointBoostRegressor,
        JointLogisticRegression,
        JointNaiveBayes,
        JointRidge,
        JointScorecard,
    )
    from parties.notebook.pseudonymiser import Pseudonymiser
    from parties.notebook.questions import joint
    from parties.notebook.rules import JointRules
    from parties.notebook.validation import joint_cross_validate

    release = joint.release

__all__ = [
    "Anonymiser",
    "BlurredTreeClassifier",
    "Contributor",
    "Holders",
    "JointBoostClassifier",
    "JointBoostRegressor",
    "JointEvaluation",
    "JointForestClassifier",
    "JointID3Classifier",
    "JointKMeans",
    "JointLogRank",
    "JointLogisticRegression",
    "JointNaiveBayes",
    "JointQuantile",
    "JointRanking",
    "JointRidge",
    "JointRules",
    "JointScorecard",
    "JointSurvival",
    "JointSynthesizer",
    "JointTest",
    "Preparer",
    "Pseudonymiser",
    "attack",
    "bin_labels",
    "blur",
    "equal_width",
    "joint",
    "joint_cross_validate",
    "local",
    "publish",
    "release",
]


TOOLS = ("attack", "blur", "local", "publish")


def __getattr__(name: str) -> Any:
    """Import and return on first use `Preparer`, which needs a library that may be missing, or a tool."""
    if name != "Preparer" and name not in TOOLS:
        raise AttributeError(name)
    with importing(f"parties.notebook.{name}"):
        if name in TOOLS:
            from parties.notebook import tools

            return getattr(tools, name)
        from parties.notebook.preparer import Preparer
    return Preparer
