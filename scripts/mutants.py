"""Change modules in single places, one at a time in a copy of the tree, and list the changes that no test notices.

    python -m scripts.mutants parties/node/policy/decisions.py --sample 30
    python -m scripts.mutants smc/ot protocols --sample 5 --seed 2     # five mutants of each file
    python -m scripts.mutants protocols --minutes 60                   # as many as fit into an hour; the rest next time

Mutants change a comparison (< and <=, == and !=, in, is), replace an arithmetic operator by another, swap `and` and
`or`, negate a condition, remove a sign or a `not`, add 1 to a number, swap True and False, or remove a statement
(DeMillo, Lipton, Sayward 1978). Texts, annotations and decorators stay. A mutant is killed if a test fails, the tests
cannot be imported, or they hang. The tests are those of the folder that mirrors the package (`mirror_of`) and reach the
changed function. The module's own tests come first, then the others, quick ones first, up to `--seconds` of them.

A mutant that lives needs a test, or it is equivalent. Equivalent ones are in `scripts.equivalent_mutants`, with the
reason. A killed mutant is not tried again until its module changes (build/mutants.json). docs/mutants.md shows the
outcome of all mutants.

Two packages were not suitable. cosmic-ray 8.7 changes the working tree, starts pytest for every mutant, draws no sample
and removes no statements. mutmut 3.8 changes no code outside functions, and no function with a decorator (`override`,
`property`, `lru_cache`). A fifth of the mutants here are of these two sorts, in IKNP's sending and receiving too.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scripts.equivalent_mutants import EQUIVALENT
from scripts.mutant_runs import (
    OWN,
    Failing,
    Reached,
    StuckError,
    collected,
    failing,
    forked,
    function_of,
    load,
    reached,
    swap,
)
from scripts.planted import ROOT, copied
from tests.support.slow import says_slow

PACKAGES = ("smc/ot", "smc/yao", "smc/gmw", "smc/arithmetic", "protocols", "parties/node")
TOGETHER = ("smc/arithmetic", "smc/engines", "smc/gmw", "smc/yao")  # they share the tests of engines
KNOWN, PAGE = ROOT / "build" / "mutants.json", ROOT / "docs" / "mutants.md"
BEGIN, END = "<!-- mutants: begin (make mutants) -->\n", "<!-- mutants: end -->\n"
START = 10.0  # processor seconds until pytest has collected the tests
SWAPPED = 3.0  # the same if the tests are collected already
LONGEST = 3600.0  # seconds of all tests of a folder, traced
PATIENCE = "45"  # seconds that a test waits for an event; with most mutants that it kills, it never comes
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
    """A change of a source: `new` replaces the bytes from `start` to `end`, on the line with number `line`."""

    start: int
    end: int
    new: bytes
    line: int

    def of(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.new + source[self.end :]

    def told(self, source: bytes) -> tuple[str, str]:
        """Return the text of the changed lines, before and after, on one line each with single spaces."""
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        changed = source[first : self.start] + self.new + source[self.end : last]
        return " ".join(source[first:last].decode().split()), " ".join(changed.decode().split())

    @property
    def key(self) -> str:
        """Unique name of the mutant among those of the source."""
        return f"{self.start}-{self.end} {self.new.decode()}"


def mutants(source: bytes) -> list[Mutant]:
    """Return all mutants of a source, by their places."""
    lines = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def start(node: ast.AST) -> int:
        return lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(node: ast.AST) -> int:
        return lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, new: str) -> Iterator[Mutant]:
        """Change the operator between two operands; brackets and comments there stay."""
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
                sign, _, _ = source[start(node) : start(operand)].partition(b"(")  # a bracket stays
                yield Mutant(start(node), start(node) + len(sign), b"", node.lineno)
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
    """Yield all nodes, except annotations, decorators, f-strings, and code that only type checkers read."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(value, ast.JoinedStr):
            continue
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _evaluated(child)


