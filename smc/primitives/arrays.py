"""Array types shared by several modules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Gates = NDArray[np.int32]  # rows of a netlist: out, left, right
Octets = NDArray[np.uint8]  # bytes, not bits
