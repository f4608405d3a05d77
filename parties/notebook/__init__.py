"""scikit-learn's conventions: classifiers of two organisations' data and of blurred data; an anonymiser of frames."""

from parties.notebook.anonymiser import Anonymiser
from parties.notebook.blurred import BlurredTreeClassifier
from parties.notebook.estimator import JointID3Classifier

__all__ = ["Anonymiser", "BlurredTreeClassifier", "JointID3Classifier"]