def mirror_of(package: str) -> tuple[str, ...]:
    """Return the test files of a package folder: those in the folder that mirrors it, and others that import from it.

    If the folder has no mirror, the files of the enclosing test folder count. For `parties` and whole packages, slow
    files are left out unless they mirror a module.
    """
    top = Path("tests", *Path(package).parts[: 2 if package.startswith("parties") else 1])
    found: set[Path] = set()
    for each in TOGETHER if package in TOGETHER else (package,):
        folder = Path("tests", each) if (ROOT / "tests" / each).is_dir() else top
        found |= set((ROOT / folder).glob("test_*.py"))
        stems = "|".join(path.stem for path in (ROOT / each).glob("*.py"))
        imports = re.compile(rf"^from {re.escape(each).replace('/', '.')}(\.({stems}))? import", re.MULTILINE)
        found |= {path for path in (ROOT / top).rglob("test_*.py") if imports.search(path.read_text())}
    is_quick = package.startswith("parties") or ROOT / "tests" / package == ROOT / top
    own = {f"test_{path.stem}.py" for path in (ROOT / package).glob("*.py")}
    chosen = (path for path in found if not (is_quick and path.name not in own and says_slow(path)))
    return tuple(sorted(str(path.relative_to(ROOT)) for path in chosen))


@dataclass(frozen=True)
class Plan:
    """The trials of a module: its source, a sample of its mutants, the tests of each, and the tests' seconds.

    `sound` are tests that are known to pass with the unchanged module.
    """

    file: str
    source: bytes
    mutants: list[Mutant]
    tests: dict[Mutant, list[str]]
    seconds: dict[str, float]
    sound: frozenset[str] = frozenset()

    @classmethod
    def of(cls, file: str, near: Reached, chosen: list[Mutant], most: float) -> Plan:
        """Return the plan for a file: each chosen mutant gets `most` seconds of the tests that reach its function."""
        source, own = (ROOT / file).read_bytes(), f"{Path(file).stem}.py::"
        tests = {one: near.of((file, function_of(source, one.line)), own, most) for one in chosen}
        return cls(file, source, chosen, tests, near.seconds, frozenset(near.sound))

    def tried(self, copy: Path, modules: Sequence[str], ends: float) -> tuple[dict[Mutant, bool], list[str]]:
        """Try mutants until the time `ends`; call this in a process of its own.

        Return whether each tried mutant lives, and the tests that fail without a mutant.
        """
        inside = [one for one in self.mutants if self.tests[one] and function_of(self.source, one.line)]
        if self.file.startswith("smc/"):  # machine code is cached by its module's text
            inside = []
        found, failed = forked(partial(self._swapped, copy, inside, ends), LONGEST) if inside else ({}, [])
        killed = {one: False for one, lived in found.items() if not lived}
        left = [one for one in self.mutants if one not in killed]
        if left and time.monotonic() < ends:
            load(modules, without=self.file)
            failed += self._failed(partial(self._failing, copy, self.source), left, failed)
        left = [one for one in left if time.monotonic() < ends]
        return killed | {one: not self._failing(copy, one.of(self.source), self.tests[one]) for one in left}, failed

    def tests_of(self, chosen: Sequence[Mutant]) -> list[str]:
        """Return all tests of these mutants, sorted."""
        return sorted({test for one in chosen for test in self.tests[one]})

    def _failed(self, failing: Failing, chosen: list[Mutant], known: Sequence[str] = ()) -> list[str]:
        """Return the tests of these mutants that fail without one; remove them and the `known` ones from the plan."""
        unsure = [test for test in self.tests_of(chosen) if test not in self.sound and test not in known]
        failed = failing(unsure, len(unsure)) if unsure else []
        for one in chosen:
            self.tests[one] = [test for test in self.tests[one] if test not in failed and test not in known]
        return failed

    def _swapped(self, copy: Path, inside: list[Mutant], ends: float) -> tuple[dict[Mutant, bool], list[str]]:
        """Return the same for mutants in functions, if only functions get other code: mutants killed so are killed."""

        def act(failing: Failing) -> tuple[dict[Mutant, bool], list[str]]:
            def failing_as(source: bytes, tests: Sequence[str], most: int = 1) -> list[str]:
                def run() -> list[str]:
                    swap(str(copy / self.file), self.source, source)
                    return failing(tests, most)

                return self._in_time(run, tests, SWAPPED)

            failed = self._failed(partial(failing_as, self.source), inside)
            left = (one for one in inside if time.monotonic() < ends)
            return {one: not failing_as(one.of(self.source), self.tests[one]) for one in left}, failed

        return collected(self.tests_of(inside), act) or ({}, [])

    def _failing(self, copy: Path, source: bytes, tests: Sequence[str], most: int = 1) -> list[str]:
        """Return the tests that fail, at most `most`, when the module is loaded anew from this source."""
        (copy / self.file).write_bytes(source)
        try:
            return self._in_time(partial(failing, tests, most), tests)
        finally:
            (copy / self.file).write_bytes(self.source)

    def _in_time(self, run: Callable[[], list[str]], tests: Sequence[str], start: float = START) -> list[str]:
        if not tests:
            return []
        try:
            return forked(run, start + 5 * sum(self.seconds[test] for test in tests))
        except StuckError:
            return list(tests)


