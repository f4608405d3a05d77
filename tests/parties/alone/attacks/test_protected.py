"""Rows as they were are linked and guessed; swapped, redrawn and hidden ones are not."""

from __future__ import annotations

import numpy as np

from parties.alone.attacks.protected import attacks
from parties.alone.publish.protecting.local_suppression import LocalSuppression
from parties.alone.publish.protecting.perturbing import RankSwapping
from parties.alone.publish.protecting.pram import Pram
from parties.alone.publish.protecting.rows import Rows

PEOPLE = 120


def people() -> Rows:
    """Everybody has an age and a region that nobody else has both of, and a disease that hangs on neither."""
    random = np.random.default_rng(1)
    columns = {
        "age": [str(20 + i // 3) for i in range(PEOPLE)],
        "region": ["NSW"[i % 3] for i in range(PEOPLE)],
        "disease": random.choice(["flu", "cold", "gout"], PEOPLE).tolist(),
    }
    cells = {name: np.array(column, dtype=object) for name, column in columns.items()}
    return Rows(cells, ("age", "region"), np.ones(PEOPLE), np.arange(PEOPLE), "people")


def coins() -> np.random.Generator:
    return np.random.default_rng(2)


def test_rows_as_they_were_tell_everything() -> None:
    source = people()
    order = coins().permutation(PEOPLE)
    figures = attacks(source, source.taken(order, np.ones(PEOPLE)), ["disease"], coins())
    linking = figures["linking"]
    assert [linking[key] for key in ("known", "linked", "right")] == [PEOPLE] * 3
    assert (linking["strongest"]["right"], linking["worst_hit"]["right"]) == (1, 10)
    assert figures["inference (disease)"]["with"] == 1


def test_protected_rows_do_not() -> None:
    source = people()
    swapped, _ = RankSwapping(columns=("age",), p=20).run(source, coins())
    figures = attacks(source, swapped, ["disease"], coins())
    assert figures["linking"]["right"] < PEOPLE / 10
    assert figures["inference (disease)"]["with"] < 0.55
    redrawn, _ = Pram(columns=("disease",), pd=0.3).run(source, coins())
    assert attacks(source, redrawn, ["disease"], coins())["inference (disease)"]["with"] < 0.7
    hidden, _ = LocalSuppression(k=3).run(source, coins())
    figures = attacks(source, hidden, ["disease"], coins())
    assert figures["linking"]["linked"] == 0
    assert figures["inference (disease)"]["with"] < 0.75


def test_nothing_to_know_is_no_attack() -> None:
    source = people()
    assert attacks(Rows(source.columns, (), source.weights, source.origins, "x"), source, ["disease"], coins()) == {}
