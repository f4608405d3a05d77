"""The graph of imports of our packages: who names whom, circles, floors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

Graph = dict[str, set[str]]


@cache
def imports(*packages: Path) -> Graph:
    """For every module of the packages, those of the packages' modules that it imports; read once, not to be changed.

    All imports count: in functions and for types too. `from a import b` is an import of a.b where that is a module.
    """
    files = {_name(path, package): path for package in packages for path in sorted(package.rglob("*.py"))}
    return {
        module: {found for name in _named(path) if (found := _module(name, files)) is not None} - {module}
        for module, path in files.items()
    }


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _named(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module(name: str, files: Mapping[str, Path]) -> str | None:
    """The module that an imported name is or is found in; None if it is not of the packages."""
    if name in files:
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in files else None


def grouped(graph: Graph, group: Callable[[str], str]) -> Graph:
    """The graph of groups of modules: an edge where a module of one imports one of another."""
    groups: Graph = {group(module): set() for module in graph}
    for module, others in graph.items():
        groups[group(module)] |= {group(other) for other in others} - {group(module)}
    return groups


def circles(graph: Graph) -> list[list[str]]:
    """The sets of modules that import each other, directly or not; each sorted, none if there is no circle."""
    reached = {module: _reached(graph, module) for module in graph}
    found = {
        tuple(sorted({module} | {other for other in reached[module] if module in reached[other]}))
        for module in graph
        if module in reached[module]
    }
    return [list(circle) for circle in sorted(found)]


def _reached(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += graph[module]
    return reached


def floors(graph: Graph) -> dict[str, int]:
    """The floor of each module: 0 if it imports none, else one above the highest that it imports. No circles."""
    assert not circles(graph), f"modules import each other: {circles(graph)}"
    floor: dict[str, int] = {}

    def place(modules: Iterable[str]) -> None:
        for module in modules:
            if module not in floor:
                place(graph[module])
                floor[module] = 1 + max((floor[other] for other in graph[module]), default=-1)

    place(graph)
    return floor
