"""A command of `smc` at a terminal: what it prints is waited for, and answers are typed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.support.places import ENVIRONMENT
from tests.support.waiting import PATIENCE

FORMS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")  # what a terminal shows as colours and movements
INTERRUPT = "\x03"  # Ctrl-C


class Terminal:
    """`smc arguments...` in a directory, at a pseudo-terminal of its own."""

    def __init__(self, directory: Path, *arguments: object, environment: Mapping[str, str] = ENVIRONMENT) -> None:
        self._screen, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, b"\x32\x00\xa0\x00\x00\x00\x00\x00")  # 50 lines of 160 letters
        self._process = subprocess.Popen(
            [sys.executable, "-m", "parties.cli", *map(str, arguments)],
            cwd=directory,
            env={**environment, "TERM": "xterm"},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(inner)
        self._printed, self.text, self._from = b"", "", 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._screen)

    def see(self, text: str) -> str:
        """Wait until a text is printed after what was waited for before; return what was printed up to it."""
        end = time.monotonic() + PATIENCE
        while (place := self.text.find(text, self._from)) < 0:
            assert time.monotonic() < end, f"no {text!r} in:\n{self.text[self._from :]}"
            assert self._read(), f"ended without {text!r}:\n{self.text[self._from :]}"
        before, self._from = self.text[self._from : place], place + len(text)
        return before

    def answer(self, question: str, *typed: str) -> None:
        """Wait for a question, and type an answer; further ones are typed when it is asked again."""
        for line in typed:
            self.see(question)
            self.type(f"{line}\n")

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._screen, text.encode())

    def end(self) -> int:
        """Wait for the end of the command, and return its exit code."""
        while self._read():
            pass
        return self._process.wait(PATIENCE)

    def _read(self) -> bool:
        """Read what is printed; False at the end of the command."""
        if not select.select([self._screen], [], [], PATIENCE)[0]:
            return True
        try:
            more = os.read(self._screen, 1 << 16)
        except OSError:  # Linux, once nobody has the terminal open
            return False
        self._printed += more
        self.text = FORMS.sub("", self._printed.decode(errors="replace"))
        return bool(more)