def sample(file: str, most: int, seed: int) -> list[Mutant]:
    """Return at most `most` random mutants of a module, by their places."""
    every = mutants((ROOT / file).read_bytes())
    return sorted(random.Random(f"{seed} {file}").sample(every, len(every))[:most], key=lambda one: one.start)


class Known:
    """Outcomes of the mutants of each module in its present version, kept in build/ between runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, dict[str, str]] = json.loads(path.read_text()) if path.exists() else {}

    @staticmethod
    def _name(file: str) -> str:
        return f"{file} {hashlib.sha256((ROOT / file).read_bytes()).hexdigest()}"

    def of(self, file: str) -> dict[str, str]:
        """Return the outcomes of a module's mutants by key: "killed", "lives" or "equivalent"."""
        return self._known.setdefault(self._name(file), {})

    def files(self) -> list[str]:
        """Return the modules with known outcomes."""
        named = {name.partition(" ")[0] for name, became in self._known.items() if became}
        return sorted(file for file in named if (ROOT / file).exists() and self.of(file))

    def keep(self) -> None:
        """Write the outcomes to the file."""
        self._path.parent.mkdir(exist_ok=True)
        self._path.write_text(json.dumps(self._known))


def markdown(known: Known, before: str) -> str:
    """Return the part of docs/mutants.md; modules without known outcomes keep their rows of `before`."""
    rows: dict[str, list[str]] = {}
    left: dict[str, list[str]] = {}
    for line in before.splitlines():
        if (row := re.match(r"\| `(.+?)` ", line)) or (row := re.match(r"- `(.+?):\d+`: ", line)):
            (rows if line.startswith("|") else left).setdefault(row[1], []).append(line)
    for file in known.files():
        source, became = (ROOT / file).read_bytes(), known.of(file)
        every = mutants(source)
        alive = [one for one in every if became.get(one.key) == "lives"]
        counts = [list(became.values()).count(what) for what in ("killed", "equivalent", "lives")]
        rows[file] = [f"| `{file}` | {' | '.join(map(str, [len(every), len(became), *counts]))} |"]
        left[file] = [f"- `{file}:{one.line}`: `{'` is `'.join(one.told(source))}`" for one in alive]
    sums = [sum(int(row[0].split(" | ")[i].rstrip(" |")) for row in rows.values()) for i in range(1, 6)]
    lines = ["| module | mutants | tried | killed | equivalent | live |", "|---|--:|--:|--:|--:|--:|"]
    lines += [line for file in sorted(rows) for line in rows[file]]
    lines += [f"| **all** | {' | '.join(map(str, sums))} |", "", "These mutants live:", ""]
    lines += [line for file in sorted(left) for line in left[file]] or ["- none"]
    lines += ["", "These mutants are equivalent:", ""]
    for file, changes in sorted(EQUIVALENT.items()):
        lines += [f"- `{file}`: `{old}` is `{new}`: {reason}" for old, new, reason in changes]
    return "\n".join(lines) + "\n"


