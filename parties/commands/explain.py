"""`smc explain`: explanation of a glossary term or an exit code."""

from __future__ import annotations

import textwrap

from parties.base.glossary import entries, explained
from parties.base.report import Report
from parties.commands.signature import argument, command

_WIDTH = 78


@command("explain", "smc explain epsilon")
def explain(words: tuple[str, ...] = argument(metavar="[WORD]")) -> Report:
    """Explain a word that smc uses, or an exit code. Without a word, list all words.

    The words are those of docs/glossary.md.
    """
    if not words:
        report = Report({"words": [entry.word for entry in entries()]})
        report.lines(textwrap.wrap(", ".join(report.data["words"]), _WIDTH))
        return report
    entry = explained(" ".join(words))
    report = Report({"word": entry.word, "text": entry.text, "others": list(entry.others), "page": entry.page})
    report.line(entry.word)
    report.lines(textwrap.wrap(entry.text, _WIDTH, initial_indent="  ", subsequent_indent="  "))
    if entry.page:
        report.line(f"  More: docs/{entry.page}")
    return report
