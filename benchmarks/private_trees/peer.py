"""Accuracy of diffprivlib's private forests and naive Bayes on the same folds: a program for an environment of its own.

    python peer.py TABLE.npz EPSILON ...      the file holds values, labels, fold, domains and classes

diffprivlib 0.6.6 needs scikit-learn below 1.6, so this file imports nothing of the project. It prints a JSON list of
[epsilon, depth, trees, mean accuracy, its standard deviation over the draws]. The library's tree is its forest of one
tree; its Gaussian naive Bayes has depth and trees 0. Bounds and classes are given, so that nothing of the rows is told
besides what the budget pays for.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import GaussianNB, RandomForestClassifier

DEPTHS = (3, 5, 8)
TREES = (1, 5, 10)
REPEATS = 3


def main(path: str, *epsilons: str) -> None:
    warnings.simplefilter("ignore")
    table = np.load(path)
    values, labels, fold = table["values"].astype(float), table["labels"], table["fold"]
    bounds = (np.zeros(values.shape[1]), table["domains"] - 1)

    def right(model):
        """The share of rows that a model is right on which it has not seen, for each draw."""
        found = []
        for seed in range(REPEATS):
            said = np.empty_like(labels)
            for held in np.unique(fold):
                here = model(int(1000 * seed + held)).fit(values[fold != held], labels[fold != held])
                said[fold == held] = here.predict(values[fold == held])
            found.append((said == labels).mean())
        return round(float(np.mean(found)), 4), round(float(np.std(found, ddof=1)), 4)

    found = []
    for epsilon in epsilons:
        own = {"epsilon": float(epsilon), "bounds": bounds}
        for depth in DEPTHS:
            for trees in TREES:
                forest = {**own, "max_depth": depth, "shuffle": True, "classes": np.arange(table["classes"])}
                share = right(lambda seed: RandomForestClassifier(trees, random_state=seed, **forest))  # noqa: B023
                found.append([epsilon, depth, trees, *share])
        found.append([epsilon, 0, 0, *right(lambda seed: GaussianNB(random_state=seed, **own))])  # noqa: B023
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