def write(known: Known) -> None:
    """Write docs/mutants.md."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{markdown(known, old)}\n{END}{after}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants and print how many were killed; return 1 if one lives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=PACKAGES, help="files and folders of them")
    parser.add_argument("--sample", type=int, default=10, help="the most of each file  [10]")
    parser.add_argument("--seed", type=int, default=1, help="[1]")
    parser.add_argument("--seconds", type=float, default=20, help="of tests, for one mutant  [20]")
    parser.add_argument("--tests", nargs="+", default=(), help="files of tests  [those that mirror the package]")
    parser.add_argument("--minutes", type=float, default=10**6, help="the most of all  [no end]")
    options = parser.parse_args(arguments)
    ends, known = time.monotonic() + 60 * options.minutes, Known(KNOWN)
    paths = [path for name in options.modules for path in sorted((ROOT / name).rglob("*.py")) or [ROOT / name]]
    packages: dict[str, list[str]] = {}
    for path in paths:
        file = str(path.relative_to(ROOT))
        packages.setdefault(str(Path(file).parent), []).append(file)
    alive = 0
    seen: dict[tuple[str, ...], Reached] = {}
    with copied() as copy:
        sys.path[0], os.environ["PYTHONPATH"], sys.dont_write_bytecode = str(copy), str(copy), True
        os.environ.setdefault("SMC_TEST_PATIENCE", PATIENCE)
        os.chdir(copy)
        for package, named in packages.items():
            if not [file for file in named if left(file, known, options)] or time.monotonic() > ends:
                continue
            tests = tuple(options.tests) or mirror_of(package)
            if tests not in seen:
                seen[tests] = near = forked(partial(reached, copy, tests), LONGEST)
                near.leave_out(near.failed)
                load([name for name in near.modules if name.partition(".")[0] not in OWN])
            for file in named:
                alive += tried(file, seen[tests], copy, known, options, ends)
                known.keep()
    write(known)
    return 0 if not alive else 1


def left(file: str, known: Known, options: argparse.Namespace) -> list[Mutant]:
    """Return the mutants of a module's sample that are not known to be killed or equivalent."""
    source, became = (ROOT / file).read_bytes(), known.of(file)
    chosen = sample(file, options.sample, options.seed)
    equivalent = {(old, new) for old, new, _ in EQUIVALENT.get(file, ())}
    became |= {one.key: "equivalent" for one in chosen if one.told(source) in equivalent}
    return [one for one in chosen if became.get(one.key) not in ("killed", "equivalent")]


def tried(file: str, near: Reached, copy: Path, known: Known, options: argparse.Namespace, ends: float) -> int:
    """Try the remaining mutants of a module, print and keep their outcomes, and return how many live."""
    source, became, rest = (ROOT / file).read_bytes(), known.of(file), left(file, known, options)
    if not rest or time.monotonic() > ends:
        return 0
    plan = Plan.of(file, near, rest, options.seconds)
    modules = [name for name in near.modules if name.partition(".")[0] in OWN]
    try:
        found, failed = forked(partial(plan.tried, copy, modules, ends), LONGEST)
    except StuckError:
        print(f"{file}: its tests have ended the run", flush=True)
        return 0
    near.leave_out(failed)
    near.sound |= set(plan.tests_of(rest)) - set(failed)
    for one, lived in found.items():
        is_seen = not set(plan.tests[one]) <= set(failed)
        if is_seen:
            became[one.key] = "lives" if lived else "killed"
        if lived:
            said = "LIVES      " if is_seen else "UNREACHED  "  # by the tests that passed before
            print(f"{said}{file}:{one.line}: {' -> '.join(one.told(source))}", flush=True)
    alive = sum(found.values())
    print(f"{file}: {len(found)} tried, {len(found) - alive} killed", flush=True)
    return alive


if __name__ == "__main__":
    sys.exit(main())
