"""Decisions on scores and tables against scikit-learn and SciPy of the union, in whole numbers at the border itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency
from sklearn.metrics import roc_auc_score

from protocols import drift, judging
from smc.engines import make_engine
from smc.errors import InputError
from smc.local import run_local

pytestmark = pytest.mark.slow

ROWS = 60


def both(program: Any, name: str = "clear") -> Any:
    left, right = run_local(lambda s: program(make_engine(s, name), s.party))
    assert left == right
    return left


def tables(bins: int, most: int = 5) -> st.SearchStrategy[np.ndarray]:
    """Two parties' rows by label and bin."""
    return arrays(np.int64, (2, 2, bins), elements=st.integers(0, most))


def area(table: np.ndarray) -> Fraction | None:
    """The area by scikit-learn, as the fraction of half pairs that it is."""
    positives, negatives = int(table[1].sum()), int(table[0].sum())
    if not positives * negatives:
        return None
    label, score = (np.repeat(places, table.reshape(-1)) for places in np.indices(table.shape).reshape(2, -1))
    return Fraction(round(roc_auc_score(label, score) * 2 * positives * negatives), 2 * positives * negatives)


@given(st.integers(1, 5).flatmap(tables), st.sampled_from([0, Fraction(1, 10**4), -Fraction(1, 10**4)]))
@example(np.zeros((2, 2, 1), dtype=np.int64), Fraction(0))
@settings(max_examples=40, deadline=None)
def test_an_area_is_compared_exactly(rows: np.ndarray, beside: Fraction) -> None:
    auc = area(rows.sum(axis=0))
    least = max(Fraction(0), (Fraction(1, 2) if auc is None else auc) + beside)
    answer = both(lambda e, party: judging.at_least(e, rows[party], least.numerator, least.denominator, ROWS))
    assert answer == (auc is not None and auc >= least)


@given(tables(4), tables(3))
@settings(max_examples=40, deadline=None)
def test_the_larger_area_is_found(first: np.ndarray, second: np.ndarray) -> None:
    a, b = area(first.sum(axis=0)), area(second.sum(axis=0))
    answer = both(lambda e, party: judging.larger(e, first[party], second[party], ROWS))
    assert answer == (a is not None and b is not None and a > b)


@given(arrays(np.int64, (2, 4), elements=st.integers(0, 12)), arrays(np.int64, (2, 2), elements=st.integers(0, 12)))
@settings(max_examples=40, deadline=None)
def test_drift_is_scipys_chi_square(four: np.ndarray, two: np.ndarray) -> None:
    """Of the values that a row has; the level is next to each table's own p-value."""
    p = []
    for table in (four, two):
        there = table[:, table.sum(axis=0) > 0]
        is_table = there.shape[1] > 1 and (there.sum(axis=1) > 0).all()
        p.append(float(chi2_contingency(there, correction=False).pvalue) if is_table else 1.0)
    for level in sorted({min(0.5, max(1e-6, p[0] * 0.97)), min(0.5, max(1e-6, p[1] * 1.03))}):
        if all(abs(found / level - 1) > 0.01 for found in p):
            answer = both(lambda e, party, c=level: drift.differ(e, [four[party], two[party]], c, ROWS))
            assert answer == [found < level for found in p]


def test_engines_agree() -> None:
    rows = np.random.default_rng(1).integers(0, 9, (2, 2, 4))
    auc = area(rows.sum(axis=0))
    assert auc is not None
    for name in ("yao", "gmw"):
        for least in (auc, auc + Fraction(1, 10**6)):
            answer = both(lambda e, p, c=least: judging.at_least(e, rows[p], c.numerator, c.denominator, ROWS), name)
            assert answer == (least == auc)
        assert not both(lambda e, p: judging.larger(e, rows[p], rows[p], ROWS), name)
        columns = [np.array([30, 1]), np.array([2, 29])]
        assert both(lambda e, p, c=columns: drift.differ(e, [c[p]], 0.05, ROWS), name) == [True]


def test_rows_that_do_not_fit_words_are_refused() -> None:
    judging.check_rows(2**30 - 1)
    drift.check_rows(2**24 - 1)
    with pytest.raises(InputError, match="max_rows"):
        judging.check_rows(2**30)
    with pytest.raises(InputError, match="max_rows"):
        drift.check_rows(2**24)
