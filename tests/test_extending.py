"""docs/extending.md: every snippet runs as it stands."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.slow

TEXT = (ROOT / "docs" / "extending.md").read_text()
SNIPPETS = dict(re.findall(r"^```python (\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


def test_there_is_one_for_each_thing() -> None:
    assert list(SNIPPETS) == ["protocol", "rows", "ot", "engine", "source"]


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_runs(name: str) -> None:
    exec(compile(SNIPPETS[name], f"extending.md, {name}", "exec"), {"__name__": name})


def test_what_it_names_is_there() -> None:
    for path in re.findall(r"`((?:smc|parties|protocols|examples|tests)/[a-z_/]+(?:\.py)?)`", TEXT):
        assert (ROOT / path).exists(), path
