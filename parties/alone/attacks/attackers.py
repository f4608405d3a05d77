"""Attackers: each guesses a published row for every known person, with a certainty.

Linking succeeds if the row is the person's. Inference succeeds if the row's sensitive value is the person's.
Membership inference succeeds if synthetic rows are nearer to members than to others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from parties.alone.attacks import linking
from parties.alone.attacks.agreement import LIKELY, Agreement
from parties.alone.attacks.linking import Guesses
from parties.alone.publish.rules import number
from parties.tables.delimited import MISSING
from parties.tables.texts import TextColumn
from protocols.arrays import Codes, Floats

NEAR_ROWS = 10  # rows that vote
INTERVAL = 0.05  # a number is right if it is this near to the truth, as a share of a standard deviation


@dataclass(frozen=True, eq=False)
class Secret:
    """A sensitive column: codes of its published values, int64[published rows]; near numbers have one code.

    `is_right(rows)`, bool[known], is True where the value of the row guessed for a known person is right, or near.
    """

    published: Codes
    is_right: Callable[[Codes], NDArray[np.bool_]]

    @classmethod
    def of(cls, published: Sequence[str], known: Sequence[str]) -> Secret:
        """Return the secret of cells given as text; if all are numbers, a guess within `INTERVAL` is right.

        Args:
            published: sensitive value of every published row
            known: true sensitive value of every known person
        """
        (values, places), (truths, of_known) = (TextColumn.of(cells).unique() for cells in (published, known))
        numbers, truth = _numbers(values, places), _numbers(truths, of_known)
        codes, mine = places, truths[of_known]
        if numbers is None or truth is None or not np.isfinite(truth).any():
            return cls(codes, lambda rows: values[places[rows]] == mine)
        near = INTERVAL * float(np.nanstd(truth))
        if near > 0:
            codes = np.unique(np.round(numbers / (2 * near)), return_inverse=True)[1].astype(np.int64)
        return cls(codes, lambda rows: (values[places[rows]] == mine) | (np.abs(numbers[rows] - truth) <= near))


class Release:
    """Published rows as attackers see them: the rows of each combination of labels, and their sensitive values."""

    def __init__(
        self,
        columns: Sequence[Agreement],
        values: Codes | None = None,
        on_progress: linking.OnProgress = lambda done, total: None,
    ) -> None:
        """Create the view of attackers.

        Args:
            columns: agreement of each known column
            values: code of each row's sensitive value, int64[rows]; None: all rows have different values
            on_progress: called with the numbers of known persons done and in total
        """
        self.columns, self.on_progress = columns, on_progress
        self.looks_for_values = values is not None
        self.values = np.arange(len(columns[0].published)) if values is None else values
        self.lines, self.order, self.ends = linking.lines_of([c.published for c in columns])
        self.whole = np.bincount(self.values)

    @cached_property
    def people(self) -> tuple[Codes, Codes]:
        """Distinct combinations of known cells, int64[columns, combinations], and the index of each known person's."""
        people, person = np.unique(np.stack([c.known for c in self.columns]), axis=1, return_inverse=True)
        return people.astype(np.int64), person.ravel().astype(np.int64)

    def rows_of(self, lines: Codes) -> Codes:
        """Return the indices of the published rows that have one of the label combinations with the indices `lines`."""
        if len(lines) == len(self.ends) - 1:
            return self.order
        return np.concatenate([self.order[self.ends[line] : self.ends[line + 1]] for line in lines.tolist()])

    def vote(self, rows: Codes) -> tuple[int, float]:
        """Return one of these rows with their most frequent sensitive value, and the logarithm of the value's lift.

        The lift is the value's share of these rows over its share of all rows.
        """
        counts = np.bincount(self.values[rows], minlength=len(self.whole))
        value = int(counts.argmax())
        those = rows[self.values[rows] == value]
        lift = math.log(counts[value] / len(rows)) - math.log(self.whole[value] / self.whole.sum())
        return int(those[len(those) // 2]), lift

    def named(self, chosen: Iterable[tuple[int, float]]) -> Guesses:
        """Return the guesses of an attacker, given a row and its certainty for each of the `people`."""
        person = self.people[1]
        rows, sure = (np.array(part) for part in zip(*chosen, strict=True))
        return Guesses(rows.astype(np.int64)[person], sure.astype(np.float64)[person])

    def distances(self) -> Iterator[Floats]:
        """Yield for each of the `people` the squared distance of every combination, float64[combinations]."""
        tables = [lambda value, c=c: c.distance_to(value).astype(np.float64) ** 2 for c in self.columns]
        return linking.sums(self.lines, tables, self.people[0])

    @cached_property
    def nearest(self) -> list[Guesses]:
        """Guesses of `nearest_row`; if the attacker looks for values, also those of `near_rows`."""
        ways = [self._nearest, self._near][: 1 + self.looks_for_values]
        chosen = []
        for i, far in enumerate(self.distances()):
            if i % 100 == 0:
                self.on_progress(i, self.people[0].shape[1])
            chosen.append([way(far) for way in ways])
        return [*map(self.named, zip(*chosen, strict=True))]

    def _nearest(self, far: Floats) -> tuple[int, float]:
        least = far.min()
        tied = far <= least + 1e-12
        rows = self.rows_of(np.flatnonzero(tied))
        row, lift = self.vote(rows)
        beyond = np.where(tied, np.inf, far).min()
        # each row is a value of its own: no row stands out
        if len(rows) > 1 and len(self.whole) == len(self.values):
            return row, 0.0
        return row, lift if np.isinf(beyond) else lift * (1 - math.sqrt(least / beyond))

    def _near(self, far: Floats) -> tuple[int, float]:
        few = np.argpartition(far, NEAR_ROWS)[:NEAR_ROWS] if len(far) > NEAR_ROWS else np.arange(len(far))
        few = few[np.argsort(far[few], kind="stable")]
        sizes = self.ends[few + 1] - self.ends[few]
        return self.vote(self.rows_of(few[: int(np.searchsorted(sizes.cumsum(), NEAR_ROWS)) + 1]))


def most_frequent(release: Release) -> Guesses:
    """Guess a row with the most frequent sensitive value for every person, without using known cells."""
    person = release.people[1]
    row, sure = release.vote(release.order)
    return Guesses(np.full(len(person), row), np.full(len(person), sure))


def possible_rows(release: Release) -> Guesses:
    """Guess the most frequent sensitive value of the rows that agree in all columns; of all rows, if none agrees."""

    overall = release.vote(release.order)

    def choose(known: Codes) -> tuple[int, float]:
        agrees = [column.similar[value] >= LIKELY for column, value in zip(release.columns, known, strict=True)]
        could = np.flatnonzero(agrees[0][release.lines[0]])
        for agrees_with, labels in zip(agrees[1:], release.lines[1:], strict=True):
            could = could[agrees_with[labels[could]]]
        return release.vote(release.rows_of(could)) if len(could) else overall

    return release.named(map(choose, release.people[0].T))


def naive_bayes(release: Release) -> Guesses:
    """Guess a row with the most likely sensitive value by naive Bayes.

    A label's rows are divided evenly among the known values that agree with it. Each count is raised by 1.
    """
    whole = release.whole
    scores = np.tile(np.log(whole + 1), (len(release.columns[0].known), 1))
    for column in release.columns:
        values, labels = column.similar.shape
        table = np.zeros((labels, len(whole)))
        np.add.at(table, (column.published, release.values), 1)
        spread = column.similar / np.maximum(column.similar.sum(axis=0), 1)
        scores += np.log((spread @ table + 1) / (whole + values))[column.known]
    guesses = scores.argmax(axis=1)
    best = scores[np.arange(len(scores)), guesses]
    sure = best - np.log(np.exp(scores - best[:, None]).sum(axis=1)) - best - np.log(whole[guesses] / whole.sum())
    examples = np.argsort(release.values, kind="stable")[whole.cumsum() - whole + whole // 2]
    return Guesses(examples[guesses].astype(np.int64), sure)


def nearest_row(release: Release) -> Guesses:
    """Guess the nearest row; among equally near rows, one with their most frequent sensitive value."""
    return release.nearest[0]


def near_rows(release: Release) -> Guesses:
    """Guess the most frequent sensitive value of the nearest rows, ten or, with equal cells, more: this finds rules."""
    return release.nearest[1]


def rare_match(release: Release) -> Guesses:
    """Guess the row that agrees best, where agreement in a rare value has the greatest weight."""
    return linking.link(release.columns, release.on_progress)


ATTACKERS: dict[str, Callable[[Release], Guesses]] = {
    "possible rows": possible_rows,
    "naive Bayes": naive_bayes,
    "nearest row": nearest_row,
    "ten nearest rows": near_rows,
    "rare match": rare_match,
}
STANDS_OUT = 0.5  # the nearest row is at most half as far as the next
LINKERS = ("possible rows", "nearest row", "rare match")  # attackers who look for a person, not for a value


def _numbers(values: NDArray[np.str_], places: Codes) -> Floats | None:
    """Return the cells at `places` of these values as numbers, NaN for a missing one; None if one is not a number."""
    parsed = [np.nan if text == MISSING else number(text) for text in values.tolist()]
    if any(value is None for value in parsed):
        return None
    return np.array(parsed, dtype=np.float64)[places]
