"""The words of the product: names that say what they hold, docstrings that begin with a verb, examples that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT

PACKAGES = ("smc", "protocols", "parties")
VAGUE = {"found", "one", "own", "told", "kept", "said", "made", "given", "asked", "shown"}
# Where no vague name is bound, and which file may be left out.
NAMED = {
    "smc": (),
    "protocols": ("protocols/release",),
    "parties/base": (),
    "parties/link": (),
    "parties/tables": (),
    "parties/sources": (),
    "parties/models": (),
    "parties/alone": (),
    "parties/checking": (),
}
ALLOWED = {("parties/alone/local/plan.py", "told")}  # a key of the plan's file
QUESTION = re.compile(r"(What|Whether|How|Why|Where|Which|Who|That)\b")
EXAMPLES_AT_LEAST = 20


def sources(folder: str, without: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every file of a folder that is written by hand."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.endswith("_pb2.py") and not name.startswith(tuple(f"{folder}/" for folder in without)):
            yield name, path.read_text()


def bound(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each variable, field and parameter of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


@pytest.mark.parametrize("folder", NAMED)
def test_a_name_says_what_it_holds(folder: str) -> None:
    """A row, a mask, a digest: `found` and its like could be anything."""
    files = list(sources(folder, NAMED[folder]))
    assert files
    vague = [
        f"{file}:{line}: {name}"
        for file, text in files
        for line, name in bound(ast.parse(text))
        if name in VAGUE and (file, name) not in ALLOWED
    ]
    assert not vague, "\n".join(["name these after what they hold:", *vague])


@pytest.mark.parametrize("package", PACKAGES)
def test_a_function_says_what_it_does(package: str) -> None:
    """Its docstring begins with a verb: "Return whether", "Count the rows", not "Whether" or "How many"."""
    questions = [
        f"{file}:{node.lineno}: {text}"
        for file, source in sources(package)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and not is_property(node) and not is_command(node)
        if QUESTION.match(text := (ast.get_docstring(node) or "").partition("\n")[0])
    ]
    assert not questions, "\n".join(["begin these with a verb:", *questions])


def is_property(node: ast.FunctionDef) -> bool:
    """Return whether a function is read like a field, so that its docstring says what it is."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def is_command(node: ast.FunctionDef) -> bool:
    """Return whether a docstring is the help of a command, which says what one learns from it."""
    return any(re.match(r"[\w.]*(group|command)\b", ast.unparse(decorator)) for decorator in node.decorator_list)


def with_examples() -> list[str]:
    """Return the modules of the libraries that have examples in their docstrings."""
    texts = [pair for package in ("smc", "protocols") for pair in sources(package)]
    return [".".join(Path(file).with_suffix("").parts) for file, text in texts if ">>> " in text]


@pytest.mark.parametrize("name", with_examples())
def test_an_example_runs(name: str) -> None:
    """And gives what it says that it gives."""
    module = importlib.import_module(name)
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed


def test_there_are_examples() -> None:
    """Of the functions that users call."""
    modules = [importlib.import_module(name) for name in with_examples()]
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert sum(bool(test.examples) for module in modules for test in finder.find(module)) >= EXAMPLES_AT_LEAST
