"""Attacks on rows changed by disclosure control, by an attacker who knows everybody's quasi-identifiers.

Linking: does the attacker find the person's row? Inference: does the attacker find the person's true sensitive value?
Each report begins with the strongest attack and the worst-hit people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parties.alone.attacks import attackers, inference, linking
from parties.alone.attacks.agreement import MOST_PAIRS, agreement
from parties.alone.publish.models.strongest import headline
from parties.alone.publish.protecting.rows import Rows
from parties.base.text import listed

MOST = 500  # most people tried


def attacks(
    source: Rows, published: Rows, sensitive: Sequence[str], random: np.random.Generator
) -> dict[str, dict[str, Any]]:
    """Return the figures of each attack, ready for JSON; empty without rows or quasi-identifiers.

    Quasi-identifiers with too many different values are left out of the comparison; the report names them.

    Args:
        source: the true rows
        published: the changed rows
        sensitive: names of the sensitive columns
        random: source of randomness
    """
    people = np.sort(random.permutation(len(source))[:MOST])
    known = {name: source.columns[name][people].tolist() for name in source.quasi}
    release = {name: published.columns[name].tolist() for name in source.quasi}
    compared = [name for name in source.quasi if len({*known[name]}) * len({*release[name]}) <= MOST_PAIRS]
    columns = [agreement(name, known[name], release[name]) for name in compared]
    if not columns or not len(published):
        return {}
    view = attackers.Release(columns)
    named = {name: attackers.ATTACKERS[name](view) for name in attackers.LINKERS}
    right = {name: published.origins[guess.rows] == people for name, guess in named.items()}
    links = named["rare match"]
    standing_out, *_ = linking.report(links, right["rare match"].astype(np.int64), linking.ECCENTRICITY)["thresholds"]
    summary = headline(right, {name: guess.sure for name, guess in named.items()}, 1 / len(published))
    figures: dict[str, dict[str, Any]] = {
        "linking": {**summary, "known": len(people), "linked": standing_out["linked"], "right": standing_out["right"]}
    }
    if left_out := [name for name in source.quasi if name not in compared]:
        figures["linking"]["not_compared"] = listed(left_out)
    for name in sensitive:
        guessed = inference.infer(columns, published.columns[name].tolist(), source.columns[name][people].tolist())
        figures[f"inference ({name})"] = {
            "strongest": guessed["strongest"],
            "worst_hit": guessed["worst_hit"],
            "without": guessed["prior"],
            "with": guessed["strongest"]["right"],
            "naive_bayes": guessed["classifier"],
        }
    return figures
