"""Marginal errors and nearest rows, against plain loops."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from parties.alone.comparing import fidelity
from parties.alone.comparing.fidelity import marginal_errors, nearest
from smc import kernels


@settings(max_examples=40)
@given(st.data())
def test_marginal_errors(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    domain = {f"c{i}": size for i, size in enumerate(sizes)}
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    one, other = (
        {name: rng.integers(0, size, rows) for name, size in domain.items()}
        for rows in (data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30)))
    )
    order = data.draw(st.integers(1, 4))
    found = dict(marginal_errors(domain, one, other, order))
    assert list(found) == list(combinations(domain, min(order, len(domain))))
    for columns, distance in found.items():
        counts = [Counter(zip(*(table[name].tolist() for name in columns), strict=True)) for table in (one, other)]
        rows = [counts[0].total(), counts[1].total()]
        cells = {*counts[0], *counts[1]}
        expected = sum(abs(counts[0][cell] / rows[0] - counts[1][cell] / rows[1]) for cell in cells) / 2
        assert distance == pytest.approx(expected)


def test_no_rows_no_marginals() -> None:
    with pytest.raises(ValueError, match="without rows"):
        next(marginal_errors({"a": 2}, {"a": np.zeros(0, np.int64)}, {"a": np.zeros(1, np.int64)}))


def _far(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    return sum(a != b for a, b in zip(one.tolist(), other.tolist(), strict=True))


@settings(max_examples=80)
@given(st.data())
def test_nearest(data: st.DataObject) -> None:
    """By tries of any number and form, by a scan of all lines, or by a scan where tries take too many steps."""
    columns, most = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1, 2, 3, 1000]))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    rows = rng.integers(0, most, (data.draw(st.integers(0, 20)), columns))
    others = rng.integers(0, most, (data.draw(st.integers(1, 60)), columns))
    expected = [min(_far(one, other) for other in others) for one in rows]
    folds = rng.integers(0, 8, len(rows)), np.append(0, rng.integers(0, 8, len(others) - 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fidelity, "_SCANNED", data.draw(st.sampled_from([1e-9, 1, 1 << 40])))
        patched.setattr(fidelity, "_TRIES", data.draw(st.integers(1, 4)))
        patched.setattr(fidelity, "_LEAF", data.draw(st.sampled_from([1, 4, 16])))
        assert nearest(rows, others).tolist() == expected
        folded = nearest(rows, others, folds)
    for one, fold, distance in zip(rows, folds[0], folded.tolist(), strict=True):
        apart = [_far(one, other) for other, part in zip(others, folds[1], strict=True) if part != fold]
        assert distance == min(apart, default=columns + 1)


def test_nearest_in_blocks_and_wide() -> None:
    """More lines than a block, more categories than a byte has, more columns than a byte counts."""
    rng = np.random.default_rng(9)
    rows, others = rng.integers(0, 2, (11, 300)), rng.integers(2, 4, (kernels.LINES + 1, 300))
    others[-1, 7] = rows[5, 7]
    others[:, 0] = np.arange(len(others)) + 5
    assert nearest(rows, others).tolist() == [300 - max(int((other == one).sum()) for other in others) for one in rows]
    assert nearest(rows, others)[5] == 299


def test_near_to_nothing() -> None:
    with pytest.raises(ValueError, match="no row"):
        nearest(np.zeros((1, 2), np.int64), np.zeros((0, 2), np.int64))
