"""Change single places of modules, one at a time in a copy of the tree, and list what their own tests live with.

    python -m scripts.mutants parties/node/policy/decisions.py --sample 30
    python -m scripts.mutants smc/ot protocols --sample 5 --seed 2     # five mutants of each file

Mutants: a comparison flipped (< and <=, == and !=, in, is), an arithmetic operator changed for another, `and` for `or`,
a condition or a sign turned, a number one more, True for False, a statement left out (DeMillo, Lipton, Sayward 1978).
Texts, annotations and decorators stay. A mutant is killed if a test fails, nothing can be imported, or the tests hang.
The tests are those that mirror the module and those that `scripts.planted_bugs` names for it; what they live with is
tried again with those of the folder.

A survivor asks for a test, or is equivalent: then it is in `scripts.equivalent_mutants`, with the reason.

Not cosmic-ray, which changes the tree that is worked on, knows no sample and leaves no statement out; nor mutmut, of
which the functions that choose between mutants are none that numba compiles.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.equivalent_mutants import EQUIVALENT
from scripts.planted import PATIENCE, ROOT, bugs, copied, outcome

PACKAGES = (
    "smc/ot",
    "smc/yao",
    "smc/gmw",
    "smc/arithmetic",
    "protocols",
    "parties/node/records",
    "parties/node/policy",
    "parties/node/budget",
)
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "//", ast.Pow: "*",
    ast.LShift: ">>", ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "|", ast.MatMult: "*",
}  # fmt: skip
SYMBOL = re.compile(rb"not\s+in|is\s+not|in|is|and|or|[-+*/%<>=!&|^@]+")
LEFT_OUT = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


@dataclass(frozen=True)
class Mutant:
    """The bytes from `start` to `end` of a source, on the line with this number, say `new`."""

    start: int
    end: int
    new: bytes
    line: int

    def of(self, source: bytes) -> bytes:
        """Return the source with it."""
        return source[: self.start] + self.new + source[self.end :]

    def told(self, source: bytes) -> tuple[str, str]:
        """Return the lines that change as they stand and as they would, without what is around them."""
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        changed = source[first : self.start] + self.new + source[self.end : last]
        return " ".join(source[first:last].decode().split()), " ".join(changed.decode().split())


def mutants(source: bytes) -> list[Mutant]:
    """Return all mutants of a source, in its order."""
    lines = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def start(node: ast.AST) -> int:
        return lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(node: ast.AST) -> int:
        return lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, new: str) -> Iterator[Mutant]:
        """Change the operator between two operands, beside brackets and comments."""
        place = end(left)
        gap = re.sub(rb"#.*", lambda match: b" " * len(match[0]), source[place : start(right)])
        if found := SYMBOL.search(gap):
            first = place + found.start()
            yield Mutant(first, place + found.end(), new.encode(), source.count(b"\n", 0, first) + 1)

    def instead(node: ast.expr | ast.stmt, new: Callable[[bytes], bytes]) -> Iterator[Mutant]:
        yield Mutant(start(node), end(node), new(source[start(node) : end(node)]), node.lineno)

    def changed(node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
                    yield from between(left, right, COMPARISONS[type(operator)])
            case ast.BinOp():
                yield from between(node.left, node.right, OPERATORS[type(node.op)])
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from between(left, right, "or" if isinstance(node.op, ast.And) else "and")
            case ast.UnaryOp(operand=operand):
                yield Mutant(start(node), start(operand), b"", node.lineno)
            case ast.Constant(value=bool(value)):
                yield from instead(node, lambda _: str(not value).encode())
            case ast.Constant(value=int() | float()):
                yield from instead(node, lambda old: b"(" + old + b" + 1)")
            case ast.If() | ast.While() | ast.IfExp() if not isinstance(node.test, ast.UnaryOp | ast.Compare):
                yield from instead(node.test, lambda old: b"(not (" + old + b"))")
            case ast.Expr(value=ast.Constant()):  # a docstring
                return
            case ast.Expr() | ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
                yield from instead(node, lambda _: b"pass")
        if isinstance(node, LEFT_OUT):
            yield from instead(node, lambda _: b"pass")

    nodes = _evaluated(ast.parse(source))
    return sorted({mutant for node in nodes for mutant in changed(node)}, key=lambda one: (one.start, one.end, one.new))


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of annotations, decorators and formatted texts, and what only type checkers read."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(value, ast.JoinedStr):
            continue
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _evaluated(child)


def mirror_of(file: str) -> list[tuple[str, ...]]:
    """Return the tests of a module, the nearest first: see above."""
    path = Path(file)
    folder = Path("tests") / path.parent
    own = {str(folder / f"test_{path.stem}.py")} if (ROOT / folder / f"test_{path.stem}.py").exists() else set()
    near = own | {test for bug in bugs() if bug.file == file for test in bug.tests}
    return [tuple(sorted(tests)) for tests in (near, {str(folder)}) if tests]


def survivors(file: str, sample: int, seed: int) -> tuple[int, int, list[str]]:
    """Try a sample of a module's mutants: how many, how many of them are equivalent, and those that live.

    RuntimeError if the tests fail without one.
    """
    source = (ROOT / file).read_bytes()
    equivalent = {(old, new) for old, new, _ in EQUIVALENT.get(file, ())}
    every = mutants(source)
    chosen = sorted(random.Random(seed).sample(every, min(sample, len(every))), key=lambda one: one.start)
    living = [one for one in chosen if one.told(source) not in equivalent]
    tried = len(living)
    with copied() as copy:
        for tests in mirror_of(file) if living else ():
            (copy / file).write_bytes(source)
            start = time.monotonic()
            became, said = outcome(copy, tests)
            if became != "LIVES":
                raise RuntimeError(f"{file}: its tests fail as it is, {' '.join(tests)}: {said}")
            patience = min(PATIENCE, 60 + 5 * (time.monotonic() - start))
            living = [one for one in living if _lives(copy / file, one.of(source), copy, tests, patience)]
    return tried, len(chosen) - tried, [f"{file}:{one.line}: {' -> '.join(one.told(source))}" for one in living]


def _lives(path: Path, changed: bytes, copy: Path, tests: Sequence[str], patience: float) -> bool:
    path.write_bytes(changed)
    return outcome(copy, tests, patience)[0] == "LIVES"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try them, say how many were killed; 1 if one lives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=PACKAGES, help="files and folders of them")
    parser.add_argument("--sample", type=int, default=10, help="the most of each file  [10]")
    parser.add_argument("--seed", type=int, default=1, help="[1]")
    options = parser.parse_args(arguments)
    named = [path for name in options.modules for path in sorted((ROOT / name).rglob("*.py")) or [ROOT / name]]
    total, killed = 0, 0
    for path in named:
        file = str(path.relative_to(ROOT))
        tried, equivalent, living = survivors(file, options.sample, options.seed)
        total, killed = total + tried, killed + tried - len(living)
        print("".join(f"LIVES       {line}\n" for line in living), end="")
        print(f"{file}: {tried} tried, {tried - len(living)} killed, {equivalent} equivalent", flush=True)
    print(f"{killed} of {total} killed")
    return 0 if killed == total else 1


if __name__ == "__main__":
    sys.exit(main())
