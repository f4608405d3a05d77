"""Types of arrays that several rooms speak of."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]  # category codes of a column: 0 for the first value of its list
