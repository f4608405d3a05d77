"""Accuracy of diffprivlib's private trees and forests on the same folds: a program for an environment of its own.

    python peer.py TABLE.npz EPSILON ...      the file holds values, labels, fold, domains and classes

diffprivlib 0.6.6 needs scikit-learn below 1.6, so this file imports nothing of the project. It prints a JSON list of
[epsilon, depth, trees, mean accuracy]. The library's tree is its forest of one tree; bounds and classes are given, so
that nothing of the rows is told besides what the budget pays for.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import RandomForestClassifier

DEPTHS = (3, 5, 8)
TREES = (1, 5, 10)
REPEATS = 3


def main(path: str, *epsilons: str) -> None:
    warnings.simplefilter("ignore")
    table = np.load(path)
    values, labels, fold = table["values"].astype(float), table["labels"], table["fold"]
    bounds = (np.zeros(values.shape[1]), table["domains"] - 1)
    found = []
    for epsilon in epsilons:
        for depth in DEPTHS:
            for trees in TREES:
                right = 0
                for seed in range(REPEATS):
                    for held in np.unique(fold):
                        forest = RandomForestClassifier(
                            trees, epsilon=float(epsilon), max_depth=depth, bounds=bounds, shuffle=True,
                            classes=np.arange(table["classes"]), random_state=int(1000 * seed + held),
                        )  # fmt: skip
                        forest.fit(values[fold != held], labels[fold != held])
                        right += (forest.predict(values[fold == held]) == labels[fold == held]).sum()
                found.append([epsilon, depth, trees, round(float(right / REPEATS / len(labels)), 4)])
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
