"""docs/publish-blur.md: the table of cells beside noise is that of the script, and shows what the notes state."""

from __future__ import annotations

from scripts.discretisation import BEGIN, END, PAGE, line

LINES = PAGE.read_text().partition(BEGIN)[2].partition(END)[0].splitlines()


def test_the_page_has_a_line_that_the_script_writes() -> None:
    """The whole takes half a minute."""
    assert line(1, 0.25) in LINES, "python -m scripts.discretisation"


def test_cells_give_a_poorer_model_than_noise_of_equal_privacy() -> None:
    figures = [[float(cell.strip().rstrip("%")) for cell in text.strip("|").split("|")] for text in LINES[2:]]
    assert len(figures) == 15
    assert all(cells < min(uniform, gaussian) for _, _, cells, uniform, gaussian in figures)
