"""docs/local-mining.md: its tables are those of the script."""

from __future__ import annotations

from pathlib import Path

from scripts.local_mining import BEGIN, END, HOLDERS, KINDS, PAGE, SKEWED, SPLITS, Table, line, rules_line, trials_of

LINES = PAGE.read_text().partition(BEGIN)[2].partition(END)[0].splitlines()


def test_the_page_has_the_lines_that_the_script_writes(tmp_path: Path) -> None:
    """The whole takes a minute: here the fastest line of each kind of figure."""
    trials = trials_of("wisconsin", tmp_path)
    for kind in ("weights", "cluster"):
        assert line(trials, kind, 2, "skewed") in LINES, "python -m scripts.local_mining"
    assert rules_line(Table("car", tmp_path, 9), 2, "evenly").startswith("| car | evenly | 2 |")
    figures = [text for text in LINES if "%" in text or text.startswith("| clusters")]
    assert len(figures) == len(SPLITS) * len(HOLDERS) * (len(KINDS) * len(SKEWED) - 1)


def test_a_split_gives_every_training_row_to_one_holder(tmp_path: Path) -> None:
    table = Table("car", tmp_path)
    assert not {tuple(row) for row in table.training} & {tuple(row) for row in table.test}
    for split in SPLITS:
        parts = table.parts(5, split)
        assert sorted(row for part in parts for row in part) == sorted(table.training)
    safety = [{row[table.header.index("safety")] for row in part} for part in table.parts(2, "skewed")]
    assert len(safety[0] & safety[1]) == 1
