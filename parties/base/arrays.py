"""Types of arrays that several rooms speak of."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]  # category codes of a column: 0 for the first value of its list
Counts: TypeAlias = NDArray[np.int64]  # how many rows, of each of several
Floats: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = NDArray[np.int64]  # whole numbers that may be negative
