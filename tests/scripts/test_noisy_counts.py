"""The table of noisy counts in docs/attacks.md is what its script makes."""

from __future__ import annotations

from scripts.noisy_counts import BEGIN, END, PAGE, table


def test_the_page_has_the_table_of_noisy_counts() -> None:
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0] == table(), "python -m scripts.noisy_counts"
