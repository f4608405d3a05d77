"""A task's own data with the shares of further holders of rows; see docs/holders.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.shares import Ask


def joined(data: Any, ask: Ask) -> Any:
    """Return this party's shares of all parties' data: its own, and what the holders send.

    Args:
        data: This party's data, as the task's `run` takes them: numbers, or a source of counts; private.
        ask: Asks the holders.

    Raises:
        InputError: The data are of another form.
    """
    from protocols.shares import SharedCounts

    if isinstance(data, np.ndarray) and data.dtype.kind in "iu":
        numbers = data.astype(np.uint64).reshape(-1) + ask(None, data.size)
        return numbers.astype(np.int64).reshape(data.shape)
    if hasattr(data, "level"):
        return SharedCounts(data, ask)
    raise InputError("this kind of job cannot read rows of holders")
