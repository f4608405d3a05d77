"""Write the table of success against noisy counts in docs/attacks.md: `python -m scripts.noisy_counts`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from parties.alone.attacks.noisy_counts import most_success, success

PAGE = Path(__file__).parents[1] / "docs" / "attacks.md"
BEGIN, END = "<!-- made by scripts/noisy_counts.py -->\n", "<!-- until here -->\n"
PEOPLE, TRIALS = 100, 40
CASES = [  # questions answered, epsilon of each
    *((questions, 1.0) for questions in (25, 100, 400, 1600)),
    *((questions, 0.1) for questions in (100, 400, 1600)),
    *((questions, 1 / questions) for questions in (1, 25, 100, 400, 1600)),
]


def table() -> str:
    """Return the table in Markdown: questions, epsilon, and the share of people that the attack finds."""
    lines = ["| counts | epsilon each | epsilon of all answers | right | possible at most |", "|---|---|---|---|---|"]
    for questions, epsilon in CASES:
        draw = np.random.default_rng(7)
        shares = [success(draw.random(PEOPLE) < 0.5, questions, epsilon, draw) for _ in range(TRIALS)]
        spent = questions * epsilon
        cells = (
            f"{questions:,}",
            f"{epsilon:.2g}",
            f"{spent:g}",
            f"{np.mean(shares):.0%}",
            f"{most_success(0.5, spent):.0%}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
