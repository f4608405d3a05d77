"""Trees and tables where the locale is not UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from parties.base.plain_letters import PLAIN_LETTERS


def test_branches_have_a_form_in_ascii() -> None:
    text = "├── a = ü: yes\n│   └── … ━─ €"
    assert text.encode("ascii", PLAIN_LETTERS) == b"|-- a = \\xfc: yes\n|   `-- ... =- \\u20ac"
    assert text.encode("utf-8", PLAIN_LETTERS) == text.encode()
    assert text[:14].encode("latin-1", PLAIN_LETTERS) == b"|-- a = \xfc: yes"


def test_bytes_that_are_no_text_are_an_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", PLAIN_LETTERS)


def test_the_command_line_prints_them() -> None:
    code = "import click\nfrom parties import cli\ncli.run = lambda _: print('├── yes') or 0\ncli.main([])"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert shown.stdout == b"|-- yes\n"
