"""A file that is given in place of another one is named: what it is, and what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parties.models.load import load_any, load_model, load_trees
from parties.models.rules import Rules
from parties.tables import schema
from smc.errors import InputError

FILES = {
    "rows.csv": ("a,b\n1,2\n3,4\n", "a CSV file"),
    "key.pem": ("-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----\n", "a key or a certificate"),
    "party.toml": ('[link]\nidentity = "a.key"\n', "a party's file"),
    "schema.toml": ('[attributes]\na = ["x", "y"]\n', "a schema"),
    "tree.json": ('{"tree": {}}', "a tree"),
    "linear.json": ('{"intercept": 0}', "a linear model"),
    "boosted.json": ('{"trees": [], "columns": {}}', "a model of boosted trees"),
    "rules.json": ('{"rules": 5}', "a file of rules"),
    "other.json": ('{"x": 1}', "a JSON file"),
}
READERS: dict[str, tuple[Callable[[Path], Any], set[str]]] = {  # and the files whose own error is better
    "a tree": (load_trees, {"tree.json", "other.json"}),
    "a file of rules": (Rules.load, {"rules.json", "other.json"}),
    "a model": (load_model, {"tree.json", "linear.json", "boosted.json", "other.json"}),
    "a model ": (load_any, {"tree.json", "linear.json", "boosted.json", "other.json"}),
    "a schema": (schema.load, set()),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("wanted", READERS)
def test_another_kind_of_file_is_named(wanted: str, file: str, tmp_path: Path) -> None:
    read, own = READERS[wanted]
    content, kind = FILES[file]
    (tmp_path / file).write_text(content)
    if (read, file) == (schema.load, "schema.toml"):
        assert read(tmp_path / file).attributes
        return
    with pytest.raises(InputError) as error:
        read(tmp_path / file)
    text = str(error.value)
    assert text.startswith(f"{tmp_path / file}: ")
    named = f"this is {kind}, not {wanted.strip()}: give "
    assert (named in text) == (file not in own), text


@pytest.mark.parametrize("content", ["", "[attributes\n", "a = [1, 2\nb = [3, 4\n", "{"])
def test_what_is_damaged_keeps_its_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=r"not valid TOML|attributes: must be"):
        schema.load(path)
