"""Hidden rows as a trusted dealer gives them: the ideal functionality of a hidden matching."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protocols.hidden_rows import HiddenRows, cells, word_of


def dealt(
    keys: tuple[Sequence[str], Sequence[str]],
    values: tuple[np.ndarray, np.ndarray],
    domains: tuple[int, ...],
    owners: tuple[int, ...],
    holder: int,
    bins: int,
    seed: int = 0,
) -> tuple[HiddenRows, HiddenRows]:
    """Return both parties' parts of the joined rows.

    Args:
        keys: Key of each row of party 0 and of party 1.
        values: Category indices of each party's columns, int64[rows, columns] each.
        domains: Number of values of each column, of both parties.
        owners: Party of each column.
        holder: Party whose rows are in the bins.
        bins: Number of bins, at least the holder's rows.
        seed: Seed of the dealer.
    """
    rng, kind, other = np.random.default_rng(seed), word_of(bins), 1 - holder
    of = [[column for column, owner in enumerate(owners) if owner == party] for party in (0, 1)]
    place_of = {key: row for row, key in enumerate(keys[other])}
    row_in = np.full(bins, -1)
    row_in[rng.permutation(bins)[: len(keys[holder])]] = np.arange(len(keys[holder]))
    partner = np.array([place_of.get(keys[holder][row], -1) if row >= 0 else -1 for row in row_in])
    own = np.zeros((bins, len(of[holder])), dtype=np.int64)
    own[row_in >= 0] = values[holder][row_in[row_in >= 0]]
    theirs = cells(values[other], [domains[column] for column in of[other]], kind)
    shown = rng.integers(0, np.iinfo(kind).max, (bins, theirs.shape[1]), kind, endpoint=True)
    shown[partner >= 0] = theirs[partner[partner >= 0]]
    member, mask = (partner >= 0).astype(np.uint8), rng.integers(0, 2, bins, np.uint8)
    pads = rng.integers(0, np.iinfo(kind).max, shown.shape, kind, endpoint=True)
    parts = [
        HiddenRows(domains, owners, holder, member ^ mask, own, shown - pads),
        HiddenRows(domains, owners, holder, mask, None, pads),
    ]
    return (parts[0], parts[1]) if holder == 0 else (parts[1], parts[0])
