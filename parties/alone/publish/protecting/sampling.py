"""Sampling: a random part of the rows, each with the number of source rows for which it stands.

Simple random sampling without replacement, in each stratum if there are any (Hundepool et al., "Statistical Disclosure
Control", 2012, section 3.3.1). Remaining risk: `parties.alone.publish.protecting.risk`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from parties.alone.publish.protecting.method import Method, Share
from parties.alone.publish.protecting.rows import Rows, spelled
from parties.base.text import quoted
from parties.sources.settings import Name
from smc.errors import InputError


class Sampling(Method):
    """Method that keeps a random `share` of the rows of each stratum, one at least, and adds the column `weight`."""

    share: Share
    strata: tuple[Name, ...] = ()
    weight: Name = "weight"

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the sample; raise InputError if the column of weights exists already."""
        if self.weight in rows.columns:
            raise InputError(f"weight: there is a column {quoted(self.weight)} already; set weight to another name")
        strata = rows.codes(self.strata)
        mixed = random.permutation(len(rows))
        order = mixed[np.argsort(strata[mixed], kind="stable")]
        sizes = np.bincount(strata)
        chosen = np.maximum(1, np.round(sizes * self.share).astype(np.int64))
        ranks = np.arange(len(order)) - np.repeat(sizes.cumsum() - sizes, sizes)
        places = np.sort(order[ranks < chosen[strata[order]]])
        stratum = strata[places]
        weights = rows.weights[places] * sizes[stratum] / chosen[stratum]
        sample = rows.taken(places, weights)
        return sample.replaced({self.weight: spelled(weights)}), {"sampled": len(places), "of": len(rows)}
