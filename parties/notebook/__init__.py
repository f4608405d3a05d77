"""scikit-learn's conventions: a classifier whose training data may be another organisation's as well."""

from parties.notebook.estimator import JointID3Classifier

__all__ = ["JointID3Classifier"]
