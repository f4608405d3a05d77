"""Accuracy of diffprivlib's logistic regression on the same folds: a program for an environment of its own.

    python peer.py TABLE.npz REPEATS EPSILON ...      the file holds rows (of norm 1 at most), labels and fold

diffprivlib 0.6.6 needs scikit-learn below 1.6, so this file imports nothing of the project. It prints a JSON list of
[epsilon, C, mean accuracy]. The bound on the norm is given, so nothing of the rows is told besides what the budget
pays.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)  # C, the inverse of lambda n; 1 is the default


def main(path: str, repeats: str, *epsilons: str) -> None:
    warnings.simplefilter("ignore")
    table = np.load(path)
    rows, labels, fold = table["rows"], table["labels"], table["fold"]
    found = []
    for epsilon in epsilons:
        for strength in STRENGTHS:
            right = 0
            for seed in range(int(repeats)):
                for held in np.unique(fold):
                    model = LogisticRegression(
                        epsilon=float(epsilon), data_norm=1.0, C=strength, fit_intercept=False, max_iter=300,
                        random_state=int(1000 * seed + held),
                    )  # fmt: skip
                    model.fit(rows[fold != held], labels[fold != held])
                    right += (model.predict(rows[fold == held]) == labels[fold == held]).sum()
            found.append([epsilon, strength, round(float(right / int(repeats) / len(labels)), 4)])
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
