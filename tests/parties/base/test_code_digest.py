"""The digest of a program's code changes with what it computes, and with nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.base import code_digest
from parties.base.code_digest import code_of_kind
from parties.jobs import kinds

PROGRAM = '"""About it."""\nimport beside_this\n\n\ndef f(engine, x):\n    """Return it."""\n    return x + 1  # one\n'
BESIDE = "STEP = 3\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setattr("smc.kernels.native.cache_directories", lambda: [folder])
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "of_mine.py").write_text(PROGRAM)
    (tmp_path / "beside_this.py").write_text(BESIDE)
    yield tmp_path
    sys.modules.pop("of_mine", None)


def digest(*modules: str) -> str:
    code_digest.code_digest.cache_clear()
    code_digest._source.cache_clear()
    return code_digest.code_digest(*modules)


def test_words_and_layout_do_not_count(folder: Path) -> None:
    before = digest("of_mine")
    other = PROGRAM.replace("About it", "Of it").replace("Return it", "Give it").replace("  # one", "")
    (folder / "of_mine.py").write_text(other.replace("(engine, x)", "(engine: object, x: int) -> int"))
    assert digest("of_mine") == before


@pytest.mark.parametrize(("file", "old", "new"), [("of_mine.py", "x + 1", "x + 2"), ("beside_this.py", "3", "4")])
def test_code_counts_also_in_a_module_beside(folder: Path, file: str, old: str, new: str) -> None:
    before = digest("of_mine")
    path = folder / file
    path.write_text(path.read_text().replace(old, new))
    assert digest("of_mine") != before


def test_a_source_is_parsed_once(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, parsed = digest("of_mine"), []
    read = code_digest._read

    def spied(text: bytes, name: str) -> tuple[str, list[str]]:
        parsed.append(name)
        return read(text, name)

    monkeypatch.setattr(code_digest, "_read", spied)
    assert digest("of_mine") == before
    assert parsed == []
    (folder / "beside_this.py").write_text("STEP = 5\n")
    changed = digest("of_mine")
    assert changed != before
    assert parsed == ["beside_this"]
    (cache / code_digest.CACHE).write_text("{")
    assert digest("of_mine") == changed
    assert parsed == ["beside_this", "of_mine", "beside_this"]


def test_a_kind_has_the_code_of_its_protocol(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kind = kinds.find("millionaires")
    digest()
    before, source = code_of_kind(kind), code_digest._source
    changed = tmp_path / "millionaires.py"
    original = source("protocols.millionaires")
    assert original is not None
    changed.write_text(original.read_text() + "\nTIE = 2\n")
    digest()
    monkeypatch.setattr(code_digest, "_source", lambda n: changed if n == "protocols.millionaires" else source(n))
    assert code_of_kind(kind) != before
    monkeypatch.undo()
    digest()
    assert code_of_kind(kind) == before
    assert code_of_kind(kinds.find("equality")) != before


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("release count", "protocols.release.numbers"),
        ("release histogram", "protocols.release.laplace"),
        ("regress joint", "protocols.release.descent"),
        ("rules", "protocols.release.frequent_sets"),
        ("survive curve", "protocols.release.numbers"),
        ("scorecard", "protocols.release.gaussian"),
        ("boost", "protocols.release.gaussian"),
    ],
)
def test_a_kind_has_the_code_of_protocols_behind_other_modules(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its own module imports none of these: what that imports does."""
    digest()
    before, source = code_of_kind(kinds.find(name)), code_digest._source
    original = source(module)
    assert original is not None
    changed = tmp_path / original.name
    changed.write_text(original.read_text() + "\nCHANGED = 1\n")
    digest()
    monkeypatch.setattr(code_digest, "_source", lambda n: changed if n == module else source(n))
    assert code_of_kind(kinds.find(name)) != before


def test_a_module_without_a_source_has_no_code() -> None:
    assert digest("no_such_module_anywhere") == digest("sys") == digest()
