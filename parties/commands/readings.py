"""Options that choose how a raw table is read, and the questions at the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parties.base import console
from parties.base.text import visible
from parties.commands.signature import option
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.preparing.readings import Choices, Question


@dataclass(frozen=True)
class ReadingOptions:
    """Readings of columns, for cells that can be read in several ways."""

    reading: tuple[str, ...] = option(
        "How to read a column, such as born=day-first; * for all; repeatable.", "COLUMN=READING"
    )
    guess: bool = option("Ask no question. Where several readings of a column fit, take the first.")

    def choices(self, status: console.StatusLine) -> Choices:
        """Return the choices of readings: these options, else the terminal's user; without both, an InputError."""
        from parties.alone.preparing.readings import Choices, given, guess, refuse

        def ask(question: Question) -> str:
            return asked(question, status)

        return Choices(given(self.reading), guess if self.guess else ask if console.is_asked() else refuse)


def asked(question: Question, status: console.StatusLine) -> str:
    """Return the option that the operator chooses at the terminal.

    Args:
        question: The question.
        status: The line that stands there meanwhile.

    Raises:
        InputError: No option was chosen in three tries.
    """
    names = list(question.options)
    lines = [f"{number}  {name}: {meaning}" for number, (name, meaning) in enumerate(question.options.items(), 1)]
    text = "\n".join(visible(line) for line in (question.heading, *lines))
    for _ in range(3):
        answer = status.typed(f"{text}\nWhich is right? [1-{len(names)}] ")
        if answer in names:
            return answer
        if answer.isdecimal() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]
    raise InputError(f"{question.where}: none was chosen; give {question.remedy}")
