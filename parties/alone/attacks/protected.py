"""The attacks on rows that methods of disclosure control have changed, by who knows everybody's quasi-identifiers.

Linking: for whom one published row is nearer than all others, and whether it is theirs. Inference: how often a
sensitive value is guessed, of which the true one counts, not the published one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parties.alone.attacks import inference, linking
from parties.alone.attacks.agreement import MOST_PAIRS, agreement
from parties.alone.publish.protecting.rows import Rows

MOST = 500  # people that are tried


def attacks(
    source: Rows, published: Rows, sensitive: Sequence[str], random: np.random.Generator
) -> dict[str, dict[str, Any]]:
    """Return the figures of each attack, ready for JSON; nothing if there are no rows or quasi-identifiers.

    Quasi-identifiers of too many different values to be compared are left out.
    """
    people = np.sort(random.permutation(len(source))[:MOST])
    known = {name: source.columns[name][people].tolist() for name in source.quasi}
    release = {name: published.columns[name].tolist() for name in source.quasi}
    columns = [
        agreement(name, known[name], release[name])
        for name in source.quasi
        if len({*known[name]}) * len({*release[name]}) <= MOST_PAIRS
    ]
    if not columns or not len(published):
        return {}
    links = linking.link(columns)
    right = (published.origins[links.best] == people).astype(np.int64)
    alone, *_ = linking.report(links, right, linking.ECCENTRICITY)["thresholds"]
    figures = {"linking": {"known": len(people), "linked": alone["linked"], "right": alone["right"]}}
    for name in sensitive:
        cells = np.concatenate([published.columns[name], source.columns[name][people]]).astype(str)
        values, codes = np.unique(cells, return_inverse=True)
        of_published, of_people = np.split(codes.astype(np.int64), [len(published)])
        guessed = inference.infer(columns, of_published, of_people, len(values))
        figures[f"inference ({name})"] = {
            "without": guessed["prior"],
            "with": guessed["class"],
            "naive_bayes": guessed["classifier"],
        }
    return figures
