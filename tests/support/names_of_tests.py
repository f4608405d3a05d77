"""The names of all tests, for pages that refer to them."""

from __future__ import annotations

import re

from tests.support.places import ROOT

TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)
}
