"""Write the table that compares cells with noise, in docs/publish-blur.md, in half a minute.

python -m scripts.discretisation
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.blurring import accuracy
from benchmarks.credit import FUNCTIONS

PAGE = Path(__file__).parents[1] / "docs" / "publish-blur.md"
BEGIN, END = "<!-- made by scripts/discretisation.py -->\n", "<!-- until here -->\n"
PRIVACIES = (0.25, 0.5, 1.0)  # width of the interval at 95 %, as a share of each column's range
NOISES = ("cells", "uniform", "gaussian")
ROWS, SEEDS = 10_000, 5


def line(function: int, privacy: float) -> str:
    """Return a line of the table: the accuracy of trees from each kind of blurring.

    Args:
        function: Number of the function that decides the class.
        privacy: Privacy of each column at 95 % confidence.
    """
    shares = [
        np.median([accuracy(function, noise, privacy, "byclass", ROWS, seed)[0] for seed in range(SEEDS)])
        for noise in NOISES
    ]
    return f"| {function} | {privacy:.0%} | {' | '.join(f'{share:.1%}' for share in shares)} |"


def table() -> str:
    """Return the table in Markdown."""
    head = ["| function | privacy | cells | uniform | Gaussian |", "|---|---|---|---|---|"]
    lines = [line(function, privacy) for function in FUNCTIONS for privacy in PRIVACIES]
    return "\n".join([*head, *lines]) + "\n"


def main() -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
