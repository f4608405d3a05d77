"""Shadow models of jobs: each is learnt in the clear, as two parties with half of the rows each would learn it.

The confidence of a model in a row's class: for trees, the share of trees with that class; for naive Bayes and weights,
the probability. Synthetic rows do not predict a class. Their confidence in a row is a density: the mean, over all pairs
of columns, of n / (n + 1) for the n synthetic rows with the row's pair of values. So a single synthetic row can move it
by half (density as in B. van Breugel et al., "Membership inference attacks against synthetic data through overfitting
detection", AISTATS 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from parties.alone.attacks.membership import Learn, Sure
from parties.alone.comparing import logistic
from parties.alone.comparing.learners import classifier
from parties.base.settings import merge
from parties.jobs.kinds.forest import Forest
from parties.jobs.kinds.id3 import Id3
from parties.jobs.kinds.release.naive_bayes import NaiveBayes
from parties.jobs.kinds.synthesise import Synthesise
from parties.jobs.release.settings import default_delta
from parties.jobs.tree.joint import JointTree
from parties.models.bayes import NaiveBayesModel
from parties.tables.schema import Schema
from protocols.arrays import Codes, Floats
from protocols.counts import RowCounts
from protocols.release.promise import MOST_EPSILON
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.primitives.prg import KEY_BYTES
from smc.session import Session

TARGET = "class"
NO_NOISE = Fraction(1000)  # rho: almost no count of a few columns is changed
_LONG = 3600.0  # seconds: the other party is a thread of this process


@dataclass(frozen=True)
class Learning:
    """Settings of shadow models: numbers of values and of classes, `most` rows in all, and epsilon (None: no noise)."""

    domains: tuple[int, ...]
    classes: int
    most: int
    epsilon: float | None = None

    @property
    def delta(self) -> float:
        """Delta with which synthetic rows are made."""
        return default_delta(self._max_rows)

    def tree(self, k: int, depth: int | None, trees: int = 1) -> Learn:
        """Return the learner of `smc id3`'s tree, or of several voting trees; exact ones are those of `smc forest`.

        Args:
            k: Minimum number of rows of a leaf without epsilon; 1 for a plain tree.
            depth: Maximum depth; None for the usual one.
            trees: Number of trees.
        """
        shape: dict[str, Any] = {"max_depth": depth, "target": TARGET}
        shape |= {"splits": "multiway"} if trees == 1 else {"trees": trees}
        if self.epsilon is not None:
            task = self._task(Id3, {**shape, "epsilon": self.epsilon})
        else:
            rules = {"plain": True} if k == 1 else {"k": k, "against": "public"}
            task = self._task(Id3 if trees == 1 else Forest, shape | rules)

        def learn(rows: Codes, labels: Codes) -> Sure:
            grown = _run(task, np.column_stack([rows, labels]))
            predicts = [classifier(task.questions.of_columns(tree)) for tree in _several(grown)]
            return lambda others, classes: np.mean([predict(others) == classes for predict in predicts], axis=0)

        return learn

    def bayes(self) -> Learn:
        """Return the learner of `smc release naive-bayes`."""
        privacy = {"exact": True} if self.epsilon is None else {"epsilon": self.epsilon}
        task = self._task(NaiveBayes, {**privacy, "target": TARGET})

        def learn(rows: Codes, labels: Codes) -> Sure:
            document = task.query.show(_run(task, np.column_stack([rows, labels])))
            model = NaiveBayesModel.parse(dict(document))
            priors = np.log(np.array([*model.classes.values()]) + 1.0)
            tables = [np.array([*by_value.values()]) for by_value in model.logarithms.values()]

            def sure(others: Codes, classes: Codes) -> Floats:
                scores = priors + sum(table[values] for table, values in zip(tables, others.T, strict=True))
                scores = np.exp(scores - scores.max(axis=1, keepdims=True))
                return scores[np.arange(len(others)), classes] / scores.sum(axis=1)

            return sure

        return learn

    def weights(self) -> Learn:
        """Return the learner of logistic regression with an indicator for each value."""

        def learn(rows: Codes, labels: Codes) -> Sure:
            fitted = logistic.fit(self.domains, self.classes, rows, labels)
            return lambda others, classes: fitted.probabilities(others)[np.arange(len(others)), classes]

        return learn

    def synthetic(self, select: str) -> Learn:
        """Return the learner of `smc synthesise`. Without epsilon its counts have no noise, unlike in a real job.

        Args:
            select: Method that chooses the marginals: `aim` or `mst`.
        """
        names = tuple(self._schema.attributes)
        settings = {"epsilon": self.epsilon or MOST_EPSILON, "delta": self.delta, "select": select, "columns": names}
        task = self._task(Synthesise, settings)
        if self.epsilon is None:
            task.work = replace(task.work, rho=NO_NOISE)

        def learn(rows: Codes, labels: Codes) -> Sure:
            made_rows = _run(task, np.column_stack([rows, labels])).rows.astype(np.int64)
            return lambda others, classes: density(task.work.domains, made_rows, np.column_stack([others, classes]))

        return learn

    @property
    def _schema(self) -> Schema:
        sizes = {f"{column}": size for column, size in enumerate(self.domains)} | {TARGET: self.classes}
        return Schema({name: tuple(f"v{value}" for value in range(size)) for name, size in sizes.items()}, TARGET)

    @property
    def _max_rows(self) -> int:
        return max(1, -(-self.most // 2))

    def _task(self, kind: Any, settings: dict[str, Any]) -> Any:
        return kind.canonical(merge(kind.Settings(), {"max_rows": self._max_rows, **settings}), self._schema)


def density(domains: Sequence[int], synthetic: Codes, rows: Codes) -> Floats:
    """Return the confidence of synthetic rows in each row, float64[rows].

    Args:
        domains: Number of values of each column.
        synthetic: Synthetic rows, int64[rows, columns].
        rows: Rows to judge, int64[rows, columns].
    """
    sums = np.zeros(len(rows))
    pairs = list(combinations(range(len(domains)), 2))
    for pair in pairs:
        shape = [domains[column] for column in pair]
        cells = np.bincount(np.ravel_multi_index(tuple(synthetic[:, pair].T), shape), minlength=shape[0] * shape[1])
        matching = cells[np.ravel_multi_index(tuple(rows[:, pair].T), shape)]
        sums += matching / (matching + 1)
    return sums / len(pairs)


def _run(task: Any, table: Codes) -> Any:
    """Return the final state of a task for a table int64[rows, columns], class last; the parties get alternate rows."""
    names = [*task.schema.attributes]
    target = names.index(task.target)
    columns = [column for column in range(len(names)) if column != target]
    sizes = [len(values) for values in task.schema.attributes.values()]

    def program(session: Session) -> Any:
        party_rows = table[session.party :: 2]
        counts = RowCounts([sizes[c] for c in columns], sizes[target], party_rows[:, columns], party_rows[:, target])
        key = (session.prg.bytes(KEY_BYTES).tobytes(),) if isinstance(task, JointTree) else ()
        data = task.own_rows(counts, *key)
        return task.run(engine_of(session, Profile("clear")), data, task.states.beginning, lambda step: None)

    return run_local(program, _LONG)[0]


def _several(grown: Any) -> Sequence[Any]:
    return grown if isinstance(grown, tuple) else (grown,)
