"""What a cheater reaches by each message and each step of its own work, as declared; the table in docs/security.md.

    python -m tests.support.cheater_table

`tests/conformance/attacks/test_cheaters.py` sees that it is so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from smc.recipes import ENGINES, EngineName, OTKind
from tests.support.cheaters import CASES, DEVIATIONS, Case, Seen, arena, honest_run, kind_of
from tests.support.places import ROOT

PAGE = ROOT / "docs" / "security.md"
BEGIN = "<!-- cheaters: begin (python -m tests.support.cheater_table) -->\n"
END = "<!-- cheaters: end -->\n"
SEED = b"docs" * 4
KINDS = get_args(OTKind)

Verdict = Literal["caught", "caught unless guessed", "harmless", "possible"]
ALLOWED: dict[Verdict, set[Seen]] = {
    "caught": {"caught"},
    "caught unless guessed": {"caught", "right", "other"},
    "harmless": {"right", "other"},
    "possible": {"caught", "late", "right", "other", "wrong"},
}
# What is seen at least once of a row.
EXPECTED: dict[Verdict, set[Seen]] = {
    "caught": {"caught"},
    "caught unless guessed": {"caught"},
    "harmless": set(),
    "possible": {"wrong"},
}
SHAPES = ("truncated", "oversized", "early output")  # changes that every message is refused for


@dataclass(frozen=True)
class Row:
    """What a cheater reaches by a kind of message, or by a deviation of that name, on these engines."""

    what: str
    cheater: str
    verdict: Verdict
    words: str  # by which check; or what is learnt
    engines: tuple[EngineName, ...] = ENGINES
    is_seeded: bool = True  # whether all follows from the test's seed; RSA keys do not, so nothing is sure to be seen
    check: str = ""  # in the error, wherever the cheater is caught by more than a message's label and size


SHARED_OR_MIXED: tuple[EngineName, ...] = ("gmw", "mixed", "lean")
AT_BATCH, AT_TREES = r"\.matrix fails its check", r"\.trees fails its check"
AT_GROUP = "invalid curve point"
BATCH_CHECK = "check of the batch, before a block of the batch is used"
TREE_CHECK = "check of the trees, before a seed of the trees is used"
SEED_CHECK = f"{TREE_CHECK}; with iknp check of the batch"
FERRET_CHECK = "check of the iteration, before a block of the iteration is used"
GUESS = "a guess of s bits of our delta is right with probability 2^-s"
NOISE_GUESS = "a guess of s bits of our noise is right with probability 2^-s"
NOTHING = "nothing; the result is wrong"
INPUT_BIT = "a bit of our input: the result is wrong if the bit is 1"
SHARED_BIT = "a secret-shared bit: the cheater adds a number of its choice if the bit is 1"

ROWS = (
    Row("ot.base.public", "OT receiver", "caught", SEED_CHECK, check=f"{AT_TREES}|{AT_BATCH}|{AT_GROUP}"),
    Row("ot.base.points", "OT sender", "possible", NOTHING),
    Row("ot.trees", "OT receiver", "caught unless guessed", f"{TREE_CHECK}; {GUESS}", check=AT_TREES),
    Row("ot.matrix", "OT receiver", "caught", BATCH_CHECK, check=AT_BATCH),
    Row("ferret.trees", "OT sender", "caught", f"{FERRET_CHECK}; {NOISE_GUESS}", check=AT_TREES),
    Row("ferret.challenge", "OT receiver", "harmless", "the answer is a digest of all bits of our delta"),
    Row("ferret.proof", "OT sender", "caught", FERRET_CHECK, check=AT_TREES),
    Row("ferret.flips", "OT receiver", "harmless", "the cheater uses another input", ("yao",)),
    Row("ferret.flips", "OT receiver", "possible", "as ot.bits, ot.additive", SHARED_OR_MIXED),
    Row("ot.few.base.public", "OT sender", "possible", NOTHING),
    Row("ot.few.base.points", "OT receiver", "possible", NOTHING),
    Row("ot.few.correlation", "OT sender", "possible", INPUT_BIT),
    Row("ot.correlation", "OT sender", "possible", INPUT_BIT, is_seeded=False),
    Row("ot.trapdoor.modulus", "OT sender", "caught", "proof that powers are a permutation"),
    Row("ot.trapdoor.values", "OT receiver", "possible", NOTHING, is_seeded=False),
    Row("ot.bits", "OT sender", "possible", "two secret-shared bits: the result is wrong for one pair of their shares"),
    Row("ot.additive", "OT sender", "possible", SHARED_BIT),
    Row("additive", "either", "possible", SHARED_BIT),
    Row("yao.tables", "garbler", "possible", "any function of our input, with as many bits as the job opens"),
    Row("gmw.open", "either", "possible", "the opened bits XOR secret wires of its choice"),
    Row("reveal", "either", "possible", "the result before us; the cheater can show us any other result"),
    Row("ready", "either", "harmless", "the byte has no meaning"),
    Row("inconsistent choices", "OT receiver", "caught", BATCH_CHECK, check=AT_BATCH),
    Row(
        "another choice in one tree", "OT receiver", "caught unless guessed", f"{BATCH_CHECK}; {GUESS}", check=AT_BATCH
    ),
    Row("other seed", "OT receiver", "caught", SEED_CHECK, check=f"{AT_TREES}|{AT_BATCH}"),
    Row("other delta in silent trees", "OT sender", "caught", FERRET_CHECK, check=AT_TREES),
    Row("other delta in tables", "garbler", "possible", "as yao.tables"),
    Row(
        "another digest",
        "either",
        "caught",
        "comparison of digests; but the cheater may send our digest and compute another function",
        check="different functions",
    ),
    Row("other delta in few OTs", "OT sender", "possible", "as ot.few.correlation"),
)

# What each side of an engine still can do; read from the engines' code.
STILL = (
    "**yao, evaluator**: a cheating evaluator gets the result for one input of its choice, and no more. OT is checked. "
    "The evaluator has one label of each wire, and the garbled tables work for this label only. It can show the "
    "garbler any result, and can stop once it has the result.",
    "**yao, garbler**: a cheating garbler can garble another circuit. The evaluator's shares at `reveal` then open any "
    "function of the evaluator's input, without noise, in place of the result. The garbler can also make the result "
    "wrong if a bit of that input is 1.",
    "**gmw, either party**: a cheater can add bits of its choice to the operands of each AND gate, by `gmw.open` or by "
    "its triples. The opened bits are then the result XOR secret wires of its choice.",
    "**mixed, garbler**: as in yao. **Either party** of mixed can add a number of its choice to a secret number if a "
    "shared bit is 1 (`additive`). It then reads that bit from the opened values.",
    "**lean, either party**: as in gmw, and as either party of mixed.",
)


def row_of(case: Case, what: str) -> Row:
    """Return the row of a kind of message or a deviation; LookupError if none is declared."""
    found = [row for row in ROWS if row.what == what and case.engine in row.engines]
    if len(found) != 1:
        raise LookupError(f"{what} on {case.engine} has {len(found)} rows in the table of cheaters")
    return found[0]


def occurrences() -> dict[str, list[Case]]:
    """Return the cases in which each kind of message, and each deviation, occurs."""
    found: dict[str, list[Case]] = {}
    with arena():
        for case in CASES:
            kinds = {kind_of(case, message.label): None for message in honest_run(case, SEED)[1]}
            names = [name for name, deviation in DEVIATIONS.items() if any(deviation.is_in(case, p) for p in (0, 1))]
            for what in (*kinds, *names):
                found.setdefault(what, []).append(case)
    return found


def markdown(found: dict[str, list[Case]]) -> Iterator[str]:
    """Yield the lines between the markers: a table of messages, one of steps, and what each side still can do."""
    for title in ("message", "step of the cheater's work"):
        yield f"| {title} | engines | kinds of OT | cheater | outcome | the check, or the cheater's gain |"
        yield "|---|---|---|---|---|---|"
        for row in ROWS:
            if (row.what in DEVIATIONS) == (title != "message"):
                cases = [case for case in found.get(row.what, []) if case.engine in row.engines]
                engines, kinds = {case.engine for case in cases}, {case.ot for case in cases}
                where = f"{_listed(ENGINES, engines)} | {_listed(KINDS, kinds)}"
                yield f"| {row.what} | {where} | {row.cheater} | {row.verdict} | {row.words} |"
        yield ""
    for line in STILL:
        yield from textwrap.wrap(f"- {line}", 100, subsequent_indent="  ")


def _listed(names: Sequence[str], found: Collection[str]) -> str:
    """Return which of the names were found, in few words."""
    missing = [name for name in names if name not in found]
    if 2 * len(missing) < len(names):
        return f"all but {', '.join(missing)}" if missing else "all"
    return ", ".join(name for name in names if name in found)


def section() -> str:
    """Return what stands between the markers."""
    return "\n".join(markdown(occurrences())) + "\n"


def main() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + section() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
