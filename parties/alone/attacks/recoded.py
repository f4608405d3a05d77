"""Attacks of `smc attack infer` on recoded rows, by an attacker who knows everybody's quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from parties.alone.attacks import linking
from parties.alone.attacks.agreement import MOST_PAIRS, agreement
from parties.alone.attacks.inference import KEYS, infer
from parties.alone.publish.cells import Cells
from parties.tables.texts import TextColumn


def add_attacks(report: dict[str, Any], people: Cells, published: Mapping[str, Iterable[str]]) -> None:
    """Add to each sensitive column of a report the strongest attack on it, and how often each attacker is right.

    Quasi-identifiers with too many different values are left out of the comparison.

    Args:
        report: the report of a recoded table
        people: the true rows of all people
        published: cells of the published columns
    """
    sensitive = report["risks"].get("sensitive", {})
    if not sensitive or not people.hierarchies:
        return
    rows = np.repeat(np.arange(len(people.counts)), people.counts)
    rows = rows[linking.tried(len(rows))]
    known = people.texts(rows)
    shown = {name: TextColumn.of(published[name]) for name in known}
    columns = [
        agreement(h.column, known[h.column], shown[h.column], h)
        for h in people.hierarchies
        if len(known[h.column].texts) * len(shown[h.column].texts) <= MOST_PAIRS
    ]
    for name, figures in sensitive.items() if columns else ():
        guessed = infer(columns, shown[name], known[name])
        shares = {attacker.lower().replace(" ", "_"): guessed[key] for attacker, key in KEYS.items()}
        worst = figures["worst_hit"]
        worst["worse_than_all"] = worst["right"] > guessed["strongest"]["right"] * worst["people"]
        inference = {"people": len(rows), "most_frequent_value": guessed["prior"], **shares}
        sensitive[name] = {"strongest": guessed["strongest"], **figures, "inference": inference}
