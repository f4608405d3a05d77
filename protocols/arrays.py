"""Array types shared by several folders."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]  # category codes of a column: 0 for the first value of its list
Counts: TypeAlias = NDArray[np.int64]  # number of rows, for each of several groups
Floats: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = NDArray[np.int64]  # integers, possibly negative
