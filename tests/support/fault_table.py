"""Every kind of job x every fault of a frame: how the honest party ended, and whether that is as it may be.

python -m tests.support.fault_table        # `make faults`: writes docs/faults.md
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from parties.link.identity import Identity, create
from smc.errors import JointRefusalError
from tests.support.blame import Ending, endings
from tests.support.blame_cases import CASES
from tests.support.frame_faults import FAULTS, SILENT, Fault
from tests.support.places import ROOT

# "3": one line, which blames the peer or the link, and no result. "0": the result, which the other party has too.
# "refused": both end by one refusal that the protocol has (JointRefusalError).
MAY_END: dict[str, set[str]] = {kind: {"3"} for kind in FAULTS} | {"delay": {"0"}, "flip": {"0", "3", "refused"}}
SECONDS = 0.5  # to wait for a peer that is silent
PAGE = ROOT / "docs" / "faults.md"
REFUSED = JointRefusalError.__name__

HEAD = """# Faults of frames

This page shows the end of a session after a fault of one frame. TLS lets nobody on the line change
a frame. The faults are therefore those of a peer that leaves the protocol, or of a broken program.

| fault | meaning |
|---|---|
| `delay` | The frame is late. |
| `drop` | The frame is lost. |
| `withhold` | Nothing comes any more. |
| `close` | The stream is closed in place of the frame. |
| `repeat` | The frame comes again. |
| `reorder` | The frame comes behind the next one. |
| `truncate` | The frame is cut short. |
| `oversize` | The frame is too long. |
| `garble` | The bytes are no frame at all. |
| `flip` | A bit of the frame is turned. |

You repeat this with `make faults`, which writes the page. The number of frames of each party that
get a fault is {most} (one is the middle frame; several lie at equal distances). There are {runs:,}
sessions, over the link's own frames and deadlines, joined in memory.

| end | meaning |
|---|---|
| `3` | The honest party ends with exit code 3 and one line. It shows no result. |
| `0` | The honest party has the result, and so has the other. |
| `refused` | Both end by one refusal of the protocol, as for a joint table that may not be disclosed. |

In the last table, a row is a kind of job. Words after its name are a setting of this job: `public`
is `--against public`, and values are `typed` by the operators, not read from a table. A cell has
each end and its number of sessions (`0: 1, 3: 1`). Anything else is unexplained and fails the run:
another exit code, two results, a wait without end. A job of nodes
goes on later from the data on both disks, and opens nothing twice.
`tests/conformance/attacks/test_breaks.py` breaks the link at any message, for every kind that
spends. In `tests/conformance/attacks/test_blame.py`, a party lies at any step.

"""


class UnexplainedError(AssertionError):
    """An ending that none of the faults may bring."""


def frames_of(name: str, directory: Path, identities: Mapping[str, Identity]) -> tuple[int, int]:
    """Return how many frames with data each party sends in a session of the case without a fault."""
    counting = {party: Fault("delay", 1 << 40) for party in (0, 1)}
    both = endings(CASES[name], directory, identities, timeout=120.0, faults=counting)
    if [end.code for end in both] != [0, 0]:
        raise UnexplainedError(f"{name} without a fault: {both}")
    return counting[0].sent, counting[1].sent


def ending(name: str, kind: str, by: int, number: int, directory: Path, identities: Mapping[str, Identity]) -> str:
    """Return how the other party ended when a frame of party `by` suffered a fault; empty if there was no such frame.

    `UnexplainedError` if it may not end so.
    """
    seconds, fault = SECONDS if kind in SILENT else 120.0, Fault(kind, number)
    both = endings(CASES[name], directory, identities, timeout=seconds, faults={by: fault})
    found = _outcome(both[1 - by], both[by])
    if fault.sent <= number and found == "0":  # a forest, or noise, led to fewer frames this time
        return ""
    if found not in MAY_END[kind]:
        ends = [(end.code, end.line) for end in (both[1 - by], both[by])]
        raise UnexplainedError(f"{name}, {kind} of frame {number} of party {by}: {found}, {ends}")
    return found


def _outcome(honest: Ending, other: Ending) -> str:
    if honest.line.startswith(REFUSED):
        return "refused" if honest.line == other.line else f"refused alone: {other.line}"
    if honest.code == 0:
        is_late = other.code == 3  # it learns by its own goodbye, which may be lost, that both have the result
        return "0" if is_late or honest.shown == other.shown else "another result"
    return str(honest.code)


def spread(frames: int, most: int) -> Sequence[int]:
    """Return numbers of at most so many frames: the one in the middle, or the first, the last and others between."""
    if frames <= most:
        return range(frames)
    if most == 1:
        return (frames // 2,)
    return sorted({round(place * (frames - 1) / (most - 1)) for place in range(most)})


def row(name: str, directory: Path, identities: Mapping[str, Identity], most: int) -> dict[str, Counter[str]]:
    """Return, of each fault, how often each ending was, with at most so many frames of each party."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in FAULTS}
    for by, frames in enumerate(frames_of(name, directory, identities)):
        for number in spread(frames, most):
            for kind in FAULTS:
                if end := ending(name, kind, by, number, directory, identities):
                    found[kind][end] += 1
    return found


def markdown(rows: Mapping[str, Mapping[str, Counter[str]]]) -> Iterator[str]:
    """Yield the lines of a table; a cell says how often each ending was."""
    yield f"| job | {' | '.join(FAULTS)} |"
    yield f"|---|{'---|' * len(FAULTS)}"
    for name, cells in rows.items():
        texts = [", ".join(f"{end}: {times}" for end, times in sorted(cells[kind].items())) for kind in FAULTS]
        yield f"| {name} | {' | '.join(texts)} |"


def main() -> None:
    """Run all, and write the page once the last has ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1, help="frames of each party  [1]")
    most: int = parser.parse_args().most
    rows: dict[str, dict[str, Counter[str]]] = {}
    with tempfile.TemporaryDirectory() as place:
        identities = {who: create(who, [], Path(place)) for who in ("alice", "bob")}
        for number, name in enumerate(CASES):
            print(f"{number + 1}/{len(CASES)} {name}", file=sys.stderr)
            rows[name] = row(name, Path(place), identities, most)
    runs = sum(sum(cell.values()) for row in rows.values() for cell in row.values())
    PAGE.write_text(HEAD.format(most=most, runs=runs) + "\n".join(markdown(rows)) + "\n")


if __name__ == "__main__":
    main()
