"""Others' text as it is shown in messages."""

from __future__ import annotations

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
