"""What a publication tells of a sensitive value: how much better it is guessed with it than without.

Three guessers of the value of each known row: by the most frequent published value (prior); by the most frequent one of
all published rows that could be this person's (class: homogeneity and skewness, where the person is in the table); by
naive Bayes learnt from the published rows, which also guesses of people who are not there. What the last gains is what
the publication teaches; what the second gains beyond it is about those who are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parties.alone.attacks.agreement import LIKELY, Agreement
from parties.base.arrays import Codes, Counts


def infer(columns: Sequence[Agreement], published: Codes, known: Codes, values: int) -> dict[str, Any]:
    """Return the shares of rows guessed rightly, ready for JSON.

    `published` int64[published rows] and `known` int64[known rows] are sensitive values, of so many. There must be rows
    of both.
    """
    whole = np.bincount(published, minlength=values)
    prior = float((known == whole.argmax()).mean())
    by_class = float((_of_classes(columns, published, whole) == known).mean())
    classifier = float((_bayes(columns, published, whole) == known).mean())
    return {
        "prior": prior,
        "classifier": classifier,
        "class": by_class,
        "gain_of_classifier": classifier - prior,
        "gain_of_class": by_class - prior,
    }


def _of_classes(columns: Sequence[Agreement], published: Codes, whole: Counts) -> Codes:
    """Return the most frequent value among the published rows that agree in all columns; of all, if none does."""
    lines, place = np.unique(np.stack([column.published for column in columns]), axis=1, return_inverse=True)
    table = np.zeros((lines.shape[1], len(whole)), dtype=np.int64)
    np.add.at(table, (place.ravel(), published), 1)
    people, person = np.unique(np.stack([column.known for column in columns]), axis=1, return_inverse=True)
    guesses = np.zeros(people.shape[1], dtype=np.int64)
    for i, values in enumerate(people.T):
        could = np.full(lines.shape[1], True)
        for column, value, labels in zip(columns, values, lines, strict=True):
            could &= (column.similar[value] >= LIKELY)[labels]
        counts = table[could].sum(axis=0)
        guesses[i] = (counts if counts.any() else whole).argmax()
    return guesses[person.ravel()]


def _bayes(columns: Sequence[Agreement], published: Codes, whole: Counts) -> Codes:
    """Return the guess of naive Bayes: a label's rows are spread evenly over the values that it stands for, and every
    value of a class has one row more."""
    scores = np.tile(np.log(whole + 1), (len(columns[0].known), 1))
    for column in columns:
        values, labels = column.similar.shape
        table = np.zeros((labels, len(whole)))
        np.add.at(table, (column.published, published), 1)
        spread = column.similar / np.maximum(column.similar.sum(axis=0), 1)
        scores += np.log((spread @ table + 1) / (whole + values))[column.known]
    guesses: Codes = scores.argmax(axis=1)
    return guesses
