"""What others wrote stands in a document as text, and nothing else."""

from __future__ import annotations

from parties.node.governance.markdown import text


def test_texts_of_others_are_no_markup_and_turn_no_line_around() -> None:
    assert text("a*b|c\nd\u202ee") == "a\\*b\\|c\\\\nd\\\\u202ee"
