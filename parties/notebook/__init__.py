"""scikit-learn's conventions: a classifier whose data may be another organisation's too, an anonymiser of frames."""

from parties.notebook.anonymiser import Anonymiser
from parties.notebook.estimator import JointID3Classifier

__all__ = ["Anonymiser", "JointID3Classifier"]
