"""Check of received log entries: complete, in one chain, and without foreign content.

Lines may be those of a file or a webhook, or have a syslog server's prefix: an entry is canonical JSON at the end of a
line. A line may also be an OTLP request, as OpenTelemetry's collector writes it to a file. Lines may be repeated, and
come in any order. Two entries of one number contradict each other, unless one of them came without its content.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from parties.base import files
from parties.node.records.chain import Row, links
from parties.node.records.export import OTLP_SCOPE, one_row
from smc.errors import InputError

_START = re.compile(r'\{"at":')
_HEAD = '{"head":'  # beginning of an export's last line: not an entry; `smc audit verify` checks it


@dataclass
class Received:
    """The entries by number, the number of repeated lines, and the problems."""

    rows: dict[int, Row] = field(default_factory=dict)
    repeats: int = 0
    empty: int = 0  # their content was archived before they were sent, or removed by somebody
    problems: list[str] = field(default_factory=list)


def read(paths: Iterable[Path], first: int = 1) -> Received:
    """Return the entries of a log in files, checked.

    Args:
        paths: The files.
        first: Number of the first entry in question.

    Raises:
        InputError: A file cannot be read.
    """
    received = Received()
    copies: dict[int, list[tuple[Row, str]]] = defaultdict(list)  # the different copies, and their locations
    for path in paths:
        for number, line in enumerate(files.read_text(path).splitlines(), start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            for text in _texts(line):
                row = _row(text)
                if row is None:
                    if not text.startswith(_HEAD):
                        received.problems.append(f"{where}: not an entry, or it was cut or changed")
                    continue
                different = copies[row.number]
                received.repeats += bool(different)
                if all(row != other for other, _ in different):
                    different.append((row, where))
    for number, different in copies.items():
        row, where = max(different, key=lambda copy: (copy[0].is_whole(), copy[0].is_empty))  # the first of equal ones
        received.rows[number] = row
        received.problems.extend(
            f"{elsewhere}: entry {number} differs from the entry {number} in {where}"
            for other, elsewhere in different
            if other != row and not (other.is_empty and other._replace(fields=row.fields) == row)
        )
    last = None
    for number in sorted(number for number in received.rows if number >= first):
        row = received.rows[number]
        received.empty += row.is_empty
        received.problems.extend(links(last, row, first))
        last = row
    if last is None:
        received.problems.append("there is no entry" if first == 1 else f"there is no entry from {first} on")
    return received


def _texts(line: str) -> list[str]:
    """Return the possible entries of a line: itself, or the bodies of our log records in an OTLP request."""
    try:
        groups = [group for resource in json.loads(line)["resourceLogs"] for group in resource["scopeLogs"]]
        ours = [group for group in groups if group.get("scope", {}).get("name") == OTLP_SCOPE]
        return [str(record["body"]["stringValue"]) for group in ours for record in group["logRecords"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return [line]


def _row(line: str) -> Row | None:
    for start in _START.finditer(line):
        try:
            return one_row(line[start.start() :].rstrip())
        except InputError:
            continue
    return None
