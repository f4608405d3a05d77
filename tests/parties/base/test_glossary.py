"""The glossary: its page is made from it, its words are found, and what it says of exit codes is so."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from parties.base.glossary import CODES, Entry, entries, explained, markdown
from parties.cli import EXIT_CODES, cli
from smc.errors import InputError
from tests.support.places import ROOT


def test_the_page_is_made_from_it() -> None:
    """`python -c "from parties.base.glossary import markdown; print(markdown(), end='')" > docs/glossary.md`."""
    assert (ROOT / "docs" / "glossary.md").read_text() == markdown()


def test_no_name_stands_for_two_words_and_every_page_is_there() -> None:
    names = [name for entry in entries() for name in (entry.word, *entry.others)]
    assert len(names) == len(set(names))
    assert all(name == name.casefold() for name in names)
    assert all((ROOT / "docs" / entry.page).is_file() for entry in entries() if entry.page)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.word)
def test_a_stranger_reads_it_once(entry: Entry) -> None:
    sentences = re.split(r"(?<=[.;:])\s", entry.text)
    assert max(len(sentence.split()) for sentence in sentences) <= 24, sentences


def test_words_are_found_in_any_spelling() -> None:
    assert explained("Epsilon").word == explained("--epsilon").word == "epsilon"
    assert explained("privacy  budget").word == "budget"
    assert explained("5") == explained("exit codes")
    with pytest.raises(InputError, match=r"no word 'epsilom' in the glossary .did you mean 'epsilon'"):
        explained("epsilom")


def test_every_exit_code_is_explained() -> None:
    text = explained("exit code").text
    assert {str(code) for code in EXIT_CODES.values()} <= CODES
    assert all(re.search(rf"\b{code}\b", text) for code in CODES)


def test_command() -> None:
    shown = CliRunner().invoke(cli, ["explain", "secret", "share"])
    assert shown.exit_code == 0
    assert shown.output.startswith("secret share\n  A random-looking piece")
    assert "epsilon" in CliRunner().invoke(cli, ["explain"]).output
    assert '"word": "k"' in CliRunner().invoke(cli, ["explain", "k", "--json"]).output
