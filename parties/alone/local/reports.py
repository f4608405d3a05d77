"""Files of reports and of their tallies.

A file of reports starts with a line that names the plan. Each further line is one report in hexadecimal; all have equal
length. Tallies are JSON and add up. Collectors may exchange tallies: results computed from private reports are as
private as the reports.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.mechanism import Mechanism, Reports
from parties.alone.local.plan import LocalPlan
from parties.base import files
from parties.base.canonical import dump
from smc.errors import InputError

HEADER = b"smc local reports 1 "
LINES = 1 << 16  # lines of a file read at once
MOST_REPORTS = 1 << 28  # of a tally; a greater one cannot come from files

_VALUE = np.full(256, 16, dtype=np.uint8)  # of a hexadecimal digit; 16: not a digit
for _digit in range(16):
    _VALUE[ord(f"{_digit:x}")] = _digit


def header(plan: LocalPlan) -> bytes:
    """Return the first line of a file of reports."""
    return HEADER + plan.digest().encode() + b"\n"


def lines(reports: Reports) -> bytes:
    """Encode reports, uint8[rows, width], as lines of a file of reports."""
    digits = 2 * reports.shape[1]
    text = np.frombuffer(reports.tobytes().hex().encode(), dtype=np.uint8).reshape(len(reports), digits)
    return np.column_stack([text, np.full(len(reports), ord("\n"), dtype=np.uint8)]).tobytes()


def read_tally(path: Path, plan: LocalPlan, mechanism: Mechanism) -> NDArray[np.int64]:
    """Return the tally of a file of reports, or the one in a tally file.

    Args:
        path: the file
        plan: the plan of the question
        mechanism: the mechanism of the plan

    Raises:
        InputError: the file is of another plan, or damaged
    """
    try:
        with path.open("rb") as stream:
            first = stream.readline(100)
            if first.removeprefix(codecs.BOM_UTF8).startswith(b"{"):
                return _tally(path, plan, mechanism)
            if not first.startswith(HEADER):
                raise InputError(
                    f"{path}: is neither a file of reports nor a tally; give a file of smc local report or tally"
                )
            if first.endswith(b"\r\n"):
                raise InputError(
                    f"{path}: its lines end in CRLF, so a program changed the file; send the file as it was written"
                )
            if first != header(plan):
                raise InputError(f"{path}: its reports were made by another plan; give that plan")
            return total(_tallied(stream, path, mechanism), mechanism)
    except OSError:
        files.read_bytes(path)  # raises the InputError that explains it
        raise


def each_once(paths: Sequence[Path]) -> Sequence[Path]:
    """Return the paths; raise InputError if two paths are one file, because its reports would be counted twice."""
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        with suppress(OSError):  # reading the file reports the error
            status = path.stat()
            if before := seen.get((status.st_dev, status.st_ino)):
                raise InputError(f"{path}: is given twice{'' if before == path else f', as {before} too'}")
            seen[status.st_dev, status.st_ino] = path
    return paths


def total(tallies: Iterable[NDArray[np.int64]], mechanism: Mechanism) -> NDArray[np.int64]:
    """Return the sum of tallies; without tallies, that of no reports.

    Args:
        tallies: Tallies of several files of reports, as `mechanism.tally` returns them.
        mechanism: The plan's mechanism, which sets the length of a tally.
    """
    sums = mechanism.tally(np.zeros((0, mechanism.width), dtype=np.uint8))
    for tally in tallies:
        sums = sums + tally
    return sums


def tally_document(plan: LocalPlan, tally: NDArray[np.int64]) -> str:
    """Return a tally as JSON.

    Args:
        plan: Plan of the reports; its digest is part of the document.
        tally: Sum of the reports' tallies, as `mechanism.tally` has them.
    """
    return dump({"plan": plan.digest(), "question": plan.question, "tally": tally.tolist()}) + "\n"


def candidates(path: Path) -> tuple[str, ...]:
    """Read candidate texts, one a line, without empty lines and repetitions. Raise InputError if there are none."""
    texts = tuple(dict.fromkeys(line.strip() for line in files.read_text(path).splitlines() if line.strip()))
    if not texts:
        raise InputError(f"{path}: has no candidates; write one candidate on each line")
    return texts


def _tallied(stream: IO[bytes], path: Path, mechanism: Mechanism) -> Iterator[NDArray[np.int64]]:
    length, number = 2 * mechanism.width + 1, 2
    while data := stream.read(length * LINES):
        count = len(data) // length
        text = np.frombuffer(data, dtype=np.uint8, count=count * length).reshape(count, length)
        digits = _VALUE[text[:, :-1]]
        bad = (digits > 15).any(axis=1) | (text[:, -1] != ord("\n"))
        if bad.any() or len(data) % length:
            line = number + (int(np.argmax(bad)) if bad.any() else count)
            raise InputError(f"{path}: line {line}: is not a report of {length - 1} hexadecimal digits; remove it")
        try:
            yield mechanism.tally((digits[:, ::2] << 4 | digits[:, 1::2]).astype(np.uint8))
        except InputError as error:
            raise InputError(f"{path}: lines {number} to {number + count - 1}: {error}") from None
        number += count


def _tally(path: Path, plan: LocalPlan, mechanism: Mechanism) -> NDArray[np.int64]:
    content = files.read_json(path)
    try:
        digest, numbers = content["plan"], content["tally"]
    except (KeyError, TypeError):
        raise InputError(f"{path}: is not a tally; give a file of smc local tally") from None
    if digest != plan.digest():
        raise InputError(f"{path}: its reports were made by another plan; give that plan")
    empty = total((), mechanism)
    whole: Sequence[object] = numbers if isinstance(numbers, list) else ()
    if len(whole) != len(empty) or not all(type(n) is int and 0 <= n < 1 << 53 for n in whole):
        raise InputError(f"{path}: is not a tally of this plan; give the plan of the tally")
    tally = np.array(whole, dtype=np.int64)
    if not mechanism.possible(tally):
        raise InputError(f"{path}: is an impossible tally: it is damaged, or of another plan; tally anew")
    if mechanism.count(tally) > MOST_REPORTS:
        raise InputError(f"{path}: is a tally of more than {MOST_REPORTS:,} reports, the limit; split the reports")
    return tally
