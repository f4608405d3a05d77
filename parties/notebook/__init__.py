"""scikit-learn's conventions: classifiers of joint and of blurred data; anonymised frames, and pseudonyms in them."""

from parties.base.extras import importing

with importing("parties.notebook"):
    from parties.notebook.anonymiser import Anonymiser
    from parties.notebook.binning import bin_labels, equal_width
    from parties.notebook.blurred import BlurredTreeClassifier
    from parties.notebook.estimator import JointID3Classifier
    from parties.notebook.pseudonymiser import Pseudonymiser

__all__ = ["Anonymiser", "BlurredTreeClassifier", "JointID3Classifier", "Pseudonymiser", "bin_labels", "equal_width"]
