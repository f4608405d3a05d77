"""Reports of texts that begin with a group (a row or a cohort), followed by one bit for each position."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.alone.local.mechanism import Mechanism, Reports
from parties.alone.local.packing import from_bytes, known, unpack

GROUP_BYTES = 2


class GroupedBits(Mechanism):
    """Base of mechanisms whose devices belong to groups and report `bits` bits."""

    bits: int

    @property
    @abstractmethod
    def groups(self) -> int:
        """Number of groups."""

    @property
    @override
    def width(self) -> int:
        """Bytes of a report: the group, and the bits."""
        return GROUP_BYTES - (-self.bits // 8)

    @override
    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count for each group the ones of each bit and the reports, int64[groups (bits + 1)]."""
        group = known(from_bytes(reports[:, :GROUP_BYTES]), self.groups)
        table = np.zeros((self.groups, self.bits + 1), dtype=np.int64)
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(self.groups + 1))
        bits = unpack(reports[:, GROUP_BYTES:], self.bits)[order]
        for index in range(self.groups):
            part = bits[starts[index] : starts[index + 1]]
            table[index, :-1], table[index, -1] = part.sum(axis=0, dtype=np.int64), len(part)
        return table.reshape(-1)

    @override
    def count(self, tally: NDArray[np.int64]) -> int:
        return int(tally.reshape(self.groups, -1)[:, -1].sum())

    @override
    def possible(self, tally: NDArray[np.int64]) -> bool:
        """Return whether no bit of a group is set more often than the group has reports."""
        table = tally.reshape(self.groups, -1)
        return bool((table <= table[:, -1:]).all())
