"""docs/ehds.md claims only what the code that it names has, and its setup is a valid party.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from parties.node.settings import NodeFile
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "ehds.md").read_text()
CLAIMS = sorted(set(re.findall(r"`(parties/[\w/]+\.py)(?:: ([^`]+))?`", PAGE)))


@pytest.mark.parametrize(("path", "name"), CLAIMS)
def test_the_code_has_what_the_page_names(path: str, name: str) -> None:
    assert name in (ROOT / path).read_text()


def test_each_article_names_its_code() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) > 10
    assert all(re.search(r"\| `parties/[^|]+\|$", row) for row in rows)


def test_the_setup_is_valid() -> None:
    content = tomllib.loads("\n".join(line[4:] for line in PAGE.splitlines() if line.startswith("    ")))
    content["tables"]["diabetes"] |= {"source": "rows.csv", "schema": "schema.toml"}
    file = NodeFile.model_validate(content, context={"directory": Path()})
    assert file.permits.required
    assert file.tables["diabetes"].objections is not None
