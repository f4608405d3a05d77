"""Others' text as it is shown in messages."""

from __future__ import annotations

import unicodedata

import pytest

from parties.base.text import did_you_mean, instead, listed, printable, quoted, visible


def test_wording() -> None:
    assert quoted("a\nb") == r"'a\nb'"
    assert len(quoted("x" * 1000)) == 62
    assert listed([]) == ""
    assert listed("abc", limit=2) == "'a', 'b', … (3 in all)"
    assert did_you_mean("SUNNY", ["rain", "sunny"]) == " (did you mean 'sunny'?)"
    assert did_you_mean("fog", ["rain", "sunny"]) == ""
    assert did_you_mean("Alter", ["Diameter", "Length"]) == ""
    assert instead("sunni", ["rain", "sunny"]) == " (did you mean 'sunny'?); there are 'rain', 'sunny'"
    assert instead("fog", ["rain", "sunny"]) == "; there are 'rain', 'sunny'"
    assert instead("fog", []) == "; there is none"
    assert printable("a\tb\u2028c\ud800 \u00a0é") == "a\\tb\\u2028c\\ud800 \u00a0é"
    assert printable("\ufffd\ufffe\uffff\u038b") == "\ufffd\\ufffe\\uffff\u038b", "a newer Unicode may have it"
    assert visible("a\u038b\u202e\u200d") == "a\\u038b\\u202e\u200d"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("p\u0430yments", "p\\u0430yments"),  # a Cyrillic a
        ("for \u0440\u0430\u0443 only", "for \\u0440\\u0430\\u0443 only"),  # a word of nothing else, among Latin ones
        ("n\u03bft", "n\\u03bft"),
        ("\uff4eo", "\\uff4eo"),
        ("\U0001d427o", "\\U0001d427o"),
        ("n\u0336o\u0336t", "n\\u0336o\\u0336t"),  # struck through
        ("a\u0301\u0301", "\xe1\\u0301"),
        ("x\u20dd", "x\\u20dd"),
    ],
)
def test_what_reads_as_another_letter_is_marked(text: str, seen: str) -> None:
    assert visible(text) == seen


@pytest.mark.parametrize(
    "text",
    [
        "Re\u0301sume\u0301 f\xfcr 5 \u03bcg, \u0394x, \u03b1 = 0.05, na\xefve, \u0130stanbul, m\xb2, \u2460",
        "\u0440\u0430\u0441\u043f\u0438\u0441\u0430\u043d\u0438\u0435 \u043e\u043d\u0430 \u0441\u0430\u043c\u0430",
        "\u03bd\u03cc\u03c3\u03bf\u03c2",
        "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22 \u0e17\u0e35\u0e48",
        "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u0643\u064e\u062a\u064e\u0628\u064e",
        "\u65e5\u672c\u3068ab \ud55c\uad6d",
    ],
)
def test_what_scripts_need_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == unicodedata.normalize("NFC", text)
