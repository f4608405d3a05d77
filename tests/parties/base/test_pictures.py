"""How wide texts are taken to be, beside what matplotlib measures in the font itself."""

from __future__ import annotations

import string
import subprocess
import sys

import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from parties.base.pictures import text_measure

FONT = FontProperties(family="DejaVu Sans", size=100.0)
TEXTS = [*string.printable[:95], "blood_pressure", "40 to 60", "Ärzte in Übersee", "mmmmWWWW", "iiiilll"]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_as_wide_as_the_font_draws_them(text: str) -> None:
    width, _, _ = text_to_path.get_text_width_height_descent(text, FONT, ismath=False)
    assert 72 * text_measure()(text, 100.0) == pytest.approx(width, abs=2.0 * len(text) + 3)  # kerning, hinting


def test_letters_of_other_scripts_have_room() -> None:
    measure = text_measure()
    assert measure("中文", 72.0) == pytest.approx(2.2)
    assert measure("\u0414\u03a9", 72.0) == pytest.approx(1.8)
    assert measure("e\u0301", 72.0) == measure("é", 72.0) == measure("e", 72.0)


def test_measuring_needs_no_library_of_pictures() -> None:
    code = "import sys, parties.base.pictures as p; p.text_measure()('é', 9); print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
